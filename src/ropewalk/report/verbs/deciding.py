"""`protocol check` and `population check`: verdicts with the runs that show them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ropewalk.findings import Finding
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.reading import load_automaton
from ropewalk.protocol.realize.verdict import BOUND, Realizability, Transport, realizability
from ropewalk.report.document import Outcome
from ropewalk.report.population import findings_of
from ropewalk.verify.population.asking import Told, questions, told

if TYPE_CHECKING:
    import pandas as pd

PathText = str | PathLike[str]
TRANSPORTS: tuple[Transport, ...] = ("fifo", "unordered", "messenger")


@dataclass(frozen=True)
class ProtocolCheck:
    """Whether peers can keep to a protocol, over each kind of channels; `over` is the one asked."""

    found: Realizability
    transport: Transport

    @property
    def verdict(self) -> str:
        """What it needs, in a word."""
        return self.found.verdict

    @property
    def outcome(self) -> Outcome:
        """Findings, undecided or ok."""
        ok = self.found.over(self.transport).ok
        return "ok" if ok else "undecided" if ok is None else "findings"

    @property
    def ok(self) -> bool:
        """Whether it was decided that peers can keep to it."""
        return self.outcome == "ok"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What goes wrong, with the shortest run."""
        return tuple(self.found.findings(self.transport))

    @property
    def witness(self) -> object:
        """The run of the first finding, or None."""
        return self.findings[0].witness if self.findings else None

    @property
    def summary(self) -> dict[str, Any]:
        """Sizes and verdicts."""
        return {**self.found.summary, "over": self.transport}

    def frame(self) -> "pd.DataFrame":
        """A row per kind of channels; None is what could not be decided."""
        import pandas as pd

        summary = self.found.summary
        rows = [{"over": one, **summary[one]} for one in TRANSPORTS]
        return pd.DataFrame(rows, dtype=object)


def check_protocol(
    protocol: Automaton | PathText, *, over: Transport = "fifo", bound: int = BOUND
) -> ProtocolCheck:
    """Whether peers can keep to a protocol over channels that keep order, reorder, or messengers.

    Raises ProtocolError with every fault of a file.
    """
    automaton = protocol if isinstance(protocol, Automaton) else load_automaton(Path(protocol))
    return ProtocolCheck(realizability(automaton, bound=bound), over)


@dataclass(frozen=True)
class PopulationCheck:
    """Whether something bad can come about, with any number of clients; a verdict per pattern."""

    told: tuple[Told, ...]

    @property
    def outcome(self) -> Outcome:
        """Findings, undecided or ok."""
        verdicts = {one.verdict for one in self.told}
        return (
            "findings" if "unsafe" in verdicts else "undecided" if "undecided" in verdicts else "ok"
        )

    @property
    def ok(self) -> bool:
        """Whether everything asked was decided to be safe."""
        return self.outcome == "ok"

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What can come about, or was not decided."""
        return tuple(finding for one in self.told for finding in findings_of(one))

    @property
    def witness(self) -> object:
        """The run of the first finding: its clients, steps and lines; None where all is safe."""
        return self.findings[0].witness if self.findings else None

    def frame(self) -> "pd.DataFrame":
        """A row per pattern."""
        import pandas as pd

        return pd.DataFrame([dict(_row(one)) for one in self.told])


def _row(one: Told) -> Mapping[str, Any]:
    return {
        "file": one.question.file,
        "pattern": one.question.name,
        "verdict": one.verdict,
        "method": one.method,
        "clients": sum(one.clients.values()) if one.clients else None,
        "steps": one.length,
        "evidence": one.evidence,
    }


def check_population(
    path: PathText,
    *,
    semantics: str | None = None,
    bad: Sequence[str] = (),
    seconds: float = 60.0,
    clock: Callable[[], float] = monotonic,
) -> PopulationCheck:
    """Whether bad patterns of a file can come about, whatever the number of clients.

    Unsafe has a run, safe an invariant; both are checked by separate code. What is not decided
    after so many seconds is undecided. Raises PopulationError with every fault of a file.
    """
    from ropewalk.verify.population.engine.deciding import decide

    asked = questions(Path(path), semantics=semantics, bad=bad)
    found = [told(one, decide(one.net, clock, clock() + seconds)) for one in asked]
    return PopulationCheck(tuple(found))
