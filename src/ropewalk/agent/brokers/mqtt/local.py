"""An agent's connection to its own Mosquitto.

There are two: one with a session that outlives the agent, for what clients publish and for what is
delivered to them (the same one, because only then Mosquitto does not echo deliveries); and one for
neighbours' words and the broker's figures. If either is lost both are made anew.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache

from ropewalk.agent.brokers.contract import PREFIX, Access, Ears, Incoming, Outgoing
from ropewalk.agent.brokers.gathering import hand_over
from ropewalk.agent.brokers.mqtt.connection import Connection, Hello
from ropewalk.agent.brokers.mqtt.figures import SYS_TOPICS, Figures
from ropewalk.agent.brokers.mqtt.intake import Intake, Receipt, subscriptions
from ropewalk.agent.brokers.mqtt.line import Line
from ropewalk.agent.brokers.mqtt.outbox import Outbox
from ropewalk.agent.brokers.mqtt.packets import PUBREL, Answer, Packet, Publish, subscribe
from ropewalk.agent.brokers.mqtt.watch import WATCHED, Watch
from ropewalk.federation.topics import common

SESSION_S = 86_400
RECEIVE_MAXIMUM = 8192
"""How many messages the broker may leave unacknowledged with the agent."""


class MqttLocal:
    """Keeps `contract.Local` for Mosquitto."""

    def __init__(
        self,
        access: Access,
        ears: Ears,
        *,
        topics: Sequence[str],
        declared: Sequence[str] = (),
        durable: Sequence[str] = (),
        client: str,
    ) -> None:
        self._access = access
        self._ears = ears
        self._declared = tuple(dict.fromkeys(declared))
        self._said_declared = False
        self._ready: set[str] = set()
        self._up = False
        self._said = ""
        self._confirmed = 0
        wanted = subscriptions(topics, durable)
        self.intake = Intake(wanted)
        self.outbox = Outbox(_best_effort(durable))
        self.figures_seen = Figures()
        self._main = _Main(self, client, [(o.pattern, o.qos, o.identifier) for o in wanted])
        words = f"{client}-words"
        self._words = _Words(self, words)
        self.watch = Watch(ears.subscribed, ears.unsubscribed, frozenset((client, words)))

    # --- the contract -----------------------------------------------------------------------

    def start(self) -> None:
        """Begin to connect."""
        self._main.line.start()
        self._words.line.start()

    def deliver(self, messages: Sequence[Outgoing]) -> None:
        """Hand messages to the broker for its clients."""
        self.outbox.add(messages)
        self.pump()

    def accept(self, tickets: Sequence[Receipt | None]) -> None:
        """Acknowledge publications that are in custody."""
        self.intake.accept(tickets)

    def refuse(self, ticket: Receipt | None, why: str) -> bool:  # noqa: ARG002
        """MQTT has nobody to tell: the message stays unacknowledged, and the agent tries again."""
        return False

    def pause(self) -> None:
        """Take nothing more from clients for now."""
        self.intake.pause()

    def resume(self) -> None:
        """Go on, first with what came meanwhile."""
        hand_over(self._ears, self.intake.resume())

    @property
    def busy(self) -> bool:
        """Whether much is waiting to be written."""
        return self.outbox.busy

    def figures(self) -> dict[str, float]:
        """The broker's own figures, as it publishes them (every ten seconds by default)."""
        lost = {"dropped": self.intake.dropped, "undeliverable": self.outbox.undeliverable}
        return self.figures_seen.values | {name: float(n) for name, n in lost.items() if n}

    async def close(self) -> None:
        """Stop taking from clients, write what is waiting, and disconnect."""
        self.intake.pause()
        await self._main.line.close()
        await self._words.line.close()

    # --- what both connections say ----------------------------------------------------------

    @property
    def access(self) -> Access:
        """Where the broker is."""
        return self._access

    def ready(self, which: str) -> None:
        """One of the connections has subscribed to everything; with both, the broker is up."""
        self._ready.add(which)
        if len(self._ready) < 2 or self._up:
            return
        self._up, self._said, self._confirmed = True, "", 0
        if not self._said_declared:
            self._said_declared = True
            for pattern in self._declared:
                self._ears.subscribed(pattern, pattern)
        self._ears.up()

    def lost(self, which: str, why: str, *, refused: bool) -> None:
        """One of them is gone: the other goes too, and it is said, but not at each attempt."""
        self._ready.discard(which)
        if self._up or not self._said or (refused and why != self._said):
            self._up, self._said = False, why
            self._ears.down(why)
        self._main.drop(why)
        self._words.drop(why)

    def took(self, taken: list[Incoming]) -> None:
        """Clients have published."""
        hand_over(self._ears, self.intake.ready(taken))

    def heard(self, words: list[bytes]) -> None:
        """Neighbours have spoken."""
        self._ears.heard(words)

    def pump(self) -> None:
        """Write what there is room for, and say what is newly confirmed."""
        confirmed = self.outbox.pump()
        if self._up and confirmed != self._confirmed:
            self._confirmed = confirmed
            self._ears.delivered(confirmed)


class _Half(ABC):
    """What both connections have in common: subscribing, and ending together."""

    which = ""

    def __init__(self, local: MqttLocal, hello: Hello, wanted: Sequence[tuple[str, int, int]]):
        self._local = local
        self._wanted = wanted
        self._left = 0
        self._connection: Connection | None = None
        self.line = Line(local.access, hello, self)

    def connected(self, connection: Connection, session: bool) -> None:
        """Subscribe to everything again: the same subscription replaces itself."""
        self._connection = connection
        self._left = len(self._wanted)
        self._begin(connection, session)
        connection.write(
            subscribe(n, pattern, qos=qos, identifier=identifier, retained=pattern in SYS_TOPICS)
            for n, (pattern, qos, identifier) in enumerate(self._wanted, 1)
        )
        if not self._wanted:
            self._local.ready(self.which)

    @abstractmethod
    def _begin(self, connection: Connection, session: bool) -> None: ...

    @abstractmethod
    def received(self, packets: list[Packet]) -> None:
        """Everything that one read brought."""

    @abstractmethod
    def writable(self) -> None:
        """The broker reads again."""

    def subscribed(self, answer: Answer) -> None:
        """One subscription stands, or is refused."""
        pattern = self._wanted[answer.packet_id - 1][0]
        access = self._local.access
        refused = max(answer.reasons, default=0) >= 0x80 and not pattern.startswith("$SYS")
        if refused and self._connection is not None:
            self._connection.refuse(
                f"{access.name}: mosquitto refused user '{access.user}' a subscription to "
                f"'{pattern}': {answer.why}; check the broker's ACL"
            )
            return
        self._left -= 1
        if self._left == 0:
            self._local.ready(self.which)

    def drop(self, why: str) -> None:
        """End the connection; it is made anew."""
        self.line.drop(why)

    def lost(self, why: str, *, refused: bool) -> None:
        """The connection is gone."""
        self._connection = None
        self._local.lost(self.which, why, refused=refused)


class _Main(_Half):
    """The connection with the session: publications in, deliveries out."""

    which = "main"

    def __init__(self, local: MqttLocal, client: str, wanted: Sequence[tuple[str, int, int]]):
        hello = Hello(client=client, session_s=SESSION_S, receive_maximum=RECEIVE_MAXIMUM)
        super().__init__(local, hello, wanted)

    def _begin(self, connection: Connection, session: bool) -> None:
        self._local.intake.begin(connection, session=session)
        self._local.outbox.begin(connection, session=session)

    def received(self, packets: list[Packet]) -> None:
        """Publications and answers to deliveries, in the order in which they came."""
        local, taken, acked = self._local, list[Incoming](), False
        for packet in packets:
            if isinstance(packet, Publish):
                local.intake.take(packet, taken)
            elif packet.kind == PUBREL:
                local.intake.released(packet.packet_id)
            else:
                acked = True
                refusal = local.outbox.acked(packet)
                if refusal:
                    self._refused(refusal)
        if taken:
            local.took(taken)
        if acked:
            local.pump()

    def _refused(self, why: str) -> None:
        access = self._local.access
        if self._connection is not None:
            self._connection.refuse(
                f"{access.name}: mosquitto refused a delivery of user '{access.user}': {why}; "
                "check the broker's ACL and limits"
            )

    def writable(self) -> None:
        """The broker reads again."""
        self._local.pump()


class _Words(_Half):
    """The connection for neighbours' words and the broker's figures: nothing of it is kept."""

    which = "words"

    def __init__(self, local: MqttLocal, words: str):
        self._mine = f"{PREFIX}/{local.access.name}"
        wanted = [(topic, 0, 0) for topic in (self._mine, *SYS_TOPICS, *WATCHED)]
        super().__init__(local, Hello(client=words), wanted)

    def _begin(self, connection: Connection, session: bool) -> None:
        """Nothing is left over from the connection before."""

    def received(self, packets: list[Packet]) -> None:
        """Words, and now and then a figure or a line of the log."""
        words: list[bytes] = []
        for packet in packets:
            if not isinstance(packet, Publish):
                continue
            if packet.topic == self._mine:
                if packet.payload:  # a lane's question whether anybody listens has none
                    words.append(packet.payload)
            elif packet.topic in SYS_TOPICS:
                self._local.figures_seen.note(packet.topic, packet.payload)
            else:
                self._local.watch.note(packet.topic, packet.payload)
        if words:
            self._local.heard(words)

    def writable(self) -> None:
        """Nothing waits: this connection only listens."""


def _best_effort(durable: Sequence[str]) -> Callable[[str], bool]:
    """Which topics nobody has promised anything for."""
    return lru_cache(65_536)(lambda topic: all(common(one, topic) is None for one in durable))
