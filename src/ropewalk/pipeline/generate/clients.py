"""Clients: where they are, and when they are offline.

A third of them has no connection rows at all; others connect at the start; some disconnect and
come back, at times to another broker.
"""

from dataclasses import dataclass

import numpy as np

from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.plan import MS, SECOND, Size

NEVER = 1 << 61
ABSENCES = 3
CATCH_UP = 1_200 * MS
"""So long after its return a durable client gets its backlog; what is live waits for it."""


@dataclass(frozen=True, slots=True)
class Clients:
    """Clients by number; those without absences are online throughout."""

    names: tuple[str, ...]
    left: Ints
    """client x absence: when it disconnected (below 0: before the trace), NEVER if it did not."""
    back: Ints
    """client x absence: when it connected again; NEVER if it did not."""
    node: Ints
    """client x (absence + 1): its broker before, between and after absences."""

    @property
    def steady(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
        """Clients that never disconnect and have no connection rows."""
        found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = self.left[:, 0] == NEVER
        return found

    @property
    def never_left(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
        """Clients that are online from the first second to the end."""
        found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (
            (self.left == NEVER) | (self.left < 0)
        ).all(axis=1)
        return found


def clients_of(rng: np.random.Generator, size: Size) -> Clients:
    """Clients of a seed, half as many as subscriptions."""
    count = max(size.subscriptions // 2, 20)
    left = np.full((count, ABSENCES), NEVER, np.int64)
    back = np.full((count, ABSENCES), NEVER, np.int64)
    node = np.repeat(rng.integers(0, size.brokers, (count, 1)), ABSENCES + 1, axis=1)
    fate = rng.random(count)
    fate[:12] = np.linspace(0.9, 0, 12)  # a small trace has some of each fate too
    for one in np.flatnonzero(fate > 0.55):
        at = 0
        if fate[one] < 0.80 or rng.random() < 0.5:  # seen to connect at the start
            left[one, 0], back[one, 0] = -SECOND, int(rng.integers(100 * MS, SECOND))
            at = 1
        if fate[one] >= 0.80:
            _absences(rng, size, left[one], back[one], node[one], at)
    return Clients(tuple(f"app-{i:04d}" for i in range(count)), left, back, node)


def _absences(
    rng: np.random.Generator, size: Size, left: Ints, back: Ints, node: Ints, at: int
) -> None:
    """Draw absences of one client, at least a minute apart and away from the ends."""
    wanted = int(rng.integers(1, ABSENCES - at + 1))
    room = (size.end - 120 * SECOND) // wanted
    for turn in range(wanted):
        begin = 60 * SECOND + turn * room + int(rng.integers(0, room // 3))
        longest = min(room // 3, 900 * SECOND)
        left[at] = begin
        back[at] = begin + int(rng.integers(min(20 * SECOND, longest // 2), longest))
        if turn == wanted - 1 and rng.random() < 0.15:
            back[at] = NEVER
        elif rng.random() < 0.4:
            node[at + 1 :] = int(rng.integers(0, size.brokers))
        at += 1


def away_from_edges(clients: Clients, edges: Ints) -> Clients:
    """The same clients, none coming back shortly before a slice ends.

    What is live then waits for the backlog, and has to arrive before the next slice begins.
    """
    back = clients.back
    after = edges[np.minimum(np.searchsorted(edges, back), edges.size - 1)]
    close = (back < NEVER) & (after - back < 3 * SECOND) & (after > back)
    moved = np.where(close, after + 500 * MS, back)
    return Clients(clients.names, clients.left, moved, clients.node)
