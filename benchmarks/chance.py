"""Protocols by chance, and what rules and messengers do with them: for benchmarks and for laws."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random
from typing import NamedTuple, TypeVar

from ropewalk.protocol.automaton import Automaton, plain_automaton
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.messenger import Messenger, Rule, Stamped

Rows = list[list[int]]
T = TypeVar("T")


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


def side_by_side(random: Random) -> Automaton:
    """Each role goes round in an automaton of its own; at times one step leads elsewhere.

    Letters repeat, and within a side their order matters; crossings are mostly harmless.
    """
    sides = [
        _rows(random, random.randint(1, most), random.randint(1, most + 1), share)
        for most, share in zip((1, 3), random.choices([0.4, 0.6, 0.8], k=2), strict=True)
    ]
    random.shuffle(sides)
    first, second = sides
    many = len(second)
    rows = [
        [to * many + j if to >= 0 else -1 for to in first[i]]
        + [i * many + to if to >= 0 else -1 for to in second[j]]
        for i in range(len(first))
        for j in range(many)
    ]
    if random.random() < 0.3:
        row = random.choice(rows)
        row[random.randrange(len(row))] = random.randrange(-1, len(rows))
    return plain_automaton(rows, senders=[0] * len(first[0]) + [1] * len(second[0]))


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


# --- what two peers do without a messenger, to the letter -----------------------------------------


class Peers(NamedTuple):
    """Where both are, what is on its way from each, and where the protocol is."""

    at: tuple[int, int]
    channels: tuple[tuple[int, ...], tuple[int, ...]]
    state: int

    def good(self, automaton: Automaton) -> bool:
        """Whether they have ended well."""
        same = self.at == (self.state, self.state) and not any(self.channels)
        return same and self.state in automaton.accepting


def _put(pair: tuple[T, T], role: int, one: T) -> tuple[T, T]:
    return (one, pair[1]) if role == 0 else (pair[0], one)


def _nexts(automaton: Automaton, here: Peers, bound: int) -> Iterator[Peers]:
    rows = automaton.rows
    for role in (0, 1):
        row, line = rows[here.at[role]], here.channels[role]
        for letter in automaton.said_by(role) if len(line) < bound else ():
            if row[letter] >= 0:
                lines = _put(here.channels, role, (*line, letter))
                yield Peers(_put(here.at, role, row[letter]), lines, rows[here.state][letter])
        to = rows[here.at[1 - role]][line[0]] if line else -1
        if to >= 0:
            lines = _put(here.channels, role, line[1:])
            yield Peers(_put(here.at, 1 - role, to), lines, here.state)


def by_hand(automaton: Automaton, *, bound: int, most: int) -> tuple[bool | None, bool | None]:
    """Whether two peers over channels in order stay legal, and can always end; None: too many."""
    start = automaton.initial
    order = [Peers((start, start), ((), ()), start)]
    before: dict[Peers, list[Peers]] = {order[0]: []}
    for here in order:
        for to in _nexts(automaton, here, bound):
            if to.state < 0:
                return False, False
            if to not in before:
                before[to] = []
                order.append(to)
            before[to].append(here)
        if len(order) > most:
            return None, None
    hope = [one for one in order if one.good(automaton)]
    good = set(hope)
    while hope:
        new = set(before[hope.pop()]) - good
        good |= new
        hope += new
    # Where the protocol itself has no end, nobody can be blamed.
    ends = {one for one, _ in enumerate(automaton.rows) if _can_end(automaton, one)}
    return True, all(one in good or one.state not in ends for one in order)


def _can_end(automaton: Automaton, state: int) -> bool:
    seen, edge = {state}, [state]
    while edge:
        new = {to for to in automaton.rows[edge.pop()] if to >= 0} - seen
        seen |= new
        edge += new
    return bool(seen & automaton.accepting)


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
            self.do(move)

    def do(self, move: Move) -> None:
        """One more move."""
        kind, role, which = move
        self.refused = False
        if kind == "says":
            put = self.ends[role].put(self.automaton.letters[which].message)
            self.refused = put.stamped is None
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

    @property
    def quiet(self) -> bool:
        """Whether all has come, and neither side has broken off."""
        broken = any(one.broken is not None for one in self.ends)
        return not (any(self.channels) or broken or self.state < 0)

    @property
    def speaker(self) -> int | None:
        """The role that has to go on if there is a rift."""
        rifts = [getattr(one.course, "rift", None) for one in self.ends]
        return next((one.speaker for one in rifts if one is not None), None)

    def judge(self, found: Counter[str], *, settles: bool) -> None:
        """Count what is wrong here."""
        found["illegal"] += self.state < 0
        found["broken"] += any(one.broken is not None for one in self.ends)
        if not self.quiet:
            return
        at = [one.course.at for one in self.ends]
        rifts = [getattr(one.course, "rift", None) for one in self.ends]
        found["stuck"] += any(one.waiting for one in self.ends)
        found["apart"] += at[0] != at[1] and not all(rifts) and not settles


def mute(grounds: Grounds, moves: Sequence[Move], talk: Talk) -> bool:
    """Whether somebody is kept from saying what is allowed, although all has come.

    In a rift its speaker must have something to say; otherwise everybody may say all there is.
    """
    says = [one for one in talk.moves(reorder=False) if one[0] == "says"]
    sent = {one: not Talk(grounds, (*moves, one)).refused for one in says}
    if talk.speaker is None:
        return not all(sent.values())
    return not any(went for one, went in sent.items() if one[1] == talk.speaker)


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
        found["mute"] += talk.quiet and mute(grounds, moves, talk)
        if talk.state >= 0:
            edge += [(*moves, one) for one in talk.moves(reorder=reorder)]
    return found


def wandered(automaton: Automaton, random: Random, *, runs: int, steps: int) -> Counter[str]:
    """Some ways in which two messengers can talk that need not come to an end, by chance."""
    grounds, found = Grounds(automaton), Counter[str]()
    for _ in range(runs):
        talk = Talk(grounds, ())
        for _ in range(steps):
            some = list(talk.moves(reorder=True))
            if not some or talk.state < 0:
                break
            talk.do(random.choice(some))
        while any(talk.channels):
            role = random.choice([role for role in (0, 1) if talk.channels[role]])
            talk.do(("arrives", role, random.randrange(len(talk.channels[role]))))
        talk.judge(found, settles=grounds.settles)
        found["mute"] += talk.quiet and _stays_mute(talk, random)
    return found


def _stays_mute(talk: Talk, random: Random) -> bool:
    """The same by trying: in a rift all that its speaker may say, otherwise one letter."""
    role = talk.speaker
    says = [one for one in talk.moves(reorder=False) if one[0] == "says" and role in (None, one[1])]
    random.shuffle(says)
    for one in says if role is not None else says[:1]:
        talk.do(one)
        if not talk.refused:
            return False
    return role is not None or bool(says)
