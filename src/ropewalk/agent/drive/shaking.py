"""Random faults for a run: the same seed gives the same."""

from collections.abc import Iterator
from random import Random

from ropewalk.federation.facts import Federation
from ropewalk.federation.names import link_name

SHORTEST_S, LONGEST_S = 0.2, 1.5
QUIET_S = 1.0
"""Before the first fault."""


def random_faults(
    federation: Federation, *, seed: int, count: int, seconds: float
) -> tuple[str, ...]:
    """Links cut or silent, brokers and agents killed, alone or together, agents that stand still.

    Faults follow each other, one at a time: what is asked is that each of them costs nothing.

    >>> from ropewalk import generate
    >>> random_faults(generate("three-broker"), seed=1, count=2, seconds=9)
    ('at 1.000 s cut b1--b2 for 1.276 s', 'at 5.000 s blackhole b1--b3 for 0.615 s')
    """
    random = Random(f"{federation.name} {seed}")  # noqa: S311  (repeatable, not secret)
    step_s = (seconds - QUIET_S) / count
    longest_s = min(LONGEST_S, step_s / 2)
    return tuple(
        text
        for i in range(count)
        for text in _fault(federation, random, QUIET_S + i * step_s, longest_s)
    )


def _fault(federation: Federation, random: Random, at_s: float, longest_s: float) -> Iterator[str]:
    kind = random.choice(("cut", "blackhole", "kill", "agent", "both", "pause"))
    for_s = random.uniform(min(SHORTEST_S, longest_s), longest_s)
    link = link_name(*random.choice(federation.links).between)
    broker = random.choice(list(federation.brokers))
    when = f"for {for_s:.3f} s"
    if kind in ("cut", "blackhole"):
        yield f"at {at_s:.3f} s {kind} {link} {when}"
    if kind in ("kill", "both"):
        yield f"at {at_s:.3f} s kill {broker} {when}"
    if kind in ("agent", "both"):
        yield f"at {at_s:.3f} s kill agent:{broker} {when}"
    if kind == "pause":
        yield f"at {at_s:.3f} s pause agent:{broker} {when}"
