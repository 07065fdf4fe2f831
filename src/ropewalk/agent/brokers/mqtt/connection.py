"""One connection to a broker, from CONNECT to its end: bytes in, packets out, writes collected."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, cast

from ropewalk.agent.brokers.contract import Access
from ropewalk.agent.brokers.mqtt.packets import (
    CONNACK,
    DISCONNECT,
    DISCONNECT_BYTES,
    PINGREQ_BYTES,
    SUBACK,
    Answer,
    Packet,
    Reader,
    connect,
)
from ropewalk.agent.brokers.mqtt.properties import (
    MAXIMUM_PACKET_BYTES,
    RECEIVE_MAXIMUM,
    SERVER_KEEP_ALIVE_S,
    SESSION_EXPIRY_S,
    Property,
)

_REFUSED_CREDENTIALS = (0x86, 0x87)
_TAKEN_OVER = 0x8E
_CLOSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """How an agent presents itself to a broker."""

    client: str
    session_s: int = 0
    """How long the broker keeps the session without a connection; 0: a clean one each time."""
    keep_alive_s: int = 10
    receive_maximum: int = 0xFFFF

    def packet(self, access: Access) -> bytes:
        """The CONNECT packet."""
        properties: list[Property] = [(RECEIVE_MAXIMUM, self.receive_maximum)]
        if self.session_s:
            properties.append((SESSION_EXPIRY_S, self.session_s))
        return connect(
            self.client,
            clean=not self.session_s,
            keep_alive_s=self.keep_alive_s,
            user=access.user,
            password=access.password,
            properties=properties,
        )


class Listener(Protocol):
    """Who uses a connection."""

    def connected(self, connection: "Connection", session: bool) -> None:
        """The broker has said yes; whether it still has the session."""

    def received(self, packets: list[Packet]) -> None:
        """Everything that one read brought."""

    def subscribed(self, answer: Answer) -> None:
        """The answer to one SUBSCRIBE."""

    def writable(self) -> None:
        """The broker reads again after it was behind."""


class Connection(asyncio.Protocol):
    """A connection; `ended` says why it is over, once it is."""

    def __init__(self, access: Access, hello: Hello, listener: Listener) -> None:
        self._access = access
        self._hello = hello
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._reader = Reader()
        self._out: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._beat: asyncio.TimerHandle | None = None
        self._beat_s = hello.keep_alive_s / 2
        self._heard = True
        self._why = ""
        self.ended: asyncio.Future[str] = self._loop.create_future()
        self.accepted = False
        self.refused = False
        """It has ended for a reason that somebody has to put right."""
        self.behind = False
        """The broker reads more slowly than the agent writes."""
        self.receive_maximum = 0xFFFF
        self.maximum_packet_bytes = 0xFFFFFFFF

    @property
    def open(self) -> bool:
        """Whether packets can be written."""
        return self.accepted and not self.ended.done() and not self._why

    # --- writing ----------------------------------------------------------------------------

    def write(self, pieces: Iterable[bytes]) -> None:
        """Write together with everything else of this turn of the event loop."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out += pieces

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(out))

    @property
    def waiting_bytes(self) -> int:
        """What has been written and is not yet the kernel's."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def pause_writing(self) -> None:
        """The transport's buffer is full."""
        self.behind = True

    def resume_writing(self) -> None:
        """It is empty enough."""
        self.behind = False
        if self.open:
            self._listener.writable()

    # --- reading ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TCP, and TLS where it is asked for, stand: say hello."""
        self._transport = made = cast("asyncio.Transport", transport)
        if self._why:
            made.abort()
            return
        made.write(self._hello.packet(self._access))

    def data_received(self, data: bytes) -> None:
        """Read packets and hand them on, all that came at once."""
        self._heard = True
        try:
            packets = self._reader.feed(data)
        except (ValueError, IndexError) as error:
            self.fail(f"{self._access.name}: mosquitto sent what is not MQTT 5: {error}")
            return
        if not self.accepted:
            self._greeted()
        if packets and self.open:
            self._listener.received(packets)
        while self._reader.answers and self.open:
            self._answered(self._reader.answers.pop(0))

    def _greeted(self) -> None:
        if not self._reader.answers:
            return
        packet = self._reader.answers.pop(0)
        if packet.kind != CONNACK:
            self.fail(f"{self._access.name}: no CONNACK came; does MQTT 5 run on this port?")
            return
        if packet.reasons[0] >= 0x80:
            self.refuse(self._refusal(packet))
            return
        for kind, value in packet.properties:
            if isinstance(value, int):
                self._limit(kind, value)
        self.accepted = True
        self._beat = self._loop.call_later(self._beat_s, self._ping)
        self._listener.connected(self, packet.session)

    def _limit(self, kind: int, value: int) -> None:
        if kind == RECEIVE_MAXIMUM:
            self.receive_maximum = value
        elif kind == MAXIMUM_PACKET_BYTES:
            self.maximum_packet_bytes = value
        elif kind == SERVER_KEEP_ALIVE_S:
            self._beat_s = value / 2

    def _refusal(self, packet: Answer) -> str:
        access = self._access
        if packet.reasons[0] in _REFUSED_CREDENTIALS:
            who = f"user '{access.user}'" if access.user else "a connection without a user"
            return f"{access.name}: mosquitto refused {who}: {packet.why}; check credentials"
        return f"{access.name}: mosquitto refused client '{self._hello.client}': {packet.why}"

    def _answered(self, packet: Answer) -> None:
        if packet.kind == DISCONNECT:
            self.refused = packet.reasons[0] == _TAKEN_OVER
            self.fail(f"{self._access.name}: mosquitto closed the connection: {packet.why}")
        elif packet.kind == SUBACK:
            self._listener.subscribed(packet)

    def _ping(self) -> None:
        if not self._heard:
            self.fail(f"{self._access.name}: mosquitto has been silent for {self._beat_s:g} s")
            return
        self._heard = False
        self.write((PINGREQ_BYTES,))
        self._beat = self._loop.call_later(self._beat_s, self._ping)

    # --- the end ----------------------------------------------------------------------------

    def refuse(self, why: str) -> None:
        """End it because the broker said no: somebody has to put that right."""
        self.refused = True
        self.fail(why)

    def fail(self, why: str) -> None:
        """End it at once, with all that it still holds."""
        self._why = self._why or why
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """It is over."""
        if self._beat is not None:
            self._beat.cancel()
        why = self._why or f"{self._access.name}: connection to mosquitto lost: {error or 'closed'}"
        if not self.ended.done():
            self.ended.set_result(why)

    async def close(self) -> None:
        """Write what is waiting, say goodbye and wait for the end, one second at most."""
        if self._transport is None:
            return
        self._flush()
        if not self._transport.is_closing():
            self._transport.write(DISCONNECT_BYTES)
            self._transport.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await asyncio.shield(self.ended)
        except TimeoutError:
            self._transport.abort()
            await self.ended
