"""Looking into an agent: what it keeps, how much of it, and what a restart would need."""

from typing import TYPE_CHECKING

from ropewalk.overlay.words import INTEREST

if TYPE_CHECKING:
    from ropewalk.overlay.agent import Agent

LetterId = tuple[int, int, str, int]


def things_of(agent: "Agent") -> tuple[int, ...]:
    """What an agent holds for down: links by number, brokers as -1 - number; its colour."""
    chart, dead = agent.deck.chart, agent.gazette.dead
    links = chart.essential(agent.gazette.down, dead)
    return tuple(sorted([*links, *(-1 - b for b in dead)]))


def custody_of(agent: "Agent") -> set[tuple[LetterId, int]]:
    """What an agent keeps as an origin: letter and destination."""
    return {(letter.id, lane.to) for lane in agent.keeper.everywhere() for letter in lane.letters()}


def memory_of(agent: "Agent") -> dict[str, int]:
    """How much each store of an agent holds."""
    faces, lanes = agent.liveness.faces.values(), list(agent.keeper.everywhere())
    return {
        "custody": sum(len(lane.entries) for lane in lanes),
        "longest lane": max((len(lane.entries) for lane in lanes), default=0),
        "in flight": max((len(lane.flying) for lane in lanes), default=0),
        "link": max((face.in_flight for face in faces), default=0),
        "held": agent.arrivals.held,
        "numbering": agent.totals.held,
        "items": len(agent.gazette.items),
        "pending floods": sum(len(face.pending) for face in faces),
        "keys": len(agent.front.ids),
        "numbers": len(agent.front.numbers),
        "talk": agent.talking.held,
        "values": len(agent.front.values.letters) + len(agent.front.seen.letters),
    }


def records_of(agent: "Agent") -> list[object]:
    """Records that stand for everything a restart needs: what a log is cut down to."""
    items = [one for one in agent.gazette.items.values() if one.kind == INTEREST]
    kept = [*agent.front.state(), *agent.keeper.state(), *agent.arrivals.state()]
    return [*items, *kept, *(one for part in agent.parts for one in part.records())]
