"""Each step of the demo in a few lines, made of what its documents say."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from ropewalk.demo.figures import Audited, Driven, Risk, audited
from ropewalk.demo.judging import Seen

WIDTH = 80
Json = Mapping[str, Any]


def heading(number: int, text: str) -> str:
    """A step begins."""
    return f"\n{number}. {text}"


def line(text: str) -> str:
    """What was found, below the command that found it."""
    return fill(
        text,
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def command(text: str, width: int = WIDTH) -> str:
    """A command as it is typed; a long one goes on in the next line."""
    if len(text) <= width:
        return text
    lines: list[str] = []
    for word in _words(text):
        if lines and len(lines[-1]) + 1 + len(word) <= width - 2:
            lines[-1] += f" {word}"
        else:
            lines.append(word if not lines else f"    {word}")
    return " \\\n".join(lines)


def _words(text: str) -> list[str]:
    """At spaces that are in no quotes; an option stays with what it is set to."""
    words: list[str] = []
    for part in text.split(" "):
        if words and (words[-1].count("'") % 2 or words[-1] == "$"):
            words[-1] += f" {part}"
        else:
            words.append(part)
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].startswith("-") and " " not in joined[-1] and word[0] != "-":
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined


def mistaken(document: Json) -> str:
    """Of `verify` on the planted mistake."""
    told = document["summary"]
    found = [one for one in document["findings"] if one["code"] == "V002"]
    return f"Wrong in {told['loops']} cases: {found[0]['message']}." if found else "Nothing found."


def mended(document: Json) -> str:
    """Of `verify --fix`."""
    return f"Mended: {'; '.join(document['summary'].get('repairs') or ['nothing to do'])}."


def proved(document: Json) -> str:
    """Of `verify` on the mended file."""
    told = document["summary"]
    cases = told["pairs"] * told["scenarios"]
    return (
        f"Proved: {told['pairs']} pairs x {told['scenarios']} scenarios (any link or broker down)"
        f" = {cases} cases, {told['delivered']} delivered."
    )


def routed(document: Json) -> str:
    """Of `route`."""
    told = document["summary"]
    return (
        f"{told['colours']} tables ahead of time, stored as {told['entries']} changed entries of"
        f" {told['entries_uncondensed']}: {told['bytes_per_broker_mean']:g} bytes a broker."
    )


def apart(document: Json) -> str:
    """Of `paths`."""
    told = document["summary"]
    one = told["paths"][0]
    ways = " and ".join(
        " > ".join(way["path"]) for way in (one["primary"], *one["alternates"][:1]) if way
    )
    return (
        f"{told['pairs']} pairs of paths that lie apart, such as {ways}. Of"
        f" {told['regions']:,} outages {2 * told['radius_km']:g} km wide they avoid"
        f" {told['captured']:.0%} of what can be avoided."
    )


def ran(run: Driven, faults: Sequence[str] = ()) -> Iterator[str]:
    """Of `lab drive`."""
    yield (
        f"{run.acknowledged:,} messages acknowledged to ordinary clients: {run.lost} lost,"
        f" {run.doubled} doubled, {run.disordered} out of order."
    )
    if faults:
        yield (
            f"Worst wait of a message, outages included: {run.slowest_ms:.0f} ms"
            f" (median {run.p50_ms:.1f} ms)."
        )
    if run.skipped or run.stalls:
        left_out = f" and left out {run.skipped} messages" if run.skipped else ""
        yield f"This machine is busy: its clients stood still {run.stalls} times{left_out}."


def piped(document: Json) -> Iterator[str]:
    """Of `pipeline all`."""
    told, found = document["summary"], audited(document)
    rates, tuned = told["rates"], told["calibrate"]
    yield (
        f"{told['ingest']['good']:,} rows of trace, {told['ingest']['quarantined']} put aside;"
        f" {rates['covariance_topics']} items over {rates['chosen_windows']} windows of"
        f" {rates['window_s']:g} s."
    )
    if tuned is not None and (costs := _costs(tuned)):
        yield f"Calibrated: a message costs a real broker {min(costs):.0f} to {max(costs):.0f} us."
    yield audit_line(found)
    yield from (f"{one['code']}: {one['message']}." for one in document["findings"][:2])


def _costs(tuned: Json) -> list[float]:
    return [one["service_us"][1] for one in tuned["results"] if one.get("service_us")]


def audit_line(found: Audited) -> str:
    """What the audit says."""
    if not found.violations:
        return f"Audit: {found.messages:,} messages, every contract kept, nothing lost."
    return f"Audit: {found.messages:,} messages, {found.violations} violations, {found.lost} lost."


def placed(document: Json) -> Iterator[str]:
    """Of `place`."""
    told = document["summary"]
    moves = [f"{one['item']} to {one['to']}" for one in told["moves"]]
    best = ", which is proven to be the best" if told["outcome"].get("proven_best") else ""
    yield f"{len(moves)} moves{best}: {', '.join(moves)}."
    nobody = told["outcome"]["nobody_overloaded"]
    yield (
        f"Predicted: some broker is above its limit in {percent(1 - nobody['today'])} of all"
        f" windows as it is, and in {percent(1 - nobody['after'])} after the moves."
    )


def observed(risk: Risk) -> str:
    """Of `place replay --delivered`."""
    return (
        f"Observed, by what brokers handed out: some broker was above its limit in"
        f" {risk.over} of {risk.windows} windows, {percent(risk.observed)}."
    )


def went(document: Json) -> str:
    """Of `lab plan`."""
    told = document["summary"]
    done = sum(one["state"] == "done" for one in told["moves"])
    return (
        f"{done} of {len(told['moves'])} items moved in {told['seconds']:.1f} s: their clients were"
        " disconnected and came back at the new broker."
    )


def declared(capacity_msgs_s: Mapping[str, float], used: float) -> str:
    """Where the capacities come from."""
    london, paris = capacity_msgs_s["london"], capacity_msgs_s["paris"]
    return (
        f"Capacities are declared, not measured: {london:g} messages/s for a broker in London,"
        f" {paris:g} in Paris, of which {used:.0%} may be used. These servers bear far more than"
        " a small machine can drive; with what they really cost nothing would be overloaded."
    )


def ending(seen: Seen, outcome: str, page: str, summary: Json) -> str:
    """The last lines."""
    runs, before, after = seen.runs.values(), seen.before, seen.after
    acknowledged, lost, doubled = (
        sum(getattr(one, name) for one in runs) for name in ("acknowledged", "lost", "doubled")
    )
    slowest = max(seen.runs[name].slowest_ms for name in ("before", "after"))
    verdict = {
        "ok": "Everything that has to hold did hold.",
        "findings": "Not everything held: see the findings above.",
        "undecided": "Something could not be told: see above.",
    }[outcome]
    return "\n".join(
        (
            "",
            table(before, after),
            "",
            line(
                f"{acknowledged:,} messages, {lost} lost, {doubled} doubled; a silent link and a"
                f" dead broker held none up for more than {slowest:.0f} ms."
            ),
            line(f"{verdict} {summary['seconds']:.0f} s. Open {page}."),
        )
    )


def table(before: Risk, after: Risk) -> str:
    """Predicted and observed risk, side by side."""
    rows = [f"  {'some broker above its limit in':30}{'predicted':>15}{'observed':>29}"]
    for name, one in (("before the plan", before), ("after it", after)):
        seen = f"{percent(one.observed)} ({one.over} of {one.windows} windows)"
        rows.append(f"  {name:30}{percent(one.predicted):>15}{seen:>29}")
    return "\n".join(rows)


def percent(part: float) -> str:
    """A risk for people.

    >>> percent(0.1234), percent(0.00012), percent(1e-12), percent(0)
    ('12.3 %', '0.012 %', 'under 0.001 %', '0 %')
    """
    if part <= 0:
        return "0 %"
    if part < 1e-5:
        return "under 0.001 %"
    return f"{100 * part:.3g} %" if part >= 1e-3 else f"{100 * part:.2g} %"
