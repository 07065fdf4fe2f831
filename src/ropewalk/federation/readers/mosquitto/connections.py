"""A connection block: where it connects, how it chooses, and what its topic lines carry."""

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ropewalk.federation.readers.drafts import Address, BridgeDraft, Direction, Drafts
from ropewalk.federation.readers.mosquitto.known import ASIDE, NO_START, TLS_OF_BRIDGE
from ropewalk.federation.readers.mosquitto.lines import TRUTH, Setting, before_comment, variable
from ropewalk.federation.readers.mosquitto.starting import seen_from, tell_half_secrets
from ropewalk.federation.readers.mosquitto.topic_lines import topic_line
from ropewalk.federation.readers.mosquitto.topics import (
    Line,
    effective,
    subscribed,
    tell_doubles,
)
from ropewalk.federation.showing import shown
from ropewalk.federation.topics import common
from ropewalk.findings import Where

PORT = 1883
_PORT = re.compile(r"\d{1,9}")


@dataclass(slots=True)
class Connection:
    """A connection and the settings that follow it."""

    name: str
    where: Where
    settings: list[Setting] = field(default_factory=list)


def draft_connection(
    one: Connection, at: str, drafts: Drafts, *, repeats: Where | None = None
) -> None:
    """Draft a connection's bridges: one per topic line, or one each way where they differ.

    `repeats` is where its broker is told to send what several lines match once for each.
    """
    flags, lines = _flags(one, drafts), _lines(one, drafts)
    far, place = _addresses(one, drafts)
    topics, version = _topics(one, drafts), _version(one, drafts)
    _tell_addresses(one, far, flags, place, drafts)
    _tell_sessions(one, topics, flags, drafts)
    tell_half_secrets(one.settings, drafts)
    if not far or not topics:
        return
    unsubscribes = flags.get("bridge_attempt_unsubscribe", True)
    each: list[Direction] = ["in", "out"] if version == "mqttv50" else ["out"] if repeats else []
    carried = effective(topics, unsubscribes, drafts, each=each)
    tell_doubles(topics, drafts)
    echoes = not flags.get("try_private", True) and version != "mqttv50"
    echoes = echoes and any(way != "out" for _, way, _ in carried)
    private = flags.get("try_private", True) and version != "mqttv50"
    client, overlaps = _client(one, lines), "in" not in each and _overlap(topics, unsubscribes)
    for line, way, what in carried:
        drafts.bridges.append(
            BridgeDraft(
                at=at,
                far=tuple(far),
                name=one.name,
                kind="bridge",
                where=line.where,
                patterns=what.patterns,
                excepts=what.excepts,
                direction=way,
                qos=what.qos,
                local=line.local,
                remote=line.remote,
                choice="next" if flags.get("round_robin") else "first",
                echoes=echoes,
                private=private,
                client=client,
                overlaps=overlaps,
                lines={**lines, "addresses": place, **({"repeats": repeats} if repeats else {})},
            )
        )


def _overlap(topics: Sequence[Line], unsubscribes: bool) -> bool:
    """Whether a message would come in more than once if the far broker sent it for each line."""
    return any(common(a, b) for a, b in combinations(subscribed(topics, unsubscribes), 2))


def _client(one: Connection, lines: dict[str, Where]) -> str:
    """What it is called at the far broker, if that is written; its line is noted."""
    names = ("clientid", "remote_clientid")
    given = [each for each in one.settings if each.name in names and each.value]
    if not given or variable(given[-1].value):
        return ""
    lines["client"] = given[-1].where
    return given[-1].value


_FIELDS = {
    "round_robin": "round_robin",
    "try_private": "echoes",
    "bridge_protocol_version": "protocol",
    "bridge_attempt_unsubscribe": "unsubscribe",
}
"""Modelled settings, by the field that they have a line of."""
_FLAGS = ("round_robin", "try_private", "bridge_attempt_unsubscribe")
_REMOTE = {"clientid": "remote_clientid"}
_SESSIONS = ("cleansession", "local_cleansession")


def _lines(one: Connection, drafts: Drafts) -> dict[str, Where]:
    """Lines of the connection's fields; what has no part in forwarding is told."""
    lines = {"connection": one.where}
    for setting in one.settings:
        if setting.name in _FIELDS:
            lines[_FIELDS[setting.name]] = setting.where
        elif setting.name in ASIDE:
            drafts.aside(setting.where, setting.name, ASIDE[setting.name])
    return lines


def _flags(one: Connection, drafts: Drafts) -> dict[str, bool]:
    """Settings that are true or false; of several the last counts."""
    found: dict[str, bool] = {}
    last: dict[str, Setting] = {}
    for setting in one.settings:
        if setting.name not in (*_FLAGS, *_SESSIONS):
            continue
        word = setting.words[0] if setting.words else ""
        if word not in TRUTH:
            drafts.fault(
                setting.where, "C005", f"{setting.name} needs a value: write true or false"
            )
            continue
        found[setting.name] = TRUTH[word]
        _tell_again(setting, last.get(setting.name), drafts)
        last[setting.name] = setting
    return found


def _tell_again(setting: Setting, before: Setting | None, drafts: Drafts) -> None:
    if before is not None:
        what = f"{setting.name} is given again in line {setting.where.line}, and that counts"
        drafts.note(before.where, "C007", f"{what}: remove this one", "warning")


def _version(one: Connection, drafts: Drafts) -> str:
    version, last = "mqttv311", None
    for setting in one.settings:
        if setting.name == "bridge_protocol_version":
            if setting.value not in ("mqttv31", "mqttv311", "mqttv50"):
                what = "Mosquitto does not know this protocol version"
                drafts.fault(setting.where, "C005", f"{what}: write mqttv31, mqttv311 or mqttv50")
            else:
                version = setting.value
                _tell_again(setting, last, drafts)
                last = setting
    return version


def _topics(one: Connection, drafts: Drafts) -> list[Line]:
    given = [setting for setting in one.settings if setting.name == "topic"]
    if not given:
        what = f"the connection {shown(one.name)} has no topic, {NO_START}"
        drafts.fault(one.where, "C002", f"{what}: write topic PATTERN out 0")
    found = [topic_line(setting, drafts) for setting in given]
    return [line for line in found if line is not None]


# --- addresses -------------------------------------------------------------------------------


def _addresses(one: Connection, drafts: Drafts) -> tuple[list[Address], Where]:
    given = [setting for setting in one.settings if setting.name in ("address", "addresses")]
    if not given:
        what = f"the connection {shown(one.name)} has no address, {NO_START}"
        drafts.fault(one.where, "C002", f"{what}: write address HOST:PORT")
        return [], one.where
    for again in given[1:]:
        what = f"address is given in line {given[0].where.line} already, {NO_START}"
        drafts.fault(again.where, "C007", f"{what}: write all addresses in one line")
    where = given[0].where
    words = before_comment(given[0].filled)
    if not words:
        what = "a comment stands where the address is to be" if given[0].value else "it is empty"
        drafts.fault(where, "C002", f"address: {what}: write address HOST:PORT")
        return [], where
    secure = any(setting.name in TLS_OF_BRIDGE for setting in one.settings)
    return [made for word in words if (made := _address(word, where, secure, drafts))], where


def _address(word: str, where: Where, secure: bool, drafts: Drafts) -> Address | None:
    """HOST or HOST:PORT, cut at the last colon."""
    if word.isdecimal():
        what = f"Mosquitto takes {word} for a host of its own, which is left out here"
        drafts.warn(where, "C020", f"{what}: write HOST:{word}, without a space")
        return None
    host, colon, last = word.rpartition(":") if ":" in word else (word, "", "")
    number = _PORT.match(last)
    port = int(number[0]) if number else PORT if not colon else 0
    if _hopeless(word, host, where, drafts):
        return None
    if not 1 <= port <= 65535:
        code, advice = "C005", "write HOST:PORT, a port from 1 to 65535"
        if variable(last):
            code, advice = "C006", "Mosquitto fills in no variables: write the port itself"
        drafts.fault(where, code, f"{_shown(word)} has no port after its last colon: {advice}")
        return None
    if number and number[0] != last:
        what = f"the port of {_shown(word)} is read as {port}"
        drafts.warn(where, "C020", f"{what}: write HOST:PORT, and spaces between addresses")
    if variable(host):
        what = f"{_shown(word)} looks like a variable, and Mosquitto fills in none"
        drafts.warn(where, "C020", f"{what}: write the host itself")
    return Address(
        host=_unbracketed(host, where, drafts),
        port=port,
        where=where,
        make="mosquitto",
        secure=secure,
    )


def _hopeless(word: str, host: str, where: Where, drafts: Drafts) -> bool:
    """What no host is called; told."""
    advice = ""
    if "@" in word:
        advice = "write HOST:PORT, and the user as remote_username"
    elif "/" in word and variable(word):
        advice = "fill in what is to be filled in: write HOST:PORT"
    elif "/" in host or word.startswith(f"{host}:/"):
        advice = "write HOST:PORT without a scheme or path"
    elif '"' in word:
        advice = "write HOST:PORT without quotes"
    elif "," in host:
        advice = "write spaces between addresses, no commas"
    elif not host:
        advice = "write HOST:PORT"
    elif ":" in host.strip("[]") and not _is_ipv6(host.strip("[]")):
        advice = "what follows the last colon is the port: write ADDRESS:1883 after an IPv6 address"
    if advice:
        drafts.fault(where, "C005", f"{_shown(word)} is no address: {advice}")
    return bool(advice)


def _shown(word: str) -> str:
    """An address in a message; a user or password stands before an @."""
    return "this" if "@" in word else shown(word)


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _unbracketed(host: str, where: Where, drafts: Drafts) -> str:
    bare = host.strip("[]")
    if bare != host and not _is_ipv6(bare):
        what = f"{shown(host)} looks like a variable, and Mosquitto fills in none"
        drafts.warn(where, "C020", f"{what}: write the host itself")
    elif bare != host:
        what = "Mosquitto looks for a host with the brackets in its name"
        drafts.warn(where, "C020", f"{what}: write {bare}:PORT without them")
    return bare


def _tell_addresses(
    one: Connection,
    far: Sequence[Address],
    flags: Mapping[str, bool],
    where: Where,
    drafts: Drafts,
) -> None:
    """What people do not expect of several addresses."""
    several = len(far) > 1
    start = [setting for setting in one.settings if setting.name == "start_type"]
    for setting in start:
        if setting.words[:1] == ["once"] and several:
            what = "a connection that starts once is not tried again: its other addresses are idle"
            drafts.warn(setting.where, "C020", f"{what}: write start_type automatic")
        elif setting.words[:1] == ["lazy"]:
            why = "it is taken as always up; once idle, nothing comes in before it sends again"
            drafts.aside(setting.where, "start_type lazy", why)
        elif setting.words[:1] not in (["automatic"], ["once"]):
            what = f"Mosquitto does not know this start_type, {NO_START}"
            drafts.fault(setting.where, "C005", f"{what}: write automatic, lazy or once")
        else:
            drafts.aside(setting.where, "start_type", "how a connection starts is not looked at")
    if several and not flags.get("round_robin"):
        # eclipse-mosquitto#3293: the good connection is dropped although the first does not answer.
        what = "while the first address does not answer, Mosquitto drops the next one to try it"
        fix = "write round_robin true if the addresses are equals"
        drafts.warn(where, "C020", f"{what} again and again (seen up to 2.0.21): {fix}")


def _tell_sessions(
    one: Connection, topics: Iterable[Line], flags: Mapping[str, bool], drafts: Drafts
) -> None:
    clean = flags.get("cleansession", False)
    local = flags.get("local_cleansession", clean)
    promised = any(line.qos and line.goes("out") for line in topics)
    for setting in one.settings:
        if setting.name not in _SESSIONS:
            continue
        if setting.name == "cleansession" and clean and local and promised:
            what = "cleansession true: while the connection is down, messages out of it are lost"
            fix = "whatever their qos: write local_cleansession false"
            drafts.warn(setting.where, "C020", f"{what} {fix}")
        else:
            drafts.aside(
                setting.where, setting.name, "what waits for a connection is not looked at"
            )


# --- names -----------------------------------------------------------------------------------


def tell_same_ids(connections: Iterable[Connection], drafts: Drafts) -> None:
    """Connections that are the same client of their own broker, as which Mosquitto refuses both."""
    known: dict[str, Where] = {}
    for one in connections:
        called = _local_id(one)
        if called is None:
            continue
        name, where = called
        before = known.setdefault(name, where)
        if before != where:
            what = f"this connection has the client id of the one {seen_from(before, where)} here"
            fix = "write local_clientid with another name for one of them"
            drafts.warn(where, "C020", f"{what}, {NO_START}: {fix}")


def tell_unbounded(inflight: Setting, connections: Iterable[Connection], drafts: Drafts) -> None:
    """A bound that MQTT 5 has no number for, though its bridges send one (2.0.11)."""
    settings = (each for one in connections for each in one.settings)
    five = next((each.where for each in settings if each.value == "mqttv50"), None)
    if five is not None:
        what = f"with {inflight.name} {inflight.value} the far broker refuses the connection of"
        what += f" MQTT 5 at {five}"
        drafts.warn(inflight.where, "C020", f"{what} (seen with 2.0.11): write 65534 at most")


def _local_id(one: Connection) -> tuple[str, Where] | None:
    """What it is called at its own broker, and the line that says so; else it has its own name."""
    given = {_REMOTE.get(each.name, each.name): each for each in one.settings if each.value}
    if (local := given.get("local_clientid")) is not None:
        return local.value, local.where
    remote = given.get("remote_clientid")
    return (f"local.{remote.value}", remote.where) if remote is not None else None
