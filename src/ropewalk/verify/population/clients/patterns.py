"""Bad patterns to targets of the net: a few markings, or a judge who looks for what meets them.

Different clients have to meet the needs of a pattern. If few sets of places do, each is a target
of its own. If there are many, a judge takes the token of `free`, after which nothing else happens,
and sorts clients to the need that they meet.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement, product
from math import comb, prod

from ropewalk.verify.population.clients.facts import Need, Population
from ropewalk.verify.population.clients.places import Client, Key, Seen, mask
from ropewalk.verify.population.net import Amounts, amounts

MOST_TARGETS = 200
"""With more than this, there is a judge."""


class Meeting:
    """Which clients meet which needs."""

    def __init__(self, population: Population) -> None:
        self._kinds = tuple(population.kinds.values())
        self._brokers, self._topics = population.brokers, tuple(population.topics)
        self._messages = population.messages

    def meets(self, one: Client, need: Need) -> bool:
        """Whether a client meets a need."""
        kind = self._kinds[one.kind]
        return (
            kind.name in need.kinds
            and (not need.states or kind.states[one.state] in need.states)
            and (not need.at or self._brokers[one.at] in need.at)
            and need.connected in (None, one.on)
            and _within(mask(need.subscribed, self._topics), one.topics)
            and not mask(need.not_subscribed, self._topics) & one.topics
            and _within(mask(need.received, self._messages), one.got)
            and not mask(need.not_received, self._messages) & one.got
            and _within(mask(need.missed, self._messages), one.missed)
        )

    def places(self, needs: Sequence[Need], keys: Iterable[Key]) -> list[list[Client]]:
        """For each need, the places whose clients meet it."""
        clients = [one for one in keys if isinstance(one, Client)]
        return [[one for one in clients if self.meets(one, need)] for need in needs]


def few(needs: Sequence[Need], places: Sequence[Sequence[Client]], most: int) -> bool:
    """Whether the targets can be listed."""
    return (
        prod(
            comb(len(some) + need.at_least - 1, need.at_least) if some else 0
            for need, some in zip(needs, places, strict=True)
        )
        <= most
    )


def listed(
    needs: Sequence[Need], places: Sequence[Sequence[Client]], number: dict[Key, int]
) -> tuple[Amounts, ...]:
    """All smallest markings with different clients for all needs."""
    choices = [
        combinations_with_replacement(some, need.at_least)
        for need, some in zip(needs, places, strict=True)
    ]
    found = {
        amounts(Counter(number[one] for chosen in way for one in chosen)): None
        for way in product(*choices)
    }
    return tuple(one for one in found if not any(_less(other, one) for other in found))


def judged(needs: Sequence[Need], number: dict[Key, int]) -> tuple[Amounts, ...]:
    """The marking in which a judge has found clients for all needs."""
    return (amounts({number[Seen(i)]: need.at_least for i, need in enumerate(needs)}),)


def _within(some: int, more: int) -> bool:
    return not some & ~more


def _less(one: Amounts, other: Amounts) -> bool:
    most = dict(other)
    return one != other and all(most.get(place, 0) >= count for place, count in one)
