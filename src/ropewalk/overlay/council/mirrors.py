"""Mirrors: who takes over the items of a broker that died, and how they come home.

The master watches the members. One that is gone for `grace_us` is dead: the master asks the case
base what to do (`CaseBase.advice`) and proposes a `Switch`; once that is decided, every agent does
its part. Items that are away already stay where they are as long as their broker lives. When a
broker is back for `grace_us`, a `Restore` says so: who carries its items moves them home one by one
in sessions (`moving`), and an item counts as home when its carrier has told the master.

Each Switch and Restore says the whole state, so that the newest is enough. In a minority nothing is
switched, and that is told: the other part of the council may be deciding just this.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from json import loads
from typing import Any

from ropewalk.errors import UsageError
from ropewalk.overlay.council.cases import CaseLog
from ropewalk.overlay.council.words import Cases, Entry, Restore, Returned, Switch
from ropewalk.overlay.parts import NEVER, Office
from ropewalk.placement.policies.cases import CaseBase

Told = Callable[[int, tuple[str, ...]], None]
Mover = Callable[[int, str, int], None]


class Mirrors:
    """One agent's part in mirroring."""

    def __init__(
        self,
        office: Office,
        log: CaseLog,
        names: Sequence[str],
        *,
        take: Told,
        give_back: Told,
        move: Mover,
    ) -> None:
        """`take`, `give_back`: told the time and items; `move`: time, item, the broker to go to.

        Each may be told what is so already. `move` begins a session; its end is told to `ended`.
        """
        self.office, self.log, self.election = office, log, log.election
        self.group, self.pace = log.group, log.pace
        self.names, self._number = names, {name: b for b, name in enumerate(names)}
        self._take, self._give_back, self._move = take, give_back, move
        self.base: CaseBase | None = None
        self.down: frozenset[int] = frozenset()
        self.moves: Mapping[str, int] = {}
        self.wake_us = NEVER
        self._state = self._proposed = 0
        self._since: dict[int, tuple[bool, int]] = {}
        self._started = False
        self._mine: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        self._sessions: dict[str, int] = {}
        self._back: set[str] = set()
        self._home: set[str] = set()
        self._again_us = NEVER
        self._said = ""
        log.listeners.append(self._decided)
        self.election.watchers.append(self._look)

    def home(self, item: str) -> int | None:
        """The broker of an item by the plan; None if it is not in it."""
        found = self.base.items.get(item) if self.base else None
        return self._number.get(found[0]) if found else None

    def carrier(self, item: str) -> int | None:
        """The broker that carries it now, as far as is decided."""
        return self.moves.get(item, self.home(item))

    def gone_since(self, broker: int | None, now_us: int) -> int:
        """Since when a broker cannot be reached; now, if it can."""
        up, since_us = self._since.get(-1 if broker is None else broker, (True, now_us))
        return now_us if up else since_us

    def ended(self, now_us: int, item: str, *, moved: bool) -> None:
        """A session that `move` began is over."""
        self._sessions[item] = NEVER if moved else now_us + self.pace.grace_us
        if moved and item in self._mine[0]:
            if self.home(item) in self.down:
                self._sessions.pop(item)
                self._take(now_us, (item,))  # It died meanwhile: the clients come back here.
            else:
                self._back.add(item)
                self._again_us = now_us
        self._look(now_us)

    # The part.

    def recover(self, now_us: int, records: Iterable[Any]) -> None:
        """Begin; all that matters is in the log's records."""
        del records
        self._started = True
        self._since = dict.fromkeys(self.election.members, (True, now_us))
        self.changed(now_us)
        self._apply(now_us)

    def records(self) -> tuple[Any, ...]:
        """Nothing of its own: all that matters is in the log's records."""
        return ()

    def heard(self, now_us: int, sender: int, body: Any) -> bool:
        """A note; False if it is not for this part."""
        if not isinstance(body, Returned) or body.group != self.group:
            return False
        self._returned(sender, body)
        self._look(now_us)
        return True

    def due(self, now_us: int) -> None:
        """The time has come."""
        self._look(now_us)

    def changed(self, now_us: int) -> None:
        """Others have become reachable or unreachable."""
        reached = self.office.reachable()
        for one in self.election.members:
            if self._since.get(one, (True, 0))[0] != (one in reached):
                self._since[one] = one in reached, now_us
        self._look(now_us)

    # What is decided.

    def _decided(self, now_us: int, entry: Entry) -> None:
        match entry.body:
            case Cases(version=version):
                if self.base is None or self.base.version != version:
                    self._read_cases()
            case Switch(down=down, moves=moves) | Restore(down=down, moves=moves):
                self._state, self.down, self.moves = entry.number, frozenset(down), dict(moves)
                self._home = set()  # Carriers say it again, of this state.
        if self._started:
            self._apply(now_us)
            self._look(now_us)

    def _read_cases(self) -> None:
        text = self.log.cases
        try:
            base = CaseBase.of(loads(text)) if text else None
        except (UsageError, ValueError) as error:
            self.office.tell("policies cannot be read", self.group, str(error))
            return
        if base and (unknown := set(base.brokers) - set(self._number)):
            self.office.tell("policies for other brokers", self.group, *sorted(unknown))
            return
        self.base = base or self.base

    def _apply(self, now_us: int) -> None:
        """Take what is to be carried here, give back what is not."""
        me = self.office.me
        taken = frozenset(i for i, to in self.moves.items() if to == me != self.home(i))
        lent = frozenset(i for i, to in self.moves.items() if to != me == self.home(i))
        was_taken, was_lent = self._mine
        # Moved home, but home is dead before that was decided: the clients come back here.
        again = {item for item in self._back & taken if self.home(item) in self.down}
        self._mine, self._back = (taken, lent), (self._back & taken) - again
        self._sessions = {i: at for i, at in self._sessions.items() if i in taken - again}
        if news := (taken - was_taken) | (was_lent - lent) | again:
            self._take(now_us, tuple(sorted(news)))
        if gone := (was_taken - taken) | (lent - was_lent):
            self._give_back(now_us, tuple(sorted(gone)))

    # What is to be done.

    def _look(self, now_us: int) -> None:
        if not self._started:
            return
        self._go_home(now_us)
        self._report_home(now_us)
        self._complain(now_us)
        if self.election.is_master:
            self._decide(now_us)
        else:
            self._proposed = 0
        self._plan(now_us)

    def _go_home(self, now_us: int) -> None:
        """Begin sessions for items whose home is back."""
        for item in sorted(self._mine[0]):
            home = self.home(item)
            ready = home is not None and home not in self.down and item not in self._back
            if ready and self._sessions.get(item, 0) <= now_us:
                self._sessions[item] = NEVER
                self._move(now_us, item, home if home is not None else -1)

    def _report_home(self, now_us: int) -> None:
        master = self.election.master
        if not self._back or now_us < self._again_us or master is None:
            return
        self._again_us = now_us + self.pace.again_us
        body = Returned(self.group, self._state, tuple(sorted(self._back)))
        if master == self.office.me:
            self._returned(master, body)
        else:
            self.office.note(master, body)

    def _returned(self, sender: int, body: Returned) -> None:
        """Items are home, if that was said of this state: meanwhile they may have left again."""
        if body.number == self._state:
            self._home |= {item for item in body.items if self.moves.get(item) == sender}

    def _complain(self, now_us: int) -> None:
        """Say once why nothing is switched."""
        said = ""
        if self._dead(now_us) - self.down:
            if self.election.in_minority:
                said = "minority: no mirror is switched"
            elif self.base is None and self.election.is_master:
                said = "no policies: no mirror is switched"
        if said and said != self._said:
            self.office.tell(said, self.group, *sorted(self._dead(now_us)))
        self._said = said

    def _dead(self, now_us: int) -> frozenset[int]:
        """Who is dead: gone long enough, or not back for long enough."""
        before_us = now_us - self.pace.grace_us
        lasting = {one: up for one, (up, since_us) in self._since.items() if since_us <= before_us}
        gone = {one for one, up in lasting.items() if not up}
        back = {one for one, up in lasting.items() if up}
        return (self.down | gone) - back

    def _decide(self, now_us: int) -> None:
        """As the master: propose the state that the world is in, one proposal at a time."""
        dead = self._dead(now_us)
        if self.base is None or self._proposed > self.log.shelf.decided:
            return
        moves = self._wanted(self.base, dead)
        if dead == self.down and moves == self.moves:
            return
        listed = tuple(sorted(moves.items()))
        down, up = tuple(sorted(dead)), tuple(sorted(self.down - dead))
        body = Switch(down, listed) if dead - self.down else Restore(up, down, listed)
        if at := self.log.propose(now_us, body):
            self._proposed = at[1]

    def _wanted(self, base: CaseBase, dead: frozenset[int]) -> dict[str, int]:
        """Where items are to be that are not at home."""
        failed = sorted(self.names[one] for one in dead if self.names[one] in base.brokers)
        alive = len(failed) < len(base.brokers)
        advice = base.advice(failed).moves if failed and alive else {}
        moves: dict[str, int] = {}
        for item in base.items:
            home, at = self.home(item), self.carrier(item)
            if home not in dead and (item in self._home or at in dead):
                continue
            if at is not None and at in dead and item in advice:
                at = self._number[advice[item]]
            if at is not None and at != home:
                moves[item] = at
        return moves

    def _plan(self, now_us: int) -> None:
        """When to look again."""
        grace = (since_us + self.pace.grace_us for _, since_us in self._since.values())
        times = [at for at in (*grace, *self._sessions.values()) if at > now_us]
        if self._back and self.election.master is not None:
            times.append(max(self._again_us, now_us + 1))
        self.wake_us = min(times, default=NEVER)
