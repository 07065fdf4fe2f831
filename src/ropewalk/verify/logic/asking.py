"""What a formula is about: its atoms looked up in a federation, with a fault for each slip."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from ropewalk.federation.names import Failure, link_name
from ropewalk.verify.logic.lexing import FormulaError
from ropewalk.verify.logic.syntax import Atom, Const, Expr, Name, OneOf, Op, rebuilt, walk
from ropewalk.verify.logic.world import World

Key = tuple[str, ...]
"""A message: `("message",)` for any that is owed, or a topic and the broker it is owed to."""
ANY: Key = ("message",)
LOST, NOWHERE = "lost", "nowhere"
"""Where a message is that was dropped; where a client is that nobody takes over."""

OF_MESSAGES = frozenset(("at", "from", "to", "came", "delivered", "bounced", "reachable"))
FORMS = {
    "up": "up(BROKER) or up(BROKER--BROKER)",
    "attached": "attached(CLIENT), or publisher:BROKER or subscriber:BROKER for it",
    "subscribed": "subscribed(CLIENT, TOPIC)",
    "publishes": "publishes(CLIENT, TOPIC)",
    "knows": "knows(BROKER)",
    "connected": "connected(BROKER, BROKER)",
    **{name: f"{name}(message) or {name}(TOPIC, BROKER)" for name in sorted(OF_MESSAGES)},
}
"""Every atom with arguments, and how it is written."""
BARE = {
    "colour": "what has failed: none, or a failure's name",
    "steady": "nothing failed or recovered in the last step",
    "hurried": "something changed before every working broker knew of the last change",
}
"""Atoms without arguments."""
WORTH: dict[str, Literal["broker", "colour"]] = {
    **dict.fromkeys(("at", "from", "to", "came", "attached"), "broker"),
    "colour": "colour",
    "knows": "colour",
}
"""Atoms that have values; the others are true or false."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The things that a formula mentions, by number, and the formula with its names put right."""

    formula: Expr
    brokers: frozenset[int]
    """Whose state is asked after."""
    links: frozenset[int]
    clients: frozenset[str]
    messages: frozenset[Key]
    knows: frozenset[int]
    connected: frozenset[tuple[int, int]]
    bare: frozenset[str]
    of_messages: frozenset[str]
    """Atoms of messages that are used."""


@dataclass(slots=True)
class _Lookup:
    """The names of a federation, and what has been asked after so far."""

    world: World
    text: str
    number: dict[str, int]
    link: dict[str, int]
    found: dict[str, set[object]] = field(default_factory=dict)

    def note(self, kind: str, thing: object) -> None:
        self.found.setdefault(kind, set()).add(thing)

    def fault(self, message: str, at: int) -> FormulaError:
        return FormulaError(message, at, self.text)

    def broker(self, name: str, at: int) -> int:
        if name not in self.number:
            raise self.fault(f"no broker is called {name!r}{_near(name, self.number)}", at)
        return self.number[name]

    def topic(self, name: str, at: int) -> str:
        topics = self.world.federation.topics
        if name not in topics:
            raise self.fault(f"no topic is called {name!r}{_near(name, topics)}", at)
        return name

    def client(self, name: str, at: int) -> str:
        role, colon, broker = name.partition(":")
        if name in self.world.clients:
            return name
        if colon and role in ("publisher", "subscriber"):
            self.broker(broker, at)
        else:
            known = [*self.world.clients, *(f"publisher:{one}" for one in self.number)]
            raise self.fault(f"no client is called {name!r}{_near(name, known)}", at)
        return name


def asked(formula: Expr, world: World, text: str = "") -> Asked:
    """Look up a formula's atoms; FormulaError says what is not there, and what is near."""
    link = {link_name(world.names[a], world.names[b]): e for (a, b), e in world.links.items()}
    number = {name: i for i, name in enumerate(world.names)}
    lookup = _Lookup(world, text, number, link)
    resolved = _resolved(formula, lookup)
    for one in walk(resolved):
        if isinstance(one, Atom):
            _note(one, lookup)
    sets = {kind: frozenset(things) for kind, things in lookup.found.items()}
    kinds = ("brokers", "links", "clients", "messages", "knows", "connected", "bare", "of_messages")
    return Asked(resolved, *(sets.get(kind, frozenset()) for kind in kinds))  # type: ignore[arg-type]


def _resolved(expr: Expr, lookup: _Lookup) -> Expr:
    """The same with bare names turned into atoms, or into values of what they are held against."""
    if isinstance(expr, Name):
        if expr.name not in BARE:
            raise _no_name(expr, lookup)
        return Atom(expr.name, (), expr.column)
    if isinstance(expr, Atom) and expr.name not in FORMS:
        near = _near(expr.name, FORMS)
        raise lookup.fault(f"nothing is called {expr.name}(...){near}", expr.column)
    if isinstance(expr, Op) and expr.op in ("=", "!=", "in") and len(expr.args) == 2:
        worth = next((w for one in expr.args if (w := _worth(one))), None)
        if worth is not None:
            args = tuple(_valued(one, worth, lookup) for one in expr.args)
            return Op(expr.op, args, expr.column)
    return rebuilt(expr, lambda one: _resolved(one, lookup))


def _no_name(expr: Name, lookup: _Lookup) -> FormulaError:
    known = [*BARE, *FORMS]
    if expr.name in lookup.number:
        says = f"{expr.name} is a broker: write up({expr.name}), or at(message) = {expr.name}"
        return lookup.fault(says, expr.column)
    return lookup.fault(f"nothing is called {expr.name!r}{_near(expr.name, known)}", expr.column)


def _worth(expr: Expr) -> str | None:
    return WORTH.get(expr.name) if isinstance(expr, Atom | Name) else None


def _valued(expr: Expr, worth: str, lookup: _Lookup) -> Expr:
    """A side of a comparison of brokers or colours: an atom, or a name that is a value."""
    if _worth(expr) is not None:
        return _resolved(expr, lookup)
    if isinstance(expr, OneOf):
        return OneOf(tuple(_valued(one, worth, lookup) for one in expr.values))
    if isinstance(expr, Op) and expr.op == "union":
        return Op(expr.op, tuple(_valued(one, worth, lookup) for one in expr.args), expr.column)
    if isinstance(expr, Name):
        name, at = expr.name, expr.column
    elif isinstance(expr, Const):
        found = re.search(rf"\b{re.escape(str(expr.value))}\b", lookup.text)
        name, at = str(expr.value), found.start() if found else 0
    else:
        says = (
            f'the name of a {worth} is expected: put it in quotes if it has -- or + in it ("a--b")'
        )
        raise lookup.fault(says, getattr(expr, "column", 0))
    if worth == "broker" and name not in (LOST, NOWHERE):
        lookup.broker(name, at)
    return Const(_colour(name, at, lookup) if worth == "colour" else name)


def _colour(name: str, at: int, lookup: _Lookup) -> str:
    scenarios = lookup.world.scenarios
    known = {scenarios.name(k) for k in range(len(scenarios))}
    try:
        written = name if name in known else str(Failure.parse(name))
    except ValueError:
        written = name
    if written not in known:
        says = f"{name!r} is none of the failures that are looked at{_near(name, known)}"
        raise lookup.fault(says, at)
    return written


def _note(atom: Atom, lookup: _Lookup) -> None:
    """Note what an atom is about; a fault if it is about nothing."""
    at, args = atom.column, atom.args
    if atom.name in BARE:
        lookup.note("bare", atom.name)
        return
    wanted = _counts(atom.name)
    if len(args) not in wanted:
        raise lookup.fault(f"write {FORMS[atom.name]}", at)
    if atom.name in OF_MESSAGES:
        _note_message(atom, lookup)
    elif atom.name == "up":
        _note_up(args[0], at, lookup)
    elif atom.name == "connected":
        lookup.note("connected", (lookup.broker(args[0], at), lookup.broker(args[1], at)))
    elif atom.name == "knows":
        lookup.note("knows", lookup.broker(args[0], at))
    else:
        lookup.note("clients", lookup.client(args[0], at))
        for name in args[1:]:
            lookup.topic(name, at)


def _counts(name: str) -> tuple[int, ...]:
    if name in OF_MESSAGES:
        return (1, 2)
    return (2,) if name in ("subscribed", "publishes", "connected") else (1,)


def _note_up(name: str, at: int, lookup: _Lookup) -> None:
    a, mark, b = name.partition("--")
    if not mark:
        lookup.note("brokers", lookup.broker(name, at))
        return
    link = link_name(a.strip(), b.strip())
    if link not in lookup.link:
        raise lookup.fault(f"no link is called {name!r}{_near(link, lookup.link)}", at)
    lookup.note("links", lookup.link[link])


def _note_message(atom: Atom, lookup: _Lookup) -> None:
    args, at = atom.args, atom.column
    if len(args) == 1 and args != ANY:
        raise lookup.fault(f"write {FORMS[atom.name]}, not {args[0]}", at)
    if len(args) == 2:
        lookup.topic(args[0], at)
        lookup.broker(args[1], at)
    lookup.note("messages", args)
    lookup.note("of_messages", atom.name)


def _near(name: str, known: Iterable[str]) -> str:
    found = get_close_matches(name, list(known), n=1)
    return f": did you mean {found[0]!r}?" if found else ""
