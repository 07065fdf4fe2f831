"""A formula's atoms in terms of a model's variables."""

from collections.abc import Mapping
from dataclasses import dataclass

from ropewalk.verify.logic.asking import Key
from ropewalk.verify.logic.clients import Clients
from ropewalk.verify.logic.colours import COLOUR, Colours
from ropewalk.verify.logic.messages import Message, knows
from ropewalk.verify.logic.model import Model
from ropewalk.verify.logic.syntax import (
    FALSE,
    TRUE,
    Atom,
    Const,
    Expr,
    Name,
    OneOf,
    Op,
    Value,
    rebuilt,
)
from ropewalk.verify.logic.world import World


def still(atom: Atom) -> Expr:
    """An atom where nothing ever fails."""
    if atom.name in ("colour", "knows"):
        return Const("none")
    return FALSE if atom.name == "hurried" else TRUE


@dataclass(frozen=True, slots=True)
class Atoms:
    """What every atom is in a model."""

    world: World
    colours: Colours
    messages: Mapping[Key, Message]
    people: Clients
    model: Model

    def put(self, expr: Expr) -> Expr:
        """The expression without atoms."""
        if isinstance(expr, Atom):
            return self._atom(expr)
        return settled(rebuilt(expr, self.put), self.model.domains)

    def _atom(self, atom: Atom) -> Expr:
        if atom.args in self.messages:
            return self._of_message(atom.name, self.messages[atom.args])
        names = list(self.world.names)
        if atom.name == "up" and "--" in atom.args[0]:
            a, b = (names.index(one.strip()) for one in atom.args[0].split("--"))
            return self.colours.works(self.world.links[a, b])
        if atom.name == "up":
            return self.colours.up(names.index(atom.args[0]))
        if atom.name == "connected":
            a, b = (names.index(one) for one in atom.args)
            joined = [bool(self.world.working(k)[a, b]) for k in self.colours.scenarios]
            return self.colours.by(COLOUR, joined)
        if atom.name in ("attached", "subscribed", "publishes"):
            return self._of_client(atom)
        if len(self.colours) == 1:
            return still(atom)
        if atom.name == "knows" and self.world.manner.timing == "free":
            return Name(knows(atom.args[0]))
        return Name(COLOUR if atom.name in ("knows", "colour") else atom.name)

    def _of_client(self, atom: Atom) -> Expr:
        client = atom.args[0]
        if atom.name == "attached":
            return self.people.values[client]
        if atom.name == "publishes":
            return Const(atom.args[1] in self.world.topics_of(client, "publishers"))
        known = atom.args[1] in self.world.topics_of(client, "subscribers")
        return self.people.served(client) if known else FALSE

    def _of_message(self, what: str, message: Message) -> Expr:
        if what == "to":
            return Const(self.world.names[message.course.dest])
        if what == "from":
            return message.source()
        if what == "reachable":
            return message.reachable()
        return Name(message.name("loc" if what == "at" else what))


def settled(expr: Expr, domains: Mapping[str, tuple[Value, ...]]) -> Expr:
    """A comparison that can only come out one way, settled: its word may be nobody's value."""
    if not isinstance(expr, Op) or expr.op not in ("=", "!=", "in"):
        return expr
    left, right = expr.args
    if isinstance(left, Const) and not isinstance(right, Const | OneOf):
        left, right = right, left
    values = right.values if isinstance(right, OneOf) else (right,)
    if not all(isinstance(one, Const) for one in values):
        return expr
    if isinstance(left, Const):
        held = left in values
    elif isinstance(left, Name) and left.name in domains:
        own = domains[left.name]
        known = [one for one in values if isinstance(one, Const) and one.value in own]
        if known and isinstance(right, OneOf):
            among = Op("in", (left, OneOf(tuple(known))), expr.column)
            return ~among if expr.op == "!=" else among
        if known:
            return Op(expr.op, (left, right), expr.column)
        held = False
    else:
        return expr
    return Const(held != (expr.op == "!="))
