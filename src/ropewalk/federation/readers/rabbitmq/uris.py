"""AMQP addresses: `amqp://user:password@host:port/vhost?parameters`, and what RabbitMQ makes of it.

What it takes otherwise than people believe: nothing after the slash is a virtual host with an empty
name, no host at all is the very node that reads it, and an `@` in a password ends the password.
AMQP 1.0 knows no path: there a virtual host is the parameter `hostname=vhost:NAME`.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from ropewalk.federation.showing import label

PORTS = {"amqp": 5672, "amqps": 5671}
_TEMPLATE = re.compile(r"\$[{(\w]|\{\{|%\(|<[^>]*>|@@")
_VARIABLE = re.compile(r"(?:\$\{?|\{\{\s*|%\(|<|@@)(?P<name>[A-Za-z_.][\w.]*+)(?!\s*[(\"'])")
_NAME = re.compile(r"\A(?P<name>[A-Z][A-Z0-9_]*)\Z")
_HOST = re.compile(r"\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|([\w.-]+)")
_SEVERAL = re.compile(r"[,;\s]\s*amqps?://", re.IGNORECASE)
_WRITTEN = {"/": "%2f", "?": "%3f", "#": "%23"}
_HERE = ("localhost", "127.0.0.1", "::1")
EXAMPLE = "amqp://HOST:5672/VHOST"
_PATH = (
    "it has a path, which RabbitMQ does not take with AMQP 1.0, so it never connects: write "
    "?hostname=vhost:NAME for a virtual host"
)


@dataclass(frozen=True, slots=True)
class Uri:
    """An address that RabbitMQ takes. No host: the node itself; no vhost: as the plug-in likes."""

    host: str = ""
    port: int = 5672
    vhost: str | None = None
    secure: bool = False
    parameters: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """Whether it is the node that reads it; another port may be another node's."""
        return not self.host or (self.host.lower() in _HERE and self.usual)

    @property
    def usual(self) -> bool:
        """Whether its port is the one of its scheme."""
        return self.port == PORTS["amqps" if self.secure else "amqp"]


@dataclass(frozen=True, slots=True)
class BadUri:
    """Why an address cannot be read; never with a part of it."""

    code: str
    message: str


def read_uri(text: str, *, amqp10: bool = False) -> Uri | BadUri:
    """Read an address, as the client of AMQP 0-9-1 or that of AMQP 1.0 does.

    >>> read_uri("amqp://u:pw@east.example.net/%2f")
    Uri(host='east.example.net', port=5672, vhost='/', secure=False, parameters=())
    >>> read_uri("amqp:///orders").local, read_uri("amqp://east/").vhost
    (True, '')
    >>> read_uri("amqps://east/?hostname=vhost:orders", amqp10=True).vhost
    'orders'
    """
    if text.startswith("encrypted:"):
        return BadUri("C010", "its address is encrypted, so it is not known where it goes")
    scheme, colon, rest = text.partition("://")
    if not colon or scheme.lower() not in PORTS:
        return _no_uri(text)
    if _SEVERAL.search(rest):
        return BadUri("C005", "several addresses in one text: write a list of addresses instead")
    whole = rest
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    place = authority.partition("@")[2] if "@" in authority else authority
    sure = text.count("@") == ("@" in authority)
    cut = whole[len(authority)] if not sure and "@" not in authority else ""
    if "@" in place:
        return BadUri("C005", "a password with @ in it ends there: write %40 for @")
    if _TEMPLATE.search(path):
        return _unfilled(path if sure else "", "virtual host")
    if amqp10 and path:
        return BadUri("C020", _PATH)
    if "/" in path:
        return BadUri("C005", "a virtual host with / in it: write %2f for /")
    found = _place(place, PORTS[scheme.lower()], sure=sure)
    if cut and ("@" in fragment or (isinstance(found, BadUri) and found.code == "C005")):
        what = f"the address ends at {cut} in a password"
        return BadUri("C005", f"{what}: write {_WRITTEN[cut]} for {cut}")
    if isinstance(found, BadUri):
        return found
    given = dict(one.partition("=")[::2] for one in query.split("&") if one)
    vhost = unquote(path) if slash else None
    if amqp10:
        name = unquote(given.get("hostname", ""))
        vhost = name.removeprefix("vhost:") if name.startswith("vhost:") else None
        given = {key: one for key, one in given.items() if vhost is None or key != "hostname"}
    return Uri(found[0], found[1], vhost, scheme.lower() == "amqps", tuple(given))


def _no_uri(text: str) -> BadUri:
    if _TEMPLATE.search(text) or _NAME.match(text):
        return _unfilled(text, "address")
    return BadUri("C005", f"no AMQP address: write {EXAMPLE}")


def _unfilled(text: str, what: str) -> BadUri:
    """A variable stands for something; it is named unless that may be a password."""
    found = None if "@" in text.strip("@") else _VARIABLE.search(text) or _NAME.match(text)
    variable = f"the variable {label(found['name'])}" if found else "a variable"
    return BadUri("C006", f"{variable} stands for the {what}: fill it in")


def _place(place: str, port: int, *, sure: bool) -> tuple[str, int] | BadUri:
    """Host and port; if that is not `sure`, it may be a part of a password."""
    if not place:
        return "", port
    if _TEMPLATE.search(place) or _NAME.match(place):
        return _unfilled(place if sure else "", "host or port")
    if "," in place:
        return BadUri("C005", "one address names one host: write a list of addresses instead")
    if re.search(r"\s", place):
        return BadUri("C005", "white space in its host or port: remove it")
    found = _HOST.match(place)
    if not found:
        return BadUri("C005", f"no host name: write {EXAMPLE}")
    after = place[found.end() :]
    if not after:
        return found[1] or found[2], port
    number = after.removeprefix(":")
    if not (after.startswith(":") and re.fullmatch(r"[0-9]{1,5}", number)):
        return BadUri("C005", f"no port number: write {EXAMPLE}")
    if not 0 < int(number) < 65536:
        return BadUri("C005", "no port number: write one of 1 to 65535")
    return found[1] or found[2], int(number)
