"""An agent's connection to a neighbour's Mosquitto: words for its agent, and nothing else.

Words are QoS 0. Now and then one is sent with QoS 1, because the broker's answer to it tells
whether anybody is subscribed: an agent that died beside a living broker closes no connection here.
"""

import asyncio
import time
from collections.abc import Sequence

from ropewalk.agent.brokers.contract import PREFIX, Access, Hears
from ropewalk.agent.brokers.mqtt.connection import Connection, Hello
from ropewalk.agent.brokers.mqtt.line import Line, Patience
from ropewalk.agent.brokers.mqtt.packets import (
    PUBACK,
    REASONS,
    Ack,
    Answer,
    Packet,
    publish,
    topic_bytes,
)

_NO_SUBSCRIBERS = 0x10
_ASK_S = 0.02
_ASK_DEAF_S = 0.05
_MOST_WAITING_BYTES = 8_000_000
_PATIENCE = Patience(first_s=0.05, most_s=1.0, connect_s=0.3, settled_s=0.0)
_NONE = b"\x00"


class MqttLane:
    """Keeps `contract.Lane` for Mosquitto."""

    def __init__(self, access: Access, hears: Hears, *, client: str) -> None:
        self._access = access
        self._hears = hears
        self._topic = topic_bytes(f"{PREFIX}/{access.name}")
        self._line = Line(access, Hello(client=client), self, _PATIENCE)
        self._connection: Connection | None = None
        self._open = False
        self._said = ""
        self._asked = False
        """A question whether anybody listens is on its way."""
        self._ask_at = 0.0
        self._again: asyncio.TimerHandle | None = None
        self.dropped = 0
        """Words that were not sent because the broker was far behind."""

    # --- the contract -----------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect."""
        self._line.start()

    def send(self, words: Sequence[bytes]) -> None:
        """Put words into the neighbour's broker."""
        connection = self._connection
        if not self._open or connection is None or not connection.open:
            return
        if connection.waiting_bytes > _MOST_WAITING_BYTES:
            self.dropped += len(words)
            return
        out: list[bytes] = []
        for word in words:
            out += publish(self._topic, word, _NONE, 0, 0)
        if words and not self._asked and time.monotonic() >= self._ask_at:
            out[0] = self._question(words[0])
        connection.write(out)

    def abort(self) -> None:
        """Drop the connection, and connect anew."""
        self._line.drop(f"{self._access.name}: dropped by this agent")

    async def close(self) -> None:
        """Disconnect for good."""
        self._quiet()
        await self._line.close()

    # --- whether anybody listens ------------------------------------------------------------

    def _question(self, word: bytes) -> bytes:
        """The start of a word that the broker has to answer."""
        self._asked = True
        self._ask_at = time.monotonic() + _ASK_S
        return publish(self._topic, word, _NONE, 2, 1)[0]

    def _ask(self) -> None:
        """Send a word of no bytes, which no agent hears."""
        if self._connection is not None and self._connection.open:
            self._connection.write((self._question(b""),))

    def received(self, packets: list[Packet]) -> None:
        """The answer: an agent listens, or none does, or this one may not speak."""
        for packet in packets:
            if type(packet) is Ack and packet.kind == PUBACK:
                self._asked = False
                self._judge(packet.reason)

    def _judge(self, reason: int) -> None:
        name = self._access.name
        if reason >= 0x80 and self._connection is not None:
            why = REASONS.get(reason, f"reason 0x{reason:02x}")
            user = self._access.user
            self._connection.refuse(
                f"{name}: mosquitto lets user '{user}' say nothing to '{PREFIX}/{name}': {why}; "
                "check the broker's ACL"
            )
        elif reason == _NO_SUBSCRIBERS:
            self._shut(f"{name}: its agent does not listen")
            self._again = asyncio.get_running_loop().call_later(_ASK_DEAF_S, self._ask)
        elif not self._open:
            self._open, self._said = True, ""
            self._hears.opened(name)

    # --- the line's words -------------------------------------------------------------------

    def connected(self, connection: Connection, session: bool) -> None:  # noqa: ARG002
        """The broker is there: is the agent?"""
        self._connection = connection
        self._asked = False
        self._ask()

    def subscribed(self, answer: Answer) -> None:
        """A lane subscribes to nothing."""

    def writable(self) -> None:
        """What could not be written is gone: words are not kept."""

    def lost(self, why: str, *, refused: bool) -> None:
        """The connection is gone."""
        self._quiet()
        self._connection = None
        self._shut(why, again=refused)

    def _quiet(self) -> None:
        if self._again is not None:
            self._again.cancel()

    def _shut(self, why: str, *, again: bool = True) -> None:
        """Say that nothing can be sent: once, and once more if the reason is a new one."""
        if self._open or not self._said or (again and why != self._said):
            self._open, self._said = False, why
            self._hears.closed(self._access.name, why)
