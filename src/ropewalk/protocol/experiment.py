"""What a messenger saves: waiting time and queue size, as table I of Hallé & Villemaire has them.

A sender says a random walk through the protocol; messages are delayed on the way, so that they come
in another order. In each step at most one comes in and at most one is delivered. The same messages
come in the same order to every rule that is tried.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from ropewalk.errors import UsageError
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.messenger import Messenger, Rule, Stamped

_SHUFFLE = re.compile(r"(delay|exp)=(\d+(?:\.\d+)?)(?:\.\.(\d+(?:\.\d+)?))?\Z")
MOST_DELAY = 1_000_000_000
_SHAPES = "write all, delay=LOW..HIGH or exp=MEAN"


@dataclass(frozen=True, slots=True)
class Shuffle:
    """How messages are delayed: all in any order, by a number between two, or exponentially."""

    kind: str
    low: float = 0.0
    high: float = 0.0

    def order(self, count: int, every: int, random: Random) -> list[tuple[int, int]]:
        """The step in which each message comes in and its number, in that order."""
        if self.kind == "all":
            numbers = random.sample(range(count), count)
            return [(i * every, number) for i, number in enumerate(numbers)]
        times = [i * every + self._delay(random) for i in range(count)]
        found: list[tuple[int, int]] = []
        for number in sorted(range(count), key=times.__getitem__):
            free = found[-1][0] + 1 if found else 0
            found.append((max(free, -int(-times[number] // 1)), number))
        return found

    def _delay(self, random: Random) -> float:
        if self.kind == "exp":
            return random.expovariate(1 / self.low)
        return random.uniform(self.low, self.high)


def shuffle_of(text: str) -> Shuffle:
    """A shuffle as it is written; raises UsageError.

    >>> shuffle_of("delay=0..5"), shuffle_of("exp=2").low
    (Shuffle(kind='delay', low=0.0, high=5.0), 2.0)
    """
    if text == "all":
        return Shuffle("all")
    found = _SHUFFLE.match(text)
    if found is None:
        raise UsageError(f"--shuffle {text}: {_SHAPES}")
    kind, low, high = found.group(1), float(found.group(2)), found.group(3)
    if (kind == "exp") == (high is not None) or (kind == "exp" and not low):
        raise UsageError(f"--shuffle {text}: {_SHAPES}")
    if max(low, float(high or 0)) > MOST_DELAY:
        raise UsageError(f"--shuffle {text}: a delay is above {MOST_DELAY:,} steps")
    if high is not None and float(high) < low:
        raise UsageError(f"--shuffle {text}: {high} is below {low:g}")
    return Shuffle(kind, low, float(high or 0))


@dataclass(frozen=True, slots=True)
class Case:
    """Letters as they were said, and the step in which each number comes in."""

    letters: tuple[int, ...]
    arrivals: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one rule did with all cases."""

    rule: str
    traces: int
    messages: int
    wait: float
    """Steps that a delivered message waited, on average."""
    queue: float
    """The longest that the queue was in a trace, on average."""
    stuck: int
    """Traces of which messages were never delivered."""
    wrong: int
    """Traces that ended in another state than the sender."""


def one_way(automaton: Automaton) -> Automaton:
    """The same protocol with all messages said by one side: as table I was measured.

    What guards tell apart are messages of their own, and so are deadlines.
    """
    letters = tuple(
        replace(one, message=one.name, sender=0, receiver=1) for one in automaton.letters
    )
    roles = ("sender", "receiver")
    return replace(automaton, letters=letters, roles=roles, guards={}, deadlines=())


def cases_of(
    automaton: Automaton, *, traces: int, length: int, shuffle: Shuffle, every: int, seed: int
) -> list[Case]:
    """Random walks and the order in which they come in."""
    random, found = Random(seed), list[Case]()  # noqa: S311 - no secret
    for _ in range(traces):
        letters = tuple(_walk(automaton, length, random))
        found.append(Case(letters, tuple(shuffle.order(len(letters), every, random))))
    return found


def _walk(automaton: Automaton, length: int, random: Random) -> Iterator[int]:
    state = automaton.initial
    for _ in range(length):
        allowed = [i for i, to in enumerate(automaton.rows[state]) if to >= 0]
        if not allowed:
            return
        letter = random.choice(allowed)
        state = automaton.rows[state][letter]
        yield letter


def measure(automaton: Automaton, cases: Sequence[Case], rule: Rule) -> Measured:
    """What a rule does with cases; the automaton is `one_way`."""
    grounds = Grounds(automaton)
    waited = delivered = stuck = wrong = 0
    queues: list[int] = []
    for case in cases:
        sender = Messenger(automaton, automaton.roles[0], rule=rule, grounds=grounds)
        reader = Messenger(automaton, automaton.roles[1], rule=rule, grounds=grounds)
        sent = [sender.put(automaton.letters[one].message).stamped for one in case.letters]
        waits, longest = _read(reader, [one for one in sent if one is not None], case.arrivals)
        waited, delivered = waited + sum(waits), delivered + len(waits)
        queues.append(longest)
        stuck += len(waits) < len(case.letters)
        ended = automaton.walk(case.letters)
        wrong += len(waits) == len(case.letters) and reader.course.at != ended
    return Measured(
        rule,
        len(cases),
        sum(len(one.letters) for one in cases),
        waited / delivered if delivered else 0.0,
        sum(queues) / len(queues) if queues else 0.0,
        stuck,
        wrong,
    )


def _read(
    reader: Messenger, sent: Sequence[Stamped], arrivals: Sequence[tuple[int, int]]
) -> tuple[list[int], int]:
    """How long each delivered message waited, and how long the queue was at most."""
    coming, came, waits = deque(arrivals), dict[int, int](), list[int]()
    step = longest = 0
    while coming or len(waits) < len(came):
        arrived = None
        if coming and coming[0][0] <= step:
            number = coming.popleft()[1]
            came[number], arrived = step, sent[number]
        longest = max(longest, len(came) - len(waits))
        got = reader.get(arrived, most=1)
        waits += [step - came[one.number] for one in got]
        step += 1
        if not got:  # nothing is delivered before the next one comes
            if not coming:
                break
            step = max(step, coming[0][0])
    return waits, longest
