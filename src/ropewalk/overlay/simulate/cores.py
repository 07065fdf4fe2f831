"""What the simulator drives: any core with an agent's face; by default the product's own."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ropewalk.federation.facts import Federation
from ropewalk.overlay.agent import Agent, Setup
from ropewalk.overlay.chart import Chart, chart_of
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.events import Action, Event
from ropewalk.overlay.pairs import alternates_of
from ropewalk.overlay.rules import rules_of
from ropewalk.overlay.settings import Settings

LetterId = tuple[int, int, str, int]


class Core(Protocol):
    """An agent's pure core, as `ropewalk.overlay.agent.Agent` is one."""

    @property
    def wake_us(self) -> int:
        """When it wants `Due` at the latest, by its own clock."""

    @property
    def things(self) -> tuple[int, ...]:
        """What it holds for down: links by number, brokers as -1 - number."""

    def start(self, now_us: int) -> list[Action]:
        """The first thing that happens to it."""

    def handle(self, event: Event, now_us: int) -> list[Action]:
        """Something happens to it."""

    def custody(self) -> set[tuple[LetterId, int]]:
        """Letters and destinations that it keeps as origin."""

    def memory(self) -> dict[str, int]:
        """How much is in each of its bounded stores."""


Maker = Callable[[int, int, tuple[Any, ...]], Core]
"""Makes the core of a broker: its number, its incarnation, what its log held."""


def agents_of(federation: Federation, settings: Settings, charts: Sequence[Chart] = ()) -> Maker:
    """Makes the product's own agents; the chart is computed once for all.

    Of several charts an agent begins with the first that it is on.
    """
    rules, every = rules_of(federation), charts or [chart_of(federation)]
    second = {} if charts else alternates_of(federation, every[0])
    total = any(topic.contract.order == "total" for topic in federation.topics.values())
    council = Pace() if total or federation.items else None

    def make(me: int, incarnation: int, records: tuple[Any, ...]) -> Core:
        chart = next(one for one in every if me in one.members)
        setup = Setup(
            me=me,
            chart=chart,
            rules=rules,
            settings=settings,
            incarnation=incarnation,
            alternates=second.get(me, {}),
            council=council,
            items=federation.items,
        )
        return Agent(setup, records=records)

    return make


def begin(core: Core, now_us: int, *, settled: bool) -> list[Action]:
    """Start a core; the product's own can be told that all links are known to work."""
    if settled and isinstance(core, Agent):
        return core.start(now_us, settled=True)
    return core.start(now_us)
