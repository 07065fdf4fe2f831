"""What bridges keep of a promise: S15 where they may double, S18 where they lose.

A bridge is no agent: nobody behind it drops what has come before, unless consumers do
(`idempotent`), and nobody before it keeps what it did not carry. Ways that lead to copies with
nothing failed are V012 and V013.
"""

from collections.abc import Iterator

from ropewalk.findings import Finding
from ropewalk.verify.contracts.makes import DOUBLES, EXACT, LOSES, ends_at_rabbitmq, grade
from ropewalk.verify.contracts.promised import Promised, Served, some
from ropewalk.verify.flood import SOURCE
from ropewalk.verify.floods import Floods

ASKED = {"at-most-once": (DOUBLES,), "at-least-once": (LOSES,), "exactly-once": (LOSES, DOUBLES)}
"""Grades of bridges that a promise does not stand."""


def weak_bridges(promised: Promised) -> Iterator[Finding]:
    """A finding for each bridge and each thing that it does to promises of topics over it."""
    found: dict[tuple[int, int], list[Served]] = {}
    if not promised.federation.bridges:
        return
    floods = Floods(promised.federation)
    for served in promised.by_bridges:
        bad = set(ASKED.get(served.contract.delivery, ()))
        bad -= {DOUBLES} if served.contract.idempotent else set()
        for bridge in sorted(_crossed(floods, served)) if bad else ():
            what = grade(promised.federation, promised.federation.bridges[bridge])
            if what in bad:
                found.setdefault((bridge, what), []).append(served)
    for (bridge, what), topics in sorted(found.items()):
        yield _weak(promised, bridge, what, topics)


def _crossed(floods: Floods, served: Served) -> set[int]:
    """The bridges on the ways of a topic's messages to their readers."""
    used: set[int] = set()
    for source, to in served.pairs:
        for name in floods.owed(served.name, to):
            flood = floods.of(source, name)
            for place in flood.came_from if not flood.loop else ():
                if place.broker == to:
                    used |= {one.bridge for one in flood.way(place)}
    return used - {SOURCE}


def _weak(promised: Promised, number: int, what: int, topics: list[Served]) -> Finding:
    federation = promised.federation
    bridge, make = federation.bridges[number], promised.make(federation.bridges[number].from_)
    rabbit = ends_at_rabbitmq(federation, bridge)
    strict = any(one.contract.delivery != "at-least-once" for one in topics)
    names = [one.name for one in topics]
    promises: list[str] = sorted({one.contract.delivery for one in topics})
    said = f"the bridge from {bridge.from_} to {bridge.to} ({_kind(make, bridge.qos, rabbit)})"
    if what == LOSES:
        does = "loses what is on its way when its connection breaks"
    else:
        does = "sends again what was not confirmed, and nobody behind it knows a double"
    told = f"{said} {does}, and {some(names)} promise{'s' * (len(names) == 1)} {some(promises)}"
    return Finding(
        "S18" if what == LOSES else "S15",
        f"{told}: {_advice(make, promises, rabbit)}",
        federation.where("bridges", number),
        "error" if strict else "warning",
        {"bridge": number + 1, "make": make, "qos": bridge.qos, "topics": names[:20]},
    )


def _kind(make: str, qos: int, rabbit: bool) -> str:
    if make != "mosquitto":
        return make
    return f"qos {qos}, of which RabbitMQ makes 1" if rabbit and qos == EXACT else f"qos {qos}"


def _advice(make: str, promises: list[str], rabbit: bool) -> str:
    """What of the bridge would help: at RabbitMQ there is no QoS 2."""
    wanted = {"at-least-once": "1 or 2", "at-most-once": "0 or 2"}
    if rabbit:
        wanted = {"at-least-once": "1", "at-most-once": "0", "exactly-once": ""}
    single = promises[0] if len(promises) == 1 else "exactly-once"
    qos = wanted.get(single, str(EXACT)) if make == "mosquitto" else ""
    return f"{f'set qos: {qos}' if qos else 'let links carry it'}, or promise less"
