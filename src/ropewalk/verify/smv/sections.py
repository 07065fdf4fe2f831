"""The modules of an SMV text as they are written: declarations, assignments, constraints, specs."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ropewalk.verify.logic.lexing import FormulaError, Token, tokens
from ropewalk.verify.logic.model import SpecKind
from ropewalk.verify.logic.parsing import RANGE, WORDS
from ropewalk.verify.logic.syntax import Const, Expr, Name, OneOf, Value
from ropewalk.verify.smv.expressions import SmvParser
from ropewalk.verify.smv.naming import SECTIONS
from ropewalk.verify.smv.scanning import without_comments, without_tables

SPECS: dict[str, SpecKind] = {
    "SPEC": "ctl",
    "CTLSPEC": "ctl",
    "LTLSPEC": "ltl",
    "INVARSPEC": "invariant",
}
UNBOUNDED = ("word", "unsigned", "signed", "real", "integer", "clock")
MOST_FAULTS = 100


@dataclass(slots=True)
class Faults:
    """What is wrong, and where; after very many nobody reads on."""

    found: dict[int, str] = field(default_factory=dict)

    def add(self, at: int, message: str) -> None:
        """One more; of two at the same place the first counts."""
        if not self.many():
            self.found.setdefault(at, message)

    def many(self) -> bool:
        """Whether there are so many that more do not matter."""
        return len(self.found) >= MOST_FAULTS


@dataclass(frozen=True, slots=True)
class Values:
    """The type of a variable: its values."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """Variables with indices."""

    low: int
    high: int
    of: "Type"


@dataclass(frozen=True, slots=True)
class Instance:
    """A module with what it is given."""

    module: str
    given: tuple[Expr, ...]


Type = Values | Array | Instance


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable, or an instance of a module."""

    section: str
    name: str
    type: Type
    at: int


@dataclass(frozen=True, slots=True)
class Said:
    """An expression, what it is for (`init`, `DEFINE`, `TRANS` ...), and of whom."""

    role: str
    expr: Expr
    at: int
    end: int
    target: Name | None = None
    other: Expr | None = None
    """The second of a COMPASSION."""
    text: str = ""
    """A specification as it was written."""
    name: str = ""


@dataclass(slots=True)
class Module:
    """A module: its parameters, and what stands in it."""

    name: str
    parameters: tuple[str, ...]
    at: int
    declared: list[Declared] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)


def modules(text: str, faults: Faults) -> list[Module]:
    """All modules of a text; what cannot be read is passed over and is a fault."""
    plain = without_comments(text)
    short, runs = without_tables(plain)
    return _Sections(SmvParser(tokens(short), short, runs), plain, faults).all()


class _Sections:
    """Reads sections one after another."""

    def __init__(self, parser: SmvParser, text: str, faults: Faults) -> None:
        self.parser, self.text, self.faults = parser, text, faults
        self.module = Module("", (), 0)

    def all(self) -> list[Module]:
        """The modules."""
        found: list[Module] = []
        while self.parser.word.kind != "end":
            word = self.parser.word
            if self.parser.skip("MODULE"):
                self._attempt(self._open)
                found.append(self.module)
            elif not found or not self.parser.at_section():
                self.faults.add(
                    word.at, f"{'a section' if found else 'MODULE'} is expected, not {word}"
                )
                self.parser.take()
                self._to_section()
            else:
                self._section(self.parser.take())
        return found

    def _to_section(self) -> None:
        while not self.parser.at_section():
            self.parser.take()

    def _attempt(self, read: Callable[[], None]) -> None:
        """Reads something; after a fault all to the next `;` or section is passed over."""
        start = self.parser.place
        try:
            read()
        except FormulaError as error:
            self.faults.add(error.at, error.message)
            self.parser.depth, self.parser.no_until = 0, False
            self.parser.place = max(self.parser.place, start)
            while not self.parser.at_section():
                if self.parser.take().text == ";":
                    break

    def _open(self) -> None:
        word = self.parser.word
        self.module = Module(f" {word.at}", (), word.at)  # a name that nobody can ask for
        name, given = self._declared_name(), []
        if self.parser.skip("("):
            while not self.parser.skip(")"):
                given.append(self._declared_name())
                if not self.parser.sees(")"):
                    self.parser.expect(",")
        self.module = Module(name, tuple(given), word.at)

    def _declared_name(self) -> str:
        word = self.parser.word
        if word.kind != "name" or word.text in SECTIONS:
            raise self.parser.fault(f"a name is expected, not {word}")
        if word.text in WORDS or "." in word.text or word.text == "self":
            raise self.parser.fault(f"'{word.text}' cannot be a name")
        return self.parser.take().text

    def _section(self, word: Token) -> None:
        name = word.text
        readers: dict[str, Callable[[], None]] = {
            "VAR": lambda: self._variable("VAR"),
            "IVAR": lambda: self._variable("IVAR"),
            "FROZENVAR": lambda: self._variable("FROZENVAR"),
            "DEFINE": self._definition,
            "ASSIGN": self._assignment,
            "CONSTANTS": self._constants,
        }
        if name in readers:
            while not self.parser.at_section():
                self._attempt(readers[name])
        elif name in SPECS:
            self._attempt(lambda: self._spec(name))
        elif name == "COMPASSION":
            self._attempt(lambda: self._compassion(word.at))
        elif name in ("INIT", "INVAR", "TRANS", "FAIRNESS", "JUSTICE"):
            self._attempt(lambda: self._constraint(name))
        else:
            self.faults.add(word.at, f"not supported: {name}")
            self._to_section()

    def _variable(self, section: str) -> None:
        at, name = self.parser.word.at, self._declared_name()
        self.parser.expect(":")
        type_ = self._type()
        self.parser.expect(";")
        self.module.declared.append(Declared(section, name, type_, at))

    def _type(self) -> Type:
        parser, word = self.parser, self.parser.word
        if parser.skip("boolean") or parser.skip("Boolean"):
            return Values((False, True))
        if parser.sees(*UNBOUNDED):
            raise parser.fault(f"not supported: the type {word.text}; write a range")
        if parser.sees("process"):
            raise parser.fault("not supported: process")
        if parser.skip("array"):
            bounds = self._values()
            parser.expect("of")
            if not type(bounds[0]) is type(bounds[-1]) is int:
                raise parser.fault("the bounds of an array are numbers", word.at)
            return Array(int(bounds[0]), int(bounds[-1]), parser._nested(self._type))  # type: ignore[arg-type]
        if word.kind == "name" and word.text not in SECTIONS | WORDS:
            return self._instance(parser.take().text)
        return Values(self._values())

    def _values(self) -> tuple[Value, ...]:
        at, found = self.parser.word.at, self.parser._climb(RANGE)
        if not isinstance(found, OneOf):
            raise self.parser.fault("a type is expected: boolean, 0..3, {a, b} or a module", at)
        values = [self._value(one) for one in found.values]
        return tuple({(type(one), one): one for one in values}.values())

    def _value(self, expr: Expr) -> Value:
        if isinstance(expr, Const):
            return expr.value
        if isinstance(expr, Name) and not expr.next and not set(".[") & set(expr.name):
            return expr.name
        raise self.parser.fault("a value is a word, a number, TRUE or FALSE")

    def _instance(self, module: str) -> Instance:
        given: list[Expr] = []
        if self.parser.skip("(") and not self.parser.skip(")"):
            given.append(self.parser.expression())
            while self.parser.skip(","):
                given.append(self.parser.expression())
            self.parser.expect(")")
        return Instance(module, tuple(given))

    def _definition(self) -> None:
        at, name = self.parser.word.at, self._declared_name()
        self.parser.expect(":=")
        expr = self.parser.expression()
        self.parser.expect(";")
        self.module.said.append(Said("DEFINE", expr, at, self._here(), Name(name, column=at)))

    def _assignment(self) -> None:
        parser, word = self.parser, self.parser.word
        role = word.text if parser.sees("init", "next") else "always"
        if role != "always":
            parser.take()
            parser.expect("(")
        target = parser.reference()
        if role != "always":
            parser.expect(")")
        parser.expect(":=")
        expr = parser.expression()
        parser.expect(";")
        self.module.said.append(Said(role, expr, word.at, self._here(), target))

    def _constants(self) -> None:
        values = [self._value(self.parser.expression())]
        while self.parser.skip(","):
            values.append(self._value(self.parser.expression()))
        self.parser.expect(";")
        self.module.constants += [one for one in values if isinstance(one, str)]

    def _constraint(self, role: str) -> None:
        at, expr = self.parser.word.at, self.parser.expression()
        self._close()
        self.module.said.append(
            Said("JUSTICE" if role == "FAIRNESS" else role, expr, at, self._here())
        )

    def _compassion(self, at: int) -> None:
        self.parser.expect("(")
        first = self.parser.expression()
        self.parser.expect(",")
        second = self.parser.expression()
        self.parser.expect(")")
        self._close()
        self.module.said.append(Said("COMPASSION", first, at, self._here(), other=second))

    def _spec(self, section: str) -> None:
        name = ""
        if self.parser.skip("NAME"):
            name = self.parser.reference().name
            self.parser.expect(":=")
        at, expr = self.parser.word.at, self.parser.expression()
        last = self.parser.words[self.parser.place - 1]
        text = self.text[at : last.at + len(last.text)]
        self._close()
        self.module.said.append(Said(SPECS[section], expr, at, self._here(), text=text, name=name))

    def _here(self) -> int:
        return self.parser.word.at

    def _close(self) -> None:
        """A `;` that may be missing before the next section."""
        if not self.parser.skip(";") and not self.parser.at_section():
            raise self.parser.fault(
                f"an operator, ';' or a section is expected, not {self.parser.word}"
            )
