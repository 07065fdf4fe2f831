"""Loops over the messages and deliveries of a slice."""

import numpy as np
import numpy.typing as npt

from ropewalk.kernels import kernel

Ints = npt.NDArray[np.int64]


@kernel
def never_earlier(times: Ints, channel: Ints, channels: int) -> None:
    """Make times of each channel rise: none is earlier than the one before it plus 1."""
    last = np.full(channels, -(1 << 62), np.int64)
    for i in range(times.size):
        at = channel[i]
        if at >= 0:
            times[i] = max(times[i], last[at] + 1)
            last[at] = times[i]


@kernel
def numbered(stream: Ints, base: Ints) -> Ints:
    """Each message's number in its stream, which goes on from the base."""
    last = base.copy()
    found = np.empty(stream.size, np.int64)
    for i in range(stream.size):
        last[stream[i]] += 1
        found[i] = last[stream[i]]
    return found


@kernel
def served(
    queue: Ints, arrived: Ints, level: Ints, gap: Ints, hurry_from: int, hurry_gap: int
) -> Ints:
    """When each message leaves its queue: at every turn the highest level that is there.

    Messages are sorted by queue and arrival; levels are 0 to 9. After `hurry_from` turns follow
    fast, so that queues are empty at the end of a slice.
    """
    left = np.zeros(queue.size, np.int64)
    following = np.full(queue.size, -1, np.int64)
    first = np.full(10, -1, np.int64)
    last = np.full(10, -1, np.int64)
    at = 0
    while at < queue.size:
        end = at
        while end < queue.size and queue[end] == queue[at]:
            end += 1
        now, waiting, here = np.int64(0), 0, at
        while here < end or waiting > 0:
            if waiting == 0:
                now = max(now, arrived[here] + 50_000)
            while here < end and arrived[here] <= now:
                deep = level[here]
                if first[deep] < 0:
                    first[deep] = here
                else:
                    following[last[deep]] = here
                last[deep] = here
                waiting += 1
                here += 1
            deep = 9
            while first[deep] < 0:
                deep -= 1
            one = first[deep]
            first[deep] = following[one]
            waiting -= 1
            left[one] = now
            if now < hurry_from:
                now = min(now + gap[one], max(np.int64(hurry_from), now + hurry_gap))
            else:
                now += hurry_gap
        at = end
    return left


@kernel
def conversing(
    stream: Ints, streams: int, open_at_once: int, revise: npt.NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Each message's conversation (a number within its stream) and its label.

    A stream keeps some conversations open and serves them in turn.
    """
    turn = np.zeros(streams, np.int64)
    begun = np.zeros(streams, np.int64)
    talk = np.full((streams, open_at_once), -1, np.int64)
    state = np.zeros((streams, open_at_once), np.int64)
    number = np.empty(stream.size, np.int64)
    label = np.empty(stream.size, np.int64)
    for i in range(stream.size):
        one = stream[i]
        slot = turn[one] % open_at_once
        turn[one] += 1
        if state[one, slot] == 0:
            talk[one, slot] = begun[one]
            begun[one] += 1
        said = state[one, slot]
        if said == 2 and revise[i]:
            said = 3
        number[i], label[i] = talk[one, slot], said
        state[one, slot] = 0 if said == 2 else 1 if said in (0, 3) else 2
    return number, label


@kernel
def apart(time: Ints, node: Ints, nodes: int, quantum: int) -> Ints:
    """Quanta of rows in time order, so that no two rows of a node have the same."""
    last = np.full(nodes, -1, np.int64)
    found = np.empty(time.size, np.int64)
    for i in range(time.size):
        at = max(time[i] // quantum, last[node[i]] + 1)
        last[node[i]] = at
        found[i] = at
    return found


def compile_all() -> None:
    """Compile what tasks call, so that they find it on disk instead of each doing it again."""
    none, some = np.zeros(0, np.int64), np.zeros(0, bool)
    never_earlier(none, none, 0)
    numbered(none, none)
    served(none, none, none, none, 0, 0)
    conversing(none, 0, 1, some)
    apart(none, none, 0, 1)
