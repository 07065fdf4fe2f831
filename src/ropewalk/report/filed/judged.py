"""Layouts of what verbs have decided: verifications, differences, protocols and populations."""

from collections.abc import Iterator, Mapping
from shlex import join
from typing import Any

from ropewalk.report.filed.blocks import (
    Block,
    Cell,
    Chapter,
    Entries,
    Figure,
    Figures,
    Lines,
    Section,
    Status,
    Told,
    table,
)
from ropewalk.report.filed.facts import Ran
from ropewalk.report.filed.plainly import plain_blocks
from ropewalk.report.filed.proved import unchecked_of, verdict, verification_blocks
from ropewalk.report.filed.words import count, figure
from ropewalk.report.protocol import TRANSPORTS, VERDICTS
from ropewalk.report.verification import FATES, plural

_SAYS = {True: "yes", False: "no", None: "not known"}


def made(
    ran: Ran,
    status: Status,
    chapter: Chapter,
    says: str,
    blocks: list[Block],
    *,
    title: str = "",
    unchecked: tuple[str, ...] = (),
    glance: tuple[Figure, ...] = (),
) -> Section:
    """A section of a document, with all that it says besides."""
    if ran.findings and not any(isinstance(one, Told) for one in blocks):
        blocks = [*blocks, Told(ran.findings)]
    return Section(
        chapter,
        title or f"ropewalk {ran.command}",
        status,
        says,
        tuple(blocks),
        unchecked,
        ran.findings,
        glance,
        ran.summary,
        ran.file,
        join(ran.argv) if ran.argv else "",
    )


def verification(ran: Ran, status: Status) -> Section:
    """`verify`: fates, the worst failures, repairs, latencies."""
    summary = ran.summary
    if "pairs" not in summary:
        return _properties(ran, status)
    figures = [Figure("pairs", count(summary["pairs"]))]
    figures.append(Figure("scenarios", count(summary["scenarios"])))
    for key, words in FATES:
        if summary[key] or key == "delivered":
            label, _, note = words.partition(": ")
            figures.append(Figure(label, count(summary[key]), note))
    blocks: list[Block] = [Figures(tuple(figures)), *_repairs(summary)]
    if latency := summary.get("latency"):
        blocks.append(_latency(latency))
    blocks += verification_blocks(summary, ran.findings)
    says = verdict(summary, ran.findings, status)
    name = f"ropewalk verify: {summary['federation']}"
    return made(
        ran,
        status,
        "proved",
        says[0].upper() + says[1:],
        blocks,
        title=name,
        unchecked=tuple(unchecked_of(summary)),
    )


def _properties(ran: Ran, status: Status) -> Section:
    says = {"ok": "Every property holds.", "findings": "A property does not hold."}
    told = says.get(status, "Not every property could be decided.")
    return made(ran, status, "proved", told, [*plain_blocks(ran.summary)])


def _repairs(summary: Mapping[str, Any]) -> Iterator[Block]:
    if repairs := summary.get("repairs"):
        mended = "no bad case is left" if summary.get("repaired") else "not all is mended"
        entries = [(f"{i}.", one) for i, one in enumerate(repairs, 1)]
        yield Entries(f"Repairs; verified with them: {mended}", tuple(entries))


def _latency(one: Mapping[str, Any]) -> Block:
    figures = [
        Figure("pairs with a promised time", count(one["pairs"])),
        Figure("missed, nothing failed", count(one["missed"]), "", _bad(one["missed"])),
        Figure(
            "missed over failures",
            count(one["missed_with_failures"]),
            "",
            _bad(one["missed_with_failures"]),
        ),
        Figure("undecided", count(one["undecided"]), "", "warn" if one["undecided"] else ""),
    ]
    return Figures(tuple(figures))


def _bad(value: Any) -> Any:
    return "bad" if value else "good"


def difference(ran: Ran, status: Status) -> Section:
    """`diff`: what a change loses, gains and changes."""
    one = ran.summary
    rows = [
        ("lost", count(one["lost_pairs"]), count(one["lost_cases"])),
        ("gained", count(one["gained_pairs"]), count(one["gained_cases"])),
        ("another way", count(one["changed_pairs"]), count(one["changed_cases"])),
    ]
    says = f"{count(one['pairs_dropped'])} pairs are gone, {count(one['pairs_added'])} are new."
    blocks: list[Block] = [table("What changes", ("", "pairs", "cases"), rows)]
    return made(ran, status, "proved", says, blocks)


def protocol(ran: Ran, status: Status) -> Section:
    """`protocol check`: can peers keep to it, over which transport."""
    one = ran.summary
    rows: list[tuple[str | Cell, ...]] = [
        (words, *(_answer(one[transport][key]) for key in ("safe", "live")))
        for transport, words in TRANSPORTS.items()
    ]
    blocks: list[Block] = [
        table("Over which channels", ("transport", "safe", "live"), rows, words=(0, 1, 2))
    ]
    sizes = f"{plural(one['states'], 'state')}, roles {', '.join(one['roles'])}"
    words = VERDICTS.get(one["verdict"], f"Unknown: explored up to {one['bound']} only.")
    unchecked = (
        () if one["exact"] else (f"beyond {one['bound']} messages on the way: not explored",)
    )
    title = f"Protocol {one['protocol']}"
    says = f"{words} ({sizes})"
    return made(ran, status, "proved", says, blocks, title=title, unchecked=unchecked)


def _answer(value: bool | None) -> Cell:
    return Cell(_SAYS[value], "warn" if value is None else "" if value else "bad")


def population(ran: Ran, status: Status) -> Section:
    """`population check`: any number of clients, and the run that goes wrong."""
    patterns = ran.summary["patterns"]
    rows = [
        (
            one["pattern"] or one["file"],
            _decided(one["verdict"]),
            one["method"],
            figure(one.get("clients")),
            one["evidence"] or "the run below",
        )
        for one in patterns
    ]
    head = ("what must not be", "verdict", "method", "clients", "evidence")
    blocks: list[Block] = [table("Any number of clients", head, rows, words=(0, 1, 2, 4))]
    for one in ran.findings:
        witness = one.witness
        if isinstance(witness, Mapping) and witness.get("lines"):
            blocks.append(Lines(one.message, tuple(map(str, witness["lines"]))))
    open_ = [one for one in patterns if one["verdict"] not in ("safe", "unsafe")]
    unchecked = tuple(f"{one['pattern']}: could not decide" for one in open_)
    bad = sum(one["verdict"] == "unsafe" for one in patterns)
    says = f"{plural(bad, 'pattern')} of {len(patterns)} can come about."
    if not bad and not open_:
        says = "Safe, for any number of clients."
    return made(ran, status, "proved", says, blocks, unchecked=unchecked)


def _decided(verdict: str) -> Cell:
    return Cell(verdict, {"safe": "good", "unsafe": "bad"}.get(verdict, "warn"))  # type: ignore[arg-type]
