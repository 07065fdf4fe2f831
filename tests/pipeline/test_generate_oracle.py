"""Every small generated trace is audited by brute force: the ledger holds exactly what is wrong."""

from pathlib import Path
from typing import Any

import pytest

from ropewalk.federation import load
from ropewalk.pipeline.generate.federation import write_federation
from ropewalk.pipeline.generate.ledger import BAD_ROW, table_of
from ropewalk.pipeline.generate.plan import size_of
from ropewalk.pipeline.generate.slices import Plan, plan_of, slice_of
from ropewalk.protocol.reading import load_automata
from ropewalk.trace.columns import ALWAYS, KIND, NEEDS
from tests.pipeline.oracle import audit
from tests.pipeline.small_brinks import Row

Key = tuple[Any, ...]
DEADLINE_NS = 5_000_000_000


def is_good(row: Row) -> bool:
    known = row["kind"] in KIND and all(row[name] is not None for name in ALWAYS)
    return known and all(row[name] is not None for name in NEEDS[row["kind"]])


def wrong(plan: Plan, rows: list[Row], folder: Path) -> set[Key]:
    """What brute force finds in good rows."""
    folder = folder / str(len(list(folder.iterdir())))
    folder.mkdir()
    write_federation(plan.world, folder)
    federation = load(folder / "federation.yaml")
    protocols = load_automata(federation.protocols, folder)
    good = [row for row in rows if is_good(row)]
    return audit(good, federation, deadline_ns=DEADLINE_NS, protocols=protocols)


def made(events: float, seed: int, **options: Any) -> tuple[Plan, list[Row], list[Key]]:
    plan = plan_of(size_of(events, faults=["all"], seed=seed, **options))
    slices = [slice_of(plan, number) for number in range(plan.world.size.slices)]
    rows = [row for one in slices for row in one.table.to_pylist()]
    ledger = table_of([*plan.entries, *(entry for one in slices for entry in one.entries)])
    return plan, rows, [tuple(row.values()) for row in ledger.to_pylist()]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_ledger_holds_exactly_what_is_wrong(seed: int, tmp_path: Path) -> None:
    plan, rows, ledger = made(2e4, seed)
    told = {one for one in ledger if one[0] != BAD_ROW}
    found = wrong(plan, rows, tmp_path)
    assert found - told == set()
    assert told - found == set()
    assert sum(not is_good(row) for row in rows) == sum(one[0] == BAD_ROW for one in ledger)
    assert {one[0] for one in ledger} == {BAD_ROW, *(f"A{n:03d}" for n in range(1, 14))}


def test_without_faults_nothing_is_wrong_and_a_removed_row_shows(tmp_path: Path) -> None:
    plan = plan_of(size_of(1e4, faults=[], seed=5))
    rows = [
        row
        for number in range(plan.world.size.slices)
        for row in slice_of(plan, number).table.to_pylist()
    ]
    assert wrong(plan, rows, tmp_path) == set()
    middle = len(rows) // 2
    gone = next(
        place
        for place, row in enumerate(rows)
        if place > middle and row["kind"] == "ack" and row["topic"].startswith("trades")
    )
    message = {name: rows[gone][name] for name in ("topic", "producer", "pseq", "client")}
    left = [
        row
        for row in rows
        if row["kind"] != "deliver" or any(row[name] != value for name, value in message.items())
    ]
    assert len(left) < len(rows)
    assert wrong(plan, left, tmp_path) == {("A001", *message.values(), None)}


@pytest.mark.parametrize(
    "options",
    [{"hours": 24.0}, {"brokers": 12, "hours": 2.0}, {"each": 12, "hours": 0.25}],
    ids=["a-day", "many-brokers", "many-faults"],
)
def test_the_ledger_is_right_in_other_shapes(options: dict[str, Any], tmp_path: Path) -> None:
    plan, rows, ledger = made(1.5e4, 11, **options)
    assert wrong(plan, rows, tmp_path) == {one for one in ledger if one[0] != BAD_ROW}
