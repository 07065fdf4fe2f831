"""Clients of failing brokers (Jia 2014, 5.1), one failure at a time, with the rules 5-1 to 5-3.

`down` is the broker that has failed, 0 for none; `pub_i` and `sub_i` say where the publishers and
subscribers of broker i are, one step later, 0 for nowhere.
"""

from collections.abc import Iterator

from ropewalk.federation.facts import Federation
from ropewalk.verify.reconfiguration import lonely
from ropewalk.verify.takeover import homes_of


def clients_model(federation: Federation) -> str:
    """The model of who takes over whom, with its specifications."""
    names = tuple(federation.brokers)
    homes = homes_of(federation)
    takers = {
        "pub": [one[0] + 1 if one else 0 for one in homes.publishers],
        "sub": [one[0] + 1 if one else 0 for one in homes.subscribers],
    }
    return "\n".join((*_model(federation.name, names, takers), *_specs(federation, takers), ""))


def _model(name: str, names: tuple[str, ...], takers: dict[str, list[int]]) -> Iterator[str]:
    yield f"-- {name}: clients of failing brokers"
    yield from (f"--   broker {i} is {one}" for i, one in enumerate(names, start=1))
    yield "MODULE main"
    yield "VAR"
    yield f"  down : 0..{len(names)};"
    yield from (f"  {v}_{i} : 0..{len(names)};" for i in range(1, len(names) + 1) for v in takers)
    yield "ASSIGN"
    yield "  init(down) := 0;"
    for i in range(1, len(names) + 1):
        for variable, taker in takers.items():
            yield f"  init({variable}_{i}) := {i};"
            yield f"  next({variable}_{i}) := case down = {i} : {taker[i - 1]}; TRUE : {i}; esac;"


def _specs(federation: Federation, takers: dict[str, list[int]]) -> Iterator[str]:
    for i, (pub, sub) in enumerate(zip(takers["pub"], takers["sub"], strict=True), start=1):
        yield f"LTLSPEC G (down = {i} -> X (pub_{i} = {pub} & sub_{i} = {sub}))"
        home = f"X (pub_{i} = {i} & sub_{i} = {i})"
        yield f"LTLSPEC G ((Y down = {i}) & down != {i} -> {home})"
    yield "-- every publisher has a subscriber and every subscriber a publisher"
    lone = {one.witness["topic"] for one in lonely(federation) if isinstance(one.witness, dict)}
    for topic, facts in federation.topics.items():
        sides = [bool(one) or topic not in lone for one in (facts.publishers, facts.subscribers)]
        yield f"INVARSPEC {' <-> '.join(str(one).upper() for one in sides)} -- {topic}"
