"""`network.json`: what all tables of a folder have in common, for programs in any language."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ropewalk.errors import InputError, UsageError
from ropewalk.federation.arrays import Graph, adjacency
from ropewalk.federation.names import is_name, link_name
from ropewalk.findings import Finding, Where
from ropewalk.routing.ahead.colours import Colours
from ropewalk.routing.ahead.network import MOST_AT_ONCE, Ahead, Network
from ropewalk.routing.scenarios import KINDS

NETWORK = "network.json"
FORMAT = "ropewalk tables 1"


def described(network: Network) -> dict[str, Any]:
    """The graph, the failures ahead, and the fingerprint of both."""
    graph, ahead = network.graph, network.ahead
    return {
        "format": FORMAT,
        "print": network.fingerprint.hex(),
        "failures": ahead.texts(),
        "ahead": {kind: getattr(ahead, kind) for kind in KINDS},
        "chosen": [[list(things), name] for things, name in ahead.chosen.items()],
        "brokers": list(graph.names),
        "transit": graph.transit.astype(int).tolist(),
        "links": np.column_stack((graph.ends, graph.cost)).tolist(),
    }


def is_described(path: Path) -> bool:
    """Whether a file is the description of some tables, of whatever version."""
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(told, dict) and str(told.get("format")).startswith("ropewalk tables")


def read_network(folder: str | Path) -> Network:
    """What all tables of a folder have in common; InputError if it is not whole."""
    path = Path(folder) / NETWORK
    if not path.is_file():
        told = f"`ropewalk route FILE -o {folder}` writes them"
        raise UsageError(f"{folder}: there are no tables: {told}")
    try:
        told = json.loads(path.read_text("utf-8"))
        if told.get("format") != FORMAT:
            raise InputError([not_whole(path, f"it is no {FORMAT!r}")])
        network = _network(told)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError([not_whole(path, "it cannot be understood")]) from None
    if network.fingerprint.hex() != told["print"]:
        raise InputError([not_whole(path, "it was changed after it was written")])
    return network


def not_whole(path: Path, why: str) -> Finding:
    """A file of stored tables that cannot be used."""
    return Finding("T005", f"{why}: let `ropewalk route` write it again", Where(str(path)))


def _network(told: dict[str, Any]) -> Network:
    names = tuple(told["brokers"])
    rows = np.array(told["links"], np.int64).reshape(-1, 3)
    ends, cost = rows[:, :2].astype(np.int32), rows[:, 2].astype(np.int32)
    transit = np.array(told["transit"], np.bool_)
    _refuse(not all(isinstance(name, str) and is_name(name) for name in names))
    _refuse(len(set(names)) < len(names) or len(transit) != len(names))
    _refuse(bool((ends != rows[:, :2]).any() or (cost != rows[:, 2]).any() or (cost < 1).any()))
    _refuse(bool(((ends < 0) | (ends >= len(names))).any() or (ends[:, 0] == ends[:, 1]).any()))
    first, neighbour, link = adjacency(ends, len(names))
    unknown = np.zeros(len(ends))
    graph = Graph(
        names=names,
        ends=ends,
        cost=cost,
        latency_ms=unknown,
        loss=unknown,
        first=first,
        neighbour=neighbour,
        link=link,
        domain=np.arange(len(names), dtype=np.int32),
        transit=transit,
    )
    colours = Colours(names, [link_name(names[a], names[b]) for a, b in ends.tolist()], ends)
    return Network(graph, colours, _ahead(told, colours))


def _ahead(told: dict[str, Any], colours: Colours) -> Ahead:
    counts = {kind: told["ahead"][kind] for kind in KINDS}
    _refuse(any(count not in range(MOST_AT_ONCE + 1) for count in counts.values()))
    chosen = {tuple(map(int, things)): str(name) for things, name in told["chosen"]}
    for things in chosen:
        _refuse(not things or tuple(sorted(set(things))) != things)
        _refuse(things[0] < 0 or things[-1] >= colours.things)
    return Ahead(**counts, chosen=chosen)


def _refuse(wrong: bool) -> None:
    if wrong:
        raise ValueError("not what was written")
