"""The agent's trace: what it saw of messages, subscriptions and its broker, for the pipeline.

Called on the loop's thread; nothing here waits for a disk. Calls append numbers to a list, `flush`
gives them to the operating system (`trace_journal`), and a thread makes Parquet files of that
(`trace_writer`). So a crash of the agent loses what was not flushed, and nothing else.

Call `flush` once in each turn of the loop, before the log is written and before anything is sent or
acknowledged: then no log knows of a delivery, and no other agent of a letter, that the trace lacks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from pathlib import Path
from time import monotonic, time_ns

from ropewalk.agent.clock import since_ns
from ropewalk.agent.trace_before import Standing, Subscription
from ropewalk.agent.trace_files import Place
from ropewalk.agent.trace_journal import (
    HEAD,
    LINE,
    MARK,
    NO_LINE,
    Extras,
    Head,
    Names,
    Segment,
    producer,
)
from ropewalk.agent.trace_writer import AGAIN_S, TraceWriter
from ropewalk.errors import UsageError
from ropewalk.overlay.events import Deliver
from ropewalk.overlay.talk.token import token_of
from ropewalk.overlay.words import Letter, Run
from ropewalk.trace.columns import KIND, SAMPLE

ACCEPTED, DELIVERED, FORWARDED = (MARK + KIND[one] for one in ("accepted", "deliver", "forward"))
ORDER_BITS = 40
"""A place in a total order is (term, number): the number's share of a rank."""
GIB = 1 << 30


def silent(_fault: str) -> None:
    """Tell nobody."""


class Tracer:
    """One agent's trace; raises UsageError if this incarnation has been traced already."""

    def __init__(
        self,
        folder: Path,
        *,
        node: str,
        incarnation: int,
        names: Sequence[str],
        epoch: Callable[[], int] = lambda: 0,
        clock_err_ns: Callable[[], int] = lambda: 0,
        max_bytes: int = GIB,
        every_s: float = 5.0,
        rows_per_file: int = 500_000,
        forward_every: int = 0,
        on_fault: Callable[[str], None] = silent,
        now_ns: Callable[[], int] = time_ns,
    ) -> None:
        self._place = Place(folder, node)
        self._head = Head(node, incarnation, tuple(names))
        self._epoch, self._clock_err_ns, self._now_ns = epoch, clock_err_ns, now_ns
        self._every_s, self._rows_per_file = every_s, rows_per_file
        self._forward_every, self._max_bytes, self._on_fault = forward_every, max_bytes, on_fault
        self._li = 0
        self._flushed = 0
        self._number = 0
        self._anonymous: set[str] = set()
        self._open: dict[Subscription, None] = {}
        self._open_changed = False
        self._settling = self._failing = False
        self._segment: Segment | None = None
        self._segment_li = 0
        self._due_s = 0.0
        self._writer: TraceWriter | None = None
        self.dropped_rows = 0
        """Rows that found no room on the disk."""
        self.deleted_bytes = 0
        """What was deleted to keep within `max_bytes`; known when it is closed."""
        self._begin_anew()

    # --- life -------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin; what an earlier life left unfinished is made into files first."""
        place = self._place
        place.folder.mkdir(parents=True, exist_ok=True)
        if self._head.incarnation in place.lives():
            who = f"incarnation {self._head.incarnation} of {self._head.node}"
            raise UsageError(f"{place.folder}: {who} has a trace here: start with a higher one")
        self._writer = TraceWriter(place, max_bytes=self._max_bytes, on_fault=self._on_fault)
        self._writer.start()

    def close(self) -> None:
        """Write everything; waits for the thread."""
        if self._writer is not None:
            self._write(monotonic())
            self._end_segment()
            self._writer.finish(Standing(self._now_ns(), tuple(self._open)))
            self.deleted_bytes += self._writer.deleted_bytes
            self._writer = None

    def flush(self) -> None:
        """Give what was seen to the operating system; once in each turn of the loop."""
        now_s = monotonic()
        if self._settling and self._writer is not None and self._writer.inherited is not None:
            self._settle(self._writer.inherited)
        if self._out:
            self._write(now_s)
        if self._segment is not None and (
            now_s >= self._due_s or self._li - self._segment_li >= self._rows_per_file
        ):
            self._end_segment()

    def renumbered(self, names: Sequence[str]) -> None:
        """Brokers have other numbers from now on, or there are more of them."""
        self._write(monotonic())
        self._end_segment()
        self._head = Head(self._head.node, self._head.incarnation, tuple(names))
        self._begin_anew()

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return self._li

    # --- messages ---------------------------------------------------------------------------

    def accepted(self, letters: Sequence[Letter], *, again: bool = False) -> None:
        """Letters are in this origin's custody; `again`, those that its log held at a start.

        They left before the log was synced: that they were published then is within the error.
        """
        if not letters:
            return
        for one in letters:
            if one.stamp is not None:
                self._said(one, again=again)
        out, ids, count, more = self._out, self._names, len(letters), False
        begin = self._block(ACCEPTED, count, 0 if again else since_ns(letters[0].sent_us))
        for one in letters:
            out += (
                ids[one.topic],
                one.origin,
                one.incarnation,
                one.number,
                len(one.payload),
                one.priority,
                ids[one.producer],
            )
            if one.key or one.order:
                more = True
        self._end_block(begin, count, letters if more else ())

    def _said(self, letter: Letter, *, again: bool) -> None:
        """A letter of a conversation: only a row of its own has room for what it says.

        It has the time at which it was said. Letters leave before the log is synced, so at the time
        at which it is safe an answer may have been said elsewhere, which must not seem earlier.
        """
        token = token_of(letter)
        if token is not None:
            whose = producer(self._head.brokers, letter.origin, letter.incarnation)
            row = {"topic": letter.topic, "producer": whose, "pseq": letter.number}
            row |= {"conversation": token.conversation, "label": token.label}
            row |= {"size_bytes": len(letter.payload)}
            row |= {"redelivered": True} if again else {}
            self._row("publish", row, self._now_ns() - since_ns(letter.sent_us))

    def accepted_run(self, run: Run) -> None:
        """The same of a run of them."""
        one, ids, count = run.letter, self._names, len(run.payloads)
        begin = self._block(ACCEPTED, count, since_ns(one.sent_us))
        topic, producer = repeat(ids[one.topic]), repeat(ids[one.producer])
        sizes = map(len, run.payloads)
        numbers = range(one.number, one.number + count)
        rows = zip(
            *(topic, repeat(one.origin), repeat(one.incarnation), numbers, sizes),
            *(repeat(one.priority), producer),
            strict=False,
        )
        self._out.extend(chain.from_iterable(rows))
        self._end_block(begin, count, run.letters() if run.keys else ())

    def delivered(self, deliveries: Sequence[Deliver]) -> None:
        """The broker has confirmed these, or hands them to its own clients by itself.

        A row for each client. A last value for somebody who came later is no row: it was published
        before its reader subscribed, so nobody was due it.
        """
        out, ids, groups, count, rows, more = self._out, self._names, self._groups, 0, 0, False
        begin = self._block(DELIVERED, 0)
        for delivery in deliveries:
            if delivery.retained:
                continue
            one, clients = delivery.letter, delivery.subscribers
            group = groups.get(clients)
            out += (
                ids[one.topic],
                one.origin,
                one.incarnation,
                one.number,
                len(one.payload),
                one.priority,
                self._group(clients) if group is None else group,
            )
            count += 1
            rows += len(clients)
            if one.key or one.order:
                more = True
        out[begin + 1] = count
        letters = [one.letter for one in deliveries if not one.retained] if more else ()
        self._end_block(begin, rows, letters)

    def forwarded(self, link: str, letters: Iterable[Letter]) -> None:
        """Letters left over a link; only each `forward_every`-th of a stream is told, 0 for none.

        No audit needs these rows, and there is one for each link that a letter crosses.
        """
        every = self._forward_every
        if not every:
            return
        some = [one for one in letters if one.number % every == 0]
        if some:
            out, ids = self._out, self._names
            begin = self._block(FORWARDED, len(some))
            for one in some:
                what = ids[one.topic], one.origin, one.incarnation, one.number
                out += (*what, len(one.payload), one.priority, ids[link])
            self._end_block(begin, len(some), some)

    def dropped(self, letter: Letter, why: str) -> None:
        """A letter was given up."""
        whose = producer(self._head.brokers, letter.origin, letter.incarnation)
        message = {"topic": letter.topic, "producer": whose, "pseq": letter.number}
        self._row("drop", message | {"size_bytes": len(letter.payload), "why": why})

    # --- clients ----------------------------------------------------------------------------

    def subscribed(
        self, subscriber: str, pattern: str, *, durable: bool = False, stood: bool = False
    ) -> None:
        """A client asked for a pattern; `stood`: of another broker before, so here is no row."""
        if subscriber == pattern:
            self._anonymous.add(pattern)
        client = self._client(subscriber)
        self._open[client, pattern] = None
        self._open_changed = True
        if stood:
            return
        what = {"topic": pattern, "client": client}
        self._row("subscribe", what | ({"durable": True} if durable else {}))

    def confirmed(self, subscriber: str, pattern: str) -> None:
        """Every origin knows of it; from here on a message that does not come is lost.

        Not to be said while an origin is out of reach that takes messages and does not know.
        """
        self._row("subscribed", {"topic": pattern, "client": self._client(subscriber)})

    def unsubscribed(self, subscriber: str, pattern: str) -> None:
        """A client no longer wants a pattern."""
        client = self._client(subscriber)
        self._open.pop((client, pattern), None)
        self._open_changed = True
        self._ended(client, pattern)

    def settled(self) -> None:
        """Subscriptions of the life before that were not told again are over since its end.

        To be called once the broker's subscriptions are known, some seconds after a start.
        """
        self._settling = True

    def connected(self, client: str) -> None:
        """A client has connected to this broker."""
        self._row("connect", {"client": client})

    def disconnected(self, client: str) -> None:
        """It is gone."""
        self._row("disconnect", {"client": client})

    def sample(self, figures: Mapping[str, float]) -> None:
        """The broker's figures of a window (`samples`)."""
        self._row("sample", {name: one for name, one in figures.items() if name in SAMPLE})

    # --- inside -----------------------------------------------------------------------------

    def _ended(self, client: str, pattern: str, ts_ns: int | None = None) -> None:
        what = {"topic": pattern, "client": client}
        self._row("unsubscribe", what, ts_ns)
        self._row("unsubscribed", what)

    def _settle(self, inherited: Standing) -> None:
        self._settling = False
        for client, pattern in inherited.open:
            if (client, pattern) not in self._open:
                self._ended(client, pattern, inherited.ts_ns)

    def _client(self, subscriber: str) -> str:
        """A client's name; where a broker does not tell them apart, all of them there are one."""
        if subscriber in self._anonymous:
            return f"{subscriber}@{self._head.node}"
        return subscriber

    def _group(self, clients: tuple[str, ...]) -> int:
        group = self._groups[clients] = self._names.group([self._client(one) for one in clients])
        return group

    def _block(self, kind: int, count: int, ago_ns: int = 0) -> int:
        """Begin a block of what happened now, or so long ago at most; where it begins."""
        out = self._out
        stamp = self._now_ns(), self._clock_err_ns() + ago_ns, self._epoch()
        out += (kind, count, *stamp, self._li, 0, NO_LINE)
        return len(out) - HEAD

    def _end_block(self, begin: int, rows: int, special: Sequence[Letter]) -> None:
        """End a block of so many rows; `special` are its letters if some have an id or a place."""
        if not rows:
            del self._out[begin:]
            return
        self._out[begin + 6] = rows
        self._li += rows
        keys, orders = [one.key for one in special], [one.order for one in special]
        if any(keys) or any(orders):
            ranks = [None if one is None else (one[0] << ORDER_BITS) + one[1] for one in orders]
            ids = [one or None for one in keys]
            extras = Extras(ids if any(keys) else [], ranks if any(orders) else [])
            self._out[begin + 7] = self._names.line(extras)

    def _row(self, kind: str, columns: Mapping[str, object], ts_ns: int | None = None) -> None:
        stamp = self._now_ns() if ts_ns is None else ts_ns, self._clock_err_ns(), self._epoch()
        line = self._names.line({"kind": kind, **columns})
        self._out += (MARK + LINE, 0, *stamp, self._li, 1, line)
        self._li += 1

    def _write(self, now_s: float) -> None:
        if not self._out:
            return
        if self._segment is None and now_s >= self._due_s and self._writer is not None:
            self._open_segment(now_s)
        if self._segment is None:
            self._drop()
            return
        try:
            self._segment.append(self._names, self._out)
        except OSError as error:
            self._fail(error, now_s)
            return
        self._out.clear()
        self._flushed, self._failing = self._li, False

    def _open_segment(self, now_s: float) -> None:
        stem = self._place.stem(self._head.incarnation, self._number)
        self._number += 1
        try:
            self._segment = Segment(self._place.hidden(stem))
        except OSError as error:
            self._fail(error, now_s)
            return
        self._segment_li, self._due_s = self._flushed, now_s + self._every_s

    def _end_segment(self) -> None:
        if self._segment is not None and self._writer is not None:
            self._segment.close()
            stem = self._segment.path.name.removeprefix(".")
            changed, self._open_changed = self._open_changed, False
            standing = Standing(self._now_ns(), tuple(self._open)) if changed else None
            self._writer.take(stem, standing)
            self._segment, self._due_s = None, 0.0
            self._begin_anew()

    def _fail(self, error: OSError, now_s: float) -> None:
        """What cannot be written is dropped, and told; the agent goes on."""
        if not self._failing:
            told = f"rows of the trace are lost: {error}: free some room"
            self._on_fault(f"{self._place.folder}: {told}")
        self._failing = True
        self._end_segment()
        self._due_s = now_s + AGAIN_S
        self._drop()

    def _drop(self) -> None:
        self.dropped_rows += self._li - self._flushed
        self._flushed = self._li
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Lines and numbers of the next segment."""
        self._names = Names(self._head)
        self._groups: dict[tuple[str, ...], int] = {}
        self._out: list[int] = []
