"""Reads expressions and formulas, with NuSMV's operators, precedence and associativity.

From loose to tight: `->` (to the right), `<->`, `? :`, `|` `xor` `xnor`, `&`, the temporal
operators of two sides (to the left), those of one side, comparisons, `in`, `union`, sums, products.
So `G p -> q` is `(G p) -> q`, and `F a = b` is `F (a = b)`.
"""

from collections.abc import Callable

from ropewalk.verify.logic.folding import changed, depth, joined, size
from ropewalk.verify.logic.lexing import FormulaError, Token, tokens
from ropewalk.verify.logic.syntax import (
    COMPARE,
    CTL,
    FALSE,
    TRUE,
    Atom,
    Case,
    Const,
    Expr,
    Name,
    OneOf,
    Op,
)

UNARY = frozenset(("X", "F", "G", "Y", "Z", "O", "H", "EX", "AX", "EF", "AF", "EG", "AG"))
BINARY = {"U": "U", "R": "R", "V": "R", "W": "W", "S": "S", "T": "T", "AU": "AU", "EU": "EU"}
BOUNDED = {"EBF": "EF", "ABF": "AF", "EBG": "EG", "ABG": "AG"}
STEP = {"F": "X", "G": "X", "O": "Y", "H": "Z", "EF": "EX", "AF": "AX", "EG": "EX", "AG": "AX"}
MOST_STEPS = 1000
SAME = {"&&": "&", "||": "|", "or": "|", "and": "&", "not": "!", "true": "TRUE", "false": "FALSE"}
RESERVED = frozenset((*UNARY, *BINARY, *BOUNDED, "A", "E", "case", "esac", "TRUE", "FALSE"))
WORDS = frozenset((*RESERVED, "in", "union", "mod", "xor", "xnor", "next"))
IFF, UNTIL, PREFIX, RANGE, TIGHTEST = 1, 5, 6, 10, 12
LEVELS = (
    {"<->": IFF, "?": 2, "|": 3, "xor": 3, "xnor": 3, "&": 4}
    | dict.fromkeys(BINARY, UNTIL)
    | dict.fromkeys(COMPARE, 7)
    | {"in": 8, "union": 9, "..": RANGE, "+": 11, "-": 11, "*": 12, "/": 12, "mod": 12}
)
"""How tightly the operators of two sides bind; those of one side are at `PREFIX`."""
NO_OPERANDS = RESERVED | {"in", "union", "mod"}
OPENERS = UNARY | BOUNDED.keys() | {"A", "E", "!", "not"}
DEEPEST = 100
"""More parentheses within each other are nobody's formula, and would be Python's limit."""
MOST_PARTS = 200_000
MOST_VALUES = 100_000
LONGEST_NUMBER = 15


def parse(text: str) -> Expr:
    """The formula that a text says.

    >>> parse("G p -> q").op, parse("a U b U c").args[0].op
    ('->', 'U')
    >>> parse("G (up(b1) -> ")
    Traceback (most recent call last):
    ropewalk.verify.logic.lexing.FormulaError: column 14: an operand is expected, not the end
    """
    reader = Parser(tokens(text), text)
    found = reader.expression()
    reader.expect_end()
    return found


class Parser:
    """A place in a list of words, and what can be read from there."""

    def __init__(self, words: list[Token], text: str) -> None:
        self.words, self.text, self.place, self.depth = words, text, 0, 0
        self.no_until = False

    @property
    def word(self) -> Token:
        """The next word."""
        return self.words[self.place]

    def fault(self, message: str, at: int | None = None) -> FormulaError:
        """What is wrong here."""
        return FormulaError(message, self.word.at if at is None else at, self.text)

    def take(self) -> Token:
        """The next word, which is used up."""
        found = self.word
        self.place += 1
        return found

    def sees(self, *texts: str) -> bool:
        """Whether the next word is one of these."""
        word = self.word
        return word.kind in ("name", "sign") and SAME.get(word.text, word.text) in texts

    def skip(self, text: str) -> bool:
        """Whether the next word was this; then it is used up."""
        if self.sees(text):
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """The next word, which must be this."""
        if not self.sees(text):
            raise self.fault(f"'{text}' is expected, not {self.word}")
        return self.take()

    def expect_end(self) -> None:
        """Nothing may follow."""
        if self.word.kind != "end":
            raise self.fault(f"an operator or the end is expected, not {self.word}")

    def expression(self) -> Expr:
        """Anything."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fault(f"more than {DEEPEST} levels of parentheses")
        try:
            left = self._climb(IFF)
            if self.sees("->"):
                at = self.take().at
                left = Op("->", (left, self.expression()), at)
        except RecursionError:
            raise self.fault("too many levels of parentheses") from None
        self.depth -= 1
        return left

    def _climb(self, least: int) -> Expr:
        """Operators that bind at least so tightly, those of one strength to the left."""
        left, most = self._operand(least)
        while True:
            word = self.word
            sign = SAME.get(word.text, word.text) if word.kind in ("name", "sign") else ""
            level = LEVELS.get(sign, 0)
            if not least <= level <= most or (level == UNTIL and self.no_until):
                return left
            self.take()
            most = level
            if sign in ("&", "|"):
                left = self._chain(sign, left, word.at)
            elif sign == "?":
                left = self._choice(left)
            elif sign == "..":
                left, most = self._range(left, self._climb(level + 1)), level - 1
            else:
                op = {"xnor": "<->"}.get(sign, BINARY.get(sign, sign))
                left = Op(op, (left, self._climb(level + 1)), word.at)

    def _chain(self, sign: str, first: Expr, at: int) -> Expr:
        """All that is joined by the same sign; very many are halved, so that no tree is deep."""
        parts, places = [first, self._climb(LEVELS[sign] + 1)], [at, at]
        while self.sees(sign):
            places.append(self.take().at)
            parts.append(self._climb(LEVELS[sign] + 1))
        return joined(sign, parts, places)

    def _choice(self, test: Expr) -> Expr:
        yes = self.expression()
        self.expect(":")
        return Case(((test, yes), (TRUE, self.expression())))

    def _operand(self, least: int) -> tuple[Expr, int]:
        """What operators stand between, and how tightly the next may bind."""
        word = self.word
        if word.kind == "sign" and word.text == "{" and least <= RANGE:
            return self._set(), RANGE - 1
        if least <= PREFIX and (found := self._one_side()) is not None:
            return found, UNTIL
        return self._primary(), TIGHTEST

    def _one_side(self) -> Expr | None:
        """Temporal operators of one side, and `!` before them; or nothing is here."""
        word = self.word
        if word.text not in OPENERS:
            return None
        if self.sees(*UNARY):
            self.take()
            if self.word.text == "[" and word.text in STEP and word.text not in CTL:
                return self._bounded(word.text, word.at)
            return Op(word.text, (self._nested(self._side),), word.at)
        if self.sees(*BOUNDED):
            self.take()
            low, high = self._span()
            return self._unrolled(BOUNDED[word.text], low, high, self._nested(self._side), word.at)
        if self.sees("A", "E") and self.words[self.place + 1].text == "[":
            return self._path()
        if self.sees("!") and self._temporal_follows():
            self.take()
            return Op("!", (self._nested(self._side),), word.at)
        return None

    def _side(self) -> Expr:
        return self._climb(PREFIX)

    def _nested(self, read: Callable[[], Expr]) -> Expr:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fault(f"more than {DEEPEST} levels of operators")
        found = read()
        self.depth -= 1
        return found

    def _temporal_follows(self) -> bool:
        place = self.place
        while SAME.get(self.words[place].text, self.words[place].text) == "!":
            place += 1
        word = self.words[place]
        quantifier = word.text in ("A", "E") and self.words[place + 1].text == "["
        return word.kind == "name" and (word.text in UNARY or word.text in BOUNDED or quantifier)

    def _path(self) -> Expr:
        """`A [p U q]`, `E [p U q]`, and with `BU` and a span."""
        quantifier = self.take()
        self.expect("[")
        left = self._until_free()
        if self.sees("BU"):
            self.take()
            low, high = self._span()
            right = self.expression()
            self.expect("]")
            return self._until(quantifier.text, low, high, left, right, quantifier.at)
        if not self.skip("U"):
            raise self.fault(f"'U' is expected, not {self.word}")
        right = self.expression()
        self.expect("]")
        return Op(f"{quantifier.text}U", (left, right), quantifier.at)

    def _until_free(self) -> Expr:
        """The left side of a CTL until: `U` ends it, as CTL has no operators of two sides."""
        before, self.no_until = self.no_until, True
        found = self.expression()
        self.no_until = before
        return found

    def _bounded(self, op: str, at: int) -> Expr:
        """`F [2,5] p`."""
        self.expect("[")
        low = self._number()
        self.expect(",")
        high = self._number()
        self.expect("]")
        self._check_span(low, high)
        return self._unrolled(op, low, high, self._nested(self._side), at)

    def _span(self) -> tuple[int, int]:
        low = self._number()
        self.expect("..")
        high = self._number()
        self._check_span(low, high)
        return low, high

    def _check_span(self, low: int, high: int) -> None:
        if not low <= high <= MOST_STEPS:
            raise self.fault(f"a span goes up, and to {MOST_STEPS} at most")

    def _number(self) -> int:
        if self.word.kind != "number":
            raise self.fault(f"a number is expected, not {self.word}")
        if len(self.word.text) > LONGEST_NUMBER:
            raise self.fault(f"a number has {LONGEST_NUMBER} digits at most")
        return int(self.take().text)

    def _unrolled(self, op: str, low: int, high: int, of: Expr, at: int) -> Expr:
        """An operator with a span, in single steps."""
        self._check_size(high, of)
        join = "&" if op in ("G", "H", "EG", "AG") else "|"
        found = of
        for _ in range(high - low):
            found = Op(join, (of, Op(STEP[op], (found,), at)), at)
        for _ in range(low):
            found = Op(STEP[op], (found,), at)
        return found

    def _until(
        self, quantifier: str, low: int, high: int, left: Expr, right: Expr, at: int
    ) -> Expr:
        self._check_size(high, left & right)
        step = f"{quantifier}X"
        found = right
        for _ in range(high - low):
            found = Op("|", (right, Op("&", (left, Op(step, (found,), at)), at)), at)
        for _ in range(low):
            found = Op("&", (left, Op(step, (found,), at)), at)
        return found

    def _check_size(self, high: int, of: Expr) -> None:
        """Spans within spans multiply."""
        if depth(of) + 2 * high > 2 * MOST_STEPS + DEEPEST:
            raise self.fault(f"spans of more than {MOST_STEPS} steps together")
        if (high + 1) * size(of) > MOST_PARTS:
            raise self.fault(f"spans that come to more than {MOST_PARTS:,} operators")

    def _set(self) -> Expr:
        self.expect("{")
        found = [self.expression()]
        while self.skip(","):
            found.append(self.expression())
        self.expect("}")
        return OneOf(tuple(found))

    def _range(self, low: Expr, high: Expr) -> Expr:
        first, last = (one.value if isinstance(one, Const) else None for one in (low, high))
        if type(first) is not int or type(last) is not int:
            raise self.fault("a range is of two numbers")
        if not first <= last < first + MOST_VALUES:
            raise self.fault(f"a range goes up, and over {MOST_VALUES:,} numbers at most")
        return OneOf(tuple(Const(n) for n in range(first, last + 1)))

    def _primary(self) -> Expr:
        word = self.word
        if self.skip("("):
            found = self.expression()
            self.expect(")")
            return found
        if self.sees("!"):
            self.take()
            return Op("!", (self._nested(self._primary),), word.at)
        if self.skip("-"):
            of = self._nested(self._primary)
            if isinstance(of, Const) and type(of.value) is int:
                return Const(-of.value)
            return Op("neg", (of,), word.at)
        if word.kind == "number":
            return Const(self._number())
        if word.kind == "quoted":
            self.take()
            return Name(word.text, column=word.at)
        if word.kind == "name" and word.text not in NO_OPERANDS:
            return self._named()
        if self.sees("TRUE", "FALSE"):
            return TRUE if SAME.get(self.take().text, word.text) == "TRUE" else FALSE
        if self.skip("case"):
            return self._case()
        raise self.fault(f"an operand is expected, not {word}")

    def _named(self) -> Expr:
        word = self.take()
        if self.word.text != "(" or self.word.kind != "sign":
            if SAME.get(word.text) in ("TRUE", "FALSE"):
                return TRUE if SAME[word.text] == "TRUE" else FALSE
            return Name(word.text, column=word.at)
        if word.text == "next":
            self.take()
            found = self._next(self.expression())
            self.expect(")")
            return found
        return self._atom(word)

    def _next(self, of: Expr) -> Expr:
        """The same after the step."""
        return changed(of, self._after)

    def _after(self, one: Expr) -> Expr:
        if not isinstance(one, Name):
            return one
        if one.next:
            raise self.fault("next within next", one.column)
        return Name(one.name, next=True, column=one.column)

    def _atom(self, word: Token) -> Expr:
        """`name(a, b)`: what stands between the parentheses is taken as it is written."""
        start = opened = self.take().at + 1
        parts: list[str] = []
        while not parts or self.skip(","):
            start = self.words[self.place - 1].at + 1
            if self.word.kind == "quoted":
                parts.append(self.take().text)
                continue
            while self.word.kind != "end" and self.word.text not in (",", ")"):
                self.take()
            parts.append(self.text[start : self.word.at].strip())
        if self.word.kind == "end":
            raise self.fault(f"')' is expected after {word.text}(", len(self.text))
        self.expect(")")
        if not all(parts):
            raise self.fault(f"a name is expected in {word.text}(...)", opened)
        return Atom(word.text, tuple(parts), word.at)

    def _case(self) -> Expr:
        branches = []
        while not self.sees("esac"):
            branches.append(self._branch())
        self.take()
        if not branches:
            raise self.fault("a case has one branch at least")
        return Case(tuple(branches))

    def _branch(self) -> tuple[Expr, Expr]:
        test = self.expression()
        self.expect(":")
        value = self.expression()
        self.expect(";")
        return test, value
