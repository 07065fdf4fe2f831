"""The election of a master by a majority of the members, with terms and a lease.

At most one master per term: a member votes once per term, and the vote is written before it is
spoken. This relies on the office: **notes leave only when the records written before them are
safe**. So a vote that was heard survives a restart, and one that did not survive was never heard.

At most one master at a time, too: a member that hears its master, or has just voted, promises its
vote to nobody for `patience_us`; a master that no majority has answered for `lease_us`, counted
from when it asked, steps down before these promises end (a restarted member waits them out).

A member that was cut off asks first whether it would be elected (a trial, nothing is promised): it
disturbs no working master when it is back. A majority is one of all members, never of those that
can be reached: two parts of a cut council would each elect their own.

Raft (Ongaro 2014, 3.4, 4.2.3, 6.4, 9.6) has these rules; Wang 2015, 4.3 asks for the election and
for a natural first choice, the strongest host. Here the first in `preference` come forward first;
if that elects nobody, order no longer counts. A working master is not replaced by a stronger one.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from ropewalk.errors import UsageError
from ropewalk.overlay.council.settings import Pace
from ropewalk.overlay.council.words import Ballot, Candidacy, Follow, Lead, Vote
from ropewalk.overlay.parts import NEVER, Office

NOBODY = -1


class Role(StrEnum):
    """What a member is."""

    MEMBER = "member"
    TRYING = "trying"
    CANDIDATE = "candidate"
    MASTER = "master"


class Election:
    """One member's part in the election."""

    def __init__(
        self,
        office: Office,
        members: Iterable[int],
        settings: Pace | None = None,
        *,
        group: str = "",
        preference: Sequence[int] = (),
    ) -> None:
        self.office, self.group = office, group
        self.pace = settings or Pace()
        self.members = tuple(sorted(set(members)))
        if office.me not in self.members:
            raise UsageError(f"broker {office.me} is no member of the council {group!r}")
        self.term, self.role = 0, Role.MEMBER
        self.master: int | None = None
        """Whom this member takes for the master; None if it knows none."""
        self.position: Callable[[], tuple[int, int]] = lambda: (0, 0)
        """Term and number of the last entry: who lacks decided entries must not be elected."""
        self.watchers: list[Callable[[int], None]] = []
        """Called with the time when master, term or role have changed."""
        self.wake_us = NEVER
        self._order = [one for one in preference if one in self.members]
        self._order += [one for one in self.members if one not in self._order]
        self._vote = NOBODY
        self._promised_us = 0
        self._deadline_us = self._beat_us = NEVER
        self._round, self._asked_us, self._failed = 0, 0, 0
        self._answers: dict[int, bool] = {}
        self._heard: dict[int, int] = {}
        self._lonely = False
        self._shown: tuple[object, ...] = ()

    @property
    def is_master(self) -> bool:
        """This member is the master."""
        return self.role is Role.MASTER

    @property
    def majority(self) -> int:
        """How many members decide."""
        return len(self.members) // 2 + 1

    @property
    def in_minority(self) -> bool:
        """This member cannot reach a majority: nothing can be decided here."""
        return self._lonely or not self._enough(self.office.reachable())

    # The part.

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Begin; with what was written before."""
        for one in records:
            if isinstance(one, Ballot) and one.group == self.group:
                self.term, self._vote = one.term, one.vote
        # What was promised before a restart is not known: it is kept in any case.
        self._promised_us = now_us + self.pace.patience_us
        self._rest(now_us)
        self._end(now_us)

    def records(self) -> tuple[Ballot, ...]:
        """What has to be in the log for this part, should it be written anew."""
        return (Ballot(self.group, self.term, self._vote),) if self.term else ()

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A note; False if it is not for this part."""
        mine = isinstance(body, Candidacy | Vote | Lead | Follow) and body.group == self.group
        if mine and sender in self.members:
            match body:
                case Candidacy():
                    self._asked(now_us, sender, body)
                case Vote():
                    self._answered(now_us, sender, body)
                case Lead():
                    self._led(now_us, sender, body)
                case Follow():
                    self._followed(now_us, sender, body)
            self._end(now_us)
        return mine

    def due(self, now_us: int) -> None:
        """The time has come."""
        if self.is_master:
            self._reign(now_us)
        elif now_us >= self._deadline_us:
            self._come_forward(now_us)
        elif now_us >= self._beat_us:
            self._ask(now_us)
        self._end(now_us)

    def changed(self, now_us: int) -> None:
        """Others have become reachable or unreachable."""
        if not self._enough(self.office.reachable()):
            if self.is_master:
                self._step_down(now_us, "most members cannot be reached")
            self.role, self.master, self._beat_us = Role.MEMBER, None, NEVER
        self._end(now_us)

    # For other parts of the council.

    def led(self, now_us: int, sender: int, term: int) -> bool:
        """A word of the master of a term came; False if that term is over."""
        if term < self.term or sender not in self.members or sender == self.office.me:
            return False
        self.adopt(now_us, term)
        self.role, self.master, self._failed, self._lonely = Role.MEMBER, sender, 0, False
        self._promised_us = now_us + self.pace.patience_us
        self._rest(now_us)
        self._end(now_us)
        return True

    def adopt(self, now_us: int, term: int) -> None:
        """Another is in a higher term: so is this member, and its vote is free again."""
        if term <= self.term:
            return
        if self.is_master:
            self._step_down(now_us, "there is a higher term")
        self._write(term, NOBODY)
        self.role, self.master = Role.MEMBER, None
        self._rest(now_us)
        self._end(now_us)

    # As a voter.

    def _asked(self, now_us: int, sender: int, body: Candidacy) -> None:
        granted = self._would_vote(now_us, sender, body)
        if granted and not body.trial:
            self.adopt(now_us, body.term)
            if self._vote == NOBODY:
                self._write(body.term, sender)
                self._promised_us = now_us + self.pace.patience_us
                self._rest(now_us)
        answer = Vote(self.group, body.term, body.round, body.trial, granted, self.term)
        self.office.note(sender, answer)

    def _would_vote(self, now_us: int, sender: int, body: Candidacy) -> bool:
        if not body.trial and body.term == self.term and self._vote == sender:
            return True  # The answer was lost.
        free = body.term > self.term or (
            not body.trial and body.term == self.term and self._vote == NOBODY
        )
        promised = self.is_master or now_us < self._promised_us
        return free and not promised and tuple(body.position) >= self.position()

    # As a candidate.

    def _come_forward(self, now_us: int) -> None:
        """Nobody leads: try, as long as a majority can be reached."""
        if self.role is not Role.MEMBER:
            self._failed += 1
            self._lonely = len(self._answers) < self.majority
        self.role, self.master = Role.MEMBER, None
        self._rest(now_us)
        if self._enough(self.office.reachable()):
            self._stand(now_us, Role.TRYING)

    def _stand(self, now_us: int, role: Role) -> None:
        self.role, self._round, self._asked_us = role, self._round + 1, now_us
        if role is Role.CANDIDATE:
            self._write(self.term + 1, self.office.me)
            self._promised_us = now_us + self.pace.patience_us
            self._rest(now_us)
        self._answers = {self.office.me: True}
        self._ask(now_us)
        self._count(now_us)

    def _ask(self, now_us: int) -> None:
        self._beat_us = now_us + self.pace.beat_us if self._stands else NEVER
        if not self._stands:
            return
        trial = self.role is Role.TRYING
        term = self.term + 1 if trial else self.term
        body = Candidacy(self.group, term, self._round, trial, self.position())
        self._tell_others(body, but=self._answers)

    def _answered(self, now_us: int, sender: int, body: Vote) -> None:
        if body.known > self.term:
            self.adopt(now_us, body.known)
            return
        trial = self.role is Role.TRYING
        term = self.term + 1 if trial else self.term
        if self._stands and (body.term, body.round, body.trial) == (term, self._round, trial):
            self._answers[sender] = body.granted
            self._count(now_us)

    def _count(self, now_us: int) -> None:
        if len(self._answers) >= self.majority:
            self._lonely = False
        if sum(self._answers.values()) < self.majority:
            return
        if self.role is Role.TRYING:
            self._stand(now_us, Role.CANDIDATE)
        elif self.role is Role.CANDIDATE:
            self._win(now_us)

    def _win(self, now_us: int) -> None:
        self.role, self.master, self._failed = Role.MASTER, self.office.me, 0
        # Votes are promises like answers to a Lead: the lease runs from when they were asked for.
        self._heard = {one: self._asked_us for one, yes in self._answers.items() if yes}
        self._beat_us = now_us
        self.office.tell("master elected", self.group, self.term, self.office.me)
        self._reign(now_us)

    # As the master.

    def _reign(self, now_us: int) -> None:
        if now_us >= self._lease_end_us(now_us):
            self._lonely = True
            self._step_down(now_us, "most members do not answer")
        elif now_us >= self._beat_us:
            self._beat_us = now_us + self.pace.beat_us
            self._tell_others(Lead(self.group, self.term, now_us))

    def _lease_end_us(self, now_us: int) -> int:
        self._heard[self.office.me] = now_us
        heard = sorted(self._heard.values(), reverse=True)
        return heard[self.majority - 1] + self.pace.lease_us

    def _step_down(self, now_us: int, why: str) -> None:
        self.role, self.master = Role.MEMBER, None
        self.office.tell("master steps down", self.group, self.term, why)
        self._rest(now_us)

    def _followed(self, now_us: int, sender: int, body: Follow) -> None:
        if body.term > self.term:
            self.adopt(now_us, body.term)
        elif self.is_master and body.term == self.term:
            self._heard[sender] = max(self._heard.get(sender, 0), body.sent_us)

    def _led(self, now_us: int, sender: int, body: Lead) -> None:
        self.led(now_us, sender, body.term)
        self.office.note(sender, Follow(self.group, self.term, body.sent_us))

    # Small things.

    @property
    def _stands(self) -> bool:
        return self.role in (Role.TRYING, Role.CANDIDATE)

    def _enough(self, some: Iterable[int]) -> bool:
        return len(set(some) & set(self.members)) >= self.majority

    def _tell_others(self, body: Any, but: Iterable[int] = ()) -> None:
        for one in self.members:
            if one != self.office.me and one not in but:
                self.office.note(one, body)

    def _write(self, term: int, vote: int) -> None:
        self.term, self._vote = term, vote
        self.office.write(Ballot(self.group, term, vote))

    def _rest(self, now_us: int) -> None:
        """Wait for a master, each member its own time: as preferred, then as it falls."""
        seed = f"{self.office.me} {self.term} {self._failed}".encode()
        chance = int.from_bytes(blake2b(seed, digest_size=4).digest(), "big") / 2**32
        slot = (self._order.index(self.office.me) + chance) / len(self._order)
        share = chance * (1 + min(self._failed, 8)) if self._failed else slot
        self._deadline_us = now_us + self.pace.patience_us + int(share * self.pace.spread_us)
        self._beat_us = NEVER

    def _end(self, now_us: int) -> None:
        """After whatever happened: when to wake, and who has to know."""
        if self.is_master:
            self.wake_us = min(self._beat_us, self._lease_end_us(now_us))
        else:
            self.wake_us = min(self._deadline_us, self._beat_us)
        shown = self.master, self.term, self.role
        if shown != self._shown:
            self._shown = shown
            for watcher in self.watchers:
                watcher(now_us)
