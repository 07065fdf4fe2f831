"""Who believed what to be down, and when all that could know it were right.

Beliefs are compared by the links that nothing can cross: a broker that is held for dead is the
same as all of its links held for down. What lies beyond a partition cannot be known.
"""

from dataclasses import dataclass

from ropewalk.overlay.simulate.account import Account
from ropewalk.overlay.simulate.circles import Circles
from ropewalk.overlay.simulate.faults import Kind
from ropewalk.overlay.simulate.truth import Links

UNSURE: tuple[Kind, ...] = ("lose", "delay", "reorder", "duplicate", "flap")
"""A link with one of these for ever may be held for down or not."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something went down or up, and when everybody knew; None if the next change came first."""

    us: int
    spell: int
    known_us: int | None


class Beliefs:
    """Walks through a run and compares each agent's belief with the truth."""

    def __init__(self, account: Account) -> None:
        self._truth = account.truth
        self._circles = Circles(account.federation, account.truth)
        self._brokers = account.federation.graph.brokers
        self._links = {account.link_name(e): e for e in range(account.federation.graph.links)}
        self._held: dict[int, Links] = dict.fromkeys(range(self._brokers), frozenset())
        self._ignored = self._permanently_unsure(account)
        self._entries = account.journal.of("things", "start")
        self.changes: list[Change] = []
        self.wrong: dict[int, tuple[Links, Links]] = {}
        """At the end, by broker: what it believed to be down, and what it should have."""
        self.astray: list[tuple[int, int]] = []
        """How many agents were wrong, from when on."""
        self._walk()

    def _permanently_unsure(self, account: Account) -> Links:
        ends = {frozenset(name.split("--")): e for name, e in self._links.items()}
        unsure = frozenset(
            ends[frozenset(fault.where)]
            for fault in account.plan.faults
            if fault.kind in UNSURE and fault.end_us is None
        )
        gone = set(self._links.values()) - set(account.last.link_number) if account.last else ()
        return unsure | frozenset(gone)

    def _walk(self) -> None:
        at, entries = 0, self._entries
        for k, spell in enumerate(self._truth.spells):
            self._should(k)
            wrong = {b for b in self._live if not self._right(b)}
            known_us = spell.from_us if not wrong else None
            self.astray.append((spell.from_us, len(wrong)))
            while at < len(entries) and entries[at][0] < spell.until_us:
                us, kind, broker, *rest = entries[at]
                at += 1
                things = rest[0] if kind == "things" else ()
                self._held[broker] = self._circles.believed(things)
                if broker in self._live:
                    (wrong.discard if self._right(broker) else wrong.add)(broker)
                    known_us = None if wrong else us if known_us is None else known_us
                    self.astray.append((us, len(wrong)))
            self.changes.append(Change(spell.from_us, k, known_us))
        self.wrong = {
            b: (self._held[b] & self._visible[b], self._down[b])
            for b in sorted(self._live)
            if not self._right(b)
        }

    def _should(self, spell: int) -> None:
        """What everybody should believe in a spell."""
        down, away = self._truth.down(spell), self._truth.spells[spell].away
        self._live = frozenset(range(self._brokers)) - away
        self._visible = {b: self._circles.visible(b, spell) - self._ignored for b in self._live}
        self._down = {b: down & visible for b, visible in self._visible.items()}

    def _right(self, broker: int) -> bool:
        return self._held[broker] & self._visible[broker] == self._down[broker]
