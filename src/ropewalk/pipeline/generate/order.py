"""Faults of total order: two messages the other way round, and three that go in a circle."""

import numpy as np

from ropewalk.pipeline.generate.ledger import cycle, opposed
from ropewalk.pipeline.generate.plan import TICKERS, TOPIC_KINDS
from ropewalk.pipeline.generate.scene import Scene


def swap(scene: Scene, kind: int) -> bool:
    """One client gets two neighbours the other way round.

    That is against their ranks, if they have some, and against every other client with both.
    """
    made = scene.made
    for one in scene.candidates(made.calm & scene.kinds(kind)):
        message = int(made.message[one])
        if not scene.free(one) or not _neighbours(scene, message, 2):
            continue
        first, second = _receivers(scene, message), _receivers(scene, message + 1)
        client = int(made.client[one])
        next_one = second.get(client, -1)
        others = [other for other in first if other in second and other != client]
        if next_one < 0 or not made.calm[next_one] or not _same_nodes(scene, first, second):
            continue
        then = scene.following(next_one, stream=False)
        time = scene.after(next_one, then)
        if time and others:
            made.time[one] = time
            scene.take(one)
            if TOPIC_KINDS[kind].ranked:
                scene.tell("A007", one)
            topic, names = scene.topic(message), scene.world.clients.names
            scene.entries += [opposed(topic, names[client], names[other]) for other in others]
            scene.entries.append(cycle(topic, (scene.key(message), scene.key(message + 1))))
            return True
    return False


def three_ways(scene: Scene) -> bool:
    """Three clients get two of three messages each, in a circle.

    Each two of them agree, but no order holds for all. Others get none of the three, which their
    contract allows.
    """
    made = scene.made
    for one in scene.candidates(made.calm & scene.kinds(TICKERS)):
        message = int(made.message[one])
        if not scene.free(one) or not _neighbours(scene, message, 3):
            continue
        got = [_receivers(scene, message + step) for step in range(3)]
        able = [
            client
            for client in got[0]
            if all(client in each and made.calm[each[client]] for each in got)
        ]
        if len(able) < 3 or not all(_same_nodes(scene, got[0], each) for each in got[1:]):
            continue
        a, b, c = (int(client) for client in scene.rng.choice(able, 3, replace=False))
        time = scene.after(got[2][c], scene.following(got[2][c], stream=False))
        if time:
            made.time[got[0][c]] = time
            stay = {got[0][a], got[1][a], got[1][b], got[2][b], got[2][c], got[0][c]}
            drop = [place for each in got for place in each.values() if place not in stay]
            made.kept[drop] = False
            scene.take(one)
            keys = [scene.key(message + step) for step in range(3)]
            scene.entries.append(cycle(scene.topic(message), keys))
            return True
    return False


def _neighbours(scene: Scene, message: int, count: int) -> bool:
    """Whether messages that follow each other in a topic's order begin here, all accepted."""
    messages = scene.messages
    some = slice(message, message + count)
    return (
        message + count <= messages.topic.size
        and bool(np.all(messages.topic[some] == messages.topic[message]))
        and bool(np.all(messages.accepted[some]))
    )


def _receivers(scene: Scene, message: int) -> dict[int, int]:
    """Clients that get a message, each with its delivery."""
    begin, end = np.searchsorted(scene.made.message, [message, message + 1])
    return {
        int(scene.made.client[place]): int(place)
        for place in range(begin, end)
        if scene.made.kept[place]
    }


def _same_nodes(scene: Scene, first: dict[int, int], second: dict[int, int]) -> bool:
    """Whether each client that gets both gets them at one broker."""
    node = scene.made.node
    return all(node[first[one]] == node[second[one]] for one in first if one in second)
