"""How an agent is: for people and programs that ask over HTTP."""

import resource
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from ropewalk import __version__
from ropewalk.agent.metrics import Snapshot
from ropewalk.overlay.interface import FAILURE

if TYPE_CHECKING:
    from ropewalk.agent.process import AgentProcess

LAST_NEWS = 5
"""So many of its last words are in a brief."""


def health_of(agent: "AgentProcess") -> list[str]:
    """What is in the way of its work; nothing if all is well."""
    faults = []
    if not agent.edge.deliveries.up:
        faults.append(f"broker {agent.orders.broker} cannot be reached")
    if agent.log.fault:
        faults.append(agent.log.fault)
    if not agent.core.front.synced:
        faults.append("who subscribes elsewhere is not known yet")
    return faults


def status_of(agent: "AgentProcess") -> dict[str, Any]:
    """All that it knows about itself."""
    core = agent.core
    chart = core.deck.chart
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "broker": agent.orders.broker,
        "faults": health_of(agent),
        "federation": agent.orders.federation.name,
        "incarnation": agent.incarnation,
        "epoch": chart.epoch,
        "up_s": round(time.time() - agent.started_s, 3),
        "cpu_s": round(used.ru_utime + used.ru_stime, 6),
        "links": {chart.names[face.peer]: _state(face) for face in core.liveness.faces.values()},
        "down": [_thing(chart, one) for one in core.things],
        "counts": {**agent.edge.counts, **_counters(agent)},
        "memory": core.memory(),
        "log_bytes": agent.log.size,
        "wants": sorted(core.interests.local),
        "wanted": _wanted(agent),
        "load": _load(agent),
        "transforms": {topic: dict(some) for topic, some in agent.mediation.counts.items()},
        "council": agent.seat.status() if agent.seat is not None else None,
        "news": [{"at": at, "what": what} for at, what in agent.news.last[-20:]],
    }


def brief_of(agent: "AgentProcess") -> dict[str, Any]:
    """What changes about it, for those who listen; `figures` change all the time."""
    core, counts = agent.core, agent.edge.counts
    chart, known = core.deck.chart, agent.lookout.utilisation
    return {
        "broker": agent.orders.broker,
        "incarnation": agent.incarnation,
        "epoch": chart.epoch,
        "faults": health_of(agent),
        "links": {chart.names[face.peer]: _state(face) for face in core.liveness.faces.values()},
        "down": [_thing(chart, one) for one in core.things],
        "too_high": sorted(agent.lookout.watched.causes),
        "news": [{"at": at, "what": what} for at, what in agent.news.last[-LAST_NEWS:]],
        "figures": {
            "published": counts["published"],
            "delivered": counts["delivered"],
            "forwarded": core.shipping.forwarded,
            "resent": core.keeper.resent,
            "custody": sum(_custody(agent).values()),
            "utilisation": None if known is None else round(known, 3),
        },
    }


def _wanted(agent: "AgentProcess") -> dict[str, list[str]]:
    """By pattern, the brokers whose clients want it."""
    names, remote = agent.core.deck.chart.names, agent.core.interests.remote
    return {one: sorted(names[b] for b in some) for one, some in sorted(remote.items())}


def _load(agent: "AgentProcess") -> dict[str, Any]:
    """The broker's last window, what is too high in it, and how the domain is."""
    lookout = agent.lookout
    return {
        "utilisation": lookout.utilisation,
        "too_high": sorted(lookout.watched.causes),
        "out_of_balance": lookout.out_of_balance,
        "domain": {name: one.utilisation for name, one in agent.loads().items()},
        "sample": lookout.last,
    }


def _state(face: Any) -> str:
    if face.state is FAILURE:
        return "down"
    return "suspect" if face.suspect else "up"


def _thing(chart: Any, number: int) -> str:
    if number < 0:
        return str(chart.names[-1 - number])
    a, b = chart.link_ends[number]
    return f"{chart.names[a]}--{chart.names[b]}"


def _counters(agent: "AgentProcess") -> dict[str, int]:
    core = agent.core
    return {
        "forwarded": core.shipping.forwarded,
        "copied": core.shipping.copied,
        "resent": core.keeper.resent,
        "doubles": core.arrivals.doubles,
        "false_alarms": core.liveness.false_alarms,
        "deaths": core.liveness.deaths,
        "pauses": core.liveness.pauses,
        **{f"dropped {why}": count for why, count in core.shipping.dropped.items()},
        **{f"refused {why}": count for why, count in agent.seal.refused.items()},
    }


def metrics_of(agent: "AgentProcess") -> Snapshot:
    """Figures for Prometheus, by the names of `metrics`."""
    core, counts, memory = agent.core, agent.edge.counts, agent.core.memory()
    make = agent.orders.federation.brokers[agent.orders.broker].make
    states = Counter(_state(face) for face in core.liveness.faces.values())
    names = core.deck.chart.names
    faces = core.liveness.faces.values()
    return {
        "messaging_client_sent_messages_total": {
            (make, "deliver"): counts["delivered"],
            (make, "forward"): core.shipping.forwarded,
        },
        "messaging_client_consumed_messages_total": {(make, "take"): counts["published"]},
        "ropewalk_agent_info": {(agent.orders.broker, make, __version__): 1},
        "ropewalk_broker_up": int(agent.edge.deliveries.up),
        "ropewalk_links": {one: states[one] for one in ("up", "suspect", "down")},
        "ropewalk_link_up": {names[face.peer]: int(face.state is not FAILURE) for face in faces},
        "ropewalk_false_alarms_total": core.liveness.false_alarms,
        "ropewalk_deaths_total": core.liveness.deaths,
        "ropewalk_custody_messages": _custody(agent),
        "ropewalk_held_messages": memory["held"],
        "ropewalk_resent_messages_total": core.keeper.resent,
        "ropewalk_doubles_dropped_total": core.arrivals.doubles,
        "ropewalk_log_bytes": agent.log.size,
        "ropewalk_log_records_total": agent.log.safe,
        "ropewalk_log_failing": int(bool(agent.log.fault)),
        "ropewalk_refused_words_total": agent.seal.refused,
        "ropewalk_epoch": core.deck.chart.epoch,
        "ropewalk_broker_overloaded": int(agent.lookout.watched.overloaded),
        "ropewalk_carried_items": len(agent.seat.takeovers.carried) if agent.seat else 0,
        **_utilisation(agent),
    }


def _utilisation(agent: "AgentProcess") -> Snapshot:
    known = agent.lookout.utilisation
    return {} if known is None else {"ropewalk_broker_utilisation": known}


def _custody(agent: "AgentProcess") -> dict[str, int]:
    found: Counter[str] = Counter()
    for lane in agent.core.keeper.everywhere():
        found[agent.core.deck.name(lane.to)] += len(lane.entries)
    return dict(found)
