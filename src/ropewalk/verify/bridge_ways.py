"""How findings tell of the ways that messages take through bridges, and what is to be played."""

from collections.abc import Iterable, Sequence
from typing import Any

from ropewalk.verify.flood import SOURCE, Flood, Place
from ropewalk.verify.floods import Floods


def over(floods: Floods, way: Iterable[Place]) -> str:
    """The bridges that a way crosses and where these are written, if they have names."""
    named = [one for one in crossed(floods, way) if one["name"] and one["where"]]
    return "".join(f"; {one['kind']} {one['name']} at {one['where']}" for one in named)


def crossed(floods: Floods, way: Iterable[Place]) -> list[dict[str, Any]]:
    """The bridges that a way crosses, each once."""
    federation = floods.federation
    numbers = dict.fromkeys(one.bridge for one in way if one.bridge != SOURCE)
    return [
        {
            "from": federation.bridges[i].from_,
            "to": federation.bridges[i].to,
            "kind": federation.bridges[i].kind,
            "name": federation.bridges[i].name,
            "where": str(federation.where("bridges", i)),
        }
        for i in numbers
    ]


def replay_of(
    floods: Floods, claim: str, found: Flood, to: str, names: Sequence[str] = ()
) -> dict[str, Any]:
    """What has to be played on real brokers to see it: a message, and how many copies of it where.

    Of what is told of a connection at another of its addresses nothing is played: it cannot be had
    on demand.
    """
    start = next(iter(found.came_from))
    return {
        "claim": claim,
        "broker": start.broker,
        "topic": start.name,
        "down": sorted(floods.down),
        "to": to,
        "names": list(names) or sorted(name for at, name in found.copies if at == to),
        "connected": bool(floods.connected),
        "near": sorted(found.met),
        "copies": [[*place, count] for place, count in sorted(found.copies.items())],
    }


def shown(way: list[Place]) -> str:
    """The places of a way."""
    return " > ".join(place_words(one) for one in way)


def place_words(place: Place) -> str:
    """A broker, and what a message is called there."""
    return f"{place.broker} ({place.name})"
