"""Can roles that see only their own messages keep to a protocol, and what do they need for it?"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ropewalk.errors import UsageError
from ropewalk.findings import Finding, Severity, Where
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.realize.conditions import unmet
from ropewalk.protocol.realize.explore import Explored, explore
from ropewalk.protocol.realize.runs import Run
from ropewalk.protocol.realize.speaking import Clash, clash_of, unmended

Verdict = Literal[
    "fifo-ok",
    "needs-reordering-protection",
    "safe-with-messenger",
    "safe-with-messenger-may-abort",
    "needs-synchronisation",
    "unknown",
]
Transport = Literal["fifo", "unordered", "messenger"]
BOUND = 3
"""Messages per channel that are tried where one is not enough to be sure."""


@dataclass(frozen=True, slots=True)
class Over:
    """What becomes of a protocol over one kind of transport; None where it is not known."""

    safe: bool | None
    """No illegal trace."""
    live: bool | None
    """It can always come to an end on which all agree, without being broken off."""
    run: Run | None = None
    """The shortest that goes wrong."""
    clash: Clash | None = None
    """Where two roles spoke at once."""

    @property
    def ok(self) -> bool | None:
        """Both."""
        if self.safe is False or self.live is False:
            return False
        return True if self.safe and self.live else None


@dataclass(frozen=True)
class Realizability:
    """What a protocol needs, with the evidence."""

    automaton: Automaton
    fifo: Over
    unordered: Over
    messenger: Over
    bound: int
    """Messages per channel that were explored where one is not enough."""
    unmet: tuple[str, ...] = ()
    """Of more than two roles: conditions that do not hold."""

    @cached_property
    def verdict(self) -> Verdict:
        """The least that the protocol needs."""
        if self.fifo.ok:
            needs = self.unordered.ok is False
            return "needs-reordering-protection" if needs else "fifo-ok"
        many = len(self.automaton.roles) > 2
        if self.messenger.safe is False or (many and self.fifo.ok is False):
            return "needs-synchronisation"
        if self.messenger.safe is None or self.fifo.ok is None:
            return "unknown"
        return "safe-with-messenger" if self.messenger.live else "safe-with-messenger-may-abort"

    @property
    def exact(self) -> bool:
        """Whether everything asked is known."""
        return None not in (self.fifo.ok, self.unordered.ok, self.messenger.ok)

    def over(self, transport: Transport) -> Over:
        """What becomes of it over a transport."""
        if transport not in ("fifo", "unordered", "messenger"):
            raise UsageError(f"{transport!r} is no transport: use fifo, unordered or messenger")
        found: Over = getattr(self, transport)
        return found

    def findings(self, transport: Transport) -> list[Finding]:
        """What is wrong over a transport, and what is worth knowing over others."""
        found = list(self._findings(transport))
        found += [self._dead_end(state) for state in self._dead_ends]
        return found

    def _findings(self, transport: Transport) -> list[Finding]:
        over = self.over(transport)
        if self.messenger.safe is False and self.messenger.clash is not None:
            return [self._clashes(self.messenger.clash)]
        if over.ok is False and over.run is not None:
            return [self._wrong(transport, over.run)]
        if transport == "fifo" and self.verdict == "needs-reordering-protection":
            run = self.unordered.run
            return [self._wrong("unordered", run, "note")] if run is not None else []
        return []

    def _clashes(self, clash: Clash) -> Finding:
        automaton = self.automaton
        state, trace = automaton.states[clash.state], ", ".join(clash.run.trace)
        told = f"in state {state!r} both {' and '.join(automaton.roles)} may speak"
        return Finding(
            "P021",
            f"{told}, so that {trace} can be said, which is not allowed and which no messenger can"
            " prevent: let one of them ask first, or allow it",
            self._where(clash.state),
            "error",
            {"state": state, **clash.run.witness()},
        )

    def _wrong(self, transport: Transport, run: Run, severity: Severity = "error") -> Finding:
        trace = ", ".join(run.trace) or "nothing said"
        helps = self.messenger.safe is not False and self.verdict != "needs-synchronisation"
        turns = "let one of them ask first"
        code, told, then = {
            "fifo": (
                "P022",
                "over channels that keep order",
                "put a messenger at each end" if helps else turns,
            ),
            "unordered": (
                "P023",
                "over channels that reorder",
                "use a messenger, or keep order" if helps else turns,
            ),
            "messenger": ("P024", "with a messenger", turns),
        }[transport]
        clash = self.messenger.clash
        state = self.automaton.initial if clash is None else clash.state
        return Finding(
            code, f"{told}, after {trace}: {run.why}; {then}", self._where(state), severity,
            run.witness(),
        )  # fmt: skip

    @cached_property
    def _dead_ends(self) -> list[int]:
        return sorted(self.automaton.hopeless & self.automaton.reachable)

    def _dead_end(self, state: int) -> Finding:
        name = self.automaton.states[state]
        told = f"from {name!r} no accepting state can be reached: add it to accepting, or a way on"
        return Finding("P025", told, self._where(state), "warning", {"state": name})

    def _where(self, state: int) -> Where:
        lines = self.automaton.lines
        return Where(self.automaton.file, lines[state] if state < len(lines) else 0)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Verdict, and safety and liveness apart, for each transport."""
        transports: tuple[Transport, ...] = ("fifo", "unordered", "messenger")
        clash = self.messenger.clash
        state = None if clash is None else self.automaton.states[clash.state]
        return {
            "protocol": self.automaton.name,
            "roles": list(self.automaton.roles),
            "states": len(self.automaton.states),
            "letters": len(self.automaton.letters),
            "verdict": self.verdict,
            **{
                one: {"safe": self.over(one).safe, "live": self.over(one).live}
                for one in transports
            },
            "both_may_speak": state,
            "exact": self.exact,
            "bound": self.bound,
            "unmet": list(self.unmet),
        }


def realizability(automaton: Automaton, *, bound: int = BOUND) -> Realizability:
    """What a protocol needs to be kept to.

    Exact for two roles without deadlines (but for what channels without order do to protocols with
    cycles); sound for all others.

    >>> from ropewalk.protocol import automaton
    >>> realizability(automaton('''
    ... {protocol: figure 4 left, initial: 1, accepting: [4], messages: {A -> B: a, B -> A: b},
    ...  transitions: [1 -> 2: a, 1 -> 3: b, 2 -> 4: b, 3 -> 4: a]}''')).verdict
    'fifo-ok'
    """
    if len(automaton.roles) < 2 or any(one.sender < 0 for one in automaton.letters):
        write = "write messages: {A -> B: [NAME]}"
        raise UsageError(f"{automaton.file}: who says what to whom is not told: {write}")
    if len(automaton.roles) > 2:
        return _many(automaton, bound)
    grounds = Grounds(automaton)
    fifo = _fifo(grounds, bound)
    try:
        messenger = Over(True, True) if grounds.settles else _with_messenger(grounds)
    except OverflowError:
        messenger = Over(None, None)
    unordered = _unordered(grounds, bound, fifo)
    return Realizability(automaton, fifo, unordered, messenger, bound)


def _with_messenger(grounds: Grounds) -> Over:
    """With a messenger at both ends: legal unless words clash, and live if every rift is mended."""
    clash = clash_of(grounds.automaton, grounds.crossings)
    if clash is not None:
        return Over(False, False, clash.run, clash)
    rift = unmended(grounds.automaton, grounds.crossings)
    return Over(True, rift is None, None if rift is None else rift.run, rift)


def _fifo(grounds: Grounds, bound: int) -> Over:
    """Over channels that keep order: one message each is enough, but for deadlines."""
    if grounds.crossings.harmless() and not grounds.automaton.deadlines:
        return Over(True, True)
    hidden = bool(grounds.automaton.deadlines)
    return _judged(explore(grounds.automaton, bound=bound if hidden else 1), exact=not hidden)


def _unordered(grounds: Grounds, bound: int, fifo: Over) -> Over:
    """Over channels that do not keep order; whatever goes wrong in order does here."""
    if grounds.free and not grounds.automaton.deadlines:
        return Over(True, True)
    return _reordered(grounds.automaton, bound, fifo)


def _reordered(automaton: Automaton, bound: int, fifo: Over) -> Over:
    """What goes wrong in order goes wrong out of order; what does not may."""
    if fifo.safe is False:
        return fifo
    found = _judged(explore(automaton, "unordered", bound=bound), exact=False)
    if fifo.live is False:
        return Over(found.safe, False, found.run or fifo.run)
    return found


def _judged(found: Explored, *, exact: bool) -> Over:
    """What an exploration proves; of what it did not find, only if it was complete."""
    sure = found.complete or (exact and not found.given_up)
    safe = False if found.illegal is not None else True if sure else None
    live = False if found.stuck is not None else None
    if sure:
        live = found.stuck is None and found.lost is None
    return Over(safe, live, found.illegal or found.stuck or (found.lost if sure else None))


def _many(automaton: Automaton, bound: int) -> Realizability:
    """For more than two roles: conditions first, then as much as can be explored."""
    found = tuple(unmet(automaton))
    if not found:
        fifo = Over(True, None if automaton.hopeless & automaton.reachable else True)
    else:
        fifo = _judged(explore(automaton, bound=bound), exact=False)
    unordered = _reordered(automaton, bound, fifo)
    # A messenger restores the order of each sender's messages, and no more.
    return Realizability(automaton, fifo, unordered, fifo, bound, found)
