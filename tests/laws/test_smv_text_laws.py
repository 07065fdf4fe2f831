"""Models survive being written and read; tables are what their rows say; nothing ends in a traceback."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.errors import SmvError
from ropewalk.federation.generators import generate
from ropewalk.verify import verify
from ropewalk.verify.logic.folding import changed
from ropewalk.verify.logic.model import Model
from ropewalk.verify.logic.syntax import Case, Const, Expr, Lookup, Name, Op, Value, walk
from ropewalk.verify.smv import clients_model, paths_model, read_smv, smv_text, tables
from tests.laws.smv_worlds import State, random_model, states, values

FEDERATIONS = ["three-broker", "six-broker", "fifty-broker"]


def spelling(text: str) -> dict[str, str]:
    """The table of names at the top of a text; others are spelled as they are."""
    lines = [line[3:] for line in text.split("MODULE")[0].splitlines()]
    return dict(line.split(" is ", 1) for line in lines)


def renamed(model: Model, old: dict[str, str]) -> tuple[list[State], list[State]]:
    """The states of a model that was read, and the same with the names that were written."""
    found = states(model)

    def before(value: Value) -> Value:
        return old.get(value, value) if isinstance(value, str) else value

    return found, [{old.get(n, n): before(v) for n, v in one.items()} for one in found]


@given(st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_a_model_means_the_same_after_writing_and_reading(seed: int) -> None:
    model = random_model(Random(seed))
    text = smv_text(model)
    read, old = read_smv(text, "m.smv"), spelling(text)
    assert [old.get(name, name) for name in read.domains if name not in read.frozen] == [
        name for name in model.domains if name not in model.frozen
    ]
    assert {old.get(name, name) for name in read.frozen} == model.frozen
    here, there = renamed(read, old)
    chosen = Random(seed).sample(range(len(here)), min(len(here), 40))
    pairs = [(i, Random(seed + i).randrange(len(here))) for i in chosen]
    for mine, theirs in zip(expressions(model), expressions(read), strict=True):
        for i, j in pairs:
            said = values(mine, model, there[i], there[j])
            heard = values(theirs, read, here[i], here[j])
            assert said == {old.get(v, v) if isinstance(v, str) else v for v in heard}
    for spec, other in zip(model.specs, read.specs, strict=True):
        assert other.kind == spec.kind
        assert as_was(other.formula, old) == changed(spec.formula, without_weak)


def expressions(model: Model) -> list[Expr]:
    rules = [
        expr
        for part in (model.init, model.next, model.always, model.defines)
        for expr in part.values()
    ]
    pairs = [one for pair in model.compassion for one in pair]
    return [*rules, *model.starts, *model.invar, *model.trans, *model.fair, *pairs]


def as_was(formula: Expr, old: dict[str, str]) -> Expr:
    """A tree that was read, with the names that it had."""

    def change(one: Expr) -> Expr:
        if isinstance(one, Name):
            return Name(old.get(one.name, one.name))
        if isinstance(one, Const) and isinstance(one.value, str):
            return Const(old.get(one.value, one.value))
        return one

    return changed(formula, change)


def without_weak(one: Expr) -> Expr:
    if isinstance(one, Op) and one.op == "W":
        return Op("|", (Op("G", (one.args[0],)), Op("U", one.args)))
    return one


def row(random: Random, *, parentheses: bool) -> str:
    """A row that looks at some of three variables."""
    terms = [
        f"{name} in {{{', '.join(map(str, random.sample(range(5), random.randint(1, 3))))}}}"
        if random.random() < 0.2
        else f"{name} = {random.randrange(6)}"
        for name in random.sample("abc", random.randint(1, 3))
    ]
    if random.random() < 0.04:
        terms = ["a = b"]
    first = f"({terms[0]})" if parentheses else terms[0]
    return f"{' & '.join([first, *terms[1:]])} : {random.choice('012345a')};"


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_table_is_what_its_rows_say_one_after_another(seed: int) -> None:
    """In parentheses they are read as the branches that they are."""
    count, default = (
        Random(seed).randint(10, 80),
        Random(seed).choice(["TRUE : 3;", "TRUE : b;", ""]),
    )
    read = []
    for parentheses in (False, True):
        random = Random(seed)
        rows = "\n".join(row(random, parentheses=parentheses) for _ in range(count))
        text = "MODULE main VAR a : 0..5; b : 0..5; c : 0..4; ASSIGN next(a) := case "
        read.append(read_smv(f"{text}{rows} {default} esac;", "m.smv"))
    table, plain = read
    assert not any(isinstance(one, Lookup) for one in walk(plain.next["a"]))
    for now in states(plain):
        assert values(table.next["a"], table, now, now) == values(plain.next["a"], plain, now, now)


@pytest.mark.parametrize("start", range(40))
def test_a_table_over_too_many_values_is_split_where_its_rows_allow(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if a table over all three were too large: rows that look at `c`, too, go first."""
    random = Random(start)
    rows = [
        f"a = {random.randrange(6)} & b = {random.randrange(6)} : {random.randrange(6)};"
        for _ in range(60)
    ]
    special = f"c in {{0, {random.randrange(1, 5)}}} & a = {random.randrange(6)} & b = 3 : 5;"
    at = random.randrange(60)
    text = "\n".join([*rows[:at], special, *rows[at:], "TRUE : 0;"])
    head = "MODULE main VAR a : 0..5; b : 0..5; c : 0..4; ASSIGN next(a) := case "
    monkeypatch.setattr(tables, "MOST_CELLS", 100)
    split = read_smv(f"{head}{text} esac;", "m.smv")
    plain = read_smv(f"{head}{text.replace('a =', '(a) =')} esac;", "m.smv")
    assert not any(isinstance(one, Lookup) for one in walk(plain.next["a"]))
    for now in states(plain):
        assert values(split.next["a"], split, now, now) == values(plain.next["a"], plain, now, now)


@pytest.mark.parametrize("name", FEDERATIONS)
@pytest.mark.parametrize("failures", [[], ["any=1"]])
def test_our_models_of_paths_are_read(name: str, failures: list[str]) -> None:
    text = paths_model(verify(generate(name), failures=failures).check)
    model = read_smv(text, "m.smv")
    assert len(model.specs) == text.count("\nSPEC")
    moves = model.next["loc"]
    assert isinstance(moves, Case)
    assert isinstance(moves.branches[-1][1], Lookup) == (name != "three-broker" or bool(failures))


@pytest.mark.parametrize("name", FEDERATIONS)
def test_our_models_of_clients_are_read(name: str) -> None:
    text = clients_model(generate(name))
    assert len(read_smv(text, "m.smv").specs) == text.count("SPEC ")


PIECES = [
    ";",
    "case",
    "esac",
    "(",
    ")",
    "MODULE",
    "VAR",
    "next(",
    "=",
    ":",
    "--",
    "/--",
    "\x00",
    "é",
]
PIECES += [
    "99999999999999999999",
    "..",
    "[",
    "]",
    "{",
    "}",
    "SPEC",
    "AG",
    "U",
    "self",
    ".",
    '"',
    "0..9",
]


@pytest.mark.parametrize("start", range(3))
def test_a_mutant_is_a_model_or_has_faults(start: int) -> None:
    texts = [
        paths_model(verify(generate("six-broker"), failures=[]).check),
        clients_model(generate("three-broker")),
        smv_text(random_model(Random(start))),
    ]
    refused = 0
    for seed in range(start * 1000, start * 1000 + 150):
        random = Random(seed)
        text = random.choice(texts)
        for _ in range(random.randint(1, 6)):
            at, length = random.randrange(len(text)), random.choice([0, 1, 3, 20])
            text = text[:at] + random.choice(["", *PIECES]) + text[at + length :]
        try:
            assert isinstance(read_smv(text, "m.smv"), Model)
        except SmvError as error:
            refused += 1
            assert all(one.code == "Q005" and one.where.line > 0 for one in error.findings)
    assert refused > 30


@given(st.text(alphabet=st.sampled_from("aMX()[]{}:;=.,-&|!1 \n"), max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_in_a_module_is_a_model_or_has_faults(text: str) -> None:
    for head in ("MODULE main VAR a : boolean; ASSIGN ", "MODULE main SPEC ", ""):
        try:
            read_smv(head + text, "m.smv")
        except SmvError as error:
            assert error.findings
