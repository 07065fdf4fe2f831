"""The replicated case base: what is decided, in one order for all members.

The master proposes entries (term, number), members store them, and an entry is decided when a
majority **of all members** has stored it. Wang 2015, 4.3 wants all of them to acknowledge: then one
dead broker stops every decision, also the one to replace it. A majority of those that can be
reached would let two parts of a cut council decide differently. With a majority of all, any two
decisions have a member in common, a new master has all that was decided (`Election.position`), and
what an old master did not get decided is overwritten by the new one's entries, as in Raft.

A term begins with a `Began` entry: only with an entry of its own term may a master count older ones
as decided (Ongaro 2014, 3.6.2). Members that lack what was folded get it as an `Install`.

Notes leave only when the records before them are safe (see `election`): a `Stored` that is heard
survives a restart. `on_commit` is called once per entry and start, in order; entries that were
superseded while a member was away are left out. A council of one decides at once, before its disk
has it: after a crash it may have to decide anew what nobody else has heard of.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ropewalk.overlay.council.election import Election
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.council.shelf import Position, Shelf, newest_cases, parts_of
from ropewalk.overlay.council.words import (
    Append,
    Began,
    Body,
    Cases,
    Decided,
    Entry,
    Folded,
    Install,
    Kept,
    Stored,
)
from ropewalk.overlay.parts import NEVER, Office

OnCommit = Callable[[int, Entry], None]


class CaseLog:
    """One member's part in deciding."""

    def __init__(
        self,
        office: Office,
        election: Election,
        settings: Pace | None = None,
        *,
        on_commit: OnCommit = lambda _now_us, _entry: None,
    ) -> None:
        self.office, self.election = office, election
        self.group, self.pace = election.group, settings or election.pace
        self.shelf = Shelf()
        self.listeners = [on_commit]
        """Each is told the time and the entry."""
        self.wake_us = NEVER
        self._told_upto, self._telling = 0, False
        self._master_of = self._current = 0
        self._next: dict[int, int] = {}
        self._match: dict[int, int] = {}
        self._knows: dict[int, int] = {}
        self._again_us: dict[int, int] = {}
        self._gathered: dict[int, Install] = {}
        election.position = lambda: self.shelf.last
        election.watchers.append(self._role_changed)

    @property
    def committed(self) -> tuple[Entry, ...]:
        """What is decided and still matters, in order."""
        return self.shelf.committed

    @property
    def current(self) -> bool:
        """Since its start this member has learnt what was decided, by the master of this term.

        Before that a restarted agent does not know whether others have taken over its items.
        """
        if self.election.is_master:
            return self.shelf.term_at(self.shelf.decided) == self.election.term
        return self._current == self.election.term > 0

    @property
    def cases(self) -> str | None:
        """The text of the case base that holds; None before the first."""
        return newest_cases(self.committed)

    def propose(self, now_us: int, body: Body) -> Position | None:
        """As the master, propose; where it will stand if it is decided, None for no master."""
        if not self.election.is_master:
            return None
        entry = Entry(self.election.term, self.shelf.last[1] + 1, body)
        self._keep(self.shelf.store([entry]))
        self._count(now_us)
        self._send_to_all(now_us)
        return entry.term, entry.number

    def propose_cases(self, now_us: int, text: str, version: str) -> Position | None:
        """Propose a case base, in parts if it is long; where its last part will stand."""
        at = None
        for part in parts_of(text, version, self.pace.note_bytes):
            at = self.propose(now_us, part)
        return at

    # The part.

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Begin; with what was written before."""
        upto = 0
        for one in records:
            if isinstance(one, Kept) and one.group == self.group:
                self.shelf.store([one.entry])
            elif isinstance(one, Folded) and one.group == self.group:
                self.shelf.load(one)
            elif isinstance(one, Decided) and one.group == self.group:
                upto = max(upto, one.number)
        self.shelf.decided = max(self.shelf.decided, min(upto, self.shelf.last[1]))
        self._tell(now_us)

    def records(self) -> tuple[Folded | Kept | Decided, ...]:
        """What has to be in the log for this part, should it be written anew."""
        shelf = self.shelf
        kept = (Kept(self.group, one) for one in shelf.tail)
        folded = Folded(self.group, *shelf.base, shelf.folded)
        return folded, *kept, Decided(self.group, shelf.decided)

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A note; False if it is not for this part."""
        mine = isinstance(body, Append | Install | Stored) and body.group == self.group
        if mine and sender in self.election.members:
            if isinstance(body, Stored):
                self._stored(now_us, sender, body)
            elif not self.election.led(now_us, sender, body.term):
                self._answer(sender, fits=False)
            elif isinstance(body, Append):
                self._append(now_us, sender, body)
            elif isinstance(body, Install):
                self._install(now_us, sender, body)
        return mine

    def due(self, now_us: int) -> None:
        """The time has come."""
        for one, again_us in self._again_us.items():
            if now_us >= again_us:
                self._send(now_us, one)
        self._plan()

    def changed(self, now_us: int) -> None:
        """Others have become reachable: they may lack something."""
        self._send_to_all(now_us)

    # As a member.

    def _append(self, now_us: int, sender: int, body: Append) -> None:
        shelf = self.shelf
        if not shelf.follows(body.after_term, body.after):
            self._answer(sender, fits=False, upto=min(shelf.last[1], body.after - 1))
            return
        self._keep(shelf.store(body.entries))
        upto = body.after + len(body.entries)
        self._decide(now_us, min(body.decided, upto))
        if body.decided <= shelf.decided and body.term == shelf.term_at(shelf.decided):
            self._current = body.term
        self._answer(sender, fits=True, upto=upto)

    def _install(self, now_us: int, sender: int, body: Install) -> None:
        if body.base <= self.shelf.decided:
            self._answer(sender, fits=True, upto=self.shelf.decided)
            return
        same = (body.term, body.base)
        self._gathered = {p: i for p, i in self._gathered.items() if (i.term, i.base) == same}
        self._gathered[body.part] = body
        want = next((p for p in range(body.parts) if p not in self._gathered), body.parts)
        if want < body.parts:
            self._answer(sender, fits=False, upto=self.shelf.decided, part=want)
            return
        entries = [one for part in range(body.parts) for one in self._gathered[part].entries]
        self._gathered = {}
        self._begin_with(now_us, Folded(self.group, body.base_term, body.base, tuple(entries)))
        self._answer(sender, fits=True, upto=body.base)

    def _begin_with(self, now_us: int, folded: Folded) -> None:
        self.shelf.load(folded)
        self.office.write(folded)
        self._tell(now_us)

    def _answer(self, to: int, *, fits: bool, upto: int = 0, part: int = 0) -> None:
        decided = self.shelf.decided
        self.office.note(to, Stored(self.group, self.election.term, fits, upto, decided, part))

    def _keep(self, entries: Iterable[Entry]) -> None:
        for one in entries:
            self.office.write(Kept(self.group, one))

    def _decide(self, now_us: int, upto: int) -> None:
        if upto <= self.shelf.decided:
            return
        self.shelf.decided = upto
        self.office.write(Decided(self.group, upto))
        self._tell(now_us)
        if upto - self.shelf.base[1] > self.pace.tail:
            self.office.write(self.shelf.fold(self.group))

    def _tell(self, now_us: int) -> None:
        """In order, also where what is told leads to more being decided at once."""
        if self._telling:
            return
        self._telling = True
        while (new := self.shelf.decided_after(self._told_upto)) is not None:
            self._told_upto = new.number
            for listener in self.listeners:
                listener(now_us, new)
        self._telling = False

    # As the master.

    def _role_changed(self, now_us: int) -> None:
        if not self.election.is_master:
            self._master_of, self._again_us, self.wake_us = 0, {}, NEVER
        elif self._master_of != self.election.term:
            self._master_of = self.election.term
            others = [one for one in self.election.members if one != self.office.me]
            self._next = dict.fromkeys(others, self.shelf.last[1] + 1)
            self._match, self._knows = dict.fromkeys(others, 0), dict.fromkeys(others, 0)
            self._again_us = dict.fromkeys(others, now_us)
            self.propose(now_us, Began(self.office.me))

    def _send_to_all(self, now_us: int) -> None:
        for one in self._again_us:
            self._send(now_us, one)
        self._plan()

    def _send(self, now_us: int, to: int, part: int = 0) -> None:
        shelf, term = self.shelf, self.election.term
        after = self._next[to] - 1
        if after < shelf.base[1]:
            parts = _batches(shelf.folded, self.pace.note_bytes)
            part = part if part < len(parts) else 0
            note: Any = Install(self.group, term, *shelf.base, part, len(parts), parts[part])
        else:
            entries = _batches(shelf.after(after), self.pace.note_bytes)[0]
            after_term = shelf.term_at(after) or 0
            note = Append(self.group, term, after_term, after, entries, shelf.decided)
        self.office.note(to, note)
        behind = self._match[to] < shelf.last[1] or self._knows[to] < shelf.decided
        self._again_us[to] = now_us + (self.pace.again_us if behind else self.pace.look_us)

    def _stored(self, now_us: int, sender: int, body: Stored) -> None:
        if body.term > self.election.term:
            self.election.adopt(now_us, body.term)
        if body.term != self.election.term or sender not in self._again_us:
            return
        self._knows[sender] = max(self._knows[sender], body.decided)
        if body.fits:
            self._match[sender] = max(self._match[sender], body.upto)
            self._next[sender] = max(self._next[sender], body.upto + 1)
            self._count(now_us)
        elif not body.part:
            self._next[sender] = max(1, min(self._next[sender] - 1, body.upto + 1))
        if self._next[sender] <= self.shelf.last[1] or self._knows[sender] < self.shelf.decided:
            self._send(now_us, sender, body.part)
        self._plan()

    def _count(self, now_us: int) -> None:
        """Decide what a majority has; an older term's entries only together with a newer one."""
        stored = sorted([self.shelf.last[1], *self._match.values()], reverse=True)
        upto = stored[self.election.majority - 1]
        if self.shelf.term_at(upto) == self.election.term and upto > self.shelf.decided:
            self._decide(now_us, upto)
            self._send_to_all(now_us)

    def _plan(self) -> None:
        self.wake_us = min(self._again_us.values(), default=NEVER)


def _batches(entries: Sequence[Entry], most: int) -> list[tuple[Entry, ...]]:
    """In portions for one note each; one at least, if only an empty one."""
    batches: list[list[Entry]] = [[]]
    size = 0
    for one in entries:
        size += _size(one.body)
        if size > most and batches[-1]:
            batches.append([])
            size = _size(one.body)
        batches[-1].append(one)
    return [tuple(one) for one in batches]


def _size(body: Body) -> int:
    match body:
        case Cases():
            return len(body.text)
        case _ if hasattr(body, "moves"):
            return 64 + sum(8 + len(item) for item, _ in body.moves)
        case _:
            return 64 + len(getattr(body, "data", b""))
