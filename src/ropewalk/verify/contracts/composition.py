"""Styles put together: only what that can break is looked at, and what and why is said.

Most rules ask of one fact that others be there, and in the whole they still are: such a rule needs
no second look if both styles keep it. Others are about the graph, about pairs of clients, or about
numbers of things; of these, only what lies across the seam can break, and only that is looked at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ropewalk.verify.contracts.breach import WHOLE, Broken
from ropewalk.verify.contracts.relations import Rows, is_in, unique_entries
from ropewalk.verify.contracts.rules import RULES, Checked
from ropewalk.verify.contracts.tables import (
    Side,
    known_at_home,
    known_on_the_way,
    offering,
    wanting,
    ways,
)
from ropewalk.verify.contracts.union import United, unite

STAYS = "it asks of each fact that others be there, and they still are"
BEFORE = "one of the two breaks it: the other may mend it"
UNDECLARED = "one of the two speaks of dispatchers that it does not declare: the other may"
APART = "one of the two is not connected: the other may connect it"
PRESERVED = ("S1", "S2", "S3", "S8", "S9", "S10", "S11", "S12", "S16")
"""Rules that hold of the whole if they hold of both."""


@dataclass(frozen=True, eq=False)
class Composed:
    """Two styles as one, what it breaks, and how that is known."""

    checked: Checked
    looked_at: Mapping[str, str]
    """Rules that were looked at again, and what of them."""
    inherited: Mapping[str, str]
    """Rules that hold because both styles keep them, and why."""


Verdict = tuple[Broken | None, str]
"""What a rule says of the whole, None where it need not be asked; and why."""


def compose(one: Checked, other: Checked) -> Composed:
    """Two checked styles as one; raises nothing, whatever they break.

    >>> from ropewalk.verify.contracts.facts import read, style_of_facts
    >>> from ropewalk.verify.contracts.rules import check
    >>> left = check(style_of_facts(read("dispatcher a b; link a - b")))
    >>> right = check(style_of_facts(read("dispatcher b c; link b - c")))
    >>> whole = compose(left, right)
    >>> list(whole.checked.broken), whole.looked_at["S6"]
    (['S6'], 'the one dispatcher that they share may hold them together')
    """
    seam = _Seam(one, other)
    looked_at: dict[str, str] = {}
    inherited: dict[str, str] = {}
    broken: dict[str, Broken] = {}
    for code in RULES:
        found, why = seam.verdict(code)
        (inherited if found is None else looked_at)[code] = why
        if found:
            broken[code] = found
    return Composed(Checked(seam.united.style, broken), looked_at, inherited)


class _Seam:
    """Two styles, the whole, and what they share."""

    def __init__(self, one: Checked, other: Checked) -> None:
        self.parts = (one, other)
        self.united: United = unite(one.style, other.style)
        self.style = self.united.style
        self.shared, self.both = self.united.shared_dispatchers, self.united.shared_components
        self.torn = self.united.torn
        self._special: dict[str, Callable[[], Verdict]] = {
            "S4": self._connected,
            "S5": self._access,
            "S6": self._cut,
            "S7": self._sequences,
            "S13": lambda: self._kept("S13", wanting(self.style), "subscriptions"),
            "S14": lambda: self._kept("S14", offering(self.style), "advertisements"),
            "S15": self._once,
            "S17": self._issued,
        }

    def verdict(self, code: str) -> Verdict:
        """Of one rule."""
        if self._breaks(code):
            return self._full(code), BEFORE
        if code in PRESERVED:
            return None, STAYS
        return self._special[code]()

    def _breaks(self, *codes: str) -> bool:
        return any(code in part.broken for part in self.parts for code in codes)

    def _full(self, code: str) -> Broken:
        return RULES[code].breaches(self.style)

    # --- the graph --------------------------------------------------------------------------

    def _connected(self) -> Verdict:
        if self._breaks("S2"):
            return self._full("S4"), UNDECLARED
        if self._alone():
            return None, "one of the two has no dispatchers"
        if len(self.shared):
            return WHOLE, f"{len(self.shared):,} shared dispatchers join the two"
        return self._full("S4"), "nothing joins the two"

    def _cut(self) -> Verdict:
        if self._breaks("S2"):
            return self._full("S6"), UNDECLARED
        if self._breaks("S4"):
            return self._full("S6"), APART
        if not len(self.shared) or self._alone():
            return None, "they share no dispatcher that could hold them together"
        if len(self.shared) > 1:
            return WHOLE, f"without one of {len(self.shared):,} shared dispatchers, others do"
        return self._full("S6"), "the one dispatcher that they share may hold them together"

    def _alone(self) -> bool:
        """Whether one of the two has no dispatchers."""
        return any(not part.style.declared.any() for part in self.parts)

    def _once(self) -> Verdict:
        if not len(self.style.once):
            return None, "neither promises anything once"
        return self._full("S15"), "both graphs together may have a cycle that neither has"

    # --- clients ----------------------------------------------------------------------------

    def _access(self) -> Verdict:
        if self._breaks("S1"):
            return self._full("S5"), UNDECLARED
        if not len(self.torn):
            return None, "no component is joined to other dispatchers in the one than in the other"
        return self._full("S5"), f"{len(self.torn):,} components are at other dispatchers in each"

    def _sequences(self) -> Verdict:
        return self._by_component("S7", "may have a sequence in each")

    def _issued(self) -> Verdict:
        return self._by_component("S17", "may have issued the same in each")

    def _by_component(self, code: str, may: str) -> Verdict:
        if not len(self.both):
            return None, "they share no component"
        return self._full(code), f"{len(self.both):,} shared components {may}"

    # --- tables -----------------------------------------------------------------------------

    def _kept(self, code: str, side: Side, what: str) -> Verdict:
        if self._breaks("S1", "S2"):
            return self._full(code), UNDECLARED
        if self._breaks("S4"):
            return self._full(code), APART
        asked = self._across(side, what)
        home = self._at_home(side)
        if not len(asked) and home is None:
            return None, "nothing that one publishes is wanted in the other"
        found = known_on_the_way(self.style, side, asked) + (home or WHOLE)
        return found, f"{len(asked):,} ways lead across the seam"

    def _across(self, side: Side, what: str) -> Rows:
        """Ways between what one has issued and what the other has; of torn components, all."""
        others = "advertisements" if what == "subscriptions" else "subscriptions"
        one, other = self.united.issued
        pairs = [(getattr(one, what), getattr(other, others))]
        pairs += [(getattr(other, what), getattr(one, others))]
        if len(self.torn):
            ours = side.issued[is_in(side.issued[:, 0], self.torn)]
            theirs = side.others[is_in(side.others[:, 0], self.torn)]
            pairs += [(ours, side.others), (side.issued, theirs)]
        found = [ways(self.style, side, of=of, to=to) for of, to in pairs]
        return unique_entries(np.concatenate(found))

    def _at_home(self, side: Side) -> Broken | None:
        """A torn component may have issued in one what its dispatcher in the other lacks."""
        if not len(self.torn):
            return None
        mine = side.issued[is_in(side.issued[:, 0], self.torn)]
        return known_at_home(self.style, side._replace(issued=mine))
