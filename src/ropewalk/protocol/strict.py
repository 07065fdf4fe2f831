"""A conversation as one of any number of roles sees it: each other's messages in their order.

This is what WS-ReliableMessaging does in its ordered mode, and the rival in experiments. It needs
no more of a stamp than its number, and works for more than two roles.
"""

from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.stamps import Stamp
from ropewalk.protocol.views import View, Views


class Strict:
    """One role's side: what comes is delivered in the order in which it was said."""

    def __init__(self, automaton: Automaton, role: int, views: Views | None = None) -> None:
        self._automaton, self._role = automaton, role
        self._views = views or Views(automaton, role)
        self.view: View = self._views.start
        self.broken: str | None = None
        self.said: dict[int, int] = {}
        self.done: dict[int, int] = {}
        self.coming: dict[int, dict[int, int]] = {}
        """Of each other role: letters that have come, by number."""

    @property
    def at(self) -> int:
        """A state that the conversation may be in."""
        return min(self.view)

    @property
    def states(self) -> View:
        """All of them."""
        return self.view

    def speak(self, letter: int) -> Stamp | str | None:
        """Say a letter: to each other role they have their own numbers."""
        view = self._views.step(self.view, letter)
        if view is None:
            return None
        self.view = view
        to = self._automaton.letters[letter].receiver
        number = self.said.get(to, 0)
        self.said[to] = number + 1
        return Stamp(number, first=number, events=(letter,))

    def in_turn(self, _stamp: Stamp) -> bool:
        """Nothing is delivered by a way of its own."""
        return False

    def needs(self, stamp: Stamp) -> bool:
        """Whether a message is its sender's next."""
        sender = self._automaton.letters[stamp.events[-1]].sender
        return stamp.number == self.done.get(sender, 0)

    def known_as(self, stamp: Stamp) -> int | None:
        """The letter that a message of this number is known to be, while it is not delivered."""
        sender = self._automaton.letters[stamp.events[-1]].sender
        return self.coming.get(sender, {}).get(stamp.number)

    def hear(self, stamp: Stamp) -> bool:
        """A message has come; False if it had come before."""
        letter = stamp.events[-1]
        sender = self._automaton.letters[letter].sender
        coming = self.coming.setdefault(sender, {})
        if stamp.number < self.done.get(sender, 0) or stamp.number in coming:
            return False
        coming[stamp.number] = letter
        return True

    def deliverable(self) -> int | None:
        """A message whose turn it is and that the view allows; by `key`."""
        for sender, coming in self.coming.items() if self.broken is None else ():
            number = self.done.get(sender, 0)
            letter = coming.get(number)
            if letter is None:
                continue
            if self._views.step(self.view, letter) is not None:
                return self.key(sender, number)
            if letter not in self._views.ever(self.view):
                self.broken = "another side said what is not allowed here"
        return None

    def deliver(self, key: int) -> int:
        """Deliver a message whose turn it is; returns its letter."""
        number, sender = divmod(key, len(self._automaton.roles))
        letter = self.coming[sender].pop(number)
        self.done[sender] = number + 1
        self.view = self._views.step(self.view, letter) or self.view
        return letter

    def key(self, sender: int, number: int) -> int:
        """Sender and number in one."""
        return number * len(self._automaton.roles) + sender

    def missing(self) -> list[int]:
        """Those that have not come although later ones have; by `key`."""
        return [
            self.key(sender, number)
            for sender, coming in self.coming.items()
            if coming
            for number in range(self.done.get(sender, 0), max(coming))
            if number not in coming
        ]
