"""Expressions of an SMV text: those of formulas, with indices, functions and tables."""

from ropewalk.verify.logic.lexing import Token
from ropewalk.verify.logic.parsing import Parser
from ropewalk.verify.logic.syntax import FALSE, TRUE, Case, Const, Expr, Name, Op
from ropewalk.verify.smv.naming import SECTIONS
from ropewalk.verify.smv.scanning import MARK, Run

ONE, NONE = Const(1), Const(0)
COUNTS = {"max": ">=", "min": "<="}


class SmvParser(Parser):
    """Reads expressions of an SMV text, with the tables that were taken out of it."""

    def __init__(self, words: list[Token], text: str, runs: dict[int, Run]) -> None:
        super().__init__(words, text)
        self.runs = runs

    def take(self) -> Token:
        """The next word, which is used up; the end stays."""
        found = self.word
        self.place += found.kind != "end"
        return found

    def at_section(self) -> bool:
        """Whether a section begins here, or nothing is left."""
        word = self.word
        return word.kind == "end" or (word.kind == "name" and word.text in SECTIONS)

    def reference(self) -> Name:
        """A name with its indices: `b1.queue[2]`."""
        word = self.take()
        if word.kind != "name":
            self.place -= word.kind != "end"
            raise self.fault(f"a name is expected, not {word}")
        return self._indexed(Name(word.text, column=word.at))

    def _primary(self) -> Expr:
        if self.word.kind == "name" and self.word.text in SECTIONS:
            raise self.fault(f"an operand is expected, not {self.word}")
        return super()._primary()

    def _named(self) -> Expr:
        found = super()._named()
        return self._indexed(found) if isinstance(found, Name) else found

    def _indexed(self, name: Name) -> Name:
        text = name.name
        while self.word.kind != "end":
            if self.skip("["):
                text += f"[{self._index()}]"
                self.expect("]")
            elif self.word.text == "." and self.words[self.place + 1].kind == "name":
                self.take()
                text += f".{self.take().text}"
            else:
                break
        return Name(text, name.next, name.column)

    def _index(self) -> int:
        sign = -1 if self.skip("-") else 1
        if self.word.kind != "number":
            raise self.fault("not supported: an index that is no number")
        found = sign * self._number()
        if self.sees(":"):
            raise self.fault("not supported: bits of a word")
        return found

    def _atom(self, word: Token) -> Expr:
        """`count(a, b)` and other functions of NuSMV."""
        self.expect("(")
        given = [self.expression()]
        while self.skip(","):
            given.append(self.expression())
        self.expect(")")
        found = _function(word.text, given)
        if found is None:
            raise self.fault(f"not supported: {word.text}(...) of {len(given)}", word.at)
        return found

    def _branch(self) -> tuple[Expr, Expr]:
        if self.word.text == MARK and self.word.at in self.runs:
            run = self.runs[self.take().at]
            return run, run
        return super()._branch()


def _function(name: str, given: list[Expr]) -> Expr | None:
    """What a function says in operators; nothing if it is not known."""
    if name == "count":
        return _sum([_choice(one, ONE, NONE) for one in given])
    if name == "toint" and len(given) == 1:
        return _choice(given[0], ONE, NONE)
    if name == "bool" and len(given) == 1:
        return Op("!=", (given[0], NONE))
    if name == "abs" and len(given) == 1:
        (one,) = given
        return _choice(Op("<", (one, NONE)), Op("neg", (one,)), one)
    if name in COUNTS and len(given) == 2:
        return _choice(Op(COUNTS[name], (given[0], given[1])), given[0], given[1])
    return None


def _choice(test: Expr, yes: Expr, no: Expr) -> Expr:
    return Case(((test, yes), (TRUE, no)))


def _sum(parts: list[Expr]) -> Expr:
    found = parts[0]
    for one in parts[1:]:
        found = Op("+", (found, one))
    return found


def as_truth(expr: Expr) -> Expr:
    """Old models write 1 and 0 where a condition is needed."""
    if isinstance(expr, Const) and type(expr.value) is int and expr.value in (0, 1):
        return TRUE if expr.value else FALSE
    return expr
