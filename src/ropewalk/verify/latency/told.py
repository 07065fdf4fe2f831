"""Pairs that miss what they owe, in words, with the hop that costs most.

That is the hop without which most messages more would be in time: if it took no time and lost
nothing. Where no single one would help, it is the one with the longest mean.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ropewalk.federation.names import link_name
from ropewalk.findings import Finding, Where
from ropewalk.verify.latency.times import NS
from ropewalk.verify.latency.ways import Brokers, alone, hops

if TYPE_CHECKING:
    from ropewalk.verify.latency.result import Latency

MOST = 200
"""Pairs that are told one by one; all of them are counted."""
DIGITS = 6


def findings_of(found: "Latency") -> Iterator[Finding]:
    """B001, B002 and B003, the pairs that miss by most first."""
    kinds = (("B001", found.missed), ("B002", found.missed_over), ("B003", found.undecided))
    for code, rows in kinds:
        wanted = np.flatnonzero(rows).tolist()
        short = [found.asks.wanted[row] - _bounds(found, row, code)[1] for row in wanted]
        for i in np.argsort(-np.array(short), kind="stable")[:MOST]:
            yield _finding(found, wanted[i], code)


def _bounds(found: "Latency", row: int, code: str) -> tuple[float, float]:
    over = found.over.get(row)
    low, high = found.bounds[row].tolist()
    decided = low >= found.asks.wanted[row]
    return (over.low, over.high) if over and (code == "B002" or decided) else (low, high)


def _finding(found: "Latency", row: int, code: str) -> Finding:
    asks, names = found.asks, found.check.graph.names
    source, to = names[asks.source[row]], names[asks.to[row]]
    low, high = _bounds(found, row, code)
    over = found.over.get(row)
    paths = found.failing.way(
        int(asks.source[row]), int(asks.to[row]), asks.second_of(row), frozenset()
    ).paths
    steps = list(steps_of(found, row, paths[0])) if paths else []
    what = f"{_topic(found, row)}from {source} to {to}"
    said = f"within {asks.within_ns[row] / NS:g} ms with probability {between(low, high)}"
    goal = f"{asks.wanted[row]:g} is wanted"
    parts = [f"{what} arrives {said}" + (" over failures" if code == "B002" else "") + f"; {goal}"]
    if not paths:
        parts = [f"{what} never arrives: no path leads there; {goal}"]
    else:
        parts += [" and ".join(" > ".join(names[b] for b in path) for path in paths)]
    if code == "B002" and over and over.blame:
        name, cost = over.blame[0]
        parts.append(f"most is lost when {name} is down ({cost:.2g})")
    elif steps:
        parts.append(f"most is spent {_step_words(worst_of(steps))}")
    witness: dict[str, Any] = {
        "from": source,
        "to": to,
        "topics": [list(found.check.federation.topics)[t] for t in asks.topics[row]],
        "within_ms": float(asks.within_ns[row] / NS),
        "wanted": float(asks.wanted[row]),
        "probability": found.bounds[row].tolist(),
        "paths": [[names[b] for b in path] for path in paths],
        "hops": steps,
        "worst_hop": worst_of(steps)["hop"] if steps else None,
        "slot_ms": float(found.slot_ns[row] / NS),
    }
    if over is not None:
        witness["over_failures"] = {
            "probability": [over.low, over.high],
            "not_looked_at": over.rest,
            "cases": over.cases,
            "worst_parts": [{"part": name, "costs": cost} for name, cost in over.blame[:5]],
        }
    severity = "warning" if code == "B003" else "error"
    return Finding(code, "; ".join(parts), _where(found, row), severity, witness)  # type: ignore[arg-type]


def _topic(found: "Latency", row: int) -> str:
    topics, names = found.asks.topics[row], list(found.check.federation.topics)
    if not topics:
        return "a message "
    more = f" (and {len(topics) - 1} more)" if len(topics) > 1 else ""
    return f"{names[topics[0]]}{more} "


def _where(found: "Latency", row: int) -> Where:
    source, topics = found.check.federation.source, found.asks.topics[row]
    return source.where("topics", topics[0]) if topics else Where(source.file)


def steps_of(found: "Latency", row: int, path: Brokers) -> Iterator[dict[str, Any]]:
    """The publisher's broker and each hop: its mean, and what would be gained without it."""
    model, graph = found.model(row), found.check.graph
    times = [model.start[path[0]], *hops(model, path)]
    titles = [f"at {graph.names[path[0]]}"]
    titles += [link_name(graph.names[a], graph.names[b]) for a, b in pairwise(path)]
    now = alone(model, times)[0]
    for i, (title, one) in enumerate(zip(titles, times, strict=True)):
        without = alone(model, [*times[:i], *times[i + 1 :]])[0]
        mean = round(one.mean_ms(model.grid), DIGITS)
        yield {"hop": title, "mean_ms": mean, "gain": round(max(without - now, 0.0), 12)}


def worst_of(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The step that costs most; the first of equals."""
    return max(steps, key=lambda one: (one["gain"], one["mean_ms"]))


def _step_words(step: dict[str, Any]) -> str:
    where = step["hop"] if step["hop"].startswith("at ") else f"on {step['hop']}"
    return f"{where} (mean {step['mean_ms']:.4g} ms)"


def between(low: float, high: float) -> str:
    """Bounds in words: one number where they agree to what is shown.

    >>> between(0.5, 0.5), between(0.98, 0.99)
    ('0.5', '0.98 to 0.99')
    """
    texts = [f"{one:.{DIGITS}g}" for one in (low, high)]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def summary_of(found: "Latency") -> dict[str, Any]:
    """Counts, the worst pair and hop, and how far bounds lie apart."""
    asks, names = found.asks, found.check.graph.names
    summary: dict[str, Any] = {
        "pairs": len(asks),
        "over_bridges": found.bridged,
        "missed": int(found.missed.sum()),
        "missed_with_failures": int(found.missed_over.sum()),
        "undecided": int(found.undecided.sum()),
        "failures_counted": found.with_failures,
        "parts_that_fail": len(found.failing.parts),
        "not_looked_at": max((one.rest for one in found.over.values()), default=0.0),
        "worst": None,
        "worst_hop": None,
        "slot_ms": float(found.slot_ns.max() / NS) if len(asks) else None,
        "finest_slot_ms": float(found.slot_ns.min() / NS) if len(asks) else None,
        "error": float((found.bounds[:, 1] - found.bounds[:, 0]).max()) if len(asks) else 0.0,
        "overloaded": [names[b] for b in np.flatnonzero(found.load.utilisation >= 1)],
    }
    if len(asks):
        row = int(np.argmin(found.bounds[:, 0] - asks.wanted))
        over = found.over.get(row)
        summary["worst"] = {
            "from": names[asks.source[row]],
            "to": names[asks.to[row]],
            "within_ms": float(asks.within_ns[row] / NS),
            "wanted": float(asks.wanted[row]),
            "probability": found.bounds[row].tolist(),
            "with_failures": None if over is None else [over.low, over.high],
        }
        summary["worst_hop"] = _worst_hop(found)
    return summary


def _worst_hop(found: "Latency") -> str | None:
    """The hop that most of the findings name."""
    named = Counter(
        one.witness["worst_hop"]  # type: ignore[index]
        for one in found.findings
        if one.code == "B001" and one.witness["worst_hop"]  # type: ignore[index]
    )
    return named.most_common(1)[0][0] if named else None
