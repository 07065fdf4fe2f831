"""Long runs of flat rows as tables: the first row that matches counts.

Rows that look at variables and lead to values are one `Lookup` over those variables. What the rows
do not cover goes to the default, if the `case` ends with one right after them, or else on to the
next branch.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ropewalk.verify.logic.syntax import TRUE, Const, Expr, Lookup, Name, OneOf, Op, Value
from ropewalk.verify.smv.expressions import as_truth
from ropewalk.verify.smv.scanning import FEWEST_ROWS, Rows, Run, members

MOST_CELLS = 4_000_000
Branch = tuple[Expr, Expr]
Word = Callable[[str, int], Expr]
Domains = Mapping[str, tuple[Value, ...]]
Places = npt.NDArray[np.int64]


def branches_of(branches: Sequence[Branch], domains: Domains, word: Word) -> list[Branch]:
    """The branches of a case, with tables for its runs."""
    found: list[Branch] = []
    for k, (test, value) in enumerate(branches):
        if not isinstance(test, Run):
            found.append((test, value))
            continue
        after = branches[k + 1 :]
        last = after[0][1] if len(after) == 1 and after[0][0] == TRUE else None
        for segment, is_last in _segments(test, domains, word):
            found += _told(segment, test.at, domains, word, last if is_last else None)
        if isinstance(last, Const) and found[-1][0] == TRUE:
            break  # the default is in the table
    return found


def _segments(run: Run, domains: Domains, word: Word) -> Iterator[tuple[list[Rows], bool]]:
    """Groups of rows that make a table together; others are by themselves."""
    waiting: list[Rows] = []
    for rows in run.groups:
        if _is_flat(rows, run.at, domains, word):
            waiting.append(rows)
            continue
        if waiting:
            yield waiting, False
        yield [rows], False
        waiting = []
    if waiting:
        yield waiting, True


def _is_flat(rows: Rows, at: int, domains: Domains, word: Word) -> bool:
    """Whether rows look at variables, compare them with values, and lead to values."""
    names = [word(name, at) for name, _ in rows.shape]
    if not all(isinstance(one, Name) and not one.next and one.name in domains for one in names):
        return False
    if len(set(names)) < len(names):  # the same variable twice
        return False
    columns = [*zip(rows.columns, (is_set for _, is_set in rows.shape), strict=True)]
    texts = {text for column, is_set in columns for text in _texts(column, is_set)}
    return all(isinstance(word(text, at), Const) for text in (*texts, *set(rows.values)))


def _texts(column: tuple[str, ...], is_set: bool) -> set[str]:
    return {one for text in set(column) for one in members(text)} if is_set else set(column)


def _told(
    groups: list[Rows], at: int, domains: Domains, word: Word, last: Expr | None
) -> Iterator[Branch]:
    count = sum(len(rows.values) for rows in groups)
    flat = all(_is_flat(rows, at, domains, word) for rows in groups)
    if not flat or count < FEWEST_ROWS or _expanded(groups) > MOST_CELLS:
        yield from _rows(groups, at, domains, word)
        return
    inner, outer = groups, list[Rows]()
    if not _fits(_index(groups, at, word), domains):
        inner, outer = _split(groups, at, word)
        if not _may_go_first(groups, inner, at, domains, word):
            inner, outer = [], groups
    yield from _rows(outer, at, domains, word)
    if inner:
        yield from _table(inner, _index(inner, at, word), at, domains, word, last)


def _fits(names: list[Name], domains: Domains) -> bool:
    return prod(len(domains[one.name]) for one in names) <= MOST_CELLS


def _split(groups: list[Rows], at: int, word: Word) -> tuple[list[Rows], list[Rows]]:
    """Rows that look at no more variables than most rows do, and the others.

    Where a hand-made entry tells sources apart, some rows look at the source as well: a table over
    it would have a cell for every source.
    """
    seen: Counter[frozenset[Name]] = Counter()
    looked = [frozenset(_index([rows], at, word)) for rows in groups]
    for names, rows in zip(looked, groups, strict=True):
        seen[names] += len(rows.values)
    usual = seen.most_common(1)[0][0]
    pairs = list(zip(looked, groups, strict=True))
    return [r for names, r in pairs if names <= usual], [r for names, r in pairs if names - usual]


def _may_go_first(
    groups: list[Rows], inner: list[Rows], at: int, domains: Domains, word: Word
) -> bool:
    """Whether no row of the table comes before one of the others and counts for the same."""
    names = _index(inner, at, word)
    if not _fits(names, domains):
        return False
    starts = np.cumsum([0, *(len(rows.values) for rows in groups)]).tolist()
    first = np.full([len(domains[one.name]) for one in names], starts[-1], np.int64)
    within = {id(rows) for rows in inner}
    numbered = list(zip(groups, starts, strict=False))
    for rows, start in reversed(numbered):
        if id(rows) in within:
            _enter(
                first, names, rows, list(range(start, start + len(rows.values))), at, domains, word
            )
    return all(
        first[cells].min(initial=starts[-1]) >= number
        for rows, start in numbered
        if id(rows) not in within
        for number, cells in enumerate(_cells(names, rows, at, domains, word), start)
    )


def _cells(names: list[Name], rows: Rows, at: int, domains: Domains, word: Word) -> Iterator[Any]:
    """Where in a table over some variables each row counts."""
    own = [one.name for one in _index([rows], at, word)]
    places = {name: _places(domains[name], at, word) for name in own}
    for row in zip(*rows.columns, strict=True):
        asked = dict(zip(own, zip(row, rows.shape, strict=True), strict=True))
        spots = []
        for name in names:
            if name.name not in asked:
                spots.append(list(range(len(domains[name.name]))))
                continue
            text, (_, is_set) = asked[name.name]
            found = map(places[name.name], members(text) if is_set else (text,))
            spots.append([spot for spot in found if spot >= 0])
        yield np.ix_(*spots)


def _expanded(groups: list[Rows]) -> int:
    """How many rows there are with each set taken apart."""
    return sum(
        prod(
            text.count(",") + 1 for text, (_, is_set) in zip(row, rows.shape, strict=True) if is_set
        )
        for rows in groups
        if any(is_set for _, is_set in rows.shape)
        for row in zip(*rows.columns, strict=True)
    )


def _rows(groups: list[Rows], at: int, domains: Domains, word: Word) -> Iterator[Branch]:
    """Rows as the branches that they are."""
    for rows in groups:
        names = [word(name, at) for name, _ in rows.shape]
        forms = [_as_read(name, domains) for name in names]
        for *row, value in zip(*rows.columns, rows.values, strict=True):
            test: Expr = TRUE
            for name, form, text, (_, is_set) in zip(names, forms, row, rows.shape, strict=True):
                given = [form(word(one, at)) for one in (members(text) if is_set else (text,))]
                term = Op("in", (name, OneOf(tuple(given)))) if is_set else Op("=", (name, *given))
                test = term if test is TRUE else Op("&", (test, term))
            yield test, word(value, at)


def _as_read(name: Expr, domains: Domains) -> Callable[[Expr], Expr]:
    """`b = 1` of a boolean is `b = TRUE`."""
    domain = domains.get(name.name, ()) if isinstance(name, Name) else ()
    return as_truth if {type(one) for one in domain} == {bool} else lambda one: one


def _index(groups: list[Rows], at: int, word: Word) -> list[Name]:
    """The variables that the rows look at, each once."""
    found = {}
    for rows in groups:
        for text, _ in rows.shape:
            name = word(text, at)
            if isinstance(name, Name):
                found[name.name] = Name(name.name)
    return list(found.values())


def _table(
    groups: list[Rows], names: list[Name], at: int, domains: Domains, word: Word, last: Expr | None
) -> Iterator[Branch]:
    values: dict[tuple[type, Value], int] = {}
    table = np.full([len(domains[one.name]) for one in names], -1, np.int64)
    for rows in reversed(groups):
        _enter(table, names, rows, _numbered(values, rows, at, word), at, domains, word)
    if isinstance(last, Const):
        table[table < 0] = values.setdefault((type(last.value), last.value), len(values))
    told = Lookup(tuple(names), np.maximum(table, 0), tuple(value for _, value in values))
    covered = table >= 0
    if covered.all():
        yield TRUE, told
    elif covered.any():
        yield Lookup(tuple(names), covered.astype(np.int64), (False, True)), told


def _enter(
    table: Places,
    names: list[Name],
    rows: Rows,
    told: list[int],
    at: int,
    domains: Domains,
    word: Word,
) -> None:
    """Writes rows into a table over some variables."""
    axes = {one.name: k for k, one in enumerate(names)}
    own = [one.name for one in _index([rows], at, word)]
    places = [_places(domains[name], at, word) for name in own]
    _fill(table, rows, [axes[name] for name in own], places, told)


@lru_cache(maxsize=64)
def _known(domain: tuple[Value, ...], kinds: tuple[type, ...]) -> dict[tuple[type, Value], int]:
    """Places by kind and value: 1 and TRUE are the same to a tuple, and are two values here."""
    pairs = zip(kinds, domain, strict=True)
    return {(kind, value): k for k, (kind, value) in enumerate(pairs)}


def _places(domain: tuple[Value, ...], at: int, word: Word) -> Callable[[str], int]:
    """The place of a written value in a domain; -1 if it is not there."""
    known = _known(domain, tuple(map(type, domain)))
    truths = known.keys() == {(bool, False), (bool, True)}
    found: dict[str, int] = {}

    def place(text: str) -> int:
        if text not in found:
            value = getattr(word(text, at), "value", "")
            if truths and type(value) is int and value in (0, 1):
                value = bool(value)
            found[text] = known.get((type(value), value), -1)
        return found[text]

    return place


def _numbered(values: dict[tuple[type, Value], int], rows: Rows, at: int, word: Word) -> list[int]:
    """The rows' values by their numbers."""
    own: dict[str, int] = {}
    for text in dict.fromkeys(rows.values):
        value = getattr(word(text, at), "value", False)
        own[text] = values.setdefault((type(value), value), len(values))
    return [own[text] for text in rows.values]


def _fill(
    table: Places, rows: Rows, axes: list[int], places: list[Callable[[str], int]], told: list[int]
) -> None:
    """Writes rows into the table, the last first: numpy keeps what is written last."""
    columns: list[Places] = []
    if any(is_set for _, is_set in rows.shape):
        spread = [
            (*chosen, value)
            for *row, value in zip(*rows.columns, told, strict=True)
            for chosen in product(
                *(
                    [place(one) for one in members(text)] if is_set else [place(text)]
                    for text, place, (_, is_set) in zip(row, places, rows.shape, strict=True)
                )
            )
        ]
        *columns, value = np.array(spread, np.int64).T
    else:
        columns = [
            np.array(list(map(place, column)), np.int64)
            for place, column in zip(places, rows.columns, strict=True)
        ]
        value = np.array(told, np.int64)
    kept = np.flatnonzero(np.logical_and.reduce([one >= 0 for one in columns]))[::-1]
    view = np.moveaxis(table, axes, range(len(axes)))
    rest = (1,) * (table.ndim - len(axes))
    view[tuple(one[kept] for one in columns)] = value[kept].reshape(-1, *rest)
