"""A conversation of two roles as one of them sees it: the horizon rule.

The reader keeps a horizon: how much of what the other side has said is sure to come right. Up to
it, whatever is allowed is delivered at once: all orders of what is still missing end in one known
state, the *goal* (definition 8, `convergence`). A message beyond the horizon is delivered if the
same holds for a further horizon: up to the last message that is known of, or up to itself.
Otherwise it waits. With no loss nothing waits for ever and the end is right; what is missing below
the horizon is exactly what has to be sent again.

Both sides may speak. What the reader itself said and the other had not heard belongs to the goal:
it is where the other will be once it has. If a message that comes in its turn leads elsewhere, the
two spoke at once and disagree: the rift is mended (`crossing`), or the conversation is broken off.
"""

from ropewalk.protocol.crossing import Met, Rift
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.stamps import Stamp
from ropewalk.protocol.steps import WINDOW, Steps, counted, in_order

UNMENDED = "both sides spoke at once, and nothing brings them together again"


class Horizon:
    """One role's side of a conversation between two."""

    __slots__ = (
        "_answers", "_free", "_goal", "_grounds", "_horizon", "_known", "_role", "_rows",
        "_speaks", "_steps", "_their_early", "_their_heard", "_their_state", "_their_steps",
        "_tried", "_turn", "ahead", "at", "broken", "coming", "done", "known", "open", "rift",
        "said", "unheard", "waited",
    )  # fmt: skip

    def __init__(self, grounds: Grounds, role: int, *, window: int = WINDOW) -> None:
        start, self._rows = grounds.automaton.initial, grounds.automaton.rows
        self._grounds, self._role, self._free = grounds, role, grounds.free
        self.at = start
        """The state, as this side sees it."""
        self.said = 0
        """How many letters this side has said."""
        self.unheard: dict[int, tuple[int, int]] = {}
        """Those that the other may not have delivered, by number: the letter, the state before."""
        self.waited = True
        """Whether this side could say nothing between its last letter and what it heard since."""
        self._answers = grounds.speaks[1 - role]
        """Whether the other side ever speaks, and so tells what it has heard."""
        self._steps = Steps(self._rows, start, window, grounds.silent)
        self._speaks = grounds.speaks[role]
        """Whether this side ever does: otherwise nobody is told its steps."""
        self.known = 0
        """How many letters of the other side are known."""
        self._their_state, self._their_steps, self._their_heard = start, 0, 0
        self._their_early: tuple[int, ...] = ()
        """Its way as far as it is known: where, after how many steps, having heard what."""
        self._known: dict[int, tuple[int, int, tuple[int, ...], int]] = {}
        """Of its letters, from `done` on: its state after it, what it had heard, and its state."""
        self.ahead: dict[int, Stamp] = {}
        """Stamps that do not reach back to what is known."""
        self.open: dict[int, int] = {}
        """Its letters that are known and not delivered, by number, ascending."""
        self.coming: set[int] = set()
        """Those of them that have come."""
        self.done = 0
        """All numbers below this one have been delivered."""
        self._horizon, self._goal = 0, start
        self.rift: Rift | None = None
        self.broken: str | None = None
        """Why the conversation cannot go on."""
        self._turn, self._tried = 0, dict[int, tuple[int, int]]()
        """How often this side has moved; of messages that have to wait, when that was found."""

    @property
    def states(self) -> tuple[int]:
        """The state that the conversation is in, as this side sees it."""
        return (self.at,)

    def key(self, _sender: int, number: int) -> int:
        """There is only one other side: a number tells its messages apart."""
        return number

    # --- speaking ---------------------------------------------------------------------------

    def speak(self, letter: int) -> Stamp | str | None:
        """Say a letter: its stamp, or why it has to wait; None if the protocol forbids it here."""
        rows, at = self._rows, self.at
        to = rows[at][letter]
        if to < 0:
            return None
        if self.rift is not None or self._horizon > self.done:
            why = self._objection(letter, to)
            if why is not None:
                return why
        self._goal = rows[self._goal][letter]
        number = self.said
        if self._answers:
            self.unheard[number] = (letter, at)
        self.at, self.said, self.waited = to, number + 1, True
        self._turn += 1
        if self.rift is not None:
            self._go_on(self.rift, letter, heard=True)
        self._steps.add(letter, letter)
        return self._steps.stamp(number)

    def _objection(self, letter: int, to: int) -> str | None:
        """Why an allowed letter has to wait."""
        if self.rift is not None:
            if self.rift.speaker != self._role:
                return "both sides spoke at once: the other one has to go on first"
            if self._grounds.crossings.after(self.rift, letter, heard=True) is None:
                return "both sides spoke at once, and this would not bring them together again"
            return None
        goal = self._rows[self._goal][letter]
        if self._free or (
            goal >= 0 and self._grounds.convergence.certain(to, self._rest(self._horizon), goal)
        ):
            return None
        return "messages that were sent before are still missing"

    def _go_on(self, rift: Rift, letter: int, *, heard: bool) -> None:
        """The speaker of a rift says more; when all is one state again, the rift is over."""
        self.rift = self._grounds.crossings.after(rift, letter, heard=heard)
        if self.rift is None:
            self.broken = UNMENDED
        elif len(self.rift.states) == 1:
            [self._goal] = self.rift.states
            self.rift = None

    # --- hearing ----------------------------------------------------------------------------

    def in_turn(self, stamp: Stamp) -> bool:
        """Hear and deliver at once what comes in its turn while nothing else is open.

        This is what happens most, so it has a way of its own; it does just what `hear` and
        `deliver` would.
        """
        number, steps, events = stamp.number, self._their_steps, stamp.events
        if (
            number != self.done
            or number != self.known
            or stamp.base + len(events) != steps + 1
            or self.unheard
            or self.ahead
            or self.rift is not None
            or self.broken is not None
        ):
            return False
        to = self._rows[self.at][events[-1]]
        if to < 0:
            return False
        if self._speaks:
            self._steps.add(-1 - number, events[-1])
        self.at = self._goal = self._their_state = to
        self._their_steps = steps + 1
        self.done = self.known = self._horizon = number + 1
        self._turn += 1
        return True

    def needs(self, stamp: Stamp) -> bool:
        """Whether a message is below the horizon, or the next: all others may have to wait for it.

        There are never more of them than a message may be ahead.
        """
        return stamp.number < self._horizon or stamp.number == self.done

    def known_as(self, stamp: Stamp) -> int | None:
        """The letter that a message of this number is known to be, while it is not delivered."""
        ahead = self.ahead.get(stamp.number)
        return self.open.get(stamp.number) if ahead is None else ahead.events[-1]

    def hear(self, stamp: Stamp) -> bool:
        """A message has come; False if it had come before."""
        number = stamp.number
        if number < self.done or number in self.coming or number in self.ahead:
            return False
        if number < self.known:
            if number in self.open:
                self.coming.add(number)
            return number in self.open
        if not self._joins(stamp):
            self.ahead[number] = stamp
            return True
        self._learn(stamp)
        while self.ahead and self.broken is None:
            near = min(self.ahead)
            if not self._joins(self.ahead[near]):
                break
            self._learn(self.ahead.pop(near))
        return True

    def _joins(self, stamp: Stamp) -> bool:
        """Whether a stamp reaches back to what is known, but for what the other has heard."""
        return stamp.base <= self._their_steps or stamp.first == self.known

    def _learn(self, stamp: Stamp) -> None:
        """Follow the other side's steps as far as a stamp tells them."""
        if stamp.base > self._their_steps:
            self._their_state, self._their_steps = stamp.state, stamp.base
            self._their_heard, self._their_early = stamp.heard, stamp.early
        rows, state, steps = self._rows, self._their_state, self._their_steps
        for event in stamp.events[steps - stamp.base :]:
            letter = event if event >= 0 else self.unheard.get(-1 - event, (-1, 0))[0]
            before, state = state, rows[state][letter] if 0 <= letter < len(rows[0]) else -1
            if state < 0:
                self.broken = "the other side went a way that the protocol does not have"
                return
            steps += 1
            if event >= 0:
                self._know(letter, state, before)
            else:
                heard = counted(self._their_heard, self._their_early, -1 - event)
                self._their_heard, self._their_early = heard
        self._their_state, self._their_steps = state, steps
        if self.known <= stamp.number:
            self.broken = "the other side's stamps do not add up"
        else:
            self.coming.add(stamp.number)

    def _know(self, letter: int, state: int, before: int) -> None:
        """The other side has said a letter."""
        number = self.known
        self.known = number + 1
        self.open[number] = letter
        self._known[number] = (state, self._their_heard, self._their_early, before)
        if letter in self._grounds.silent:
            self.coming.add(number)

    # --- delivering -------------------------------------------------------------------------

    def deliverable(self) -> int | None:
        """The number of a message that may be delivered now: the first of them, or none."""
        if not self.coming or self.broken is not None:
            return None
        row, coming, free = self._rows[self.at], self.coming, self._free
        before: set[int] = set()
        for number, letter in self.open.items():
            # To the protocol messages of one name are alike; to the application they are not.
            if letter in before:
                continue
            if number in coming and row[letter] >= 0 and (free or self._comes_right(number)):
                return number
            before.add(letter)
        if self.done in self.coming and self._horizon <= self.done and not free:
            self._disagree()
            return self.done if self.broken is None else None
        return None

    def _comes_right(self, number: int) -> bool:
        """Whether a message may be delivered: below the horizon, or by moving it."""
        if number < self._horizon:
            return True
        if self.rift is not None:
            return False
        before, now = self._tried.get(number), (self._turn, self.known)
        if before == now:
            return False
        self._tried[number] = now
        moved = before is None or before[0] != now[0]
        if moved and self._moves_to(number + 1, number):
            return True
        return number + 1 != self.known and self._moves_to(self.known, number)

    def _moves_to(self, end: int, number: int) -> bool:
        """Move the horizon there, if all comes right when this message is delivered now."""
        goal = self._goal_at(end)
        to = self._rows[self.at][self.open[number]]
        if end == self.done + 1:
            right = to == goal
        else:
            rest = self._rest(end, but=number)
            right = goal >= 0 and self._grounds.convergence.certain(to, rest, goal)
        if right:
            self._horizon, self._goal = end, goal
        return right

    def _goal_at(self, end: int) -> int:
        """Where the other side will be once it has heard all that it had not heard by then.

        That must also be where it leads from here to hear what was said one after the other: -1 if
        it is not, or if letters that crossed do not commute. To come to the same goal in two orders
        of several would be chance: what was really said may have been in a third.
        """
        rows = self._rows
        goal, heard, early, _ = self._known[end - 1]
        if not self.said:
            return goal
        if self.unheard and not all(map(self._crosses_well, range(self._horizon, end))):
            return -1
        for letter in self._to_hear(heard, early, goal):
            goal = rows[goal][letter]
            if goal < 0:
                return -1
        here = self._goal
        for number in range(self._horizon, end):
            here = rows[here][self.open[number]]
            if here < 0:
                return -1
        return goal if here == goal else -1

    def _crosses_well(self, number: int) -> bool:
        """Whether a letter commutes with each that its sender had not heard when it said it.

        In a rift, but for the last, which the rift is about.
        """
        _, heard, early, state = self._known[number]
        theirs, both_ways = self.open[number], self._grounds.crossings.both_ways
        to_hear = self._to_hear(heard, early, state)
        if self.rift is not None and to_hear.pop() != self.rift.letter:
            return False
        for ours in to_hear:
            ends = both_ways(state, theirs, ours)
            if ends[0] < 0 or ends[0] != ends[1]:
                return False
            state = self._rows[state][ours]
        return True

    def _to_hear(self, heard: int, early: tuple[int, ...], state: int) -> list[int]:
        """Letters of this side that the other had not heard, in an order that it can hear them in.

        If it heard some out of order, what is left need not be allowed in the order in which it
        was said; all orders that are allowed end alike, or it would not have (definition 8).
        """
        unheard = self.unheard.items()
        said = [letter for one, (letter, _) in unheard if one >= heard and one not in early]
        return in_order(self._rows, state, said)

    def _rest(self, end: int, but: int = -1) -> list[int]:
        """Letters below a horizon that are not delivered."""
        return [letter for number, letter in self.open.items() if number < end and number != but]

    def deliver(self, number: int) -> int:
        """Deliver a message that may be delivered; returns its letter."""
        letter = self.open.pop(number)
        self.coming.discard(number)
        self._tried.pop(number, None)
        self._turn += 1
        if self.unheard:
            self.waited = self._waits
            self._forget_heard(number)
        self.at = self._rows[self.at][letter]
        if self._speaks:
            self._steps.add(-1 - number, letter)
        while self.done < self.known and self.done not in self.open:
            del self._known[self.done]
            self.done += 1
        if self._horizon < self.done:
            self._horizon, self._goal = self.done, self.at
        return letter

    def _forget_heard(self, number: int) -> None:
        """The other side had heard these letters before it said this one."""
        _, heard, early, _ = self._known[number]
        for one in [one for one in self.unheard if one < heard or one in early]:
            del self.unheard[one]

    # --- when both spoke at once ------------------------------------------------------------

    def _disagree(self) -> None:
        """The next message in its turn leads elsewhere: mend the rift, or break off."""
        letter, unheard = self.open[self.done], self._unheard_by(self.done)
        if self.rift is not None:
            if self.rift.speaker == self._role:
                self.broken = "both sides spoke at once, and the other one did not wait"
            elif unheard and not self._crosses_well(self.done):
                self.broken = UNMENDED
            else:
                self._go_on(self.rift, letter, heard=not unheard)
        elif not unheard:
            self.broken = "the other side said what is not allowed here"
        else:
            rift = self._grounds.crossings.rift(self._met(letter, unheard))
            if rift is None:
                self.broken = UNMENDED
            elif len(rift.states) > 1:  # otherwise what was said since has mended it
                self.rift = rift

    def _met(self, letter: int, unheard: list[int]) -> Met:
        _, heard, early, base = self._known[self.done]
        ours = tuple(self._to_hear(heard, early, base))
        waited = unheard[-1] == self.said - 1 and self._waits
        return Met(self._role, letter, base, ours, waited)

    @property
    def _waits(self) -> bool:
        """Whether this side has had nothing to say since its last letter, and has nothing now."""
        return self.waited and not self._grounds.crossings.speaks(self._role, self.at)

    def _unheard_by(self, number: int) -> list[int]:
        """Letters of this side that the other had not heard when it said a letter."""
        _, heard, early, _ = self._known[number]
        return [one for one in self.unheard if one >= heard and one not in early]

    # --- what is missing --------------------------------------------------------------------

    def missing(self) -> list[int]:
        """Numbers that are known to have been said and have not come: what to ask for again."""
        found = [number for number in self.open if number not in self.coming]
        if self.ahead:
            found += range(self.known, min(self.ahead))
        return found
