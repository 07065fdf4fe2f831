"""An agent's own NATS server: what its clients publish, want and get.

Two connections. On the first, local topics are taken and given: as a leaf node where the server
has a port for that (`watch: leaf://...`), because a leaf node is told who wants what and never gets
its own messages back; else as an ordinary client without echo, with the monitoring port watched
(`watch: http://...`) or the federation file's subscribers taken for granted. On the second,
neighbours' words come, so that clients can be paused without going deaf.

What was delivered is confirmed by a mark: put into the server after it on the first connection, and
heard on the second. When the mark is there, the server has handled all that went before.
"""

import asyncio
import json
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import urlsplit

from ropewalk.agent.brokers.contract import Access, Ears, Headers, Incoming, Outgoing
from ropewalk.agent.brokers.gathering import Gathered
from ropewalk.agent.brokers.nats.admin import disconnect
from ropewalk.agent.brokers.nats.codec import MSG_ID, Message, read_headers, write_headers
from ropewalk.agent.brokers.nats.connection import HELLO_S, Connection, RefusedError, connect
from ropewalk.agent.brokers.nats.interest import Interest, Wants, read_line, subject_of
from ropewalk.agent.brokers.nats.monitoring import monitor_of
from ropewalk.agent.brokers.retry import Keeper
from ropewalk.federation.spelling import cover, from_nats, patterns_to_nats, to_nats
from ropewalk.overlay.rules import matches

KNOWN = 65_536
PRODUCER = "Rw-Producer"
"""The header with a client's name."""
LINGER_S = 5.0
"""How long clients that were there before the server died may take to come back."""


class NatsLocal:
    """An agent's own server; keeps `contract.Local`."""

    def __init__(
        self,
        access: Access,
        ears: Ears,
        *,
        topics: Sequence[str],
        declared: Sequence[str],
        durable: Sequence[str],
        client: str,
    ) -> None:
        del durable  # a publisher that wants to be sure waits for the agent's own answer
        self._access, self._ears, self._client = access, ears, client
        self._declared, self._topics = tuple(declared), cover(topics)
        watch = urlsplit(access.watch)
        self._leaf = watch.scheme == "leaf"
        self._leaf_at = (watch.hostname or access.host, watch.port or 0)
        self.monitor = monitor_of(access.watch, client)
        self._interest = Interest(self._topics, ears.subscribed, ears.unsubscribed)
        self._words_at = subject_of(access.name)
        self._marks_at = subject_of(access.name, "mark")
        self._local: Connection | None = None
        self._words: Connection | None = None
        self._up = False
        self._told = ""
        """Why it is down, as it was told last."""
        self._names: dict[bytes, str | None] = {}
        self._heads: dict[str, bytes] = {}
        self._heads_of = 0
        self._given = self._confirmed = self._answered = 0
        self.keeper = Keeper(self._open, self._failed, failures=(RefusedError,))

    def start(self) -> None:
        """Begin to connect."""
        self.keeper.start()

    # --- connecting -------------------------------------------------------------------------

    async def _open(self) -> None:
        words = await connect(self._access, self._make_words, name=self._name("words"))
        self._words = words
        self._given = self._confirmed = 0
        try:
            words.write(f"SUB {self._words_at} 1\r\nSUB {self._marks_at} 2\r\n".encode())
            async with asyncio.timeout(HELLO_S):
                await words.ping()  # or a mark might come before anybody listens for it
            wants = await self._open_local()
        except BaseException:
            words.abort()
            raise
        if self._words is None or self._local is None:
            raise RefusedError("the server closed the connection")
        self._up, self._told = True, ""
        self._begin(wants)
        self._ears.up()

    def _name(self, what: str) -> str:
        return f"ropewalk {self._client} {what}"

    async def _open_local(self) -> Wants:
        """Connect where local topics are; returns what clients want."""
        wants: Wants = set()

        def read(messages: list[Message], lines: list[bytes]) -> None:
            for line in lines:
                if line.startswith(b"LS"):
                    self._interest.line(line) if self._up else _collect(line, wants)
            if messages:
                self._published(messages)

        def make() -> Connection:
            made = Connection(read, lambda why: self._lost(made, why), leaf=self._leaf)
            return made

        host, port = self._leaf_at if self._leaf else ("", 0)
        local = await connect(self._access, make, name=self._name("local"), host=host, port=port)
        self._local = local
        for number, subject in enumerate(self._subjects(), start=1):
            line = f"LS+ {subject}\r\n" if self._leaf else f"SUB {subject} {number}\r\n"
            local.write(line.encode())
        async with asyncio.timeout(HELLO_S):
            await local.ping()
        return wants if self.monitor is None or self._leaf else await self.monitor.wants()

    def _subjects(self) -> tuple[str, ...]:
        return tuple(subject for one in self._topics for subject in patterns_to_nats(one))

    def _make_words(self) -> Connection:
        made = Connection(self._read_words, lambda why: self._lost(made, why))
        return made

    def _lost(self, which: Connection, why: str) -> None:
        if which not in (self._local, self._words):
            return
        for one in (self._local, self._words):
            if one is not None and one is not which:
                one.abort()
        self._local = self._words = None
        if self._up:
            self._up = False
            self._failed(why)
            self.keeper.lost()

    def _failed(self, why: str) -> None:
        told = f"{self._access.name}: {why}"
        if told != self._told:
            self._told = told
            self._ears.down(told)

    # --- who wants what ---------------------------------------------------------------------

    def _begin(self, wants: Wants) -> None:
        """What clients want; who was there before may take a moment to come back."""
        missing = self._interest.begin(wants)
        if missing:
            self._ears.missing(missing)
            loop = asyncio.get_running_loop()
            loop.call_later(LINGER_S, self._give_up, self.keeper.opened)
        if self.monitor is not None:
            self.monitor.follow(None if self._leaf else self._interest.replace)
        elif not self._leaf:
            for pattern in self._declared:
                self._ears.subscribed(pattern, pattern)

    def _give_up(self, opened: int) -> None:
        if self._up and opened + 1 == self.keeper.opened:
            self._interest.give_up()

    # --- in ---------------------------------------------------------------------------------

    def _read_words(self, messages: list[Message], lines: list[bytes]) -> None:
        del lines
        words = [one[4] for one in messages if one[1] == b"1" and one[4]]
        if len(words) < len(messages):
            marks = [int(one[4]) for one in messages if one[1] == b"2" and one[4].isdigit()]
            self._confirm(max(marks, default=0))
        if words:
            self._ears.heard(words)

    def _confirm(self, count: int) -> None:
        if self._up and self._confirmed < count <= self._given:
            self._confirmed = count
            self._ears.delivered(count)

    def _published(self, messages: list[Message]) -> None:
        names, gathered = self._names, Gathered(self._ears)
        for subject, sid, reply, block, payload in messages:
            topic = names[subject] if subject in names else self._name_of(subject)
            if topic is None or (sid and self._owner(topic) != sid):
                continue
            if not block:
                gathered.plain(topic, payload, reply or None)
                continue
            headers = read_headers(block)
            if len(headers) == 1 and headers[0][0] == MSG_ID and headers[0][1]:
                gathered.plain(topic, payload, reply or None, headers[0][1])
            else:
                gathered.special(_with_headers(topic, payload, reply, headers))
        gathered.hand_over()

    def _name_of(self, subject: bytes) -> str | None:
        """The federation's name of a subject; None if it has none, and stays local."""
        if len(self._names) >= KNOWN:
            self._names.clear()
        topic = from_nats(subject.decode("utf-8", "replace"))
        if topic is not None and not any(matches(one, topic) for one in self._topics):
            topic = None
        self._names[subject] = topic
        return topic

    def _owner(self, topic: str) -> bytes:
        """Of several subscriptions that bring a message to a client, the one that counts."""
        number = 0
        for pattern in self._topics:
            subjects = patterns_to_nats(pattern)
            if matches(pattern, topic):
                same = len(subjects) == 1 or to_nats(topic) == subjects[0]
                return b"%d" % (number + (1 if same else 2))
            number += len(subjects)
        return b""

    # --- out --------------------------------------------------------------------------------

    def deliver(self, messages: Sequence[Outgoing]) -> None:
        """Hand messages to clients; a mark follows them."""
        local = self._local
        if local is None:
            return
        heads = self._heads
        if self._heads_of != self._interest.changes:
            heads.clear()  # a leaf node names the queue groups that are there
            self._heads_of = self._interest.changes
        lines = []
        for one in messages:
            if one.headers or one.once:
                lines.append(self._with_block(one))
            else:
                head = heads.get(one.topic) or self._head(one.topic)
                lines.append(b"%b%d\r\n%b\r\n" % (head, len(one.payload), one.payload))
        local.write(b"".join(lines))
        self._given += len(messages)
        mark = b"%d" % self._given
        verb = b"LMSG" if self._leaf else b"PUB"
        local.write(b"%b %b %d\r\n%b\r\n" % (verb, self._marks_at.encode(), len(mark), mark))

    def _head(self, topic: str) -> bytes:
        verb = "LMSG" if self._leaf else "PUB"
        head = f"{verb} {self._where(topic)} ".encode()
        if len(self._heads) >= KNOWN:
            self._heads.clear()
        self._heads[topic] = head
        return head

    def _where(self, topic: str) -> str:
        """The subject; a leaf node also names the queue groups that get the message."""
        groups = self._interest.groups(topic) if self._leaf else ()
        return " ".join((to_nats(topic), "|", *groups)) if groups else to_nats(topic)

    def _with_block(self, one: Outgoing) -> bytes:
        headers = one.headers
        if one.once:
            headers = (*(h for h in headers if h[0] != MSG_ID), (MSG_ID, one.id))
        block = write_headers(headers)
        verb = "HMSG" if self._leaf else "HPUB"
        head = f"{verb} {self._where(one.topic)} {len(block)} {len(block) + len(one.payload)}\r\n"
        return b"%b%b%b\r\n" % (head.encode(), block, one.payload)

    def accept(self, tickets: Sequence[Any]) -> None:
        """Answer publishers as JetStream would: the message is stored."""
        if self._local is None:
            return
        verb = b"LMSG" if self._leaf else b"PUB"
        if None in tickets:
            tickets = [reply for reply in tickets if reply is not None]
        first = self._answered + 1
        self._answered += len(tickets)
        self._local.write(
            b"".join(
                [
                    b'%b %b 48\r\n{"stream":"ROPEWALK","seq":%-20d}\r\n' % (verb, reply, number)
                    for number, reply in enumerate(tickets, start=first)
                ]
            )
        )

    def refuse(self, ticket: Any, why: str) -> bool:
        """Answer as JetStream would: it is not."""
        if ticket is None:
            return False
        error = {"code": 503, "err_code": 10077, "description": why}
        self._answer(ticket, json.dumps({"error": error}).encode())
        return True

    def _answer(self, reply: bytes, text: bytes) -> None:
        if self._local is not None:
            verb = b"LMSG" if self._leaf else b"PUB"
            self._local.write(b"%b %b %d\r\n%b\r\n" % (verb, reply, len(text), text))

    # --- the rest ---------------------------------------------------------------------------

    def pause(self) -> None:
        """Take nothing more from clients for now."""
        if self._local is not None:
            self._local.pause()

    def resume(self) -> None:
        """Go on."""
        if self._local is not None:
            self._local.resume()

    @property
    def busy(self) -> bool:
        """Whether the server reads more slowly than this agent writes."""
        return self._local is None or self._local.behind

    def figures(self) -> dict[str, float]:
        """The server's own figures, from its monitoring port."""
        return dict(self.monitor.figures) if self.monitor is not None else {}

    async def disconnect(self, clients: Collection[str]) -> list[str]:
        """Disconnect all clients that subscribe to these patterns: they are not told apart."""
        return await disconnect(self._access, self._client, clients)

    async def close(self) -> None:
        """Write what waits and disconnect."""
        await self.keeper.stop()
        if self.monitor is not None:
            await self.monitor.close()
        self._up = False
        for one in (self._local, self._words):
            if one is not None:
                await one.close()


def _with_headers(topic: str, payload: bytes, reply: bytes, headers: Headers) -> Incoming:
    named = dict(headers)
    key, producer = named.get(MSG_ID, ""), named.get(PRODUCER, "")
    if key:
        headers = tuple(one for one in headers if one[0] != MSG_ID)
    return Incoming(reply or None, topic, payload, producer, key, headers=headers)


def _collect(line: bytes, wants: Wants) -> None:
    adds, want = read_line(line)
    (wants.add if adds else wants.discard)(want)
