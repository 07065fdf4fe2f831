"""Layouts of runs: clients that drive a lab of real brokers, and simulations."""

from collections.abc import Mapping
from typing import Any

from ropewalk.report.filed.blocks import (
    Block,
    Cell,
    Entries,
    Figure,
    Figures,
    Section,
    Status,
    Tone,
    table,
)
from ropewalk.report.filed.charts import outage_chart
from ropewalk.report.filed.facts import Ran
from ropewalk.report.filed.judged import made
from ropewalk.report.filed.words import count, figure, ms
from ropewalk.report.verification import plural


def drive(ran: Ran, status: Status) -> Section:
    """`lab drive`: sent, lost, doubled, out of order, outages and latencies of every pair."""
    one, pairs = ran.summary, ran.summary["pairs"]
    lost, doubled = _sum(pairs, "lost"), _sum(pairs, "doubled")
    late, unsure = _sum(pairs, "disordered"), _sum(pairs, "uncertain_lost")
    longest = max((float(pair["longest_gap_ms"]) for pair in pairs), default=0.0)
    broken = {found.code for found in ran.findings}
    glance = (
        Figure("messages sent", count(one["sent"]), f"{figure(one['rate_msgs_s'])} a second"),
        _promised("lost", lost, "acknowledged, never came", "D001" in broken),
        _promised("duplicated", doubled, "came again", "D002" in broken),
        _promised("out of order", late, "after newer ones", "D003" in broken),
        Figure("longest outage", ms(longest), "without a message"),
    )
    figures = [
        *glance,
        Figure("received", count(_sum(pairs, "received")), "by all subscribers"),
        Figure("never promised, never came", count(unsure), "not acknowledged"),
        Figure("99 % latency", ms(_most(pairs, "p99_ms")), "of the slowest pair"),
        Figure("slowest message", ms(_most(pairs, "slowest_ms"))),
        Figure("left out", count(one["skipped"]), "too slow a machine or window"),
    ]
    blocks: list[Block] = [Figures(tuple(figures)), *_broken(one), *_outages(one), _pairs(pairs)]
    if one["refused"]:
        entries = tuple((why, count(times)) for why, times in one["refused"].items())
        blocks.append(Entries("Refused by brokers", entries))
    silent = [f"{s['topic']}: {s['publisher']} to {s['subscriber']}" for s in one["silent"]]
    unchecked = [f"nothing was measured: never heard: {name}" for name in silent[:10]]
    stalls = len(one["stalls"])
    if stalls:
        unchecked.append(f"the clients' own process stood still {plural(stalls, 'time')}")
    told = [
        (lost, "lost"),
        (doubled, "duplicated"),
        (late, "out of order"),
    ]
    words = ", ".join(f"{number:,} {what}" for number, what in told)
    says = f"{plural(one['sent'], 'message')} in {figure(one['seconds'])} s: {words}."
    return made(ran, status, "observed", says, blocks, unchecked=tuple(unchecked), glance=glance)


def _broken(one: Mapping[str, Any]) -> list[Block]:
    """What was broken and healed while the clients were at it."""
    rows = [(f"{float(fault['at_s']):.2f}", fault["what"]) for fault in one.get("faults") or ()]
    if not rows:
        return []
    return [table("What was broken", ("after s", "what"), rows, words=(1,))]


def _outages(one: Mapping[str, Any]) -> list[Block]:
    rows = [
        (f"{pair['publisher']['client']} - {pair['subscriber']['client']}", outages)
        for pair in one["pairs"]
        if (outages := [(float(at_s), float(long)) for at_s, long in pair["outages"]])
    ]
    if not rows:
        return [Entries("Outages", (("none", "no gap of over 100 ms at any subscriber"),))]
    caption = "Every time of over 100 ms without a message, by publisher and subscriber."
    faults = [float(fault["at_s"]) for fault in one.get("faults") or ()]
    if faults:
        caption += " Dashed: when something was broken or healed."
    return [outage_chart(rows, float(one["seconds"]), caption, faults)]


def _pairs(pairs: list[Mapping[str, Any]]) -> Block:
    head = (
        *("topic", "from", "to", "sent", "received", "lost", "doubled", "out of order"),
        *("outage", "p50", "p99"),
    )
    rows = [
        (
            pair["topic"],
            _client(pair["publisher"]),
            _client(pair["subscriber"]),
            count(pair["sent"]),
            count(pair["received"]),
            _cell(pair["lost"], "bad"),
            *(_cell(pair[key], "warn") for key in ("doubled", "disordered")),
            ms(pair["longest_gap_ms"]),
            ms(pair["p50_ms"]),
            ms(pair["p99_ms"]),
        )
        for pair in pairs
    ]
    return table("Every publisher at every subscriber", head, rows, words=(0, 1, 2))


def _client(one: Mapping[str, str]) -> str:
    same = one["client"] == one["broker"]
    return one["client"] if same else f"{one['client']} at {one['broker']}"


def _cell(value: int, tone: Tone) -> Cell:
    return Cell(count(value), tone if value else "")


def _sum(pairs: list[Mapping[str, Any]], key: str) -> int:
    return sum(int(pair[key]) for pair in pairs)


def _most(pairs: list[Mapping[str, Any]], key: str) -> float | None:
    known = [float(pair[key]) for pair in pairs if pair.get(key) is not None]
    return max(known, default=None)


def _promised(label: str, value: int, note: str, broken: bool) -> Figure:
    """What contracts may allow: it is bad where they do not."""
    allowed = "; contracts allow it" if value and not broken else ""
    tone: Tone = "bad" if broken else "warn" if value else "good"
    return Figure(label, count(value), f"{note}{allowed}", tone)


def _judged(label: str, value: int, note: str) -> Figure:
    return Figure(label, count(value), note, "bad" if value else "good")


def moved(ran: Ran, status: Status) -> Section:
    """`lab plan`: items that agents moved, with their clients."""
    one, moves = ran.summary, ran.summary["moves"]
    done = sum(move["state"] == "done" for move in moves)
    rows = [
        (
            move["item"],
            move["from"] or "nowhere",
            move["to"],
            Cell(move["state"], "good" if move["state"] == "done" else "warn"),
        )
        for move in moves
    ]
    blocks: list[Block] = []
    if rows:
        head = ("item", "from", "to", "state")
        blocks.append(table("Moves under traffic", head, rows, words=(0, 1, 2, 3)))
    says = f"{done} of {plural(len(moves), 'item')} moved after {figure(one['seconds'])} s."
    unchecked = () if one["over"] else ("moves were going on when this was told",)
    title = "The plan, carried out"
    return made(ran, status, "planned", says, blocks, title=title, unchecked=unchecked)


def simulation(ran: Ran, status: Status) -> Section:
    """`lab simulate`: the same of runs in the simulator."""
    one = ran.summary
    outage, settled = one["outage_ms"], one["convergence_ms"]
    figures = (
        Figure("runs", count(one["runs"]), f"seed {one['seed']}"),
        Figure("faults", count(one["faults"])),
        Figure("published", count(one["published"])),
        Figure("delivered", count(one["delivered"]), f"of {count(one['due'])} due"),
        _judged("lost", int(one["lost"]), ""),
        _judged("duplicated", int(one["doubled"]), ""),
        Figure("longest outage", ms((outage or {}).get("max")), "simulated time"),
        Figure("agents agree again after", ms((settled or {}).get("max")), "at most"),
    )
    says = (
        f"{plural(one['runs'], 'run')} with {plural(one['faults'], 'fault')}:"
        f" {plural(one['violations'], 'violation')}."
    )
    faults = one.get("faults_of_first_run") or ()
    entries = tuple((f"{i}.", fault) for i, fault in enumerate(faults, 1))
    blocks: list[Block] = [Figures(figures)]
    blocks += [Entries("Faults of the first run", entries)] if entries else []
    return made(ran, status, "observed", says, blocks)
