"""Evidence: verdicts are checked once more, on the whole net, by code that engines do not share.

- `runs`: a run is replayed in exact numbers
- `invariants`: an invariant holds at the start, every rule keeps it, and it excludes every target
- `in_fractions`: a proof in fractions is followed step by step

Both say what is wrong in a word, or nothing. What fails here is never told as a verdict.
"""

from ropewalk.verify.population.evidence.invariants import objection
from ropewalk.verify.population.evidence.runs import replayed

__all__ = ["objection", "replayed"]
