"""Floods of a federation's topics while something is other than usual, each made once."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from types import MappingProxyType

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.carried import Carried, carried
from ropewalk.federation.facts import Federation
from ropewalk.federation.names import Failure
from ropewalk.federation.topics import Patterns, is_pattern
from ropewalk.verify.arcs import parts
from ropewalk.verify.demand import Demand
from ropewalk.verify.flood import Bridges, Flood, flood
from ropewalk.verify.verdicts import Verdict

Pair = tuple[str, str, int]
"""A publisher's broker, a subscriber's broker and the number of a topic."""
EXAMPLE = "x"
"""Stands for any level when a pattern is followed through bridges."""


class Floods:
    """Floods of a federation's topics while some brokers are down, each made once."""

    def __init__(
        self,
        federation: Federation,
        down: tuple[str, ...] = (),
        *,
        limits: bool = True,
        before: "Floods | None" = None,
        connected: Mapping[int, str] = MappingProxyType({}),
        cut: Collection[int] = (),
    ) -> None:
        self.federation, self.down, self.before = federation, down, before
        self.connected, self.cut = connected, cut
        usual = before.bridges if before else None
        self.bridges: Bridges = Bridges(
            federation, down, limits=limits, connected=connected, cut=cut, usual=usual
        )
        self.limits = limits
        self.topics = tuple(federation.topics)
        self._cuts: dict[bool, Patterns] = {}
        self._promised: dict[tuple[str, str], bool] = {}
        self._examples: dict[str, list[str]] = before._examples if before else {}
        self.moved = bool(self.bridges.layout.choosy.intersection(down))
        """Whether the failure makes somebody connect elsewhere."""
        self._made: dict[tuple[str, str], Flood] = {}
        self._free: Floods | None = None
        self.subscribed: dict[str, Patterns] = (
            before.subscribed if before else _subscribed(federation)
        )

    def of(self, broker: str, name: str) -> Flood:
        """The flood of a message that is published at a broker."""
        if (broker, name) not in self._made:
            old = self.before.of(broker, name) if self.before else None
            same = old is not None and self._untouched(old)
            self._made[broker, name] = old if same and old else flood(self.bridges, broker, name)
        return self._made[broker, name]

    def _untouched(self, old: Flood) -> bool:
        """Whether a flood is as it was: what is down now carried nothing of it on."""
        if self.connected or self.cut:
            numbers = {*self.connected, *self.cut}
            if not numbers.isdisjoint(self.bridges.connections[one] for one in old.crossed):
                return False
            return self.turned_ends.isdisjoint(old.brokers)
        if not old.met.intersection(self.down):
            return True
        return not self.moved and not old.senders.intersection(self.down)

    @cached_property
    def turned_ends(self) -> frozenset[str]:
        """Both ends of connections that are at another address now: messages there may cross."""
        holders = (self.federation.bridges[number].from_ for number in self.connected)
        return frozenset(holders).union(self.connected.values())

    def other_than(self, usual: "Floods") -> bool:
        """Whether any flood that was made is another than usual: the rest has been told."""
        return any(usual.of(*key) is not made for key, made in self._made.items())

    @cached_property
    def part(self) -> dict[str, str]:
        """Brokers that are joined by bridges, by one that stands for all of them."""
        return parts(self.bridges.leaving)

    @cached_property
    def _own_part(self) -> dict[str, str]:
        return parts(self.bridges.leaving, without="import")

    def apart(self, source: str, to: str) -> bool:
        """Whether a topic of one name is not one topic at two brokers: nothing joins them.

        Accounts of NATS share no more than what one of them exports.
        """
        return self._own_part.get(source, source) != self._own_part.get(to, to)

    @property
    def when(self) -> str:
        """What is other than usual, as findings say it."""
        if self.connected:
            (number, end), *_ = self.connected.items()
            return f" while {bridge_words(self.federation, number)} is connected to {end}"
        failure = str(Failure(brokers=frozenset(self.down)))
        return f" when {failure} is down" if self.down else ""

    def cuts(self, *, exceptions: bool) -> Patterns:
        """Patterns by which bridges take some names and not others."""
        if self.before is not None:
            return self.before.cuts(exceptions=exceptions)
        if exceptions not in self._cuts:
            self._cuts[exceptions] = Patterns(_cuts(self.federation, exceptions=exceptions))
        return self._cuts[exceptions]

    def examples(self, topic: str) -> list[str]:
        """Names that a topic stands for, looked up once."""
        if topic not in self._examples:
            self._examples[topic] = examples(self, topic)
        return self._examples[topic]

    def unlimited(self) -> "Floods":
        """The same floods if no bridge counted hops."""
        if self._free is None:
            self._free = Floods(
                self.federation,
                self.down,
                limits=False,
                connected=self.connected,
                cut=self.cut,
                before=self.before.unlimited() if self.before else None,
            )
        return self._free

    def home(self, broker: str, role: str) -> str | None:
        """Where clients of a broker are now."""
        if broker not in self.down:
            return broker
        takers: tuple[str, ...] = getattr(self.federation.brokers[broker].takeover, role)
        return next((one for one in takers if one not in self.down), None)

    def stranded(self, source: str, to: str) -> bool:
        """Whether a publisher or a subscriber has no broker left."""
        return None in (self.home(source, "publishers"), self.home(to, "subscribers"))

    @cached_property
    def carried_too(self) -> Mapping[str, Carried]:
        """Of topics that somebody stated, who else may send and get them by brokers' own bridges.

        Loops and copies do not wait for who is stated.
        """
        if self.before is not None:
            return self.before.carried_too
        own = (one for one in self.federation.bridges if one.written)
        topics = self.federation.topics
        return {
            topic: ends
            for topic, ends in carried(own).items()
            if topic in topics and not topics[topic].assumed
        }

    @cached_property
    def reached(self) -> Mapping[str, Patterns]:
        """What is subscribed to at each broker, or brought there by brokers' own bridges."""
        if self.before is not None:
            return self.before.reached
        more = ((to, topic) for topic, ends in self.carried_too.items() for to in ends.subscribers)
        return _subscribed(self.federation, more=more)

    def arrivals(self, found: Flood, to: str, subscriber: str | None = None) -> int:
        """Copies at a broker that a subscriber of it gets, under whatever name it subscribes to.

        Of another broker, where its subscribers have moved.
        """
        return self.copies_for(self.subscribed.get(subscriber or to), found, to)

    @staticmethod
    def copies_for(wanted: Patterns | None, found: Flood, to: str) -> int:
        """Copies at a broker of what is wanted there."""
        if wanted is None:
            return 0
        counts: Counter[str] = Counter()
        for name, count in found.at(to):
            for one in wanted.holding(name):
                counts[one] += count
        return max(counts.values(), default=0)

    def print_of(self, source: str, topic: str) -> int:
        """A number that tells where copies of a topic get to, for comparisons."""
        at = self.home(source, "publishers")
        copies = [sorted(self.of(at, name).copies.items()) for name in self.examples(topic) if at]
        return int.from_bytes(blake2b(repr((topic, copies)).encode(), digest_size=8).digest())

    def fate(self, source: str, to: str, topic: str) -> Verdict:
        """The worst that happens to a name that the topic stands for."""
        now_at, now_to = self.home(source, "publishers"), self.home(to, "subscribers")
        if now_at is None or now_to is None:
            return Verdict.CUT
        fates = [self._fate(now_at, now_to, to, name) for name in self.owed(topic, to)]
        worst = max(fates, key=lambda one: (one != Verdict.DELIVERED, -one))
        dropped = worst == Verdict.BLACK_HOLE
        excused = dropped and self.excused(now_at, now_to, promised=self.promised(topic, to))
        return Verdict.CUT if excused else worst

    def promised(self, topic: str, to: str) -> bool:
        """Whether both ends of a topic are stated, not only assumed of what bridges carry."""
        if self.before is not None:
            return self.before.promised(topic, to)
        if (topic, to) not in self._promised:
            wanted = self._stated.get(to)
            met = wanted is not None and any(wanted.meet(topic))
            self._promised[topic, to] = met and not self.federation.topics[topic].assumed
        return self._promised[topic, to]

    @cached_property
    def _stated(self) -> dict[str, Patterns]:
        return _subscribed(self.federation, stated=True)

    def excused(self, source: str, to: str, *, promised: bool) -> bool:
        """Whether bridges need not carry a topic: nobody asked, or nothing joins them any more."""
        if not promised:
            return bool(self.down) or self.apart(source, to)
        return bool(self.down) and self.part.get(source, source) != self.part.get(to, to)

    def name_with(self, fate: Verdict, source: str, to: str, topic: str) -> str:
        """A name that a topic stands for and that has this fate; the first one if none has."""
        now_at, now_to = self.home(source, "publishers"), self.home(to, "subscribers")
        names = self.owed(topic, to)
        ends = (now_at or source, now_to or to, to)
        return next((one for one in names if self._fate(*ends, one) == fate), names[0])

    def owed(self, topic: str, to: str) -> list[str]:
        """Examples of names that a topic's publishers owe to subscribers at a broker."""
        wanted = self.subscribed.get(to)
        met = wanted.meet(topic) if wanted is not None else ()
        names = [name for one in met for name in self.examples(one)]
        return list(dict.fromkeys(names)) or self.examples(topic)

    def _fate(self, source: str, to: str, subscriber: str, name: str) -> Verdict:
        found = self.of(source, name)
        if found.loop:
            return Verdict.LOOP
        if self.arrivals(found, to, subscriber):
            return Verdict.DELIVERED
        if self.limits and self.arrivals(self.unlimited().of(source, name), to, subscriber):
            return Verdict.TOO_LONG
        return Verdict.BLACK_HOLE


def _subscribed(
    federation: Federation, *, stated: bool = False, more: Iterable[tuple[str, str]] = ()
) -> dict[str, Patterns]:
    """What is subscribed to at each broker, by all that is known or as `stated`; and `more`."""
    found: dict[str, list[str]] = {}
    for broker, topic in more:
        found.setdefault(broker, []).append(topic)
    for topic, facts in federation.topics.items():
        if stated and facts.assumed:
            continue
        for broker in {broker_of(one) for one in facts.subscribers}:
            found.setdefault(broker, []).append(topic)
    return {broker: Patterns(topics) for broker, topics in found.items()}


def published(floods: Floods) -> Iterator[tuple[str, str, Flood]]:
    """Topic, publisher's broker and flood of everything that is published."""
    for topic, facts in floods.federation.topics.items():
        more = floods.carried_too.get(topic)
        ends = (*map(broker_of, facts.publishers), *(more.publishers if more else ()))
        homes = [floods.home(one, "publishers") for one in ends]
        for source in dict.fromkeys(one for one in homes if one is not None):
            for name in floods.examples(topic):
                yield topic, source, floods.of(source, name)


def bridge_words(federation: Federation, number: int) -> str:
    """A bridge's connection as findings name it."""
    bridge = federation.bridges[number]
    return f"{bridge.kind} {bridge.name or number + 1} of {bridge.from_}"


def bridged_pairs(floods: Floods, bridged: Demand) -> Iterator[Pair]:
    """Every (publisher's broker, subscriber's broker, topic number) that is the bridges'."""
    names = tuple(floods.federation.brokers)
    for i in range(len(bridged.to)):
        source, to = names[int(bridged.source[i])], names[int(bridged.to[i])]
        for t in bridged.topic[bridged.first_topic[i] : bridged.first_topic[i + 1]].tolist():
            yield source, to, t


def examples(floods: Floods, topic: str) -> list[str]:
    """Names that a topic stands for: itself, or one for each way a bridge may cut its pattern."""
    if not is_pattern(topic):
        return [topic]
    facts = floods.federation.topics.get(topic)
    assumed = facts is None or facts.assumed  # nobody promised what bridges leave out on purpose
    met = floods.cuts(exceptions=not assumed).meet(topic)
    names = (
        "/".join(EXAMPLE if level in ("+", "#") else level for level in one.split("/"))
        for one in (topic, *met)
    )
    return list(dict.fromkeys(names))


def _cuts(federation: Federation, *, exceptions: bool) -> Iterator[str]:
    """Every pattern by which a bridge takes some names and not others, on both of its sides."""
    for bridge in federation.bridges:
        for prefix in dict.fromkeys((bridge.prefixes.local, bridge.prefixes.remote)):
            yield from (prefix + pattern for pattern in bridge.patterns)
            if exceptions:
                yield from (prefix + pattern for pattern in bridge.except_)
