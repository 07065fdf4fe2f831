"""A federation as a transition system, with the variables that a formula needs and no others.

What is owed to different brokers never meets: a formula about any message is checked for each
destination by itself, with only the failures that make a difference there. That is exact: where
a message goes to never changes, and a property has to hold whatever it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ropewalk.verify.logic.asking import ANY, LOST, Asked, Key, asked
from ropewalk.verify.logic.atoms import Atoms, settled, still
from ropewalk.verify.logic.clients import Clients, homes_of
from ropewalk.verify.logic.colours import COLOUR, Colours, colours_of
from ropewalk.verify.logic.lexing import FormulaError
from ropewalk.verify.logic.messages import Course, Message, Rules, course, knows, signature
from ropewalk.verify.logic.model import Model
from ropewalk.verify.logic.syntax import (
    FALSE,
    TRUE,
    Atom,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    Op,
    conj,
    rebuilt,
    walk,
)
from ropewalk.verify.logic.world import World, demanded
from ropewalk.verify.takeover import GONE


@dataclass(frozen=True, slots=True)
class Part:
    """A model and a formula over its variables; a property holds if it does in every part."""

    model: Model
    formula: Expr
    title: str = ""


def parts_of(formula: Expr, world: World, text: str = "") -> Iterator[Part]:
    """A formula's models, one after the other: making them costs as much as checking them."""
    about = asked(formula, world, text)
    whole = _whole(about, world)
    if whole is not None:
        yield whole
        return
    choices = [list(_courses(key, world, about)) for key in sorted(about.messages)]
    for courses in product(*choices):
        yield _part(about, world, courses)


def _courses(key: Key, world: World, about: Asked) -> Iterator[Course]:
    """A message's destinations, and its sources by the tables that their messages meet."""
    if key == ANY:
        owed = demanded(world.check.demand)
    else:
        topic, broker = key
        dest = list(world.names).index(broker)
        owed = {to: s for to, s in demanded(world.check.demand, topic).items() if to == dest}
        if not owed:
            says = f"{topic} is not owed to {broker}: nobody there subscribes to it"
            raise FormulaError(says, _column(about.formula, key))
    for dest, senders in owed.items():
        alike: dict[tuple[int, ...], list[int]] = {}
        targets = [to for to in dict.fromkeys(world.homes_in(dest, "subscriber")) if to != GONE]
        for source in senders:
            groups = tuple(world.check.group_of(to, source) for to in targets)
            alike.setdefault(groups, []).append(source)
        apart = len(world.scenarios) > 1  # the fewer brokers a message can get to, the better
        for some in alike.values():
            for sources in [[one] for one in some] if apart else [some]:
                yield course(world, key, dest, sources)


def _groups(world: World, to: int, sources: list[int]) -> set[int]:
    """Which hand-made entries the messages of sources meet."""
    if not world.check.groups(to):
        return {0}
    return {world.check.group_of(to, source) for source in sources}


def _column(formula: Expr, key: Key) -> int:
    return next(
        (one.column for one in walk(formula) if isinstance(one, Atom) and one.args == key), 0
    )


def _whole(about: Asked, world: World) -> Part | None:
    """Jia's model (5.2.6): with nothing to fail, one table of all destinations."""
    plain = about.messages == {ANY} and len(world.scenarios) == 1
    plain = plain and not about.clients and not about.connected
    if not plain or about.of_messages - {"at", "to", "from", "delivered"}:
        return None
    owed = demanded(world.check.demand)
    if any(len(_groups(world, to, sources)) > 1 for to, sources in owed.items()):
        return None
    names = tuple(world.names)
    table = np.full((len(names), len(names) + 1), len(names), np.int64)
    for to in owed:
        hops = world.hops([to], owed[to][0])[0]
        table[to, :-1] = np.where(hops < 0, len(names), hops)
    places = (*names, LOST)
    step = Lookup((Name("dest"), Name("loc")), table, places)
    pairs = np.zeros((len(names), len(names) + 1), np.int64)
    for to, sources in owed.items():
        pairs[to, sources] = 1
    domains: dict[str, tuple[bool | int | str, ...]] = {"dest": names, "loc": places}
    start: tuple[Expr, ...] = (Lookup((Name("dest"), Name("loc")), pairs, (False, True)),)
    init: dict[str, Expr] = {}
    if "from" in about.of_messages:
        domains = {"dest": names, "src": names, "loc": places}
        init = {"loc": Name("src")}
    model = Model(
        domains, init=init, next={"loc": step}, starts=start, frozen=frozenset({"dest", "src"})
    )
    values: dict[tuple[str, Key], Expr] = {
        ("at", ANY): Name("loc"),
        ("to", ANY): Name("dest"),
        ("from", ANY): Name("src"),
        ("delivered", ANY): Op("=", (Name("loc"), Name("dest"))),
    }

    def put(expr: Expr) -> Expr:
        if isinstance(expr, Atom):
            return values[expr.name, expr.args] if expr.args == ANY else still(expr)
        return settled(rebuilt(expr, put), model.domains)

    return Part(model, put(about.formula))


def _part(about: Asked, world: World, courses: tuple[Course, ...]) -> Part:
    colours = _colours(about, world, courses)
    rules = Rules()
    if len(colours) > 1:
        rules.domains[COLOUR] = colours.names
        rules.init[COLOUR] = Const(colours.names[0])
    messages = {}
    for number, one in enumerate(courses):
        ending = "" if number == 0 else f".{number + 1}"
        messages[one.key] = Message(world, colours, one, ending, rules, about.of_messages)
        messages[one.key].add()
    people = Clients(world, colours, rules)
    people.add(about.clients)
    believers = _believers(about, world, courses, colours)
    _add_knowledge(believers, world, colours, rules)
    _add_bare(about, believers, world, colours, rules)
    if len(colours) == 1:
        rules.domains.setdefault("always", (True,))  # a model has one variable at least
    model = Model(
        rules.domains,
        init=rules.init,
        next=rules.next,
        always=rules.always,
        helpers=frozenset(rules.always),
        defines=rules.defines,
        starts=tuple(rules.starts),
        fair=tuple(rules.fair),
        frozen=frozenset(rules.frozen),
    )
    atoms = Atoms(world, colours, messages, people, model)
    return Part(model, atoms.put(about.formula), _title(world, courses))


def _title(world: World, courses: tuple[Course, ...]) -> str:
    return ", ".join(
        f"messages from {_or([world.names[s] for s in one.sources])} to {world.names[one.dest]}"
        for one in courses
    )


def _or(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _colours(about: Asked, world: World, courses: tuple[Course, ...]) -> Colours:
    """Scenarios that the formula's things cannot tell apart are one colour."""
    apart = bool(about.bare & {"colour"}) or bool(about.knows)
    homes = homes_of(world, about.clients)
    seats = {b for one in homes.values() for b in one if b != GONE} | about.brokers
    meanings = []
    for k in range(len(world.scenarios)):
        joined = world.working(k) if about.connected else None
        meanings.append(
            (
                k if apart else 0,
                world.down[k] & seats,
                world.cut[k] & about.links,
                tuple(one[k] for one in homes.values()),
                tuple(signature(world, one, k) for one in courses),
                tuple(bool(joined[a, b]) for a, b in sorted(about.connected))
                if joined is not None
                else (),
            )
        )
    return colours_of(world, meanings, twice=bool(about.bare & {"steady", "hurried"}))


def _believers(
    about: Asked, world: World, courses: tuple[Course, ...], colours: Colours
) -> list[int]:
    """Brokers whose knowledge matters."""
    if len(colours) == 1 or world.manner.timing == "lockstep":
        return []
    found = set(about.knows).union(*(one.brokers for one in courses))
    if "hurried" in about.bare and not courses:
        found = set(range(len(world.names)))
    return sorted(found)


def _add_knowledge(believers: list[int], world: World, colours: Colours, rules: Rules) -> None:
    """News gets to every working broker, in any order, whenever it likes, but it does."""
    for u in believers:
        name = knows(world.names[u])
        rules.domains[name] = colours.names
        rules.init[name] = Const(colours.names[0])
        heard: Expr = Op("union", (Name(name), Name(COLOUR)))
        up = colours.up(u)
        rules.next[name] = heard if up == TRUE else Case(((up, heard), (TRUE, Name(name))))
        rules.fair.append(Op("=", (Name(name), Name(COLOUR))) | ~up)


def _add_bare(
    about: Asked, believers: list[int], world: World, colours: Colours, rules: Rules
) -> None:
    if len(colours) == 1:
        return
    same = Op("=", (Name(COLOUR, next=True), Name(COLOUR)))
    if "steady" in about.bare:
        rules.domains["steady"] = (False, True)
        rules.init["steady"] = TRUE
        rules.next["steady"] = same
    if "hurried" in about.bare:
        heard = [
            Op("=", (Name(knows(world.names[u])), Name(COLOUR))) | ~colours.up(u) for u in believers
        ]
        rules.domains["hurried"] = (False, True)
        rules.init["hurried"] = FALSE
        rules.next["hurried"] = ~same & ~conj(heard)
