"""Clients that move: where each is, and where it belongs in each colour."""

from dataclasses import dataclass, field

from ropewalk.verify.logic.asking import NOWHERE
from ropewalk.verify.logic.colours import COLOUR, Colours
from ropewalk.verify.logic.messages import Rules
from ropewalk.verify.logic.syntax import FALSE, TRUE, Case, Const, Expr, Name, Op
from ropewalk.verify.logic.world import World
from ropewalk.verify.takeover import GONE


def homes_of(world: World, clients: frozenset[str]) -> dict[str, list[int]]:
    """Where clients belong, in each scenario."""
    return {one: world.homes_in(*_place(world, one)) for one in sorted(clients)}


def _place(world: World, client: str) -> tuple[int, str]:
    if client in world.clients:
        return world.clients[client]
    role, _, broker = client.partition(":")
    return list(world.names).index(broker), role


@dataclass(slots=True)
class Clients:
    """The part of a model that clients are."""

    world: World
    colours: Colours
    rules: Rules
    values: dict[str, Expr] = field(default_factory=dict)
    """Where each is."""

    def add(self, clients: frozenset[str]) -> None:
        """Their variables, with their rules."""
        for client, homes in homes_of(self.world, clients).items():
            name = f"at.{client}"
            seats = [self._seat(homes[k]) for k in self.colours.scenarios]
            where = self.colours.by(COLOUR, seats)
            if isinstance(where, Const):
                self.values[client] = where
                continue
            self.values[client] = Name(name)
            self.rules.domains[name] = tuple(dict.fromkeys(seats))
            self.rules.init[name] = Const(seats[0])
            if self.world.manner.timing == "lockstep":
                self.rules.next[name] = where
            else:
                self.rules.next[name] = Op("union", (Name(name), where))
                self.rules.fair.append(Op("=", (Name(name), where)))

    def _seat(self, broker: int) -> str:
        return NOWHERE if broker == GONE else self.world.names[broker]

    def served(self, client: str) -> Expr:
        """That a client's broker works."""
        homes = set(homes_of(self.world, frozenset((client,)))[client]) - {GONE}
        value = self.values[client]
        parts = []
        for broker in sorted(homes):
            here = Op("=", (value, Const(self.world.names[broker])))
            parts.append((here, self.colours.up(broker)))
        return Case((*parts, (TRUE, FALSE)))
