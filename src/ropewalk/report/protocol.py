"""Protocols in words, for a terminal 80 columns wide: what they need, what a messenger saves."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any

from ropewalk.protocol.experiment import Measured
from ropewalk.protocol.realize.runs import Run
from ropewalk.protocol.realize.verdict import Realizability, Transport
from ropewalk.report.verification import plural

TRANSPORTS: Mapping[Transport, str] = {
    "fifo": "channels that keep order",
    "unordered": "channels that reorder",
    "messenger": "a messenger at each end",
}
VERDICTS = {
    "fifo-ok": "FIFO-ok: channels that keep order are all it needs.",
    "needs-reordering-protection": "Needs reordering protection: where order is kept, all is well.",
    "safe-with-messenger": "Safe with a messenger at each end, which mends what crosses.",
    "safe-with-messenger-may-abort": "Safe with a messenger at each end, but it may have to abort.",
    "needs-synchronisation": "Needs synchronisation: no messenger can help.",
}
_WORDS = {True: "yes", False: "no", None: "unknown"}


def realizability_text(found: Realizability) -> str:
    """Sizes, safety and liveness over each transport, the run that goes wrong, the verdict."""
    return "\n".join(_lines(found))


def _lines(found: Realizability) -> Iterator[str]:
    automaton = found.automaton
    messages = len({one.message for one in automaton.letters if one.receiver >= 0})
    sizes = f"{plural(len(automaton.states), 'state')}, {plural(messages, 'message')}"
    yield f"{automaton.file}: {', '.join(automaton.roles)}; {sizes}"
    yield f"  {'':<26}{'safe':<9}live"
    for transport, words in TRANSPORTS.items():
        over = found.over(transport)
        yield f"  {words:<26}{_WORDS[over.safe]:<9}{_WORDS[over.live]}"
    run = next((one.run for one in (found.fifo, found.messenger, found.unordered) if one.run), None)
    if run is not None:
        yield from _run_lines(run)
    clash = found.messenger.clash
    if clash is not None:
        both = " and ".join(automaton.roles)
        yield f"Both {both} may speak in state {automaton.states[clash.state]}."
    for text in found.unmet[:5]:
        yield fill(f"Not met: {text}.", 80, subsequent_indent="  ")
    verdict = VERDICTS.get(found.verdict)
    if verdict is None:
        yield f"Unknown (bound {found.bound} explored)."
    else:
        yield verdict if found.exact else f"{verdict} The rest: bound {found.bound} explored."


def _run_lines(run: Run) -> Iterator[str]:
    automaton = run.automaton
    yield f"Shortest run that goes wrong: {', '.join(run.trace)}"
    for number, role in enumerate(automaton.roles):
        believes = " or ".join(automaton.states[one] for one in sorted(run.views[number]))
        way = ", ".join(run.way(number)) or "does nothing"
        yield fill(f"  {role}: {way}; believes to be in {believes}", 80, subsequent_indent="    ")


def experiment_text(found: Sequence[Measured], settings: str) -> str:
    """Rules side by side, each against the first rival."""
    lines = [settings, f"  {'rule':<9}{'wait':>8}{'queue':>8}{'stuck':>8}{'wrong':>8}"]
    rival = found[min(1, len(found) - 1)]
    for one in found:
        cells = f"{one.wait:>8.2f}{one.queue:>8.2f}{one.stuck:>8,}{one.wrong:>8,}"
        lines.append(f"  {one.rule:<9}{cells}{_against(one, rival)}")
    return "\n".join(lines)


def _against(one: Measured, rival: Measured) -> str:
    if one is rival or not rival.wait or not rival.queue:
        return ""
    wait, queue = one.wait / rival.wait - 1, one.queue / rival.queue - 1
    return f"   wait {wait:+.0%}, queue {queue:+.0%} of {rival.rule}"


def experiment_summary(found: Sequence[Measured]) -> dict[str, Any]:
    """By rule, for programs."""
    names = ("traces", "messages", "wait", "queue", "stuck", "wrong")
    return {one.rule: {name: getattr(one, name) for name in names} for one in found}
