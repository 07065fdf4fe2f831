"""Whole tables that a user gives: both forms, their failures, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ropewalk import InputError, read_table, shortest_paths
from ropewalk.federation.facts import Federation
from ropewalk.federation.generators import generate
from ropewalk.routing.table import Table
from ropewalk.verify import Verdict, verify


@pytest.fixture
def ring() -> Federation:
    return generate("ring", brokers=4)


def written(table: Table, path: Path, *, change: dict[tuple[str, str], str] | None = None) -> Path:
    rows = [(at, to, (change or {}).get((at, to), hop)) for at, to, hop in table.entries()]
    path.write_text("at,to,next\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    return path


def square(table: Table) -> Iterator[str]:
    yield ",".join(("at", *table.names))
    for at in table.names:
        yield ",".join((at, *(table.hop(at, to) or "" for to in table.names)))


def test_a_computed_table_that_is_given_back_is_the_same(ring: Federation, tmp_path: Path) -> None:
    own = shortest_paths(ring)
    given = read_table(written(own, tmp_path / "t.csv"), ring)
    assert (given.next == own.next).all()
    own.frame().to_csv(tmp_path / "frame.csv", index=False)
    assert (read_table(tmp_path / "frame.csv", ring).next == own.next).all()
    result = verify(ring, failures=[], pairs="all", table=given)
    assert (result.ok, result.summary["delivered"]) == (True, 12)


def test_the_square_form_and_parquet_are_the_same_table(ring: Federation, tmp_path: Path) -> None:
    own = shortest_paths(ring)
    (tmp_path / "square.csv").write_text("\n".join(square(own)))
    rows = list(zip(*own.entries(), strict=True))
    columns = dict(zip(("at", "to", "next"), map(list, rows), strict=True))
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    for file in ("square.csv", "t.parquet"):
        assert (read_table(tmp_path / file, ring).next == own.next).all()


def test_a_given_table_has_nothing_to_fall_back_on(ring: Federation, tmp_path: Path) -> None:
    """What the computed tables survive, a table without failures does not."""
    given = read_table(written(shortest_paths(ring), tmp_path / "t.csv"), ring)
    result = verify(ring, failures=["links=1"], pairs="all", table=given)
    assert verify(ring, failures=["links=1"], pairs="all").ok
    assert result.fates[1:, Verdict.BLACK_HOLE].min() > 0
    assert result.fates[:, Verdict.CUT].sum() == 0
    assert {one.code for one in result.findings} == {"V003"}


def test_rows_for_a_failure_hold_in_it_alone(ring: Federation, tmp_path: Path) -> None:
    """With the computed rows of every failure, the given table survives what they survive."""
    from dataclasses import replace

    lines = ["at,to,next,failure"]
    lines += [f"{at},{to},{hop}," for at, to, hop in shortest_paths(ring).entries()]
    for e, link in enumerate(ring.links):
        damaged = replace(ring, links=ring.links[:e] + ring.links[e + 1 :])
        name = "--".join(sorted(link.between))
        lines += [f"{at},{to},{hop},{name}" for at, to, hop in shortest_paths(damaged).entries()]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    given = read_table(tmp_path / "t.csv", ring)
    assert verify(ring, failures=["links=1"], pairs="all", table=given).ok


def test_a_loop_in_a_given_table_is_told_at_the_table(ring: Federation, tmp_path: Path) -> None:
    file = written(
        shortest_paths(ring), tmp_path / "t.csv", change={("b2", "b4"): "b3", ("b3", "b4"): "b2"}
    )
    result = verify(ring, failures=[], pairs="all", table=read_table(file, ring))
    assert {one.code for one in result.findings} == {"V002"}
    assert {one.where.file for one in result.findings} == {str(file)}


FAULTS = {
    "at,to\nb1,b2\n": [("T001", 1)],
    "": [("T001", 1)],
    "at\n": [("T001", 1)],
    "at,to,next,next\nb1,b2,b2,b2\n": [("T001", 1)],
    "at,to,next,colour\nb1,b2,b2,x\n": [("T001", 1)],
    "at,to,next\nb1,zz,b2\n": [("T002", 2)],
    "at,to,next\n\n\nb1,b2,b9\n": [("T002", 4)],
    "at,to,next\n01,b2,b2\n": [("T002", 2)],
    "at,b1,b2\nb1,,b2\n": [("T001", 1)],
    "at,to,next\nb1,b2,b9\nb8,b2,b1\n": [("T002", 2), ("T002", 3)],
    "at,to,next\nb1,b2,b3\n": [("T003", 2)],
    "at,to,next\nb1,b2,b2\nb1,b2,b4\n": [("T004", 3)],
    "at,to,next,failure\nb1,b2,b2,b1--b3\n": [("T002", 2)],
    "at,to,next\nb1,b2\n": [("T001", 0)],
}


@pytest.mark.parametrize("text", FAULTS)
def test_tables_with_faults_are_refused_line_by_line(
    ring: Federation, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_table(file, ring)
    assert [(one.code, one.where.line) for one in refused.value.findings] == FAULTS[text]


def test_brokers_may_be_called_by_numbers_or_addresses(tmp_path: Path) -> None:
    from ropewalk import loads

    text = "{federation: n, brokers: {'1': {address: x.y}, '2': }, links: [{between: ['1', '2']}]}"
    federation = loads(text)
    file = tmp_path / "t.csv"
    file.write_text("at,to,next\n1,2,2\n2,x.y,1\n")
    assert read_table(file, federation).next.tolist() == [[0, 0], [1, 1]]


def test_a_row_without_next_hop_drops_in_its_failure(tmp_path: Path) -> None:
    """Also where what is down is the first link or the last broker."""
    from ropewalk import loads

    federation = loads(
        "{federation: t, brokers: {a: , b: , c: },"
        " links: [{between: [a, b]}, {between: [b, c]}, {between: [a, c]}]}"
    )
    file = tmp_path / "t.csv"
    for rows in ("a,c,,a--b\n", "a,c,b,a--b\n"):
        file.write_text(f"at,to,next,failure\na,c,c,\nb,c,c,\n{rows}")
        result = verify(
            federation, failures=["a--b"], pairs="all", table=read_table(file, federation)
        )
        dropped = result.cases()
        mine = dropped[(dropped["from"] == "a") & (dropped["to"] == "c")]
        assert mine["failure"].tolist() == ["a--b"]


def test_files_that_are_no_tables_are_refused(ring: Federation, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    file.write_bytes(b"no parquet")
    with pytest.raises(InputError):
        read_table(file, ring)
    pq.write_table(pa.table({"at": [["x"]], "to": [["y"]], "next": [["z"]]}), file)
    with pytest.raises(InputError):
        read_table(file, ring)
    (tmp_path / "t.csv").write_bytes(b"at,to,next\n\xff\xfe,b,c\n")
    with pytest.raises(InputError):
        read_table(tmp_path / "t.csv", ring)
