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

from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding
from ropewalk.verify.contracts.governing import Sides
from ropewalk.verify.contracts.promised import Promised, Served
from ropewalk.verify.contracts.relations import joined, rows


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
    if not promised.survive.brokers:
        return
    found: dict[int, dict[Move, None]] = {}
    sides = promised.sides(lambda contract: contract.order == "fifo")
    for topic, move in (*_moves(promised, sides, True), *_moves(promised, sides, False)):
        found.setdefault(topic, {})[move] = None
    for number, moves in sorted(found.items()):
        name = promised.federation.topic_table.names[number]
        served = Served(number, name, promised.federation.topics[name])
        told, facts = _told(list(moves)), _facts(list(moves))
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


def _moves(promised: Promised, sides: Sides, publishes: bool) -> Iterator[tuple[int, Move]]:
    """By topic: clients of it that move, if somebody owes them, or they owe somebody."""
    moving = list(_moving(promised.federation, publishes))
    number = {name: b for b, name in enumerate(promised.federation.brokers)}
    broker = np.array([number[move.broker] for _, move in moving], np.int32)
    which = rows([(entry, i) for i, (entry, _) in enumerate(moving)], 2)
    cells = sides.published if publishes else sides.subscribed
    met = joined(cells[:, ::-1], which)[:, 1:]  # cell, move
    side = np.stack((met[:, 0], broker[met[:, 1]]), axis=1)
    owed = sides.owed(side, sides.reading if publishes else sides.publishing)
    for cell, i in met[owed].tolist():
        yield int(promised.cells.topic[cell]), moving[i][1]


def _moving(federation: Federation, publishes: bool) -> Iterator[tuple[int, Move]]:
    """Entries' named clients whose broker has somebody that takes them over."""
    for entry, topic in enumerate(federation.topics.values()):
        for one in topic.publishers if publishes else topic.subscribers:
            if not isinstance(one, str):
                takeover = federation.brokers[one.broker].takeover
                takers = takeover.publishers if publishes else takeover.subscribers
                if takers:
                    yield entry, Move(one.client, one.broker, takers[0], publishes)
