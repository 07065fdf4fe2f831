"""What can become of a message, as small integers for the kernels and words for people."""

from enum import IntEnum


class Verdict(IntEnum):
    """The fate of messages from one broker to another in one scenario."""

    DELIVERED = 0
    LOOP = 1
    UTURN = 2
    BLACK_HOLE = 3
    TOO_LONG = 4
    LEAK = 5
    CUT = 6

    @property
    def words(self) -> str:
        """As a sentence needs it."""
        return _WORDS[self]


_WORDS = {
    Verdict.DELIVERED: "delivered",
    Verdict.LOOP: "goes round in a loop",
    Verdict.UTURN: "is sent back over the link it came by, for ever",
    Verdict.BLACK_HOLE: "is dropped",
    Verdict.TOO_LONG: "needs more hops than are allowed",
    Verdict.LEAK: "leaves its domain",
    Verdict.CUT: "has no path at all",
}

BAD = (Verdict.LOOP, Verdict.UTURN, Verdict.BLACK_HOLE, Verdict.TOO_LONG, Verdict.LEAK)
"""What a configuration does wrong; a cut is the graph's doing."""
