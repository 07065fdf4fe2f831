"""Colours: a number for every set of failures, the same in every broker (Jia 2014, 6.1).

The things that can fail are the links, then the brokers, each in the order of the file. Colour 1
is nothing failed, then come the single things, then every pair, and so on: sets of one size are
numbered by the combinatorial number system, so that number and set follow from each other
without a table, also for sets that no table was computed for. Pairs of links come before pairs
with a broker, and 2, 3, 4 are the links as in table 6-3.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import Graph, Ints
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import Failure
from ropewalk.routing.scenarios import Down, link_names

NONE = 1
"""The colour of nothing failed."""

MOST_DIGITS = 4000
"""A number of more digits is no colour that anybody means."""

Things = tuple[int, ...]
"""What is down, ascending: link e is thing e, broker b is thing `links + b`."""


@dataclass(frozen=True, eq=False)
class Colours:
    """The mapping between failures and their numbers, in a graph of so many links and brokers.

    >>> from ropewalk import generate
    >>> colours = colours_of(generate("three-broker"))
    >>> [colours.name(number) for number in range(1, 9)]
    ['none', 'b1--b2', 'b1--b3', 'b2--b3', 'b1', 'b2', 'b3', 'b1--b2 + b1--b3']
    >>> colours.number(colours.things_of("b2--b3 + b1--b3"))
    10
    """

    broker_names: Sequence[str]
    link_names: Sequence[str]
    ends: Ints

    @property
    def links(self) -> int:
        """How many links there are."""
        return len(self.link_names)

    @cached_property
    def things(self) -> int:
        """How many things can fail."""
        return self.links + len(self.broker_names)

    def number(self, things: Iterable[int]) -> int:
        """The colour of a set of things."""
        chosen = sorted(set(things))
        smaller = sum(comb(self.things, k) for k in range(len(chosen)))
        return NONE + smaller + sum(comb(one, k) for k, one in enumerate(chosen, start=1))

    def things_of_number(self, number: int) -> Things:
        """The set of things that a colour stands for; UsageError if there is no such colour."""
        size, rank = 0, number - NONE
        while 0 <= size <= self.things and rank >= comb(self.things, size):
            rank -= comb(self.things, size)
            size += 1
        if rank < 0 or size > self.things:
            raise UsageError(
                f"there is no such colour: they are counted from {NONE}, nothing failed"
            )
        things: list[int] = []
        above = self.things
        for k in range(size, 0, -1):
            above = _largest(k, rank, above)
            rank -= comb(above, k)
            things.append(above)
        return tuple(reversed(things))

    def things_of(self, text: str) -> Things:
        """The set that a text names: a colour's number, or a failure such as `a--b + c`."""
        text = text.strip()
        if text.isdecimal() and text not in self.broker_names:
            return self.things_of_number(int(text) if len(text) < MOST_DIGITS else -1)
        try:
            failure = Failure.parse(text)
            links = [self.link_names.index(name) for name in failure.links]
            brokers = [self.broker_names.index(name) for name in failure.brokers]
        except ValueError:
            raise UsageError(f"{text!r} is neither a colour's number nor a failure here") from None
        if failure.groups or failure.sites:
            raise UsageError(f"{text!r}: name the colour's number, or its links and brokers")
        return tuple(sorted(links + [self.links + b for b in brokers]))

    def name(self, number: int) -> str:
        """The failure of a colour, as people write it."""
        return self.words(self.things_of_number(number))

    def words(self, things: Things) -> str:
        """What is down, as people write it."""
        down = self.down(things)
        return str(
            Failure(
                brokers=frozenset(self.broker_names[b] for b in down.brokers),
                links=frozenset(self.link_names[e] for e in down.links),
            )
        )

    def check(self, things: Things) -> None:
        """UsageError unless every thing is one that can fail."""
        if things and not 0 <= things[0] <= things[-1] < self.things:
            raise UsageError(f"there is no thing {things[0] if things[0] < 0 else things[-1]} here")

    def down(self, things: Things) -> Down:
        """The same set as links and brokers."""
        links = tuple(one for one in things if one < self.links)
        return Down(links, tuple(one - self.links for one in things if one >= self.links))

    def things_down(self, down: Down) -> Things:
        """Links and brokers as things."""
        return tuple(sorted([*down.links, *(self.links + b for b in down.brokers)]))

    def essential(self, things: Things) -> Things:
        """The set without links that hang on a broker that is down as well: the same table."""
        dead = {one - self.links for one in things if one >= self.links}
        return tuple(
            one for one in things if one >= self.links or not dead & set(self.ends[one].tolist())
        )

    def after(self, number: int, *, failed: Iterable[int] = (), up: Iterable[int] = ()) -> int:
        """The colour once some more things have failed, and others are up again.

        >>> from ropewalk import generate
        >>> colours = colours_of(generate("three-broker"))
        >>> both = colours.after(2, failed=[1])
        >>> both, colours.after(both, up=[0])
        (8, 3)
        """
        return self.number((set(self.things_of_number(number)) | set(failed)) - set(up))


def colours_of(federation: Federation) -> Colours:
    """The colours of a federation."""
    graph: Graph = federation.graph
    return Colours(graph.names, link_names(federation), graph.ends)


def _largest(k: int, rank: int, above: int) -> int:
    """The largest n below `above` with comb(n, k) <= rank."""
    low, high = k - 1, above - 1
    while low < high:
        middle = (low + high + 1) // 2
        if comb(middle, k) <= rank:
            low = middle
        else:
            high = middle - 1
    return low
