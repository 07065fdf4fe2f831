"""A model with its properties as NuSMV 2.6 reads them.

What NuSMV lacks is said otherwise: `p W q` as `(G p) | (p U q)`, `R` as `V`, a table as a `case`
with a row per entry. Every operator within another is in parentheses, except to the left in a chain
of `&` or `|`, so that the tree is the same whatever the precedence.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ropewalk.verify.logic.folding import fold
from ropewalk.verify.logic.model import Model
from ropewalk.verify.logic.syntax import (
    CTL,
    LTL,
    TRUE,
    Case,
    Const,
    Expr,
    Lookup,
    Name,
    OneOf,
    Op,
    Value,
)
from ropewalk.verify.smv.naming import Names, is_identifier, spelled

KINDS = {"ctl": "CTLSPEC", "ltl": "LTLSPEC", "invariant": "INVARSPEC"}
OPENED, CLOSED = "case\n", "    esac"
PREFIXES = (LTL | CTL) - {"U", "R", "W", "S", "T", "AU", "EU"}


class Written(NamedTuple):
    """A text, and what may stand before or after it: "" where anything may."""

    text: str
    op: str = ""

    def inner(self, op: str = " ") -> str:
        """The text within an operator."""
        return self.text if self.op in ("", op) else f"({self.text})"


def smv_text(model: Model, *, comments: Iterable[str] = ()) -> str:
    """The text of a model; a ValueError if it has atoms, or names that it does not declare.

    >>> print(smv_text(Model({"lon-gw": (False, True)}, next={"lon-gw": TRUE})), end="")
    -- lon_gw is lon-gw
    MODULE main
    VAR
      lon_gw : boolean;
    ASSIGN
      next(lon_gw) := TRUE;
    """
    writer = _Writer(model, spelled(model))
    parts = (_head(model, writer.names, comments), writer.body(), writer.specs())
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(model: Model, names: Names, comments: Iterable[str]) -> Iterator[str]:
    yield from (f"-- {line}" for text in comments for line in text.splitlines())
    yield from (f"-- {new} is {_one_line(old)}" for new, old in names.table())
    for name, label in model.labels.items():
        if name in names.names:
            yield f"-- {names.names[name]}: {_one_line(label)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class _Writer:
    """A model and how its names are spelled."""

    model: Model
    names: Names

    def body(self) -> Iterator[str]:
        """The module without its specifications."""
        model = self.model
        ruled = {name for name in model.frozen if name in model.next or name in model.always}
        yield "MODULE main"
        yield from self._variables(
            "VAR", [v for v in model.domains if v not in (model.frozen - ruled) | model.inputs]
        )
        yield from self._variables("IVAR", [v for v in model.domains if v in model.inputs])
        yield from self._variables(
            "FROZENVAR", [v for v in model.domains if v in model.frozen - ruled]
        )
        yield from self._rules("DEFINE", "{} := {};", model.defines)
        yield from self._assigned()
        for title, exprs in (
            ("INIT", model.starts),
            ("INVAR", model.invar),
            ("TRANS", (*model.trans, *map(_unchanged, sorted(ruled)))),
            ("JUSTICE", model.fair),
        ):
            yield from (f"{title} {self.text(one)};" for one in exprs)
        yield from (f"COMPASSION({self.text(p)}, {self.text(q)});" for p, q in model.compassion)

    def specs(self) -> Iterator[str]:
        """The properties, each with its name if NuSMV takes it and it is the first of that name."""
        seen: set[str] = set()
        for spec in self.model.specs:
            named = is_identifier(spec.name) and spec.name not in seen
            seen.add(spec.name)
            if spec.name and not named:
                yield f"-- {_one_line(spec.name)}"
            title = f"NAME {spec.name} := " if named else ""
            yield f"{KINDS[spec.kind]} {title}{self.text(spec.formula)};"

    def _variables(self, title: str, variables: list[str]) -> Iterator[str]:
        if variables:
            yield title
        for name in variables:
            yield f"  {self.names.names[name]} : {self._type(self.model.domains[name])};"

    def _type(self, domain: tuple[Value, ...]) -> str:
        kinds = {type(one) for one in domain}
        if kinds == {bool} and set(domain) == {False, True}:
            return "boolean"
        if kinds == {int} and list(domain) == list(range(int(domain[0]), int(domain[-1]) + 1)):
            return f"{domain[0]}..{domain[-1]}"
        return f"{{{', '.join(map(self._value, domain))}}}"

    def _value(self, value: Value) -> str:
        if isinstance(value, bool):
            return str(value).upper()
        return self.names.words[value] if isinstance(value, str) else str(value)

    def _assigned(self) -> Iterator[str]:
        rules = [
            line
            for form, given in (
                ("init({}) := {};", self.model.init),
                ("next({}) := {};", self.model.next),
                ("{} := {};", self.model.always),
            )
            for line in self._rules("", form, given)
        ]
        if rules:
            yield "ASSIGN"
        yield from rules

    def _rules(self, title: str, form: str, rules: Mapping[str, Expr]) -> Iterator[str]:
        if title and rules:
            yield title
        for name, expr in rules.items():
            yield "  " + form.format(self.names.names[name], self.text(expr))

    def text(self, expr: Expr) -> str:
        """An expression."""
        return fold(expr, self._written).text

    def _written(self, expr: Expr, parts: list[Written]) -> Written:
        if isinstance(expr, Const):
            text = self._value(expr.value)
            return Written(text, "neg" if text.startswith("-") else "")
        if isinstance(expr, Name):
            name = self.names.names[expr.name]
            return Written(f"next({name})" if expr.next else name)
        if isinstance(expr, Op):
            return _operation(expr.op, parts)
        if isinstance(expr, OneOf) and parts:
            return Written(f"{{{', '.join(one.text for one in parts)}}}", "set")
        if isinstance(expr, Lookup) and not expr.index:
            return Written(self._value(expr.domain[int(expr.table)]))
        if isinstance(expr, Lookup):
            return Written(f"{OPENED}{self._rows(expr)}{CLOSED}")
        if isinstance(expr, Case) and parts:
            return Written(self._case(expr, parts))
        message = f"{type(expr).__name__} has no form in SMV"
        raise ValueError(message)

    def _case(self, expr: Case, parts: list[Written]) -> str:
        """Branches by line; a table at the end goes on with rows of its own."""
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        test, value = expr.branches[-1]
        rows = ""
        if test == TRUE and isinstance(value, Lookup):
            rows = pairs.pop()[1].text.removeprefix(OPENED).removesuffix(CLOSED)
        if len(pairs) <= 2 and not rows:
            return f"case {' '.join(f'{test.text} : {value.text};' for test, value in pairs)} esac"
        lines = "".join(f"      {test.text} : {value.text};\n" for test, value in pairs)
        return f"{OPENED}{lines}{rows}{CLOSED}"

    def _rows(self, lookup: Lookup) -> str:
        """A row for each entry that is not as most are."""
        values = [self._value(value) for value in lookup.domain]
        counts = np.bincount(lookup.table.ravel(), minlength=1)
        usual = int(counts.argmax())
        places = np.nonzero(lookup.table != usual)
        columns = [
            map(self._terms(name).__getitem__, place.tolist())
            for name, place in zip(lookup.index, places, strict=True)
        ]
        tests = map(" & ".join, zip(*columns, strict=True))
        last = map(values.__getitem__, lookup.table[places].tolist())
        told = "".join(
            [f"      {test} : {value};\n" for test, value in zip(tests, last, strict=True)]
        )
        return f"{told}      TRUE : {values[usual]};\n"

    def _terms(self, name: Name) -> list[str]:
        left = self._written(name, []).text
        return [f"{left} = {self._value(value)}" for value in self.model.domains[name.name]]


def _operation(op: str, parts: list[Written]) -> Written:
    if op == "W":
        p, q = (one.inner() for one in parts)
        return Written(f"(G {p}) | ({p} U {q})", "|")
    if op in ("AU", "EU"):
        return Written(f"{op[0]} [{parts[0].inner()} U {parts[1].inner()}]", op)
    if op == "?":
        test, yes, no = (one.text for one in parts)
        return Written(f"case {test} : {yes}; TRUE : {no}; esac")
    if op in PREFIXES:
        return Written(f"{op} {parts[0].inner()}", op)
    if op in ("!", "neg"):
        return Written(f"{'!' if op == '!' else '-'}{parts[0].inner()}", op)
    left, right = parts
    chained = op if op in ("&", "|") else " "
    last = right.inner("set" if op in ("in", "union") else " ")
    return Written(f"{left.inner(chained)} {'V' if op == 'R' else op} {last}", op)


def _unchanged(name: str) -> Expr:
    return Op("=", (Name(name, next=True), Name(name)))
