"""Faults take hold of the simulated world, and let go of it again."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ropewalk.errors import UsageError
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.simulate.faults import ON_BROKERS, Fault
from ropewalk.overlay.simulate.hosts import Clock, Host
from ropewalk.overlay.simulate.lanes import Lane, Wire

if TYPE_CHECKING:
    from ropewalk.overlay.simulate.world import World


class Breaker:
    """Breaks what the plan says, and mends it."""

    def __init__(self, world: "World") -> None:
        self._world = world
        names = world.federation.graph.names
        self._host = dict(zip(names, world.hosts, strict=True))
        self._wire: dict[frozenset[str], Wire] = {}
        for wire in world.network.wires:
            ends = frozenset(lane.source.name for lane in wire.lanes)
            self._wire.setdefault(ends, wire)
        self._truth: tuple[frozenset[int], frozenset[int]] = frozenset(), frozenset()
        for fault in world.plan.faults:
            self._check(fault)

    def _check(self, fault: Fault) -> None:
        for name in fault.where:
            if name not in self._host:
                raise UsageError(f"{fault}: there is no broker {name}: see the federation file")
        if fault.kind not in (*ON_BROKERS, "partition") and not self._wires(fault):
            raise UsageError(f"{fault}: there is no link between these: name one that exists")

    def begin(self) -> None:
        """All that goes wrong and is mended."""
        for fault in self._world.plan.faults:
            self._world.at(fault.at_us, self._start, fault)
            if fault.end_us is not None:
                self._world.at(fault.end_us, self._end, fault)

    def _start(self, fault: Fault) -> None:
        self._world.note("fault", -1, str(fault))
        self._act(fault, begins=True)

    def _end(self, fault: Fault) -> None:
        self._world.note("heal", -1, str(fault))
        self._act(fault, begins=False)

    def _act(self, fault: Fault, *, begins: bool) -> None:
        acts: dict[str, Callable[..., None]] = {
            "cut": self._cut,
            "flap": self._flap,
            "partition": self._partition,
            "crash": self._crash,
            "crash-agent": self._crash,
            "stall": self._stall,
            "slow": self._slow,
            "skew": self._skew,
        }
        acts.get(fault.kind, self._spoil)(fault, begins=begins)
        self.tell_truth()

    def tell_truth(self) -> None:
        """Write down what is really up and down; what is not on the chart is neither."""
        world, chart = self._world, self._world.turns.chart
        links = frozenset(wire.number for wire in world.network.wires if wire.down)
        away = frozenset(host.number for host in world.hosts if host.agent is None or host.frozen)
        if chart is not None:
            links |= frozenset(range(len(world.network.wires))) - frozenset(chart.link_number)
            away |= frozenset(range(len(world.hosts))) - chart.members
        if (links, away) != self._truth:
            self._truth = links, away
            world.note("truth", -1, links, away)

    # Links.

    def _wires(self, fault: Fault) -> list[Wire]:
        if fault.kind == "partition":
            inside = set(fault.where)
            return [wire for ends, wire in self._wire.items() if len(ends & inside) == 1]
        wire = self._wire.get(frozenset(fault.where))
        return [] if wire is None else [wire]

    def _lanes(self, fault: Fault) -> list[Lane]:
        lanes = [lane for wire in self._wires(fault) for lane in wire.lanes]
        first = fault.where[0]
        return [lane for lane in lanes if not fault.one_way or lane.source.name == first]

    def _spoil(self, fault: Fault, *, begins: bool) -> None:
        for lane in self._lanes(fault):
            if begins:
                lane.add(fault)
            else:
                lane.remove(fault)
                if not lane.holds and lane.held:
                    self._world.network.release(lane)

    def _cut(self, fault: Fault, *, begins: bool) -> None:
        for wire in self._wires(fault):
            if begins:
                self._close(wire)
            else:
                self._world.network.reopen(wire)

    def _close(self, wire: Wire) -> None:
        was_up = not wire.shut
        self._world.network.shut(wire)
        for lane in wire.lanes if was_up else ():
            self._world.network.tell_closed(lane)

    def _partition(self, fault: Fault, *, begins: bool) -> None:
        if not fault.silent:
            self._cut(fault, begins=begins)
            return
        hole = Fault(kind="blackhole", at_us=fault.at_us, where=fault.where)
        for lane in self._lanes(fault):
            if begins:
                lane.add(hole)
            else:
                lane.remove(hole)

    def _flap(self, fault: Fault, *, begins: bool) -> None:
        """Down for a spell, up for a spell, and so on; up at the end."""
        if begins:
            self._spell(fault, down=True)

    def _spell(self, fault: Fault, *, down: bool) -> None:
        end_us = NEVER if fault.end_us is None else fault.end_us
        wire = self._wires(fault)[0]
        if down:
            self._close(wire)
        else:
            self._world.network.reopen(wire)
        self.tell_truth()
        next_us = self._world.now_us + fault.by_us
        if down or next_us < end_us:
            next_us = min(next_us, end_us) if down else next_us
            self._world.at(next_us, self._turn, fault, not down)

    def _turn(self, fault: Fault, down: bool) -> None:
        self._spell(fault, down=down)

    # Brokers.

    def _crash(self, fault: Fault, *, begins: bool) -> None:
        host, whole = self._host[fault.where[0]], fault.kind == "crash"
        if begins:
            self._world.crash(host, disk=fault.disk)
            host.agent_away += 1
            if whole:
                host.broker_away += 1
                self._leave(host, disk=fault.disk)
                self._world.movers.died(host)
            return
        host.agent_away -= 1
        if whole:
            host.broker_away -= 1
            for lane in host.lanes.values():
                self._world.network.reopen(lane.wire)
        if not host.agent_away:
            self._world.start(host)

    def _leave(self, host: Host, *, disk: bool) -> None:
        """A broker's connections are closed; what it remembered is gone with its disk."""
        if not disk:
            host.seen.clear()
        for lane in host.lanes.values():
            was_up = not lane.wire.shut
            self._world.network.shut(lane.wire)
            if was_up:
                self._world.network.tell_closed(lane)

    def _stall(self, fault: Fault, *, begins: bool) -> None:
        host = self._host[fault.where[0]]
        if begins:
            host.frozen += fault.end_us is None
            self._world.occupy(host, NEVER if fault.end_us is None else fault.end_us)

    def _slow(self, fault: Fault, *, begins: bool) -> None:
        host = self._host[fault.where[0]]
        host.slow_us += fault.by_us if begins else -fault.by_us

    def _skew(self, fault: Fault, *, begins: bool) -> None:
        """A clock jumps ahead and drifts; afterwards it drifts no more, but never goes back."""
        host = self._host[fault.where[0]]
        host.clock = host.clock or Clock()
        jump_us = fault.by_us if begins else 0
        drift_ppm = fault.share_ppm if begins else -fault.share_ppm
        host.clock.change(self._world.now_us, jump_us=jump_us, drift_ppm=drift_ppm)
        self._world.rewake(host)
