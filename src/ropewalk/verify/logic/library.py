"""Properties that people pick by name, without knowing logic; each is a formula that is shown."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Client
from ropewalk.verify.logic.checking import logic_of
from ropewalk.verify.logic.lexing import FormulaError, tokens
from ropewalk.verify.logic.parsing import WORDS, parse
from ropewalk.verify.logic.syntax import Expr, temporal
from ropewalk.verify.logic.world import World


@dataclass(frozen=True, slots=True)
class Question:
    """A formula to be decided: as it was written, and where."""

    text: str
    formula: Expr
    kind: str
    name: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Named:
    """A property with a name."""

    says: str
    formulas: Callable[[World], Iterator[str]]


def question(text: str, kind: str | None = None, *, name: str = "") -> Question:
    """A question from a text; FormulaError if it is none, or of another logic than was said.

    >>> question("G (p -> F q)").kind, question("AG p").kind
    ('ltl', 'ctl')
    """
    formula = parse(text)
    if (step := re.search(r"\bnext\s*\(", text)) is not None:
        raise FormulaError("next(...) is of steps: in a property, write X", step.start(), text)
    found = logic_of(formula)
    if found == "mixed" or (kind is not None and found != kind and temporal(formula)):
        wrong = (
            "both logics" if found == "mixed" else f"{found.upper()}, not {(kind or '').upper()}"
        )
        at = len(text) - len(text.lstrip())
        raise FormulaError(f"the operators are of {wrong}: E and A belong to CTL only", at, text)
    return Question(text, formula, kind or found, name)


def named(name: str, world: World) -> list[Question]:
    """The questions of a named property; UsageError tells all names if there is none."""
    if name not in LIBRARY:
        known = "; ".join(f"{one}: {LIBRARY[one].says}" for one in LIBRARY)
        raise UsageError(f"no property is called {name!r}; there are {known}")
    texts = dict.fromkeys(LIBRARY[name].formulas(world))
    return [question(text, name=name) for text in texts]


def _seats(world: World) -> Iterator[tuple[str, str, Sequence[str]]]:
    """A client of each broker and role, its broker, and who takes it over."""
    seen = set()
    for topic in world.federation.topics.values():
        sides = (("publisher", topic.publishers), ("subscriber", topic.subscribers))
        for role, side in sides:
            for one in side:
                broker = one.broker if isinstance(one, Client) else one
                client = one.client if isinstance(one, Client) else f"{role}:{broker}"
                moves_as = world.clients[client][1] if isinstance(one, Client) else role
                if (broker, moves_as) in seen:
                    continue
                seen.add((broker, moves_as))
                takeover = world.federation.brokers[broker].takeover
                yield client, broker, getattr(takeover, f"{moves_as}s")


def _rehomes(world: World) -> Iterator[str]:
    for client, broker, takers in _seats(world):
        among = ", ".join(map(_word, takers))
        there = [f"attached({_inside(client)}) in {{{among}}}"] if takers else []
        yield f"G (!up({broker}) -> F ({' | '.join([f'up({broker})', *there])}))"


def _returns(world: World) -> Iterator[str]:
    for client, broker, _ in _seats(world):
        yield f"F G up({broker}) -> F G attached({_inside(client)}) = {_word(broker)}"


def _word(name: str) -> str:
    """A name as a formula has it: in quotes if it could be taken for something else."""
    plain = [one.kind for one in tokens(name)] == ["name", "end"] and name not in WORDS
    return name if plain else f'"{name}"'


def _inside(name: str) -> str:
    """A name between an atom's parentheses: as it is, unless it would end them."""
    return f'"{name}"' if set(name) & set(",()") else name


def _one(text: str) -> Callable[[World], Iterator[str]]:
    return lambda _: iter((text,))


LIBRARY = {
    "failover-rehomes": Named("clients of a broker that fails get to one of its takers", _rehomes),
    "returns-after-recovery": Named("clients are back once their broker works for good", _returns),
    "eventually-delivered": Named(
        "once failures stop, what can reach its subscribers does",
        _one("F G (steady & reachable(message)) -> F delivered(message)"),
    ),
    "no-bounce": Named(
        "no two brokers send a message to and fro, one failure at a time",
        _one("G (bounced(message) -> O hurried)"),
    ),
    "never-lost": Named("no message is dropped", _one("G at(message) != lost")),
    "arrives": Named("messages arrive, whatever happens", _one("AF delivered(message)")),
}
"""By name."""
