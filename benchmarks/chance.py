"""Protocols by chance, and what rules and messengers do with them: for benchmarks and for laws."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random

from ropewalk.protocol.automaton import Automaton, plain_automaton
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.messenger import Messenger, Rule, Stamped

Rows = list[list[int]]


# --- protocols --------------------------------------------------------------------------------


def said_by_one(random: Random) -> Automaton:
    """Three to six states, three to five messages, all said by one side."""
    states, letters = random.randint(3, 6), random.randint(3, 5)
    return plain_automaton(_rows(random, states, letters, 0.5))


def said_by_two(random: Random, *, cyclic: bool = False) -> Automaton:
    """Up to seven states, up to five messages; some squares are closed, so that crossings occur."""
    states, letters = random.randint(3, 7), random.randint(2, 5)
    senders = [0, 1, *(random.randrange(2) for _ in range(letters - 2))]
    rows = _rows(random, states, letters, random.choice([0.2, 0.3, 0.45]))
    for state, row in enumerate(rows if not cyclic else ()):
        row[:] = [to if to > state else -1 for to in row]
    for _ in range(random.randint(0, 3)):
        _close_square(random, rows, senders, cyclic=cyclic)
    accepting = [state for state in range(states) if random.random() < 0.5] or [states - 1]
    return plain_automaton(rows, senders=senders, accepting=accepting)


def _rows(random: Random, states: int, letters: int, share: float) -> Rows:
    return [
        [random.randrange(states) if random.random() < share else -1 for _ in range(letters)]
        for _ in range(states)
    ]


def _close_square(random: Random, rows: Rows, senders: Sequence[int], *, cyclic: bool) -> None:
    """Let two letters of different senders be allowed in both orders somewhere."""
    states = len(rows)
    a, b = (random.choice([i for i, one in enumerate(senders) if one == who]) for who in (0, 1))
    state = random.randrange(states)

    def further(than: int) -> int:
        return random.randrange(0 if cyclic else min(than + 1, states - 1), states)

    for letter in (a, b):
        if rows[state][letter] < 0 and (cyclic or state < states - 1):
            rows[state][letter] = further(state)
    x, y = rows[state][a], rows[state][b]
    if min(x, y) < 0 or (not cyclic and max(x, y) >= states - 1):
        return
    rows[x][b] = further(max(x, y))
    rows[y][a] = rows[x][b] if random.random() < 0.6 else further(y)


def each_once(random: Random) -> Automaton:
    """Two to four letters, each said at most once, in nearly any order; orders lead apart at times.

    Crossings are nearly always legal here, and often do not commute.
    """
    letters = random.randint(2, 4)
    senders = [0, 1, *(random.randrange(2) for _ in range(letters - 2))]
    split, share = random.choice([0.15, 0.4, 0.7]), random.choice([0.7, 0.9, 1.0])
    width = [1 + (random.random() < split) for _ in range(1 << letters)]
    barred = {
        (said, i) for said in range(1 << letters) for i in range(letters) if random.random() > share
    }
    number, rows, edge = {(0, 0): 0}, Rows(), [(0, 0)]
    for said, _ in edge:
        row = [-1] * letters
        for i in range(letters):
            if said >> i & 1 or (said, i) in barred:
                continue
            to = (said | 1 << i, random.randrange(width[said | 1 << i]))
            if to not in number:
                number[to] = len(number)
                edge.append(to)
            row[i] = number[to]
        rows.append(row)
    return plain_automaton(rows, senders=senders)


def mended(random: Random) -> Automaton:
    """Like figure 5: both may begin, and one side's further words may bring them together."""
    rows = [[1, 2, -1, -1], [-1, 3, -1, -1], [4, -1, -1, -1]]
    rows += [[-1, -1, *(random.choice([5, 5, 6, -1]) for _ in range(2))] for _ in range(2)]
    rows += [[-1, -1, random.choice([-1, 7]), -1], [-1, -1, random.choice([-1, 7]), -1], [-1] * 4]
    speaker = random.randrange(2)
    return plain_automaton(rows, senders=[0, 1, speaker, speaker])


def commuting(random: Random, states: int, letters: int) -> Automaton:
    """All letters are always allowed and commute: each adds its own number, round the circle."""
    add = [random.randrange(1, states) for _ in range(letters)]
    return plain_automaton([[(state + one) % states for one in add] for state in range(states)])


def mixed(random: Random, states: int, letters: int, share: float = 0.05) -> Automaton:
    """The same with some transitions barred, and as many led elsewhere."""
    rows = [list(row) for row in commuting(random, states, letters).rows]
    for row in rows:
        for letter in range(letters):
            chance = random.random()
            if chance < share:
                row[letter] = -1
            elif chance < 2 * share:
                row[letter] = random.randrange(states)
    return plain_automaton(rows)


def walk(automaton: Automaton, length: int, random: Random, state: int = 0) -> list[int]:
    """Letters of a random walk."""
    found: list[int] = []
    for _ in range(length):
        allowed = [i for i, to in enumerate(automaton.rows[state]) if to >= 0]
        if not allowed:
            break
        found.append(random.choice(allowed))
        state = automaton.rows[state][found[-1]]
    return found


# --- definition 8, to the letter ---------------------------------------------------------------


def by_the_letter(
    rows: Rows, state: int, left: tuple[int, ...], to: int, known: dict[object, bool]
) -> bool:
    """Definition 8 as it is printed, with a memo for this check."""
    key = (state, left)
    if key not in known:
        allowed = [one for one in dict.fromkeys(left) if rows[state][one] >= 0]
        known[key] = state == to if not left else bool(allowed) and all(
            by_the_letter(rows, rows[state][one], _less(left, one), to, known) for one in allowed
        )  # fmt: skip
    return known[key]


def _less(left: tuple[int, ...], one: int) -> tuple[int, ...]:
    at = left.index(one)
    return left[:at] + left[at + 1 :]


# --- what rules do ------------------------------------------------------------------------------


def permuted(rule: Rule, *, runs: int, seed: int) -> Counter[str]:
    """All orders of short traces of random protocols: how often a rule sticks, or ends wrong."""
    random, found = Random(seed), Counter[str]()
    while found["runs"] < runs:
        automaton = said_by_one(random)
        letters = walk(automaton, random.randint(2, 5), random)
        if len(letters) < 2:
            continue
        grounds, end = Grounds(automaton), automaton.walk(letters)
        sender = Messenger(automaton, "A", rule=rule, grounds=grounds)
        sent = [_sent(sender, automaton.letters[one].message) for one in letters]
        for order in permutations(sent):
            reader = Messenger(automaton, "B", rule=rule, grounds=grounds)
            for one in order:
                reader.get(one)
            found["runs"] += 1
            stuck = bool(reader.waiting or reader.broken)
            found["stuck"] += stuck
            found["wrong"] += not stuck and reader.course.at != end
    return found


def _sent(sender: Messenger, message: str) -> Stamped:
    stamped = sender.put(message).stamped
    assert stamped is not None
    return stamped


# --- what real messengers do to each other ------------------------------------------------------

Move = tuple[str, int, int]
"""Who says a letter ("says", role, letter), or whose message in a channel arrives."""


class Talk:
    """Two messengers and the two channels between them, brought to a point by its moves."""

    def __init__(self, grounds: Grounds, moves: Sequence[Move]) -> None:
        self.automaton = grounds.automaton
        self.ends = [Messenger(self.automaton, one, grounds=grounds) for one in ("A", "B")]
        self.channels: tuple[list[Stamped], list[Stamped]] = ([], [])
        self.ways: tuple[list[Move], list[Move]] = ([], [])
        self.state, self.refused = self.automaton.initial, False
        for move in moves:
            self._do(move)

    def _do(self, move: Move) -> None:
        kind, role, which = move
        if kind == "says":
            put = self.ends[role].put(self.automaton.letters[which].message)
            self.refused |= put.stamped is None
            if put.stamped is not None:
                self.channels[role].append(put.stamped)
                self.ways[role].append(move)
                self.state = self.automaton.rows[self.state][which] if self.state >= 0 else -1
        else:
            for one in self.ends[1 - role].get(self.channels[role].pop(which)):
                self.ways[1 - role].append(("hears", role, one.number))

    def moves(self, *, reorder: bool) -> Iterator[Move]:
        """What may happen next."""
        for role, end in enumerate(self.ends):
            if end.broken is not None:
                continue
            row = self.automaton.rows[end.course.at]
            for letter in self.automaton.said_by(role):
                if row[letter] >= 0:
                    yield ("says", role, letter)
            channel = self.channels[role]
            for place in range(len(channel) if reorder else min(1, len(channel))):
                yield ("arrives", role, place)

    def key(self) -> object:
        """What tells this point from others."""
        waiting = tuple(tuple(sorted(one.kept)) for one in self.ends)
        numbers = tuple(tuple(one.stamp.number for one in some) for some in self.channels)
        return (*map(tuple, self.ways), waiting, numbers, self.state)

    def judge(self, found: Counter[str], *, settles: bool) -> None:
        """Count what is wrong here."""
        broken = any(one.broken is not None for one in self.ends)
        found["illegal"] += self.state < 0
        found["broken"] += broken
        if any(self.channels) or broken or self.state < 0:
            return
        at = [one.course.at for one in self.ends]
        rifts = [getattr(one.course, "rift", None) for one in self.ends]
        found["stuck"] += any(one.waiting for one in self.ends)
        found["apart"] += at[0] != at[1] and not all(rifts) and not settles


def talked(automaton: Automaton, *, reorder: bool, most: int = 3_000) -> Counter[str]:
    """Every way in which two messengers can talk, and what goes wrong in it."""
    grounds, found = Grounds(automaton), Counter[str]()
    seen, edge = set[object](), [tuple[Move, ...]()]
    while edge and len(seen) < most:
        moves = edge.pop()
        talk = Talk(grounds, moves)
        key = talk.key()
        if talk.refused or key in seen:
            continue
        seen.add(key)
        talk.judge(found, settles=grounds.settles)
        if talk.state >= 0:
            edge += [(*moves, one) for one in talk.moves(reorder=reorder)]
    return found
