"""The monitor-based messenger: one role's end of one conversation, as a pure machine.

`put` takes what the application wants to say and gives it back with a stamp, or says why not; `get`
takes what has come and gives what may be delivered, in order. Nothing here sends or receives: use
it around any client (`binding` has the headers), or let agents do it on a topic.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from ropewalk.errors import UsageError
from ropewalk.protocol.automaton import NOBODY, Automaton, Deadline
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.horizon import Horizon
from ropewalk.protocol.printed import Outcomes, Printed
from ropewalk.protocol.stamps import Stamp
from ropewalk.protocol.steps import WINDOW
from ropewalk.protocol.strict import Strict

_after_us = attrgetter("after_us")

Rule = Literal["horizon", "strict", "f1", "f2"]
Answer = Literal["sent", "wait", "refused", "broken"]

MOST_WAITING = 1_024
"""Messages that may wait to be delivered; more are not taken, but for those others wait for."""
MOST_KEPT = 4_096
"""Letters that the other side may not have heard; then its next word is waited for."""

MOST_AHEAD = 65_536
"""How far a message may be ahead of those that have come."""
MOST_AGAIN = 256
"""Messages that are kept in case they are asked for again; 0 where the transport loses nothing."""


class Course(Protocol):
    """One role's side of a conversation: what it may say, and what it may deliver."""

    broken: str | None

    @property
    def at(self) -> int:
        """The state that this side sees, or one of them."""

    @property
    def states(self) -> Iterable[int]:
        """All states that the conversation may be in, as far as this side can tell."""

    def speak(self, letter: int) -> Stamp | str | None:
        """Say a letter: its stamp, or why it has to wait; None if the protocol forbids it here."""

    def in_turn(self, stamp: Stamp, /) -> bool:
        """Hear and deliver at once what comes in its turn, if that is all there is to do."""

    def needs(self, stamp: Stamp, /) -> bool:
        """Whether others wait for this message: then it is taken even if there is no room."""

    def known_as(self, stamp: Stamp, /) -> int | None:
        """The letter that a message of this number is known to be, while it is not delivered."""

    def hear(self, stamp: Stamp) -> bool:
        """A message has come; False if it had come before."""

    def deliverable(self) -> int | None:
        """The key of a message that may be delivered now."""

    def deliver(self, key: int) -> int:
        """Deliver it; returns its letter."""

    def key(self, sender: int, number: int, /) -> int:
        """What a message is known by here."""

    def missing(self) -> list[int]:
        """Keys of messages to be asked for again."""


class Stamped(Struct, frozen=True):
    """A message on its way: its name, its stamp, and what the application put in it."""

    message: str
    stamp: Stamp
    payload: Any = None


class Put(Struct, frozen=True):
    """What became of a message that was to be sent."""

    answer: Answer
    stamped: Stamped | None = None
    why: str = ""


class Delivered(Struct, frozen=True):
    """A message that the application gets."""

    message: str
    payload: Any
    sender: str
    number: int


class Messenger:
    """One role's end of one conversation.

    >>> from ropewalk.protocol import automaton
    >>> either_way = automaton('''
    ... {protocol: p, initial: 0, accepting: [3], messages: {A -> B: [a, b, d]},
    ...  transitions: [0 -> 1: a, 0 -> 2: b, 1 -> 3: b, 2 -> 3: a, 3 -> 4: d]}''')
    >>> sender, receiver = Messenger(either_way, "A"), Messenger(either_way, "B")
    >>> a, b, d = (sender.put(name).stamped for name in "abd")
    >>> [[one.message for one in receiver.get(come)] for come in (b, d, a)]
    [['b'], [], ['a', 'd']]
    """

    def __init__(
        self,
        protocol: Automaton,
        role: str,
        *,
        rule: Rule = "horizon",
        window: int = WINDOW,
        most_waiting: int = MOST_WAITING,
        most_kept: int = MOST_KEPT,
        most_again: int = MOST_AGAIN,
        grounds: Grounds | None = None,
    ) -> None:
        if role not in protocol.roles:
            known = ", ".join(protocol.roles) or "none: write messages: {A -> B: [NAME]}"
            raise UsageError(f"{protocol.name} has no role {role!r}; its roles: {known}")
        self.protocol, self.role = protocol, role
        self._number = protocol.role(role)
        self._grounds = grounds or Grounds(protocol)
        self.course = _course(self._grounds, self._number, rule, window)
        self._most_waiting, self._most_kept, self._most_again = most_waiting, most_kept, most_again
        self.kept: dict[int, Stamped] = {}
        """Messages that have come and wait, by the course's key."""
        self._sent: dict[tuple[int, int], Stamped] = {}
        """What may be asked for again, by receiver and number."""
        self._entered_us = 0
        self._plain, self._heard = self._grounds.said_and_heard[self._number]
        self._unheard = self.course.unheard if isinstance(self.course, Horizon) else None

    @property
    def state(self) -> str:
        """The conversation's state, as this side sees it; or those that it may be in."""
        return " or ".join(self.protocol.states[one] for one in sorted(self.course.states))

    @property
    def broken(self) -> str | None:
        """Why the conversation cannot go on; None if it can."""
        return self.course.broken

    @property
    def waiting(self) -> int:
        """How many messages have come and wait."""
        return len(self.kept)

    @property
    def ended(self) -> bool:
        """Whether it may end here, or this side has no more part in it, and nothing waits."""
        states, rows = self.course.states, self.protocol.rows
        part = self._grounds.views[self._number].seen
        return not self.kept and (
            self.protocol.accepting.issuperset(states)
            or all(rows[state][letter] < 0 for state in states for letter in part)
        )

    @property
    def over(self) -> bool:
        """Whether nobody may say anything more, and nothing waits."""
        rows = self.protocol.rows
        return not self.kept and all(max(rows[one]) < 0 for one in self.course.states)

    # --- sending ----------------------------------------------------------------------------

    def put(self, message: str, payload: Any = None, *, fields: Any = None, now_us: int = 0) -> Put:
        """Send a message, if it may be sent now; `fields` are what guards look at."""
        letter = self._plain.get(message, -1)
        if letter < 0:
            guarded = self.protocol.letter_of(message, fields)
            if guarded is None or self.protocol.letters[guarded].sender != self._number:
                return Put("refused", None, f"{self.role} does not say {message!r}")
            letter = guarded
        if self.course.broken is not None:
            return Put("broken", None, self.course.broken)
        if self._unheard is not None and len(self._unheard) >= self._most_kept:
            return Put("wait", None, f"{self._most_kept:,} messages are not answered yet")
        said = self.course.speak(letter)
        if said is None:
            return self._not_allowed(letter)
        if type(said) is str:
            return Put("wait", None, said)
        stamped = Stamped(message, cast("Stamp", said), payload)
        self._entered_us = now_us
        if self._most_again:
            self._have_ready(self.protocol.letters[letter].receiver, stamped)
        return Put("sent", stamped)

    def _have_ready(self, receiver: int, stamped: Stamped) -> None:
        """Have a message ready if it is asked for again; the oldest are given up."""
        self._sent[receiver, stamped.stamp.number] = stamped
        if len(self._sent) > self._most_again:
            del self._sent[next(iter(self._sent))]

    def _not_allowed(self, letter: int) -> Put:
        said = self.protocol.letters[letter].name
        told = f"{said!r} is not allowed in state {self.state!r}"
        if self._hopeless(letter):
            return Put("refused", None, told)
        return Put("wait", None, f"{told} yet: it depends on what others say")

    def _hopeless(self, letter: int) -> bool:
        """Whether nothing that others say could make a letter allowed."""
        rows, letters = self.protocol.rows, enumerate(self.protocol.letters)
        others = [i for i, one in letters if one.sender != self._number or one.receiver == NOBODY]
        return all(
            rows[state][letter] < 0 for state in self.protocol.reached(self.course.states, others)
        )

    # --- receiving --------------------------------------------------------------------------

    def get(
        self, stamped: Stamped | None = None, *, most: int | None = None, now_us: int = 0
    ) -> list[Delivered]:
        """Take a message that has come, if any; returns what may be delivered now, in order.

        Raises UsageError if the stamp makes no sense. A message that finds no `room` is not taken:
        its sender has to send it again.
        """
        if stamped is None:
            return self._deliver(most, now_us)
        stamp, course = stamped.stamp, self.course
        if not stamp.events or stamp.events[-1] not in self._heard.get(stamped.message, ()):
            raise UsageError(f"the stamp of {stamped.message!r} is not one that {self.role} gets")
        if stamp.state >= len(self.protocol.states):
            raise UsageError(f"the stamp of {stamped.message!r} is of another protocol")
        letter = self.protocol.letters[stamp.events[-1]]
        if most is None and course.in_turn(stamp):
            self._entered_us = now_us
            who = self.protocol.roles[letter.sender]
            return [Delivered(stamped.message, stamped.payload, who, stamp.number)]
        self._check(stamped, letter.sender)
        if (self.room or course.needs(stamp)) and course.hear(stamp):
            self.kept[course.key(letter.sender, stamp.number)] = stamped
        return self._deliver(most, now_us)

    def _check(self, stamped: Stamped, sender: int) -> None:
        """Whether a stamp makes sense: it is believed from here on."""
        stamp, course, done = stamped.stamp, self.course, 0
        if isinstance(course, Horizon):
            done = course.done
            own = len(stamp.events)
            if min(stamp.events) < 0:  # mostly there is nothing to count
                own = sum(one >= 0 for one in stamp.events)
            if stamp.first + own != stamp.number + 1:
                raise UsageError(f"the stamp of {stamped.message!r} does not add up")
        elif isinstance(course, Strict):
            done = course.done.get(sender, 0)
        if stamp.number - done > MOST_AHEAD:
            raise UsageError(f"{stamped.message!r} is {stamp.number - done:,} messages ahead")
        if course.known_as(stamp) not in (None, stamp.events[-1]):
            raise UsageError(f"two different messages have the number of {stamped.message!r}")

    @property
    def room(self) -> bool:
        """Whether another message would be taken."""
        return len(self.kept) < self._most_waiting

    def _deliver(self, most: int | None, now_us: int) -> list[Delivered]:
        found: list[Delivered] = []
        course, letters, roles = self.course, self.protocol.letters, self.protocol.roles
        while most is None or len(found) < most:
            key = course.deliverable()
            if key is None:
                break
            letter = letters[course.deliver(key)]
            self._entered_us = now_us
            if letter.receiver != NOBODY:
                one = self.kept.pop(key)
                found.append(
                    Delivered(one.message, one.payload, roles[letter.sender], one.stamp.number)
                )
        return found

    def keep(self, stamped: Stamped) -> None:
        """Have a message wait of which the course knows already: after a restart."""
        sender = self.protocol.letters[stamped.stamp.events[-1]].sender
        self.kept[self.course.key(sender, stamped.stamp.number)] = stamped

    def kept_as(self, stamp: Stamp) -> Stamped | None:
        """The message that waits under the number of a stamp, if one does."""
        sender = self.protocol.letters[stamp.events[-1]].sender
        return self.kept.get(self.course.key(sender, stamp.number))

    def awaits(self, stamp: Stamp) -> bool:
        """Whether a message is known to have come and waits: after a restart."""
        course = self.course
        if isinstance(course, Horizon):
            return stamp.number in course.coming or stamp.number in course.ahead
        if isinstance(course, Strict):
            sender = self.protocol.letters[stamp.events[-1]].sender
            return stamp.number in course.coming.get(sender, ())
        return False

    def entered(self, now_us: int) -> None:
        """Deadlines of the present state count from now."""
        self._entered_us = now_us

    def delivered_before(self, stamp: Stamp) -> bool:
        """Whether a message has been delivered: one that comes again was lost behind this point."""
        course = self.course
        if isinstance(course, Horizon):
            number = stamp.number
            return number < course.done or (number < course.known and number not in course.open)
        if isinstance(course, Strict):
            sender = self.protocol.letters[stamp.events[-1]].sender
            return stamp.number < course.done.get(sender, 0)
        return False

    # --- deadlines --------------------------------------------------------------------------

    @property
    def due_us(self) -> int | None:
        """When this role's deadline in the present state passes; None if there is none."""
        deadline = self._deadline
        if deadline is None or self.course.broken:
            return None
        return self._entered_us + deadline.after_us

    @property
    def _deadline(self) -> Deadline | None:
        due = self.protocol.due
        found = (due.get((state, self._number)) for state in self.course.states) if due else ()
        return min((one for one in found if one is not None), key=_after_us, default=None)

    def tick(self, now_us: int) -> str | None:
        """Let time pass: returns the deadline that has passed, if one has."""
        due_us, deadline = self.due_us, self._deadline
        if due_us is None or deadline is None or now_us < due_us:
            return None
        letter = deadline.letter
        if not isinstance(self.course.speak(letter), Stamp):
            return None
        self._entered_us = now_us
        return self.protocol.letters[letter].name

    # --- what was lost ----------------------------------------------------------------------

    def missing(self) -> list[tuple[str, int]]:
        """Messages that were sent and have not come: of whom to ask for which number again."""
        roles, many = self.protocol.roles, len(self.protocol.roles)
        if isinstance(self.course, Strict):
            return [(roles[key % many], key // many) for key in self.course.missing()]
        return [(roles[1 - self._number], number) for number in self.course.missing()]

    def again(self, role: str, numbers: Iterable[int]) -> list[Stamped]:
        """Messages that a role asks for again, as they were sent; those forgotten are left out."""
        to = self.protocol.role(role)
        found = (self._sent.get((to, number)) for number in numbers)
        return [one for one in found if one is not None]

    def acknowledged(self, role: str, upto: int) -> None:
        """A role has all messages below this number: they need not be kept."""
        to = self.protocol.role(role)
        for key in [key for key in self._sent if key[0] == to and key[1] < upto]:
            del self._sent[key]


def _course(grounds: Grounds, role: int, rule: str, window: int) -> Course:
    automaton = grounds.automaton
    in_order = len(automaton.roles) > 2 or grounds.settles
    if rule == "strict" or (rule == "horizon" and in_order):
        return Strict(automaton, role, grounds.views[role])
    if len(automaton.roles) != 2:
        raise UsageError(f"{rule} is for two roles, and {automaton.name} has {automaton.roles}")
    if rule == "horizon":
        return Horizon(grounds, role, window=window)
    if rule in ("f1", "f2"):
        return Printed(Outcomes(automaton), role, rule)
    raise UsageError(f"{rule!r} is no rule: use horizon, strict, f1 or f2")
