"""A look at the broker beside an agent every second: for the trace, the detector and the domain.

What a broker can bear is what the federation file says of its `capacity`. CPU and memory are those
of its process, if it runs on this machine; without either, its load is not known.
"""

import asyncio
import ipaddress
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import psutil

from ropewalk.agent.samples import Limits, Sampler
from ropewalk.federation.facts import Broker
from ropewalk.overlay.council.loads import Load
from ropewalk.placement.reactive.balance import Balance, Balanced, balance_step
from ropewalk.placement.reactive.detector import Detector, Reading, Watched, step
from ropewalk.placement.reactive.watching import Watch

EVERY_S = 1.0
GAP_S = 3.5
PID_EVERY = 10
"""Looks between two searches for the broker's process."""
ON_ONE_CORE = ("mosquitto",)
"""Makes whose brokers do all their work in one thread."""
HIGH, LOW = 0.8, 0.6
"""Marks of a broker's utilisation; between them nothing is begun and nothing is over."""
_BUSY = Watch(high=HIGH, low=LOW, hold_s=5.0, release_s=10.0)
_FULL = Watch(high=0.9, low=0.75, hold_s=10.0, release_s=10.0)
DETECTOR = Detector(
    {
        "input_ratio": _BUSY,
        "cpu_share": _FULL,
        "memory_share": _FULL,
        "store_share": _FULL,
        "bandwidth_share": _FULL,
    },
    gap_s=GAP_S,
)
BALANCE = Balance(Watch(high=0.3, low=0.2, hold_s=10.0, release_s=10.0), gap_s=GAP_S)


class Lookout:
    """Takes samples and says when they are too high; `run` it."""

    def __init__(
        self,
        sampler: Sampler,
        *,
        row: Callable[[Mapping[str, float]], None],
        share: Callable[[Load], None],
        others: Callable[[], Mapping[str, Load]],
        tell: Callable[[str, tuple[Any, ...]], None],
        own: Callable[[], Mapping[str, float]] = dict,
        pid: Callable[[], int | None] = lambda: None,
        detector: Detector = DETECTOR,
        now_s: Callable[[], float] = monotonic,
    ) -> None:
        """`row` takes a sample; `others` are the loads of the domain by broker, this one's too.

        `own` are figures of the agent itself, for the trace alone.
        """
        self._own = own
        self._sampler, self._row, self._share, self._others = sampler, row, share, others
        self._tell, self._pid, self._detector, self._now_s = tell, pid, detector, now_s
        self._balanced = Balanced()
        self.watched = Watched()
        self.last: dict[str, float] = {}
        """The last sample."""
        self.reading = Reading()
        self.also: Callable[[], None] = lambda: None
        """What else is done after each look."""

    async def run(self) -> None:
        """Look every second, until it is cancelled."""
        looks = 0
        while True:
            if looks % PID_EVERY == 0:
                self._sampler.watch(await asyncio.to_thread(self._pid))
            looks += 1
            self.look()
            await asyncio.sleep(EVERY_S)

    def look(self) -> None:
        """Take one sample; the first one only begins."""
        taken = self._sampler.take()
        if taken is not None:
            self.last, self.reading = taken
            self._row({**self.last, **self._own()})
            self._judge(self.reading)
            self._share(Load(self.utilisation, tuple(self.watched.causes)))
        self.also()

    @property
    def utilisation(self) -> float | None:
        """Of what the broker keeps up with; by its CPU where nothing better is known."""
        ratio = self.reading.input_ratio
        return self.reading.cpu_share if ratio is None else ratio

    @property
    def out_of_balance(self) -> tuple[str, ...]:
        """Brokers of the domain that are far from its mean."""
        return self._balanced.out

    def _judge(self, reading: Reading) -> None:
        now_s = self._now_s()
        self.watched, events = step(self._detector, self.watched, reading, now_s)
        loads = {name: load.utilisation for name, load in self._others().items()}
        self._balanced, more = balance_step(BALANCE, self._balanced, loads, now_s)
        for one in (*events, *more):
            self._tell("load", (str(one),))


def limits_of(broker: Broker, *, here: bool) -> Limits:
    """What a broker can bear; of its machine only if it is this one."""
    if not here:
        return Limits(costs=broker.capacity)
    cores = 1 if broker.make in ON_ONE_CORE else psutil.cpu_count() or 1
    memory_bytes = psutil.virtual_memory().total
    return Limits(costs=broker.capacity, cores=cores, memory_bytes=memory_bytes)


def is_here(host: str) -> bool:
    """Whether a host is certainly this machine.

    >>> is_here("127.0.0.1"), is_here("localhost"), is_here("10.0.0.1")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listener(port: int) -> int | None:
    """The process that listens on a port of this machine; None if it cannot be seen."""
    try:
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port:
                return one.pid
    except psutil.Error:
        return None
    return None
