"""Order for clients that move: S21.

A producer is its origin's stream, unless it has a name: then it is expected to be one producer at
whatever broker. When its broker fails it goes to the next of the take-over list; what the failed
broker's agent had accepted and not passed on comes when that is back, after what was published
since. Likewise a named consumer at its new broker may get what origins kept for the old one after
newer messages. Nothing fences the old stream.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ropewalk.federation.facts import Federation, Takeover
from ropewalk.findings import Finding
from ropewalk.verify.contracts.promised import Promised, Served
from ropewalk.verify.contracts.relations import Rows, is_in, joined
from ropewalk.verify.contracts.style import Style


class Move(NamedTuple):
    """A named client, its broker, and who takes it over."""

    client: str
    broker: str
    taker: str
    publishes: bool


def unfenced(promised: Promised) -> Iterator[Finding]:
    """Topics that promise fifo to or from named clients that are taken over, where that is asked.

    Only where brokers are required to be survived: elsewhere nobody has asked for take-overs.
    """
    federation = promised.federation
    if not promised.survive.brokers:
        return
    moves = _moves(federation, promised.style)
    for number, (name, topic) in enumerate(federation.topics.items()):
        if number in moves and topic.contract.order == "fifo":
            served = Served(number, name, topic, frozenset())
            told, facts = _told(moves[number]), _facts(moves[number])
            yield promised.finding("S21", served, told, "warning", facts)


def _told(moves: list[Move]) -> str:
    client, broker, taker, publishes = moves[0]
    more = f" (and {len(moves) - 1} more clients)" if len(moves) > 1 else ""
    moved = f"promises fifo, and nothing fences it when {client} moves from {broker} to {taker}"
    if publishes:
        why = f"what {broker} still keeps comes after what {client} publishes at {taker}"
    else:
        why = f"what was kept for {broker} may reach {client} after newer messages"
    return f"{moved}{more}: {why}; let consumers go by the publisher's own numbers"


def _facts(moves: list[Move]) -> dict[str, object]:
    return {"moves": [one._asdict() for one in moves[:20]], "moves_total": len(moves)}


def _moves(federation: Federation, style: Style) -> dict[int, list[Move]]:
    """By topic: named clients of it whose broker has somebody that takes them over."""
    found: dict[int, list[Move]] = {}
    many = len(federation.topics)
    speaking = _named(style, style.advertisements, style.speaking)
    listening = _named(style, style.subscriptions, style.listening)
    for publishes, some in ((True, speaking), (False, _as_published(style, listening))):
        for component, topic, broker in some.tolist():
            move = _move(federation, style, component, broker, publishes)
            if move is not None and topic < many and move not in found.get(topic, ()):
                found.setdefault(topic, []).append(move)
    return found


def _named(style: Style, issued: Rows, attached: Rows) -> Rows:
    """(component, topic, broker) of clients that have names: they come after those of brokers."""
    return joined(issued[issued[:, 0] >= len(style.dispatchers)], attached)


def _as_published(style: Style, listening: Rows) -> Rows:
    """The topics as they are published of those that are subscribed to."""
    place = np.arange(len(listening), dtype=np.int32)
    met = joined(np.stack((listening[:, 1], place), axis=1), style.meets)
    met = met[is_in(met[:, 2], style.advertisements[:, 1])]
    who = listening[met[:, 1]]
    return np.stack((who[:, 0], met[:, 2], who[:, 2]), axis=1)


def _move(
    federation: Federation, style: Style, component: int, broker: int, publishes: bool
) -> Move | None:
    name = style.dispatchers[broker]
    takeover: Takeover = federation.brokers[name].takeover
    takers = takeover.publishers if publishes else takeover.subscribers
    return Move(style.components[component], name, takers[0], publishes) if takers else None
