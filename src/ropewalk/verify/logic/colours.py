"""Colours: failure scenarios, of which those that make no difference to a formula are one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ropewalk.verify.logic.syntax import Const, Expr, Lookup, Name, OneOf, Op, Value, equals
from ropewalk.verify.logic.world import World

COLOUR = "colour"
"""The variable: what has failed now."""


@dataclass(frozen=True, slots=True)
class Colours:
    """The scenarios that a model tells apart; number 0 is nothing failed."""

    world: World
    scenarios: tuple[int, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.scenarios)

    def by(self, variable: str, values: Sequence[Value]) -> Expr:
        """A value for each colour that a variable has."""
        if all(one == values[0] for one in values):
            return Const(values[0])
        if all(isinstance(one, bool) for one in values):
            return self._among(variable, [bool(one) for one in values])
        domain = tuple(dict.fromkeys(values))
        return self.table([domain.index(one) for one in values], domain, variable)

    def _among(self, variable: str, values: Sequence[bool]) -> Expr:
        """The shorter of: it is one of these, it is none of those."""
        yes = [name for name, one in zip(self.names, values, strict=True) if one]
        no = [name for name, one in zip(self.names, values, strict=True) if not one]
        few = min(yes, no, key=len)
        among: Expr = Op("in", (Name(variable), OneOf(tuple(Const(one) for one in few))))
        if len(few) == 1:
            among = equals(variable, few[0])
        return among if few is yes else ~among

    def table(self, places: Any, domain: tuple[Value, ...], variable: str = COLOUR) -> Expr:
        """The same, by places in a domain."""
        places = np.asarray(places, np.int64)
        if len(set(places.tolist())) == 1:
            return Const(domain[int(places[0])])
        return Lookup((Name(variable),), places, domain)

    def fails(self, broker: int) -> bool:
        """Whether a broker is down in any of them."""
        return any(broker in self.world.down[k] for k in self.scenarios)

    def up(self, broker: int) -> Expr:
        """That a broker works."""
        return self.by(COLOUR, [broker not in self.world.down[k] for k in self.scenarios])

    def works(self, link: int) -> Expr:
        """That a link works: itself, and the brokers at its ends."""
        return self.by(COLOUR, [link not in self.world.cut[k] for k in self.scenarios])


def colours_of(world: World, meanings: Sequence[object], *, twice: bool = False) -> Colours:
    """One colour for all scenarios of the same meaning, named by the first.

    Or two, where it matters that something changed even if it means nothing.
    """
    members: dict[object, list[int]] = {}
    for k, meaning in enumerate(meanings):
        members.setdefault(meaning, []).append(k)
    chosen = tuple(sorted(k for own in members.values() for k in own[: 2 if twice else 1]))
    return Colours(world, chosen, tuple(world.scenarios.name(k) for k in chosen))
