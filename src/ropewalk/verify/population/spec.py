"""Nets in mist's `.spec` format, which the usual suites of coverability problems are in.

    vars
        think wait use
    rules
        think >= 1 -> use' = use + 1, wait' = wait + think - 1, think' = 0;
    init
        think >= 1, wait = 0, use = 0
    target
        use >= 2

A place on the right of another's line is emptied into it; one that is on no right side is reset.
A target is what commas join; what follows without a comma is the next target. `invariants` are
hints to other tools, and not read.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from ropewalk.errors import PopulationError
from ropewalk.findings import Finding, Where
from ropewalk.verify.population.net import LOST, Amounts, Net, Rule, amounts

_WORD = re.compile(
    r"\s+|#[^\n]*|([0-9]+|in(?=\s*\[)|[A-Za-z_][\w.\[\]$@]*|->|>=|<=|[-+*=,;'\[\]<>:()])|(.)"
)
_NAME = re.compile(r"[A-Za-z_]")
_SECTIONS = ("vars", "rules", "init", "target", "invariants")
MOST_TOKENS = 1_000_000
_NOT_OPENING = (["="], [">="], [">"], ["in"], ["'"])
"""A place that is called like a section is none where one of these follows."""
_OPENS = {"vars": 0, "rules": 1, "init": 2, "target": 3, "targets": 3, "invariants": 4}


def load_spec(path: Path | str) -> Net:
    """The net in a `.spec` file; raises PopulationError."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise _fault(str(path), 0, f"cannot be read ({reason}): name a .spec file") from None
    return read_spec(text, str(path))


def read_spec(text: str, file: str = "net.spec") -> Net:
    """The net in a text.

    >>> rule = "a >= 1 -> a' = a - 1, b' = b + 1;"
    >>> net = read_spec(f"vars a b rules {rule} init a >= 1, b = 0 target b >= 2")
    >>> net.places, net.start, sorted(net.open), net.rules[0].changes, net.targets
    (('a', 'b'), (1, 0), [0], ((0, -1), (1, 1)), (((1, 2),),))
    """
    return _Reader(text, file).net()


def _fault(file: str, line: int, message: str) -> PopulationError:
    return PopulationError([Finding("N030", message, Where(file, line))])


class _Reader:
    """One pass over the words of a text."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.words, self.lines = _words(text, file)
        self.at = 0
        self.places: dict[str, int] = {}

    def net(self) -> Net:
        self.section("vars")
        while not self.opens():
            self.declare(self.name())
        self.section("rules")
        rules = list[Rule]()
        while not self.opens():
            rules.append(self.rule(len(rules)))
        self.section("init")
        start, unbounded = self.init()
        self.section("target")
        targets = tuple(self.targets())
        if self.word and self.word != "invariants":
            self.fail(f"{self.word!r} stands here: after the targets there is only 'invariants'")
        if not self.places:
            self.fail("there is no place: write their names after vars")
        if not targets:
            self.fail("there is no target: write PLACE >= NUMBER after target")
        return Net(tuple(self.places), tuple(rules), start, unbounded, targets, self.file)

    # Words -------------------------------------------------------------------------------------

    @property
    def word(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    @property
    def line(self) -> int:
        return self.lines[min(self.at, len(self.lines) - 1)] if self.lines else 0

    def fail(self, message: str, line: int = 0) -> NoReturn:
        raise _fault(self.file, line or self.line, message)

    def take(self, expected: str = "") -> str:
        found = self.word
        if expected and found != expected:
            what = f"{found!r} stands here" if found else "the text ends here"
            self.fail(f"{what}: write {expected!r}")
        self.at += 1
        return found

    def opens(self) -> bool:
        """Whether a section begins here, or nothing is left."""
        return not self.word or (
            self.word in _OPENS and self.words[self.at + 1 : self.at + 2] not in _NOT_OPENING
        )

    def section(self, name: str) -> None:
        if _OPENS.get(self.word) != _SECTIONS.index(name):
            what = f"{self.word!r} stands here" if self.word else "the text ends here"
            self.fail(f"{what}: write the section {name!r}; the order is {', '.join(_SECTIONS)}")
        self.at += 1

    def name(self) -> str:
        if not _NAME.match(self.word):
            self.fail(f"{self.word!r} is no name of a place" if self.word else "a name is missing")
        return self.take()

    def number(self) -> int:
        if not self.word.isdigit():
            self.fail(f"{self.word!r} is no number: write a natural number")
        digits = self.word.lstrip("0") or "0"
        if len(digits) > len(str(MOST_TOKENS)) or int(digits) > MOST_TOKENS:
            self.fail(f"{self.word[:20]} is too large: at most {MOST_TOKENS:,} tokens are read")
        self.at += 1
        return int(digits)

    def declare(self, name: str) -> None:
        if name in self.places:
            self.fail(f"{name!r} is declared twice: keep one", self.lines[self.at - 1])
        self.places[name] = len(self.places)
        if self.word == ",":
            self.at += 1

    def place(self) -> int:
        if self.word not in self.places:
            self.fail(f"no place is called {self.word!r}: declare it under vars")
        return self.places[self.take()]

    # Rules -------------------------------------------------------------------------------------

    def rule(self, number: int) -> Rule:
        line, needs = self.line, dict[int, int]()
        while self.word != "->":
            if self.word in ("true", "True", "TRUE") and self.word not in self.places:
                self.at += 1
            else:
                place = self.place()
                self.guard(place, needs)
            if self.word == ",":
                self.at += 1
        self.take("->")
        sums: dict[int, tuple[list[int], int]] = {}
        while self.word != ";":
            place = self.place()
            if place in sums:
                self.fail("this place is given two values by one rule: keep one")
            self.take("'")
            self.take("=")
            sums[place] = self.sum()
            if self.word not in (",", ";"):
                self.fail(f"{self.word!r} stands here: write ',' or ';'")
            if self.word == ",":
                self.at += 1
        self.take(";")
        return self.shaped(f"rule {number + 1}", line, needs, sums)

    def guard(self, place: int, needs: dict[int, int]) -> None:
        if self.word not in (">=", ">"):
            self.fail(f"{self.word!r}: only at least so many tokens can be asked for: write >=")
        strictly = self.take() == ">"
        needs[place] = max(needs.get(place, 0), self.number() + strictly)

    def sum(self) -> tuple[list[int], int]:
        """The places and the number that are added up."""
        places, total, sign, first = list[int](), 0, 1, True
        while first or self.word in ("+", "-"):
            if self.word in ("+", "-"):
                sign = 1 if self.take() == "+" else -1
            if self.word.isdigit():
                count = self.number()
                if self.word == "*":
                    self.at += 1
                    if count != 1:
                        self.fail("tokens are copied here: that is not supported")
                    places.append(self.place())
                else:
                    total += sign * count
            else:
                if sign < 0:
                    self.fail("a place is subtracted here: that is not monotone, not supported")
                places.append(self.place())
            first, sign = False, 1
        if abs(total) > MOST_TOKENS:
            self.fail(f"{total} is too large: at most {MOST_TOKENS:,} tokens are read")
        return places, total

    def shaped(
        self,
        name: str,
        line: int,
        needs: dict[int, int],
        sums: dict[int, tuple[list[int], int]],
    ) -> Rule:
        """The rule whose lines these are: where each place's tokens go."""
        to: dict[int, int] = dict.fromkeys(sums, LOST)
        for place, (sources, _) in sums.items():
            for source in sources:
                if to.get(source, source) != LOST:
                    what = list(self.places)[source]
                    self.fail(f"{what!r} is copied: that is not supported", line)
                to[source] = place
        changes = {place: total for place, (_, total) in sums.items()}
        for place, (sources, total) in sums.items():
            if sources == [place] and total < 0:  # what is taken has to be there
                needs[place] = max(needs.get(place, 0), -total)
            elif not sources and total < 0:
                what = list(self.places)[place]
                self.fail(f"{what!r} gets a negative number: write 0 or more", line)
        moves = tuple(sorted((source, where) for source, where in to.items() if source != where))
        return Rule(name, amounts(needs), amounts(changes), moves, line)

    # Start and targets -------------------------------------------------------------------------

    def init(self) -> tuple[tuple[int, ...], frozenset[int]]:
        start, unbounded, seen = [0] * len(self.places), set(self.places.values()), set[int]()
        while not self.opens():
            place = self.place()
            if place in seen:
                self.fail("a place is named twice under init: several starts are not supported")
            seen.add(place)
            start[place], more = self.amount()
            if not more:
                unbounded.discard(place)
            if self.word == ",":
                self.at += 1
        return tuple(start), frozenset(unbounded)

    def amount(self) -> tuple[int, bool]:
        """How many tokens at the start, and whether there may be more."""
        if self.word == "=":
            self.at += 1
            return self.number(), False
        if self.word == ">=":
            self.at += 1
            return self.number(), True
        if self.word == "in":
            return self.range()
        return self.fail(f"{self.word!r} stands here: write = NUMBER or >= NUMBER")

    def range(self) -> tuple[int, bool]:
        """What `in [1, 3]` allows; more tokens are never worse, so the most counts."""
        self.take("in")
        self.take("[")
        least = self.number()
        self.take(",")
        most = self.number()
        if least > most:
            self.fail(f"in [{least}, {most}] allows nothing: write the smaller number first")
        self.take("]")
        return most, False

    def targets(self) -> Iterator[Amounts]:
        while not self.opens():
            found: dict[int, int] = {}
            while True:
                self.guard(self.place(), found)
                if self.word != ",":
                    break
                self.at += 1
                if self.opens():
                    break
            yield amounts(found)


def _words(text: str, file: str) -> tuple[Sequence[str], Sequence[int]]:
    words, lines, line = list[str](), list[int](), 1
    for match in _WORD.finditer(text):
        if match[1]:
            words.append(match[1])
            lines.append(line)
        elif match[2]:
            raise _fault(file, line, f"{match[2]!r} has no meaning here: remove it")
        else:
            line += match[0].count("\n")
    return words, lines


def spec_text(net: Net) -> str:
    """A net in mist's format, for other tools; places and targets keep their order.

    >>> rule = "a >= 1 -> b' = b + a + 0, a' = 0;"
    >>> net = read_spec(f"vars a b rules {rule} init a >= 1 target b >= 2")
    >>> read_spec(spec_text(net)).rules[0].moves
    ((0, 1),)
    """
    names = [f"x{place}" for place in range(len(net.places))]
    lines = [f"# {net.name}"] if net.name else []
    lines += [f"# {name}: {place}" for name, place in zip(names, net.places, strict=True)]
    lines += ["vars", "    " + " ".join(names), "rules"]
    lines += [_rule_text(rule, names) for rule in net.rules]
    init = [
        f"{name} {'>=' if place in net.open else '='} {net.start[place]}"
        for place, name in enumerate(names)
    ]
    lines += ["init", "    " + ", ".join(init), "target"]
    for target in net.targets:
        lines.append("    " + ", ".join(f"{names[p]} >= {count}" for p, count in target))
    return "\n".join(lines) + "\n"


def _rule_text(rule: Rule, names: Sequence[str]) -> str:
    needs = ", ".join(f"{names[place]} >= {count}" for place, count in rule.needs)
    changes, sources = dict(rule.changes), rule.sources()
    parts = []
    for place in sorted({*changes, *sources}):
        terms = [names[source] for source in sources.get(place, [place])]
        change = changes.get(place, 0)
        # mist takes a sum of places only with a number behind it
        number = f" {'-' if change < 0 else '+'} {abs(change)}" if terms else str(change)
        parts.append(f"{names[place]}' = {' + '.join(terms)}{number}")
    return f"    {needs} -> {', '.join(parts)};  # {rule.name}"
