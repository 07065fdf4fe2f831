"""One agent process beside one broker: put together, started, reloaded, and stopped cleanly."""

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ropewalk.agent import custody_log, state_version
from ropewalk.agent.access import access_of
from ropewalk.agent.brokers.contract import Access, Lane
from ropewalk.agent.custody_log import CustodyLog
from ropewalk.agent.edge import Edge
from ropewalk.agent.lookout import Lookout, is_here, limits_of, listener
from ropewalk.agent.makes import can_disconnect, lane_of, local_of
from ropewalk.agent.news import News
from ropewalk.agent.orders import Orders
from ropewalk.agent.samples import Sampler
from ropewalk.agent.seal import Seal
from ropewalk.agent.status import brief_of, health_of, metrics_of, status_of
from ropewalk.agent.tables import read_given, tables_at
from ropewalk.agent.tracing import Tracer
from ropewalk.agent.transform import Mediation
from ropewalk.agent.web import Web
from ropewalk.errors import RopewalkError, UsageError
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation
from ropewalk.federation.loading import load
from ropewalk.overlay import Agent, Setup, chart_of, rules_of
from ropewalk.overlay.chart import Chart
from ropewalk.overlay.council.loads import Load
from ropewalk.overlay.events import Charted, Happened
from ropewalk.overlay.runs import latest
from ropewalk.protocol.reading import load_automata

if TYPE_CHECKING:
    from ropewalk.agent.council import Seat

DRAINING_S = 0.02
SETTLED_S = 8.0
"""After a start: who subscribed before it and has not come back by then is gone."""
LAST = 4_096
"""Letters of a killed agent of which its trace may not tell: more than a sync waits for."""
CUSTODY = ("at-least-once", "exactly-once")


class AgentProcess:
    """An agent at work; `start` it, then `stop` it."""

    def __init__(self, orders: Orders, say: Callable[[str], None]) -> None:
        self.orders = orders
        self._number = _number_of(orders.federation, orders.broker)
        self.news = News(orders.broker, orders.federation, say)
        self.started_s = time.time()
        self.port = 0
        self.seat: Seat | None = None
        """In the council."""
        self._reloading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Go on where the log left off; raises UsageError where that is not possible."""
        orders, loop = self.orders, asyncio.get_running_loop()
        known = state_version.format_of(orders.state)
        self.log = CustodyLog(orders.state / "custody", sync=orders.sync)
        try:
            for told in state_version.settle(orders.state, known):
                self.news.say(told)
            recovered = await asyncio.to_thread(custody_log.read, self.log.folder)
            for fault in recovered.faults:
                self.news.say(fault)
            wall_ms = time.time_ns() // 1_000_000
            self.incarnation = custody_log.next_incarnation(recovered, wall_ms)
            self.core = Agent(self._setup(), recovered.records)
            await asyncio.to_thread(self.core.talking.prepare)
            self.seal = Seal(orders.key, orders.broker, self.incarnation)
            self.tracer = self._tracer()
            self.edge = Edge(
                self.core,
                seal=self.seal,
                log=self.log,
                witness=self.tracer,
                tell=self.news.tell,
            )
            self._connect()
            self.lookout = self._lookout()
            self._take_part()
            self.log.start(loop, self.incarnation, recovered.records, self.edge.safe, self.news.say)
        except BaseException:
            self.log.close()
            raise
        self.tracer.start()
        self.web = Web(
            orders.host,
            orders.port,
            token=orders.token,
            health=lambda: health_of(self),
            status=lambda: status_of(self),
            metrics=lambda: metrics_of(self),
            brief=lambda: brief_of(self),
        )
        self.port = await self.web.start()
        _quiet_collector()
        self.edge.begin(latest(recovered.records, LAST))
        self.local.start()
        for lane in self.lanes.values():
            lane.start()
        loop.call_later(SETTLED_S, self.tracer.settled)
        self._looking = loop.create_task(self.lookout.run())

    def _setup(self) -> Setup:
        federation, settings = self.orders.federation, self.orders.settings
        chart = self._chart(federation)
        total = any(one.contract.order == "total" for one in federation.topics.values())
        return Setup(
            me=self._number,
            chart=chart,
            rules=rules_of(federation),
            settings=settings,
            incarnation=self.incarnation,
            deliver_local=False,
            alternates=_alternates(federation, chart, self._number),
            council=self.orders.pace if total or federation.items else None,
            items=federation.items,
            protocols=load_automata(federation.protocols, self.orders.file.parent),
            disconnects=can_disconnect(federation.brokers[self.orders.broker].make, self._access()),
        )

    def _chart(self, federation: Federation, before: Chart | None = None) -> Chart:
        """The chart of a federation, with tables that were computed ahead if there are any."""
        orders = self.orders
        given = read_given(orders.routes, federation, orders.file) if orders.routes else None
        tables = tables_at(orders.state / "tables", given)
        return chart_of(federation, epoch=federation.epoch, before=before, tables=tables)

    def _access(self) -> Access:
        """How to reach its own broker."""
        access = access_of(self.orders.federation, self.orders.broker)
        user, password = self.orders.admin
        return replace(access, admin_user=user, admin_password=password)

    def _tracer(self) -> Tracer:
        orders = self.orders
        return Tracer(
            orders.trace,
            node=orders.broker,
            incarnation=self.incarnation,
            epoch=lambda: self.core.deck.chart.epoch,
            names=self.core.deck.chart.names,
            max_bytes=orders.trace_bytes,
            on_fault=self.news.say,
        )

    def _lookout(self) -> Lookout:
        federation, me = self.orders.federation, self.orders.broker
        access = self._access()
        here = is_here(access.host)
        return Lookout(
            Sampler(self.local.figures, limits=limits_of(federation.brokers[me], here=here)),
            row=self.tracer.sample,
            share=lambda load: self.edge.hand(Happened(load)),
            others=self.loads,
            tell=self.news.tell,
            own=lambda: {
                "stall_us": self.edge.taken_late_us(),
                "sync_us": self.log.taken_slowest_us(),
            },
            pid=lambda: listener(access.port) if here else None,
        )

    def _take_part(self) -> None:
        """In the council, if there is one."""
        managing = self.core.managing
        if managing is None:
            return
        from ropewalk.agent.council import Seat  # with the planner's modules, which take 1 s

        self.seat = Seat(self, managing)
        self.seat.propose(self.orders.federation)
        self.lookout.also = self.seat.look

    def loads(self) -> dict[str, Load]:
        """How loaded the brokers of the domain are, as far as they have said so."""
        managing, names = self.core.managing, self.core.deck.chart.names
        known = managing.loads.known() if managing is not None else {}
        return {names[one]: load for one, load in known.items()}

    def _connect(self) -> None:
        federation, me = self.orders.federation, self.orders.broker
        topics = tuple(federation.topics)
        self.local = local_of(
            federation.brokers[me].make,
            self._access(),
            self.edge,
            topics=topics,
            declared=[name for name in topics if _subscribes(federation, name, me)],
            durable=[n for n in topics if federation.topics[n].contract.delivery in CUSTODY],
            client=me,
        )
        ports = self.core.deck.chart.ports(self._number)
        names = self.core.deck.chart.names
        self.lanes: dict[str, Lane] = {}
        for number in ports.values():
            name = names[number]
            access = access_of(federation, name, reach=self.orders.reach.get(name))
            make = federation.brokers[name].make
            self.lanes[name] = lane_of(make, access, self.edge, client=me)
        links = {names[number]: link for link, number in ports.items()}
        self.edge.attach(
            self.local, {name: (links[name], lane) for name, lane in self.lanes.items()}
        )
        self.mediation = Mediation(
            self.orders.transforms, drop=self.local.accept, tell=self.news.tell
        )
        self.edge.mediate = self.mediation.apply if self.orders.transforms else None

    def reload(self) -> None:
        """Read the federation file and the plan again; what is wrong with them is said."""
        self._reloading = asyncio.get_running_loop().create_task(self._reload(self._reloading))

    async def _reload(self, earlier: "asyncio.Task[None] | None") -> None:
        """Beside the traffic: new tables may take seconds."""
        if earlier is not None:
            await asyncio.wait([earlier])  # whatever came of it
        try:
            federation = await asyncio.to_thread(load, self.orders.file)
            before = self.core.deck.chart
            if federation.epoch > before.epoch:
                chart = await asyncio.to_thread(self._chart, federation, before)
                self.edge.hand(Charted(chart))
            if self.seat is not None:
                self.seat.propose(federation)
        except (RopewalkError, OSError) as error:
            self.news.say(f"nothing was reloaded: {error}")

    def summary(self) -> dict[str, Any]:
        """What is left after a stop."""
        counts, custody = self.edge.counts, self.core.memory()["custody"]
        return {"broker": self.orders.broker, "custody": custody, **counts}

    async def stop(self) -> None:
        """Take nothing more, let custody drain for a while, write all that waits, and end."""
        self._looking.cancel()
        if self._reloading is not None:
            self._reloading.cancel()
        self.edge.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.orders.drain_s):
                while self.core.keeper.keeps or not self.edge.deliveries.settled:
                    await asyncio.sleep(DRAINING_S)
                await self.log.drained()
        await asyncio.gather(
            self.local.close(), *(lane.close() for lane in self.lanes.values()), self.web.close()
        )
        await asyncio.gather(self._looking, return_exceptions=True)
        if self.seat is not None:
            await self.seat.close()
        self.log.close()
        self.tracer.close()


def _quiet_collector() -> None:
    """Charts and code live as long as the process, letters are not tracked: look less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _number_of(federation: Federation, broker: str) -> int:
    if broker not in federation.brokers:
        known = ", ".join(list(federation.brokers)[:8])
        raise UsageError(f"no broker is called {broker!r}: there are {known}")
    return list(federation.brokers).index(broker)


def _alternates(federation: Federation, chart: Chart, me: int) -> dict[int, tuple[int, ...]]:
    if all(one.contract.paths == 1 for one in federation.topics.values()):
        return {}
    from ropewalk.overlay.pairs import alternates_of  # geometry takes a while to load

    return alternates_of(federation, chart).get(me, {})


def _subscribes(federation: Federation, topic: str, broker: str) -> bool:
    some: Sequence[Any] = federation.topics[topic].subscribers
    return any(broker_of(one) == broker for one in some)
