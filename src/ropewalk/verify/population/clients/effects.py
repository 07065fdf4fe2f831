"""What happens to clients that are alike: notifications, lost connections, subscriptions.

Each gives the situation they are in afterwards, without what no longer matters; None if nothing of
them can matter any more.
"""

from ropewalk.verify.population.clients.facts import Kind, Population, Step
from ropewalk.verify.population.clients.places import Client, bits, mask
from ropewalk.verify.population.clients.slicing import Slice


class Effects:
    """The broker's and the clients' doings in one population."""

    def __init__(self, population: Population, slice: Slice) -> None:
        self.topics = tuple(population.topics.values())
        self.kinds = tuple(population.kinds.values())
        self._names, self._messages = tuple(population.topics), population.messages
        self.normal = slice.normal
        self._width = len(population.messages)
        self._every = (1 << self._width) - 1

    # --- notifications ------------------------------------------------------------------------

    def told(self, one: Client, topic: int, message: int) -> Client | None:
        """At a publication, what becomes of a client that has no choice in it.

        Where subscribers are divided, a notification counts as missed until it gets through.
        """
        if not one.topics >> topic & 1:
            return one
        if not one.on:
            if not _queues(self.kinds[one.kind]):
                return self.unreached(one, message)
            return self._awaiting(one, topic, message)
        if self.topics[topic].later:
            return self._awaiting(one, topic, message)
        if self.topics[topic].splits:
            return self.unreached(one, message)
        return self.reached(one, message)

    def reached(self, one: Client, message: int) -> Client | None:
        """It has received a message."""
        bit = 1 << message
        return self.normal(one._replace(got=one.got | bit, missed=one.missed & ~bit))

    def unreached(self, one: Client, message: int) -> Client | None:
        """A notification has passed it by."""
        return self.normal(one._replace(missed=one.missed | 1 << message))

    def _awaiting(self, one: Client, topic: int, message: int) -> Client | None:
        bit = 1 << topic * self._width + message
        return self.normal(one._replace(due=one.due | bit))

    def under_way(self, one: Client) -> list[tuple[int, int]]:
        """Topics and messages of which notifications are under way to a client."""
        return [divmod(bit, self._width) for bit in bits(one.due)]

    def arrived(self, one: Client, topic: int, message: int) -> Client | None:
        """A notification that was under way has come."""
        return self.reached(self._without(one, topic, message), message)

    def dropped(self, one: Client, topic: int, message: int) -> Client | None:
        """A notification that was under way does not come."""
        return self.unreached(self._without(one, topic, message), message)

    def failed(self, one: Client, topic: int, message: int) -> Client | None:
        """A client has failed while a notification was brought to it."""
        left = self._without(one, topic, message)
        return self.cut(left._replace(missed=left.missed | 1 << message))

    def _without(self, one: Client, topic: int, message: int) -> Client:
        return one._replace(due=one.due & ~(1 << topic * self._width + message))

    # --- connections --------------------------------------------------------------------------

    def cut(self, one: Client) -> Client | None:
        """It has lost its connection."""
        kind = self.kinds[one.kind]
        left = one._replace(on=False)
        if not _queues(kind):
            left = self._losing(left, left.due)
        return self.normal(left._replace(topics=0) if kind.session == "clean" else left)

    def back(self, one: Client) -> Client | None:
        """It has come back."""
        kind = self.kinds[one.kind]
        state = kind.states.index(kind.returns) if kind.returns else one.state
        return self.normal(one._replace(on=True, state=state))

    def _losing(self, one: Client, due: int) -> Client:
        """Some of what was under way does not come."""
        missed, rest = one.missed, due
        while rest:
            missed |= rest & self._every
            rest >>= self._width
        return one._replace(due=one.due & ~due, missed=missed)

    # --- steps --------------------------------------------------------------------------------

    def may(self, one: Client, step: Step) -> bool:
        """Whether a client may take a step now."""
        if not one.on or self.kinds[one.kind].states[one.state] != step.source:
            return False
        wanted, unwanted = (
            mask(some, self._messages) for some in (step.received, step.not_received)
        )
        return not wanted & ~one.got and not unwanted & one.got

    def stepped(self, one: Client, step: Step, retained: int = 0) -> Client | None:
        """After a step, without what it publishes; messages may be retained where it subscribes."""
        left = one._replace(
            state=self.kinds[one.kind].states.index(step.target),
            got=one.got & ~mask(step.forget, self._messages) | retained,
            topics=one.topics | mask(step.subscribe, self._names),
            missed=one.missed & ~retained,
        )
        return self.normal(self._left(left, mask(step.unsubscribe, self._names)))

    def _left(self, one: Client, topics: int) -> Client:
        """It has unsubscribed from some topics."""
        pairs = sum(self._every << topic * self._width for topic in bits(topics))
        lost = self._losing(one, one.due & pairs)
        return lost._replace(topics=lost.topics & ~topics)


def _queues(kind: Kind) -> bool:
    """Whether brokers keep what is published while such clients are away."""
    return kind.session == "queued" and kind.connection == "reconnects"
