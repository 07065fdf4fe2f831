"""Nets in mist's format: what they mean, and every fault with its line."""

from pathlib import Path
from random import Random

import pytest

from ropewalk.errors import PopulationError
from ropewalk.verify.population.net import LOST
from ropewalk.verify.population.spec import load_spec, read_spec, spec_text

TEXT = """# a lock
vars
    idle lock inside   # three
rules
    idle >= 1, lock >= 1 -> idle' = idle - 1, lock' = lock - 1, inside' = inside + 1;
    inside >= 1 -> inside' = inside - 1, lock' = lock + 1, idle' = idle + 1;
init
    idle >= 1, lock = 1, inside = 0
target
    inside >= 2
    inside >= 1,
    lock >= 1
invariants
    lock = 1, inside = 1
"""


def test_a_net_is_read_with_all_its_parts() -> None:
    net = read_spec(TEXT)
    assert net.places == ("idle", "lock", "inside")
    assert [rule.needs for rule in net.rules] == [((0, 1), (1, 1)), ((2, 1),)]
    assert net.rules[1].changes == ((0, 1), (1, 1), (2, -1))
    assert (net.start, net.open) == ((1, 1, 0), frozenset({0}))
    assert net.targets == (((2, 2),), ((1, 1), (2, 1)))
    assert [rule.line for rule in net.rules] == [5, 6]


@pytest.mark.parametrize(
    ("effect", "moves", "changes"),
    [
        ("b' = b + a + 0, a' = 0", ((0, 1),), ()),
        ("b' = a + b - 1, a' = 0", ((0, 1),), ((1, -1),)),
        ("a' = 0", ((0, LOST),), ()),
        ("a' = 3", ((0, LOST),), ((0, 3),)),
        ("a' = b, b' = a", ((0, 1), (1, 0)), ()),
        ("a' = a + 1", (), ((0, 1),)),
        ("a' = a", (), ()),
        ("", (), ()),
    ],
)
def test_what_is_on_the_right_of_another_place_goes_there(
    effect: str, moves: object, changes: object
) -> None:
    text = f"vars a b c rules a >= 1 -> {effect}; init a = 1, b = 0 target b >= 1"
    net = read_spec(text)
    assert (net.rules[0].moves, net.rules[0].changes) == (moves, changes)
    assert net.open == {2}  # what init does not name may be anything
    again = read_spec(spec_text(net))
    assert (again.rules[0].moves, again.rules[0].changes) == (moves, changes)
    assert (again.start, again.open, again.targets) == (net.start, net.open, net.targets)


def test_what_a_rule_takes_has_to_be_there_even_if_it_does_not_say_so() -> None:
    net = read_spec("vars a rules -> a' = a - 2; init a in [1, 3] target a >= 4")
    assert net.rules[0].needs == ((0, 2),)
    assert (net.start, net.open) == ((3,), frozenset())


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("vars", "var", 2, "write the section 'vars'"),
        ("idle lock inside ", "idle lock idle ", 3, "'idle' is declared twice"),
        ("idle >= 1, lock", "idel >= 1, lock", 5, "no place is called 'idel'"),
        ("lock >= 1 ->", "lock = 1 ->", 5, "write >="),
        ("lock >= 1 ->", "lock >= one ->", 5, "'one' is no number"),
        ("lock >= 1 ->", "lock >= 9999999 ->", 5, "too large"),
        ("idle' = idle - 1", "idle' = idle - lock", 5, "not monotone"),
        ("idle' = idle - 1", "idle' = 2*idle", 5, "copied"),
        ("idle' = idle - 1", "idle' = lock", 5, "copied"),
        ("idle' = idle - 1", "idle' = - 1", 5, "negative"),
        ("idle' = idle - 1", "idle = idle - 1", 5, 'write "\'"'),
        ("idle - 1, lock'", "idle - 1 lock'", 5, "write ',' or ';'"),
        ("idle - 1, lock'", "idle - 1, idle'", 5, "two values"),
        ("lock = 1, inside = 0", "lock = 1, lock = 0", 8, "named twice"),
        ("lock = 1, inside = 0", "lock < 1, inside = 0", 8, "= NUMBER or >= NUMBER"),
        ("inside >= 2", "inside = 2", 10, "write >="),
        ("inside >= 2", "inside in [1, 2]", 10, "write >="),
        ("invariants", "target inside >= 1", 13, "only 'invariants'"),
        ("lock = 1, inside", "lock in [3, 1], inside", 8, "allows nothing"),
        ("lock = 1, inside", "lock = 00000000999999999999, inside", 8, "too large"),
        ("lock' = lock - 1", "lock' = lock + 900000 + 900000", 5, "too large"),
        ("inside >= 2", "inside ? 2", 10, "has no meaning here"),
    ],
)
def test_a_fault_is_told_with_its_line(old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(PopulationError) as caught:
        read_spec(TEXT.replace(old, new, 1), "lock.spec")
    [finding] = caught.value.findings
    assert finding.code == "N030"
    assert str(finding.where) == f"lock.spec:{line}"
    assert message in finding.message


@pytest.mark.parametrize("text", ["", "vars", "vars a rules init a = 1 target", "rules"])
def test_a_text_that_ends_early_is_a_fault(text: str) -> None:
    with pytest.raises(PopulationError, match="N030"):
        read_spec(text)


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(PopulationError, match="no such file"):
        load_spec(tmp_path / "none.spec")


def test_broken_files_are_read_or_refused_and_nothing_else_happens() -> None:
    rng = Random(7)
    read = 0
    for _ in range(3_000):
        text = TEXT
        for _ in range(rng.randint(1, 4)):
            at, size = rng.randrange(len(text)), rng.randint(0, 6)
            new = "".join(rng.choice("ab1>='-+,;[] \n#") for _ in range(rng.randint(0, 3)))
            text = text[:at] + new + text[at + size :]
        try:
            net = read_spec(text)
        except PopulationError as error:
            assert error.findings[0].where.line >= 0
        else:
            read += 1
            assert all(0 <= p < len(net.places) for rule in net.rules for p, _ in rule.needs)
    assert read > 50
