"""Many conversations of one protocol at one place: a messenger for each, and a limit for all."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ropewalk.errors import UsageError
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.grounds import Grounds
from ropewalk.protocol.messenger import Delivered, Messenger, Put, Rule, Stamped

MOST = 65_536
"""Conversations that are kept."""
OLDEST = 64
"""Of those that could not end and were silent longest, so many are asked again."""

Key = tuple[str, int]


class Conversations:
    """The conversations of one protocol at one place, for some of its roles.

    Those that may end where they are make room for new ones, the one that was silent longest first;
    if none may end, what begins a new one has to wait.
    """

    def __init__(
        self,
        protocol: Automaton,
        roles: Iterable[str] | None = None,
        *,
        rule: Rule = "horizon",
        most: int = MOST,
        most_waiting: int = 1_024,
        most_again: int = 0,
    ) -> None:
        self.protocol = protocol
        self.roles = frozenset(protocol.roles if roles is None else roles)
        self.grounds = Grounds(protocol)
        self._rule, self._most = rule, most
        self._limits = {"most_waiting": most_waiting, "most_again": most_again}
        self._open: OrderedDict[Key, Messenger] = OrderedDict()
        """By when they were last used, after those of `_asked`."""
        self._asked: OrderedDict[Key, Messenger] = OrderedDict()
        """Those that could not end when room was needed, and were not used since."""

    def __len__(self) -> int:
        return len(self._asked) + len(self._open)

    @property
    def waiting(self) -> int:
        """Messages that wait, in all of them."""
        return sum(one.waiting for _, one in self.items())

    def put(
        self,
        conversation: str,
        message: str,
        payload: Any = None,
        *,
        fields: Any = None,
        now_us: int = 0,
    ) -> Put:
        """Send a message, as the role that says it."""
        letters = self.protocol.of_message.get(message)
        if letters is None:
            return Put("refused", None, f"{self.protocol.name} has no message {message!r}")
        role = self.protocol.letters[letters[0]].sender
        if self.protocol.roles[role] not in self.roles:
            return Put("refused", None, f"{self.protocol.roles[role]} does not speak here")
        messenger = self._messenger((conversation, role))
        if messenger is None:
            return Put("wait", None, f"{self._most:,} conversations are open, and none may end")
        return messenger.put(message, payload, fields=fields, now_us=now_us)

    def get(self, conversation: str, stamped: Stamped, *, now_us: int = 0) -> list[Delivered]:
        """Take a message that has come, as the role that hears it; returns what may be delivered.

        Raises UsageError if its stamp makes no sense.
        """
        letters = self.protocol.of_message.get(stamped.message)
        if letters is None:
            raise UsageError(f"{self.protocol.name} has no message {stamped.message!r}")
        key = (conversation, self.protocol.letters[letters[0]].receiver)
        messenger = self._messenger(key)
        if messenger is None:
            raise UsageError(f"{self._most:,} conversations are open, and none may end")
        return messenger.get(stamped, now_us=now_us)

    def messenger(self, conversation: str, role: str) -> Messenger | None:
        """A conversation that is open, as a role sees it."""
        key = (conversation, self.protocol.role(role))
        return self._open.get(key) or self._asked.get(key)

    def open(self, conversation: str, role: str) -> Messenger | None:
        """The same, opened if it is not; None if there is no room."""
        return self._messenger((conversation, self.protocol.role(role)))

    def forget(self, conversation: str, role: int) -> None:
        """A conversation is no longer followed."""
        for some in (self._open, self._asked):
            some.pop((conversation, role), None)

    def items(self) -> Iterator[tuple[Key, Messenger]]:
        """All that are open, the one that was silent longest first."""
        yield from self._asked.items()
        yield from self._open.items()

    def tick(self, now_us: int) -> list[tuple[str, str]]:
        """Let time pass: conversations with deadlines that have passed."""
        if not self.protocol.deadlines:
            return []
        found = [(key[0], one.tick(now_us)) for key, one in self.items()]
        return [(conversation, passed) for conversation, passed in found if passed is not None]

    def _messenger(self, key: Key) -> Messenger | None:
        found = self._open.get(key)
        if found is not None:
            self._open.move_to_end(key)
            return found
        found = self._asked.pop(key, None)
        if found is not None:
            self._open[key] = found
            return found
        if self.full and not self._make_room():
            return None
        role = self.protocol.roles[key[1]]
        made = Messenger(self.protocol, role, rule=self._rule, grounds=self.grounds, **self._limits)
        self._open[key] = made
        return made

    @property
    def full(self) -> bool:
        """Whether there is no room for another."""
        return len(self) >= self._most

    def to_give_up(self) -> tuple[Key, bool]:
        """The side that makes room with the least harm, and whether it may end where it is.

        The one that was silent longest of those that may end, else of all. Each is asked once
        after it was used, so this costs no more than using it did; time may have let others end.
        """
        for key, one in islice(self._asked.items(), OLDEST):
            if _may_end(one):
                return key, True
        while self._open:
            key, one = next(iter(self._open.items()))
            if _may_end(one):
                return key, True
            self._asked[key] = self._open.pop(key)
        return next(iter(self._asked)), False

    def _make_room(self) -> bool:
        """Forget a conversation that may end."""
        key, may_end = self.to_give_up()
        if may_end:
            self.forget(*key)
        return may_end


def _may_end(one: Messenger) -> bool:
    return one.ended or one.broken is not None
