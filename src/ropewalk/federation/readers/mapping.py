"""What a user says about files whose host names do not tell which broker is meant."""

import re
from collections.abc import Container, Iterable, Iterator
from collections.abc import Mapping as Pairs
from dataclasses import dataclass, field
from typing import Any

from ropewalk.federation.facts import Site
from ropewalk.federation.names import is_name
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label, shown
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

SECTIONS = ("brokers", "names", "sites")
_PORT = re.compile(r"(?:\[(?P<six>[^\]]*)\]|(?P<host>[^:\[\]]*)):(?P<port>\d{1,5})", re.ASCII)
_HOST = re.compile(r"[^\s/@\[\]]+")
_DOCUMENT = re.compile(r".+\.(?:ya?ml|json)", re.IGNORECASE)
"""A document that names no servers, by its path: no host is called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """Which brokers addresses and files are, and where brokers are."""

    brokers: Pairs[tuple[str, int | None], str] = field(default_factory=dict)
    """By host in lower case and port, or None for every port."""
    servers: Pairs[str, str] = field(default_factory=dict)
    """By a server's name in an AsyncAPI document, as it is written."""
    names: Pairs[str, str] = field(default_factory=dict)
    """By a file's path, or its ending."""
    sites: Pairs[str, Site] = field(default_factory=dict)
    named: Pairs[str, Where] = field(default_factory=dict)
    """Where each broker is first named as what something means."""
    lines: Pairs[tuple[str, str], Where] = field(default_factory=dict)
    """Where each is written, by its section and its key as it is written."""

    def broker_of(self, host: str, port: int, server_name: str = "") -> str | None:
        """The broker that an address means, None if nothing is said of it: the narrowest counts.

        >>> said = Mapping(brokers={("h", None): "a", ("h", 1): "b"}, servers={"prod": "c"})
        >>> said.broker_of("H", 1), said.broker_of("h", 2, "prod"), said.broker_of("h", 2)
        ('b', 'c', 'a')
        """
        host = host.lower().rstrip(".")
        return (
            self.brokers.get((host, port))
            or self.servers.get(server_name)
            or self.brokers.get((host, None))
        )

    def idle(
        self, asked: Iterable[tuple[str, int, str]], files: Iterable[str], brokers: Container[str]
    ) -> Iterator[tuple[Where, str]]:
        """Entries that say nothing of what was read, and what they are not."""
        hosts = {(host.lower().rstrip("."), at) for host, port, _ in asked for at in (port, None)}
        servers = {server for _, _, server in asked}
        ends = {"/".join(_steps(one)[i:]) for one in files for i in range(len(_steps(one)))}
        for (section, key), where in self.lines.items():
            if section == "brokers" and _DOCUMENT.fullmatch(key):
                if "/".join(_steps(key)) not in ends:
                    yield where, f"{label(key)} is none of these files"
            elif section == "brokers" and _address(key) not in hosts and key not in servers:
                yield where, f"{label(key)} is no address in these files"
            elif section == "names" and "/".join(_steps(key)) not in ends:
                yield where, f"{label(key)} is none of these files"
            elif section == "sites" and key not in brokers:
                yield where, f"{label(key)} is no broker of these files"

    def name_of(self, file: str) -> str | None:
        """What the broker of a configuration file is to be called: the longest ending counts.

        >>> said = Mapping(names={"a/m.conf": "athens", "m.conf": "any"})
        >>> said.name_of("sites/a/m.conf"), said.name_of("b/m.conf"), said.name_of("xm.conf")
        ('athens', 'any', None)
        """
        return ending(self.names, file)

    def place_of(self, broker: str) -> Where | None:
        """Where something is first said to be this broker."""
        return self.named.get(broker)


def ending(entries: Pairs[str, str], file: str) -> str | None:
    """What is said of a file by its path or its ending: the longest counts."""
    steps = _steps(file)
    found = (entries.get("/".join(steps[start:])) for start in range(len(steps)))
    return next((one for one in found if one is not None), None)


def _steps(path: str) -> list[str]:
    return [one for one in path.replace("\\", "/").split("/") if one not in ("", ".")]


def read_mapping(parsed: Parsed, file: str, drafts: Drafts) -> Mapping:
    """Read what a user says; what is wrong with it is noted, and the rest counts."""
    if parsed.value is not None and not isinstance(parsed.value, dict):
        what = f"this is no map: write {', '.join(SECTIONS)}, each with its entries below"
        drafts.fault(Where(file, 1), "C005", what)
    reader = _Reader(View(parsed, file, drafts), drafts)
    reader.unknown()
    brokers, said = reader.brokers(), reader.named("brokers")
    documents = {key: name for key, name in said.items() if _DOCUMENT.fullmatch(key)}
    drafts.documents = {"/".join(_steps(key)): name for key, name in documents.items()}
    return Mapping(
        brokers=brokers,
        servers={key: said[key] for key in said if is_name(key) and key not in documents},
        names=reader.names(),
        sites=reader.sites(),
        named={name: reader.lines["brokers", key] for key, name in reversed(said.items())},
        lines=reader.lines,
    )


class _Reader:
    def __init__(self, view: View, drafts: Drafts) -> None:
        self._view, self._drafts = view, drafts
        self.lines: dict[tuple[str, str], Where] = {}
        self._named: dict[str, dict[str, str]] = {}

    def unknown(self) -> None:
        """Tell sections that there are none of."""
        for key in self._view.value:
            if key not in SECTIONS:
                what = f"{label(key)} is not known here: write {', '.join(SECTIONS)}"
                self._drafts.fault(self._view.place(key), "C005", what)

    def named(self, section: str) -> dict[str, str]:
        """A section's names of brokers, by what they are given to; read once."""
        if section not in self._named:
            self._named[section] = {
                key: value
                for key, value in self._section(section).items()
                if self._is_broker(section, key, value)
            }
        return self._named[section]

    def brokers(self) -> dict[tuple[str, int | None], str]:
        """Brokers by host and port; the same address twice is a conflict."""
        found: dict[tuple[str, int | None], str] = {}
        first: dict[tuple[str, int | None], str] = {}
        for key, name in self.named("brokers").items():
            address = _address(key)
            if _DOCUMENT.fullmatch(key):
                continue
            if address is None:
                what = f"{shown(key)} is no address: write HOST, HOST:PORT or a server's name"
                self._drafts.fault(self._view.place("brokers", key), "C005", what)
            elif found.setdefault(address, name) != name:
                self._conflict("brokers", key, first[address])
            else:
                first.setdefault(address, key)
        return found

    def names(self) -> dict[str, str]:
        """Brokers by path, as short as it can be written."""
        found: dict[str, str] = {}
        first: dict[str, str] = {}
        for key, name in self.named("names").items():
            path = "/".join(_steps(key))
            if not path:
                what = f"{shown(key)} is no path: write a file's path, or its ending"
                self._drafts.fault(self._view.place("names", key), "C005", what)
            elif found.setdefault(path, name) != name:
                self._conflict("names", key, first[path])
            else:
                first.setdefault(path, key)
        return found

    def sites(self) -> dict[str, Site]:
        """Places of brokers, in degrees or on a plane."""
        found: dict[str, Site] = {}
        for name, value in self._section("sites").items():
            if not is_name(name):
                what = f"{shown(name)} is no broker's name: use letters, digits and _ . - @"
                self._drafts.fault(self._view.place("sites", name), "C005", what)
                continue
            place = self._place(name, value)
            if place is not None:
                found[name] = place
        return found

    def _place(self, name: str, value: Any) -> Site | None:
        if isinstance(value, dict) and len(value) == 1:
            kind, pair = next(iter(value.items()))
            numbers = _pair(pair)
            if kind == "xy" and numbers is not None:
                return Site(xy=numbers)
            if kind == "at" and numbers is not None and _is_on_earth(numbers):
                return Site(at=numbers)
        what = (
            f"{label(name)} has no place: write {{at: [LATITUDE, LONGITUDE]}} or {{xy: [KM, KM]}}"
        )
        self._drafts.fault(self._view.place("sites", name), "C005", what)
        return None

    def _section(self, section: str) -> dict[str, Any]:
        value = self._view.value.get(section)
        if value is not None and not isinstance(value, dict):
            what = f"{section} is not a map: write one entry per line below it"
            self._drafts.fault(self._view.place(section), "C005", what)
        entries = value if isinstance(value, dict) else {}
        for key in entries:
            self.lines[section, key] = self._view.place(section, key)
        return entries

    def _is_broker(self, section: str, key: str, value: Any) -> bool:
        if isinstance(value, str) and is_name(value):
            return True
        what = f"{label(key)} is {shown(value)}: write a broker's name, of letters, digits, _ . - @"
        self._drafts.fault(self._view.place(section, key), "C005", what)
        return False

    def _conflict(self, section: str, key: str, other: str) -> None:
        line = self.lines[section, other].line
        what = f"{label(key)} is another broker in line {line}: keep one of the two"
        self._drafts.fault(self._view.place(section, key), "C007", what)


def _address(key: str) -> tuple[str, int | None] | None:
    """A host in lower case and a port.

    >>> _address("Hub.example:1883"), _address("[::1]:1883"), _address("::1"), _address("mqtt://h")
    (('hub.example', 1883), ('::1', 1883), ('::1', None), None)
    """
    with_port = _PORT.fullmatch(key)
    host = (with_port["six"] or with_port["host"] or "") if with_port else key.strip("[]")
    port = int(with_port["port"]) if with_port else None
    colons = host.count(":")
    if not _HOST.fullmatch(host) or colons == 1 or (port is not None and not 0 < port < 65536):
        return None
    return host.lower().rstrip("."), port


def _pair(value: Any) -> tuple[float, float] | None:
    good = isinstance(value, list) and len(value) == 2
    if not good or any(isinstance(one, bool) or not isinstance(one, int | float) for one in value):
        return None
    try:
        a, b = float(value[0]), float(value[1])
    except OverflowError:
        return None
    return (a, b) if abs(a) < float("inf") and abs(b) < float("inf") else None


def _is_on_earth(pair: tuple[float, float]) -> bool:
    return abs(pair[0]) <= 90 and abs(pair[1]) <= 180
