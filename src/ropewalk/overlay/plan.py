"""What publications of one topic have in common, looked up once for those that come together."""

from collections.abc import Sequence

from msgspec import Struct

from ropewalk.overlay.lane import Lane
from ropewalk.overlay.rules import Rule


class Plan(Struct, frozen=True, gc=False):
    """What publications of one topic have in common."""

    rule: Rule
    kind: int
    to: tuple[int, ...]
    lanes: Sequence[Lane]
    """In which they are kept."""
    domain: int
    protocol: str | None
    """What they follow, if that is known here."""
    why: str | None
    """Why none of them can be taken."""
    runs: bool
    """Those that come together are kept in one lane, and nothing more is asked of them."""
