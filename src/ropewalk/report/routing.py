"""Tables computed ahead, for a terminal 80 columns wide and as JSON."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ropewalk.report.verification import plural
from ropewalk.routing.ahead import Network, Tables
from ropewalk.routing.ahead.colours import Things
from ropewalk.routing.ahead.views import condensed_entries, failure_table, super_table

WIDTH, SHOWN = 80, 200
"""A text shows at most so many columns and rows; the JSON document has it all."""


def tables_summary(tables: Tables) -> dict[str, Any]:
    """Sizes of tables, per broker and in all."""
    graph, ahead = tables.network.graph, tables.network.ahead
    sizes = [one.nbytes() for one in tables.brokers] or [0]
    colours = _colours_ahead(tables.network)
    return {
        "brokers": graph.brokers,
        "links": graph.links,
        "failures": ahead.texts(),
        "colours": colours,
        "entries": tables.entries(),
        "entries_uncondensed": colours * graph.brokers * max(graph.brokers - 1, 0),
        "condensed_per_broker_mean": _mean([condensed_entries(one) for one in tables.brokers]),
        "bytes_per_broker_mean": _mean(sizes),
        "bytes_per_broker_max": max(sizes),
    }


def _mean(values: Sequence[int]) -> float:
    return round(float(np.mean(values)), 1) if values else 0.0


def _colours_ahead(network: Network) -> int:
    """How many colours have tables; a broker and its own link are no pair."""
    graph, kinds = network.graph, network.ahead.kinds()
    links, brokers = graph.links, graph.brokers
    counts = [links, brokers, links * (links - 1) // 2, brokers * (brokers - 1) // 2]
    counts.append(links * (brokers - 2))
    some = sum(count for count, wanted in zip(counts, kinds, strict=True) if wanted)
    return 1 + some + len(network.ahead.chosen)


def tables_text(summary: dict[str, Any]) -> str:
    """The sizes in words."""
    s = summary
    lines = [
        f"{plural(s['brokers'], 'broker')}, {plural(s['links'], 'link')};"
        f" failures: {', '.join(s['failures'])}",
        f"{plural(s['colours'], 'colour')}: {s['entries']:,} entries change, of"
        f" {s['entries_uncondensed']:,} in all tables",
        f"bytes per broker: {s['bytes_per_broker_mean']:,.0f} on average, at most"
        f" {s['bytes_per_broker_max']:,}",
    ]
    if s.get("hand_made_routes"):
        lines.append(_laid_over(s["hand_made_routes"]))
    if "seconds" in s:
        lines.append(f"Wrote {s['folder']}." if s["folder"] else "Nothing is written: add -o DIR.")
    return "\n".join(map(_cut, lines))


def _laid_over(routes: int) -> str:
    are = "hand-made route is" if routes == 1 else "hand-made routes are"
    return f"{routes} {are} laid over these tables"


def row_view(tables: Tables, failure: str) -> tuple[dict[str, Any], str]:
    """One broker's next hops in a colour, and what it changes."""
    table, colours, names = tables.brokers[0], tables.colours, tables.network.graph.names
    things = colours.things_of(failure)
    row, base = tables.row_of(table, things), table.base_row
    hops = {names[to]: _name(names, hop) for to, hop in enumerate(row.tolist()) if to != table.at}
    changed = {
        names[to]: _name(names, int(base[to]))
        for to in np.flatnonzero(row != base).tolist()
        if to != table.at
    }
    number, words = colours.number(things), colours.words(things)
    summary = {
        "broker": names[table.at],
        "colour": number,
        "failure": words,
        "next": hops,
        "changed": changed,
    }
    count = f"{len(changed)} {'entry' if len(changed) == 1 else 'entries'} changed"
    title = f"{names[table.at]}, colour {number} ({words}): {count}"
    rows = [
        (to, hop or "-", f"was {changed[to]}" if to in changed else "") for to, hop in hops.items()
    ]
    return summary, "\n".join([_cut(title), *_aligned(("to", "next", ""), rows)])


def super_view(tables: Tables, *, array: bool) -> tuple[dict[str, Any], str]:
    """The condensed table of one broker's single failures, or the array of addresses in it."""
    table, colours, names = tables.brokers[0], tables.colours, tables.network.graph.names
    found = super_table(table, colours, singles_ahead(tables.network))
    summary: dict[str, Any] = {
        "broker": names[table.at],
        "entries": [
            {
                "address": one.address,
                "to": names[one.to],
                "next": names[one.next],
                "colours": list(one.colours),
            }
            for one in found.entries
        ],
        "most_entries_by_6_1": found.bound(len(table.neighbours)),
        "uncondensed": found.uncondensed(),
    }
    title = (
        f"{names[table.at]}: {len(found.entries)} entries, at most"
        f" {summary['most_entries_by_6_1']} by (6-1), {found.uncondensed():,} uncondensed"
    )
    if array:
        summary["colours"] = list(found.colours)
        summary["array"] = {names[to]: row for to, row in enumerate(found.array.tolist())}
        cells = [(name, *map(str, row)) for name, row in summary["array"].items()]
        return summary, "\n".join([_cut(title), *_aligned(("to", *map(str, found.colours)), cells)])
    rows = [
        (str(one.address), names[one.to], names[one.next], _runs(one.colours))
        for one in found.entries
    ]
    return summary, "\n".join([_cut(title), *_aligned(("address", "to", "next", "colours"), rows)])


def colours_view(network: Network) -> tuple[dict[str, Any], str]:
    """Numbers and failures: single ones, and chosen sets."""
    table = failure_table(network.colours, [*singles_ahead(network), *network.ahead.chosen])
    titles = {network.colours.number(one): name for one, name in network.ahead.chosen.items()}
    rows = [(str(number), words, titles.get(number, "")) for number, words in table]
    summary = {
        "failures": network.ahead.texts(),
        "colours": [{"colour": number, "failure": words} for number, words in table],
    }
    return summary, "\n".join(_aligned(("colour", "failure", "name"), rows))


def singles_ahead(network: Network) -> list[Things]:
    """Nothing, and every single thing that tables were made for."""
    links, things = network.colours.links, network.colours.things
    by_kind = network.ahead.kinds()
    return [(), *((one,) for one in range(things) if by_kind[0 if one < links else 1])]


def _name(names: Sequence[str], hop: int) -> str | None:
    return names[hop] if hop >= 0 else None


def _runs(numbers: Iterable[int]) -> str:
    """Ascending numbers, runs of them as `3-7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."


def _aligned(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns under their heads; a line that is too long for a terminal is cut."""
    shown = [head, *rows[:SHOWN]]
    widths = [max(len(row[i]) for row in shown) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    cut = [_cut(line) for line in lines]
    return [
        *cut,
        *([f"... and {len(rows) - SHOWN} more (--json has them all)"] if len(rows) > SHOWN else []),
    ]
