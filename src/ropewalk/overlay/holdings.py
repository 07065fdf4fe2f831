"""What an origin holds: its lanes, and what can be asked about them."""

from collections.abc import Iterator

from ropewalk.overlay.deck import Deck
from ropewalk.overlay.lane import DATA, Lane
from ropewalk.overlay.relaunch import records_of
from ropewalk.overlay.words import Letter


class Holdings:
    """All lanes of one origin; `custody` is what happens to them."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck
        self.lanes: dict[tuple[int, int], Lane] = {}
        """By destination and kind: those of this incarnation."""
        self.old: dict[tuple[int, int, int], Lane] = {}
        """Those of earlier incarnations that are not empty yet."""

    def upto(self, to: int, kind: int) -> tuple[tuple[int, int], ...]:
        """The lanes to a destination: their incarnations, and the last number of each."""
        every = (lane for lane in self.everywhere() if (lane.to, lane.kind) == (to, kind))
        return tuple((lane.incarnation, lane.next - 1) for lane in every)

    def kept_for(self, to: int) -> list[Letter]:
        """Letters in custody that a destination has not got, in order."""
        every = (lane for lane in self.everywhere() if (lane.to, lane.kind) == (to, DATA))
        return [letter for lane in every for letter in lane.letters()]

    def everywhere(self) -> Iterator[Lane]:
        """All lanes."""
        yield from list(self.old.values())
        yield from list(self.lanes.values())

    @property
    def keeps(self) -> bool:
        """Whether anything is in custody for a broker that is there."""
        gone = self._deck.chart.gone
        return any(lane.entries and lane.to not in gone for lane in self.everywhere())

    def state(self) -> Iterator[object]:
        """Records that stand for all that is in custody: what a log is cut down to."""
        for lane in self.everywhere():
            yield from records_of(lane)

    def _old_lanes(self, to: int, kind: int) -> Iterator[Lane]:
        return (lane for key, lane in self.old.items() if key[:2] == (to, kind))
