"""Plans made by rule: steady publishers, subscribers of the file, and random faults.

Everything follows from the seed. All faults that heal are over before the quiet time at the end,
so that whatever was promised must be kept by then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ropewalk.errors import UsageError
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Attachment, Federation
from ropewalk.overlay.simulate.faults import ON_BROKERS, Curve, Fault, Kind, Tail, last_end_us
from ropewalk.overlay.simulate.plan import Plan, Publication, Wish

MS, S = 1_000, 1_000_000
WARM_UP_US = 300 * MS
"""Nobody publishes and nothing fails before subscriptions can be known everywhere."""
SETTLE_US = 20 * S
MOST_PUBLICATIONS = 2_000_000
CURVES: tuple[Curve, ...] = ("exponential", "lognormal", "pareto")
LONGEST_STALL_US = 400 * MS
HARMLESS: tuple[Kind, ...] = ("stall", "slow", "skew", "delay", "duplicate", "reorder", "lose")
BREAKING: tuple[Kind, ...] = (
    *("cut", "blackhole", "hold", "flap", "partition", "crash", "crash-agent"),
)
ALL: tuple[Kind, ...] = (*BREAKING, *HARMLESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much is published for how long, and how much clients come and go."""

    rate_msgs_s: float = 50.0
    """Of each publisher of each topic."""
    duration_us: int = 5 * S
    settle_us: int = SETTLE_US
    late: float = 0.0
    """Share of subscribers that come while the others are at work."""
    leaving: float = 0.0
    """Share of subscribers that leave before the end."""
    burst: int = 1
    """So many are published at once, then none for as long as that many take."""


def plan_of(
    federation: Federation,
    faults: Sequence[Fault] = (),
    load: Load | None = None,
    *,
    seed: int = 1,
) -> Plan:
    """The workload of a federation file's topics, and these faults.

    Raises UsageError if nobody publishes anything, or more than can be simulated.

    >>> from ropewalk import generate
    >>> plan = plan_of(generate("six-broker"), load=Load(rate_msgs_s=10, duration_us=S))
    >>> len(plan.publications), len(plan.wishes)
    (40, 6)
    """
    load = load or Load()
    draw = Random(f"load {seed}")  # noqa: S311  (nothing here is secret)
    publications = tuple(_publications(federation, load, draw))
    if not publications:
        raise UsageError(f"{federation.name}: no topic has a publisher: add topics to the file")
    stop_us = WARM_UP_US + load.duration_us
    end_us = max(stop_us, last_end_us(faults)) + load.settle_us
    wishes = tuple(_wishes(federation, load, draw))
    return Plan(publications, wishes, tuple(faults), end_us, seed)


def concrete(pattern: str) -> str:
    """A topic name that a pattern stands for.

    >>> concrete("orders/+/new"), concrete("prices/#")
    ('orders/x/new', 'prices/x')
    """
    return "/".join("x" if level in ("+", "#") else level for level in pattern.split("/"))


def client_of(attachment: Attachment) -> str:
    """A client's name; one that has none is called after its broker."""
    return attachment if isinstance(attachment, str) else attachment.client


def _publications(federation: Federation, load: Load, draw: Random) -> Iterator[Publication]:
    """Publishers keep their rates, each from a moment of its own, so that none go in step."""
    if load.rate_msgs_s <= 0:
        raise UsageError(f"a rate of {load.rate_msgs_s:g} messages/s: write one above 0")
    number = {name: b for b, name in enumerate(federation.graph.names)}
    gap_us = S / load.rate_msgs_s
    each = int(load.duration_us / gap_us)
    total = each * sum(len(topic.publishers) for topic in federation.topics.values())
    if total > MOST_PUBLICATIONS:
        raise UsageError(f"{total:,} publications: lower the rate or the duration")
    made: list[tuple[int, int, str, str]] = []
    for pattern, topic in federation.topics.items():
        for one in topic.publishers:
            first_us = WARM_UP_US + draw.random() * gap_us
            broker, name = number[broker_of(one)], concrete(pattern)
            starts = (i // load.burst * load.burst for i in range(each))
            made += [(int(first_us + i * gap_us), broker, name, client_of(one)) for i in starts]
    for count, (at_us, broker, name, client) in enumerate(sorted(made), start=1):
        yield Publication(count, at_us, broker, name, client)


def _wishes(federation: Federation, load: Load, draw: Random) -> Iterator[Wish]:
    number = {name: b for b, name in enumerate(federation.graph.names)}
    half_us = load.duration_us // 2
    for pattern, topic in federation.topics.items():
        for one in topic.subscribers:
            late, leaving = draw.random() < load.late, draw.random() < load.leaving
            at_us = WARM_UP_US + draw.randrange(half_us + 1) if late else 0
            until_us = WARM_UP_US + half_us + draw.randrange(half_us + 1) if leaving else None
            yield Wish(at_us, until_us, number[broker_of(one)], client_of(one), pattern)


def random_faults(
    federation: Federation,
    count: int,
    *,
    seed: int = 1,
    kinds: Sequence[Kind] = ALL,
    duration_us: int = 5 * S,
    destroy: float = 0.25,
    permanent: float = 0.0,
) -> tuple[Fault, ...]:
    """So many faults of some kinds, drawn by a seed.

    `destroy` is the share of crashes that take the disk along, `permanent` that of faults that
    never heal (links only: a broker that is gone for ever owes nothing).
    """
    draw = Random(f"faults {seed}")  # noqa: S311  (nothing here is secret)
    possible = [kind for kind in kinds if federation.links or kind in ("stall", "slow", "skew")]
    if count and not possible:
        raise UsageError("no kind of fault is left that this federation can have: name others")
    made = []
    for _ in range(count):
        kind = draw.choice(possible)
        drawn = _Drawn(federation, draw, duration_us)
        made.append(drawn.fault(kind, destroy=destroy, permanent=permanent))
    return tuple(sorted(made, key=lambda fault: (fault.at_us, str(fault))))


class _Drawn:
    """All that a random fault may need, drawn whether it needs it or not; times are round."""

    def __init__(self, federation: Federation, draw: Random, duration_us: int) -> None:
        names = list(federation.brokers)
        ends = draw.choice(federation.links).between if federation.links else (names[0],) * 2
        self.ends = ends if draw.random() < 0.5 else (ends[1], ends[0])
        self.broker = (draw.choice(names),)
        self.some = tuple(sorted(draw.sample(names, draw.randint(1, max(1, len(names) // 2)))))
        self.at_us = WARM_UP_US + draw.randrange(max(1, duration_us // (10 * MS))) * 10 * MS
        self.for_us = round(10 ** draw.uniform(1.0, 3.3)) * MS
        self.by_us = draw.choice((5, 20, 50, 100)) * MS
        curve: Curve = draw.choice(CURVES)
        self.tail = Tail(curve, draw.randrange(1, 30) * MS)
        self.share_ppm = draw.choice((10_000, 50_000, 200_000, 500_000))
        self.drift_ppm = draw.choice((0, 50, 500))
        self.one_way = draw.random() < 0.3
        self.dice, self.coin = draw.random(), draw.random()

    def fault(self, kind: Kind, *, destroy: float, permanent: float) -> Fault:
        """The fault of a kind."""
        lasting = kind in ("cut", "blackhole") and self.coin < permanent
        for_us = min(self.for_us, LONGEST_STALL_US) if kind == "stall" else self.for_us
        fields = {
            "crash": {"disk": self.dice >= destroy},
            "crash-agent": {"disk": self.dice >= destroy},
            "slow": {"by_us": self.by_us // 500},
            "skew": {"by_us": self.by_us, "share_ppm": self.drift_ppm},
            "partition": {"silent": self.one_way},
            "flap": {"by_us": 3 * self.by_us},
            "blackhole": {"one_way": self.one_way},
            "hold": {"one_way": self.one_way},
            "lose": {"one_way": self.one_way, "share_ppm": self.share_ppm},
            "duplicate": {"one_way": self.one_way, "share_ppm": self.share_ppm},
            "reorder": {"share_ppm": self.share_ppm, "by_us": self.by_us},
            "delay": {"one_way": self.one_way, "by_us": self.by_us, "tail": self.tail},
        }
        where = self.broker if kind in ON_BROKERS else self.ends
        return Fault(
            kind=kind,
            at_us=self.at_us,
            for_us=None if lasting else for_us,
            where=self.some if kind == "partition" else where,
            **fields.get(kind, {}),  # type: ignore[arg-type]
        )
