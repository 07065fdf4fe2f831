"""Named scenarios: a federation, its load and what goes wrong, each with the reason it is kept.

Others are added to `SCENARIOS` by the modules that reproduce a paper's experiment.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from ropewalk.federation.facts import Broker, Contract, Federation, Link, Topic
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.simulate.cores import Maker
from ropewalk.overlay.simulate.faults import Fault, parse_faults
from ropewalk.overlay.simulate.plan import Plan
from ropewalk.overlay.simulate.schedule import Load, S, plan_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What to simulate. With a federation file of one's own only the faults that fit are taken."""

    about: str
    federation: Callable[[], Federation]
    faults: tuple[Fault, ...] = ()
    load: Load = field(default_factory=Load)
    settings: Settings = field(default_factory=Settings)

    def plan(self, *, seed: int = 1) -> Plan:
        """The plan of one run."""
        return plan_of(self.federation(), self.faults, self.load, seed=seed)


def diamond() -> Federation:
    """n0 to n3 by n1 or by n2: the smallest federation in which a detour is needed far away."""
    pairs = (("n0", "n1"), ("n0", "n2"), ("n1", "n3"), ("n2", "n3"))
    contract = Contract(delivery="exactly-once", order="fifo")
    return Federation(
        name="diamond",
        brokers={f"n{i}": Broker() for i in range(4)},
        links=tuple(Link(between=pair, latency_ms=2) for pair in pairs),
        topics={
            "there": Topic(publishers=("n0",), subscribers=("n3",), contract=contract),
            "back": Topic(publishers=("n3",), subscribers=("n0", "n1"), contract=contract),
        },
    )


def ring_of_five() -> Federation:
    """Five brokers in a ring with a chord; every one of them publishes and subscribes."""
    names = [f"r{i}" for i in range(5)]
    pairs = [(names[i], names[(i + 1) % 5]) for i in range(5)] + [("r0", "r2")]
    once = Contract(delivery="exactly-once", order="fifo")
    topics = {
        f"from/{name}": Topic(
            publishers=(name,), subscribers=tuple(n for n in names if n != name), contract=once
        )
        for name in names
    }
    return Federation(
        name="ring-of-five",
        brokers={name: Broker() for name in names},
        links=tuple(Link(between=pair, latency_ms=3) for pair in pairs),
        topics=topics,
    )


BUSY = Load(rate_msgs_s=500, duration_us=4 * S, settle_us=15 * S)
CALM = Load(rate_msgs_s=100, duration_us=4 * S, settle_us=15 * S)

SCENARIOS: dict[str, Scenario] = {
    "blackhole-two-links-away": Scenario(
        about="A link that is not the origin's swallows everything, and never heals: plain local"
        " failover with de-duplication on the way loses all that follows.",
        federation=diamond,
        faults=parse_faults("at 1500 ms blackhole n1--n3"),
        load=BUSY,
    ),
    "destination-stall": Scenario(
        about="The destination's agent stands still for 120 ms while traffic is on the backup path:"
        " nobody may be declared dead for it, and nothing overtakes.",
        federation=diamond,
        faults=parse_faults(["at 1 s cut n1--n3 for 2 s", "at 2 s stall n3 for 120 ms"]),
        load=BUSY,
    ),
    "origin-crash": Scenario(
        about="The origin crashes with messages in custody and comes back with its disk, later"
        " once more without it.",
        federation=diamond,
        faults=parse_faults(
            [
                "at 1 s blackhole n1--n3 for 2 s",
                "at 1100 ms crash n0 for 700 ms",
                "at 3 s crash agent of n0 without disk for 500 ms",
            ]
        ),
        load=CALM,
    ),
    "partition": Scenario(
        about="Two brokers of five are cut off, first loudly, then in silence; both sides go on"
        " publishing.",
        federation=ring_of_five,
        faults=parse_faults(
            ["at 1 s partition r0, r1 for 1 s", "at 3 s partition r1, r2 silently for 900 ms"]
        ),
        load=CALM,
    ),
    "flapping": Scenario(
        about="A link goes down and up again every 150 ms: it must not drag everybody along.",
        federation=ring_of_five,
        faults=parse_faults("at 1 s flap r0--r2 every 150 ms for 3 s"),
        load=CALM,
    ),
}

RIVALS: dict[str, Callable[[Federation, Settings], Maker]] = {}
"""Other cores to hold ours against, by name: made like `cores.agents_of`."""
