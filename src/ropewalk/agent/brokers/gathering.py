"""What one read of a broker's connection brought, handed over in order and in few pieces.

>>> class Ears:
...     published = burst = staticmethod(print)
>>> some = Gathered(Ears())
>>> some.plain("t", b"1", None)
>>> some.plain("t", b"2", None)
>>> some.hand_over()
Burst(topic='t', payloads=[b'1', b'2'], tickets=[None, None], keys=[], producer='')
"""

from collections.abc import Iterable
from typing import Any

from ropewalk.agent.brokers.contract import Ears, Incoming
from ropewalk.overlay.events import Burst


class Gathered:
    """Messages of one read; those of one topic with nothing but a payload, or a key, together."""

    __slots__ = ("_ears", "_keyed", "_keys", "_messages", "_payloads", "_tickets", "_topic")

    def __init__(self, ears: Ears) -> None:
        self._ears = ears
        self._messages: list[Incoming] = []
        self._begin("")

    def _begin(self, topic: str) -> None:
        self._topic, self._keyed = topic, False
        self._payloads: list[bytes] = []
        self._tickets: list[Any] = []
        self._keys: list[str] = []

    def plain(self, topic: str, payload: bytes, ticket: Any, key: str = "") -> None:
        """A message with nothing else."""
        if topic != self._topic or bool(key) is not self._keyed:
            self._end_burst()
            self._begin(topic)
            self._keyed = bool(key)
        self._payloads.append(payload)
        self._tickets.append(ticket)
        if key:
            self._keys.append(key)

    def special(self, message: Incoming) -> None:
        """Any other."""
        self._end_burst()
        self._begin("")
        self._messages.append(message)

    def hand_over(self) -> None:
        """Tell the agent of all of them."""
        self._end_burst()
        self._end_messages()

    def _end_burst(self) -> None:
        if len(self._payloads) == 1:
            key = self._keys[0] if self._keys else ""
            one = Incoming(self._tickets[0], self._topic, self._payloads[0], key=key)
            self._messages.append(one)
        elif self._payloads:
            self._end_messages()
            self._ears.burst(Burst(self._topic, self._payloads, self._tickets, self._keys))

    def _end_messages(self) -> None:
        if self._messages:
            self._ears.published(self._messages)
            self._messages = []


def hand_over(ears: Ears, messages: Iterable[Incoming]) -> None:
    """Tell an agent of messages that came together."""
    some = Gathered(ears)
    for one in messages:
        if one.headers or one.retain or one.producer or one.priority is not None:
            some.special(one)
        else:
            some.plain(one.topic, one.payload, one.ticket, one.key)
    some.hand_over()
