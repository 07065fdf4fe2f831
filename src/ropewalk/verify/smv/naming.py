"""Names that NuSMV takes, for names that people gave.

Variables, definitions and the words of domains share one namespace there. Names that are letters,
digits and `_` already, and nobody's keyword, keep their spelling; all others get one that is free.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ropewalk.verify.logic.folding import fold
from ropewalk.verify.logic.model import Model, constraints
from ropewalk.verify.logic.parsing import SAME, WORDS
from ropewalk.verify.logic.syntax import Const, Expr, Lookup, Name

_OPENING = """
    MODULE VAR IVAR FROZENVAR DEFINE MDEFINE CONSTANTS ASSIGN INIT INVAR TRANS FAIRNESS
    JUSTICE COMPASSION SPEC CTLSPEC LTLSPEC INVARSPEC PSLSPEC COMPUTE ISA FUN PRED MIRROR
"""
_OTHER = """
    NAME CONSTRAINT SIMPWFF CTLWFF LTLWFF PSLWFF COMPWFF IN MIN MAX PREDICATES process array
    of boolean Boolean integer real clock word word1 bool signed unsigned extend resize sizeof
    uwconst swconst toint count abs max min floor init self BU READ WRITE CONSTARRAY typeof
    time noncontinuous
"""
SECTIONS = frozenset(_OPENING.split())
KEYWORDS = SECTIONS | WORDS | frozenset(SAME) | frozenset(_OTHER.split())
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DASHED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """How variables and definitions, and how words, are spelled."""

    names: Mapping[str, str]
    words: Mapping[str, str]

    def table(self) -> Iterator[tuple[str, str]]:
        """Spellings that are not the name itself, with the name."""
        for spelled in (self.names, self.words):
            yield from ((new, old) for old, new in spelled.items() if new != old)


def is_identifier(text: str) -> bool:
    """Whether NuSMV takes a text for a name as it is."""
    return bool(DASHED.fullmatch(text)) and text not in KEYWORDS


def spelled(model: Model) -> Names:
    """A spelling of its own for each name and each word of a model.

    >>> spelled(Model({"lon-gw": ("up", "X")})).names, spelled(Model({"up": ("up",)})).words
    ({'lon-gw': 'lon_gw'}, {'up': 'up_2'})
    """
    names = dict.fromkeys((*model.domains, *model.defines))
    words = dict.fromkeys((*sorted(model.words()), *sorted(_written_words(model))))
    taken = {name for name in names if _is_safe(name)}
    kept = {word for word in words if _is_safe(word)} - taken
    taken |= kept
    found = {name: name if _is_safe(name) else _free(name, taken) for name in names}
    return Names(found, {word: word if word in kept else _free(word, taken) for word in words})


def _is_safe(name: str) -> bool:
    return bool(PLAIN.fullmatch(name)) and name not in KEYWORDS


def _free(name: str, taken: set[str]) -> str:
    """A spelling that nobody has; it is taken then."""
    base = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if not base or base[0].isdigit() or base in KEYWORDS:
        base = f"v_{base}"
    found, count = base, 2
    while found in taken:
        found, count = f"{base}_{count}", count + 1
    taken.add(found)
    return found


def expressions(model: Model) -> Iterator[Expr]:
    """Every expression of a model."""
    for rules in (model.init, model.next, model.always, model.defines):
        yield from rules.values()
    yield from constraints(model)
    yield from (spec.formula for spec in model.specs)


def _written_words(model: Model) -> set[str]:
    """Words that are compared with, though no domain may have them."""
    found: set[str] = set()
    declared = {*model.domains, *model.defines}

    def note(one: Expr, _: list[Any]) -> None:
        values: Iterable[Any] = ()
        if isinstance(one, Const):
            values = (one.value,)
        elif isinstance(one, Lookup):
            values = one.domain
        elif isinstance(one, Name) and one.name not in declared:
            message = f"{one.name} is no variable and no definition of the model"
            raise ValueError(message)
        found.update(value for value in values if isinstance(value, str))

    for expr in expressions(model):
        fold(expr, note)
    return found
