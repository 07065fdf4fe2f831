"""Layouts of what was routed: tables of every failure, and paths that lie apart."""

from collections.abc import Mapping
from typing import Any

from ropewalk.report.filed.blocks import Block, Entries, Figure, Figures, Section, Status, table
from ropewalk.report.filed.facts import Ran
from ropewalk.report.filed.judged import made
from ropewalk.report.filed.words import count, figure, ms
from ropewalk.report.verification import plural


def routed(ran: Ran, status: Status) -> Section:
    """`route`: how large the tables are that hold every failure ahead of it."""
    one = ran.summary
    figures = (
        Figure("colours", count(one["colours"]), f"failures: {', '.join(one['failures'])}"),
        Figure("entries that change", count(one["entries"])),
        Figure("entries in whole tables", count(one["entries_uncondensed"]), "what they stand for"),
        Figure("bytes per broker", count(one["bytes_per_broker_mean"]), "on average"),
        Figure("bytes at most", count(one["bytes_per_broker_max"])),
    )
    says = (
        f"Tables for {plural(one['colours'], 'colour')} of {plural(one['brokers'], 'broker')} are"
        " computed ahead of every failure."
    )
    glance = (Figure("failures computed ahead", count(one["colours"])),)
    return made(ran, status, "routed", says, [Figures(figures)], glance=glance)


def paths(ran: Ran, status: Status) -> Section:
    """`paths`: the primary and alternate of each pair, and what disasters leave of them."""
    one = ran.summary
    rows = [cells for pair in one["paths"] for cells in _ways(pair)]
    figures = [Figure("pairs", count(one["pairs"]))]
    if one.get("radius_km") is not None:
        figures.append(Figure("radius of a disaster", f"{one['radius_km']:g} km"))
    figures.append(Figure("regions tried", count(one["regions"])))
    blocks: list[Block] = [
        Figures(tuple(figures)),
        table("Paths that lie apart", ("pair", "way", "delay", "hops"), rows, words=(0, 1)),
        table(
            "What regions cut",
            ("pair", "primary alone", "both, though a way round is left"),
            [_pair(pair) for pair in one["paths"]],
        ),
    ]
    if one.get("notes"):
        blocks.append(Entries("Notes", tuple((f"{i}.", n) for i, n in enumerate(one["notes"], 1))))
    captured = one.get("captured")
    says = "No region cuts what could be saved."
    glance: tuple[Figure, ...] = ()
    if captured is not None:
        says = f"Of all losses by regions that could be avoided {captured:.1%} are."
        glance = (Figure("avoidable losses avoided", f"{captured:.1%}", "by alternate paths"),)
    unchecked = []
    if one.get("without_place"):
        unchecked.append(
            f"{plural(one['without_place'], 'node')} without a place: no region hits it"
        )
    if one["pairs_in_all"] > one["pairs"]:
        unchecked.append(f"{one['pairs_in_all'] - one['pairs']:,} more pairs were not asked for")
    unchecked += [f"no path: {name}" for name in one["without_path"]]
    return made(ran, status, "routed", says, blocks, unchecked=tuple(unchecked), glance=glance)


def _ways(pair: Mapping[str, Any]) -> list[tuple[str, ...]]:
    name = f"{pair['from']} - {pair['to']}"
    every = [("primary", pair["primary"])]
    every += [("alternate", one) for one in pair["alternates"]]
    return [
        (f"{name}, {kind}", " > ".join(one["path"]), ms(one["delay_ms"]), count(one["hops"]))
        for kind, one in every
    ]


def _pair(pair: Mapping[str, Any]) -> tuple[str, ...]:
    avoidable = pair.get("avoidable_by_primary"), pair.get("avoidable")
    return (f"{pair['from']} - {pair['to']}", *map(figure, avoidable))
