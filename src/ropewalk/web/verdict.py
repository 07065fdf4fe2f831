"""What verification says of a federation, as the console shows it, within a bounded time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Timer

import numpy as np
import numpy.typing as npt

from ropewalk.errors import UsageError
from ropewalk.federation import Federation
from ropewalk.findings import Finding
from ropewalk.routing.scenarios import link_names, resolve
from ropewalk.verify import verify

PATIENCE_S = 15.0
"""What is not decided by then is shown as undecided; the command line has all the time it wants."""


@dataclass(frozen=True, eq=False, slots=True)
class Verdict:
    """The outcome in a sentence, under what it was found, and every finding."""

    ok: bool
    words: str
    scope: str
    findings: Sequence[Finding]


def verified(
    federation: Federation,
    patience_s: float = PATIENCE_S,
    *,
    halt: npt.NDArray[np.bool_] | None = None,
) -> Verdict:
    """Verify a federation under what its file requires, else every single failure.

    `halt` is set by who does not need it any more.

    >>> from ropewalk import generate
    >>> verified(generate("three-broker")).words
    'Everything that could be delivered is delivered.'
    """
    halt = np.zeros(1, np.bool_) if halt is None else halt
    clock = Timer(patience_s, halt.fill, [True])
    clock.daemon = True
    clock.start()
    try:
        result = verify(federation, halt=halt)
    finally:
        clock.cancel()
    summary = result.summary
    scope = (
        f"{summary['pairs']:,} pairs x {summary['scenarios']:,} scenarios;"
        f" {summary['unavoidable']:,} cases that no routing could save"
    )
    if summary["not_checked"]:
        scope += f"; not checked: {', '.join(summary['not_checked'])}"
    errors = sum(one.severity == "error" for one in result.findings)
    words = {
        "ok": "Everything that could be delivered is delivered.",
        "findings": f"The configuration is not right: {errors} error{'s' * (errors != 1)}.",
        "undecided": f"Not decided within {patience_s:g} s: use `ropewalk verify --budget`.",
    }
    return Verdict(result.ok, words[result.outcome], scope, result.findings)


def witness_of(finding: Finding, federation: Federation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Brokers of a finding's witness in order, and the links and brokers that are down in it."""
    witness = finding.witness if isinstance(finding.witness, Mapping) else {}
    known = federation.brokers
    path = next(
        (tuple(witness[key]) for key in ("path", "brokers", "loop", "cycle") if witness.get(key)),
        (),
    )
    if not path:
        path = tuple(str(witness[key]) for key in ("from", "to") if key in witness)
    failure = witness.get("failure")
    return tuple(one for one in path if one in known), _down(federation, failure)


def _down(federation: Federation, failure: object) -> tuple[str, ...]:
    if not isinstance(failure, str) or failure == "none":
        return ()
    try:
        down = resolve(federation, failure)
    except UsageError:
        return ()
    names = link_names(federation)
    brokers = list(federation.brokers)
    return (*(names[e] for e in down.links), *(brokers[b] for b in down.brokers))
