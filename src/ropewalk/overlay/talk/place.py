"""One protocol at one broker: its conversations, as the roles that are here see them."""

from dataclasses import dataclass

from ropewalk.overlay.talk.lines import Side
from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.conversations import Conversations
from ropewalk.protocol.horizon import Horizon
from ropewalk.protocol.messenger import Messenger
from ropewalk.protocol.strict import Strict


@dataclass(frozen=True, slots=True)
class Place:
    """A protocol, and a messenger for each side of each of its conversations."""

    name: str
    protocol: Automaton
    talks: Conversations
    digest: int

    def sender(self, message: str) -> int | None:
        """The role that says a message; None if the protocol has no such message."""
        letters = self.protocol.of_message.get(message)
        return None if letters is None else self.protocol.letters[letters[0]].sender

    def hearer(self, message: str) -> int | None:
        """The role that hears it."""
        letters = self.protocol.of_message.get(message)
        return None if letters is None else self.protocol.letters[letters[0]].receiver

    def messenger(self, side: Side) -> Messenger | None:
        """A side that is open here."""
        return self.talks.messenger(side[1], self.protocol.roles[side[2]])

    def open(self, side: Side) -> Messenger | None:
        """The same, opened if it is not; None if there is no room."""
        return self.talks.open(side[1], self.protocol.roles[side[2]])

    def forget(self, side: Side) -> None:
        """Follow a side no longer."""
        self.talks.forget(side[1], side[2])

    def speaks(self, conversation: str) -> bool:
        """Whether somebody here has said something in a conversation."""
        sides = ((self.name, conversation, role) for role in range(len(self.protocol.roles)))
        return any(said_by(self.messenger(side)) for side in sides)


def said_by(messenger: Messenger | None) -> int:
    """How many letters a side has said."""
    course = None if messenger is None else messenger.course
    if isinstance(course, Horizon):
        return course.said
    return sum(course.said.values()) if isinstance(course, Strict) else 0
