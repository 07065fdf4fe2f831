"""A tiny explicit-state checker for the models we write: it knows nothing of federations.

Variables with ranges; `init` and `next` assignments, a variable without `next` may take any value;
`case` with first match; the specifications are CTL built on AF, LTL of the forms we write, and
invariants. Everything is decided by enumerating states.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

State = tuple[int, ...]
Test = Callable[[dict[str, int]], bool]


@dataclass
class Model:
    ranges: dict[str, range] = field(default_factory=dict)
    init: dict[str, Test] = field(default_factory=dict)
    next: dict[str, Test] = field(default_factory=dict)
    specs: list[tuple[str, str]] = field(default_factory=list)

    def successors(self, state: State) -> Iterator[State]:
        values = dict(zip(self.ranges, state, strict=True))
        choices = [
            [self.next[name](values)] if name in self.next else list(span)
            for name, span in self.ranges.items()
        ]
        yield from product(*choices)

    @cached_property
    def initial(self) -> list[State]:
        free = [name for name in self.ranges if name not in self.init]
        found = []
        for chosen in product(*(self.ranges[name] for name in free)):
            values = dict(zip(free, chosen, strict=True))
            values |= {name: rule(values) for name, rule in self.init.items()}
            found.append(tuple(values[name] for name in self.ranges))
        return found


def parse(text: str) -> Model:
    model = Model()
    body = re.sub(r"--.*", "", text)
    for name, low, high in re.findall(r"(\w+) : (\d+)\.\.(\d+);", body):
        model.ranges[name] = range(int(low), int(high) + 1)
    for kind, name, right in re.findall(
        r"(init|next)\((\w+)\) :=\s*(case.*?esac|[^;]*);", body, re.S
    ):
        getattr(model, kind)[name] = _value(right)
    model.specs = re.findall(r"^(SPEC|LTLSPEC|INVARSPEC) (.*)$", body, re.M)
    return model


def _value(text: str) -> Callable[[dict[str, int]], int]:
    cases = re.findall(r"([^:;]+) : (\w+);", text.removeprefix("case").removesuffix("esac"))
    if not text.startswith("case"):
        cases = [("TRUE", text)]
    compiled = [(_code(test), _code(value)) for test, value in cases]

    def value(values: dict[str, int]) -> int:
        return next(int(eval(v, {}, values)) for test, v in compiled if eval(test, {}, values))

    return value


def _code(text: str) -> Any:
    return compile(_python(text), "smv", "eval")


def _python(text: str) -> str:
    text = text.strip().replace("TRUE", "True").replace("FALSE", "False").replace("<->", "==")
    text = re.sub(r"(?<![!<>=])=(?!=)", "==", text)
    text = re.sub(r"!(?!=)", " not ", text)
    return text.replace("&", " and ").replace("|", " or ")


def verdicts(model: Model) -> list[bool]:
    """Whether each specification holds, in their order."""
    return [_holds(model, kind, text) for kind, text in model.specs]


def _holds(model: Model, kind: str, text: str) -> bool:
    if kind == "INVARSPEC":
        return bool(eval(_python(text)))
    if kind == "LTLSPEC":
        return _ltl(model, text)
    condition, _, goal = text.rpartition("AF ")
    test = _code(goal)
    given = _code(condition.removesuffix("-> ") or "TRUE")
    for state in model.initial:
        values = dict(zip(model.ranges, state, strict=True))
        if eval(given, {}, values) and not _always_finally(model, state, test):
            return False
    return True


def _always_finally(model: Model, state: State, test: Any) -> bool:
    """The one path from a state (nothing branches in the models of paths) meets the test."""
    seen = set()
    while state not in seen:
        seen.add(state)
        if eval(test, {}, dict(zip(model.ranges, state, strict=True))):
            return True
        (state,) = model.successors(state)
    return False


LTL = re.compile(r"G \((?:\(Y (?P<y>[^)]*)\) & )?(?P<now>[^)]*?) -> X \((?P<then>.*)\)\)")


def _ltl(model: Model, text: str) -> bool:
    """G (p -> X q) and G ((Y r) & p -> X q), over every reachable step."""
    found = LTL.fullmatch(text)
    assert found, text
    before = _code(found["y"]) if found["y"] else None
    now, then = _code(found["now"]), _code(found["then"])
    waiting: list[tuple[State | None, State]] = [(None, state) for state in model.initial]
    seen = set(waiting)
    for past, state in waiting:
        values = dict(zip(model.ranges, state, strict=True))
        was = before is None or (
            past is not None and eval(before, {}, dict(zip(model.ranges, past, strict=True)))
        )
        for after in model.successors(state):
            later = dict(zip(model.ranges, after, strict=True))
            if was and eval(now, {}, values) and not eval(then, {}, later):
                return False
            step: tuple[State | None, State] = (state, after)
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return True
