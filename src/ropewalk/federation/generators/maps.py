"""Real maps: any topology of the topohub collection, by name."""

import json
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Broker, Federation, Link
from ropewalk.federation.places import FIBRE_MS_PER_KM, distance_km
from ropewalk.federation.sense.fault import did_you_mean


def topohub_map(
    map: Annotated[str, "the map's name, such as sndlib/germany50 or topozoo/Abilene"],
) -> Federation:
    """A map of the topohub collection: a broker per node, a link per edge."""
    topology = _topology(map)
    names = _names(topology["nodes"])
    globe = _on_globe(topology)
    brokers = {names[node["id"]]: _broker(node["pos"], globe=globe) for node in topology["nodes"]}
    return Federation(name=map.replace("/", "-"), brokers=brokers, links=_links(topology, names))


def map_names() -> list[str]:
    """The names of all maps, sorted."""

    def below(folder: Any, prefix: str) -> list[str]:
        found = []
        for entry in folder.iterdir():
            if entry.is_dir():
                found += below(entry, f"{prefix}{entry.name}/")
            elif entry.name.endswith(".json"):
                found.append(prefix + entry.name.removesuffix(".json"))
        return found

    return sorted(below(_data(), ""))


def _topology(name: str) -> dict[str, Any]:
    known = map_names()
    if name not in known:
        hint = (
            did_you_mean(name, known)
            or "names look like sndlib/germany50, topozoo/Abilene, backbone/europe"
        )
        raise UsageError(f"topohub has no map {name!r}: {hint}")
    # Not by topohub.get, which leaves the file open.
    topology: dict[str, Any] = json.loads(_data().joinpath(f"{name}.json").read_text("utf-8"))
    return topology


def _data() -> Traversable:
    return resources.files("topohub") / "data"


def _names(nodes: list[dict[str, Any]]) -> dict[int, str]:
    """A proper and unique name per node: the map's own where it has one."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for node in nodes:
        own = str(node.get("name") or "")
        kept = "-".join("".join(c if c.isalnum() else " " for c in own).split()) or f"n{node['id']}"
        names[node["id"]] = kept if kept not in taken else f"{kept}-{node['id']}"
        taken.add(names[node["id"]])
    return names


def _on_globe(topology: dict[str, Any]) -> bool:
    """Positions are degrees if the edges' lengths follow from them; some maps lie in a plane."""
    place = {node["id"]: (node["pos"][1], node["pos"][0]) for node in topology["nodes"]}
    if not all(abs(lat) <= 90 and abs(lon) <= 180 for lat, lon in place.values()):
        return False
    edges = [edge for edge in topology["edges"] if edge.get("dist")]
    if not edges:
        return True
    a = np.array([place[edge["source"]] for edge in edges], dtype=np.float64)
    b = np.array([place[edge["target"]] for edge in edges], dtype=np.float64)
    stated = np.array([edge["dist"] for edge in edges], dtype=np.float64)
    return bool(np.median(np.abs(distance_km(a, b, globe=True) / stated - 1)) < 0.05)


def _broker(pos: list[float], *, globe: bool) -> Broker:
    x, y = float(pos[0]), float(pos[1])
    return Broker(at=(y, x)) if globe else Broker(xy=(x, y))


def _links(topology: dict[str, Any], names: dict[int, str]) -> tuple[Link, ...]:
    """A link per joined pair; the shortest of parallel edges, none from a node to itself."""
    shortest: dict[tuple[int, int], float] = {}
    for edge in topology["edges"]:
        pair = (min(edge["source"], edge["target"]), max(edge["source"], edge["target"]))
        if pair[0] != pair[1]:
            shortest[pair] = min(shortest.get(pair, np.inf), float(edge.get("dist") or 0.0))
    return tuple(
        Link(between=(names[a], names[b]), latency_ms=round(km * FIBRE_MS_PER_KM, 4))
        for (a, b), km in shortest.items()
    )
