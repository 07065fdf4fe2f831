import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ropewalk
from ropewalk.errors import UsageError
from ropewalk.pipeline.generate import generate
from ropewalk.pipeline.generate.plan import FAULTS, size_of
from ropewalk.pipeline.generate.slices import files_of, plan_of, slice_of
from ropewalk.trace.columns import COLUMNS, KINDS, written_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = 2e4


@pytest.fixture(scope="module")
def trace(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated") / "t"
    told = generate(spark, folder, events=EVENTS, faults=["all"], seed=1)
    assert told["rows"] == json.loads((folder / "truth.json").read_text())["rows"]
    return folder


@pytest.fixture(scope="module")
def rows(trace: Path) -> pd.DataFrame:
    tables = [pq.read_table(one) for one in sorted((trace / "traces").iterdir())]
    assert all(table.schema.names == written_schema().names for table in tables)
    found: pd.DataFrame = pa.concat_tables(
        table.cast(written_schema()) for table in tables
    ).to_pandas()
    return found


@pytest.fixture(scope="module")
def ledger(trace: Path) -> pd.DataFrame:
    found: pd.DataFrame = pq.read_table(trace / "ledger.parquet").to_pandas()
    return found


def test_the_folder_holds_what_an_audit_needs_and_nothing_else(trace: Path) -> None:
    assert {one.name for one in trace.iterdir()} == {
        "traces", "federation.yaml", "protocols", "ledger.parquet", "truth.json",
    }  # fmt: skip
    assert [one.name for one in sorted((trace / "traces").iterdir())] == [
        f"part-{number:05d}.parquet" for number in range(4)
    ]
    assert not [one for one in trace.parent.iterdir() if one != trace]


def test_names_are_dictionaries_and_files_are_in_time_order(trace: Path) -> None:
    for one in (trace / "traces").iterdir():
        table = pq.read_table(one)
        assert pa.types.is_dictionary(table.schema.field("topic").type)
        li = table["li"].drop_null().to_numpy()
        assert (np.diff(li) > 0).all() or np.sum(np.diff(li) <= 0) < li.size * 0.01
        assert pq.ParquetFile(one).metadata.row_group(0).column(0).compression == "ZSTD"


def test_the_federation_loads_with_its_contracts_and_protocol(trace: Path) -> None:
    federation = ropewalk.load(trace / "federation.yaml")
    found = {(one.contract.delivery, one.contract.order) for one in federation.topics.values()}
    assert found == {
        ("exactly-once", "fifo"),
        ("at-least-once", "fifo"),
        ("at-most-once", "none"),
        ("best-effort", "none"),
        ("at-least-once", "priority"),
        ("exactly-once", "total"),
        ("at-most-once", "total"),
    }
    assert any(one.contract.within_ms for one in federation.topics.values())
    assert {one.protocol for one in federation.topics.values()} == {None, "order-entry"}
    assert (trace / federation.protocols["order-entry"]).is_file()


def test_rows_are_unique_and_time_follows_the_local_index(rows: pd.DataFrame) -> None:
    told = rows.dropna(subset=["li", "ts_ns"])
    assert not told.duplicated(["node", "incarnation", "li"]).any()
    for _, some in told.sort_values("li").groupby("node"):
        assert some["ts_ns"].is_monotonic_increasing
    assert (rows["clock_err_ns"] > 0).all()


def test_numbers_of_each_stream_run_from_one_without_gaps(rows: pd.DataFrame) -> None:
    sent = rows[rows["kind"] == "publish"].dropna(subset=["li", "ts_ns", "pseq"])
    for _, some in sent.groupby(["topic", "producer"]):
        assert some.sort_values("li")["pseq"].tolist() == list(range(1, len(some) + 1))


def test_what_a_trace_holds(rows: pd.DataFrame) -> None:
    kinds = Counter(rows["kind"])
    assert set(kinds) >= {
        "advertise", "unadvertise", "subscribe", "subscribed", "unsubscribe", "unsubscribed",
        "connect", "disconnect", "publish", "accepted", "enqueue", "forward", "deliver", "ack",
        "drop", "sample",
    }  # fmt: skip
    assert 0.7 * EVENTS < len(rows) < 1.3 * EVENTS
    assert 0.97 < kinds["accepted"] / kinds["publish"] < 1
    assert rows["redelivered"].sum() > 5
    assert rows["topic"].str.contains("+", regex=False).any()


def test_faults_are_as_many_as_were_asked_for(trace: Path, ledger: pd.DataFrame) -> None:
    truth = json.loads((trace / "truth.json").read_text())
    assert truth["faults"] == dict.fromkeys(FAULTS, 3)
    codes = Counter(ledger["code"])
    assert truth["violations"] == codes
    simple = ["A001", "A002", "A003", "A004", "A005", "A006", "A007", "A010", "A011", "A012"]
    assert {code: codes[code] for code in (*simple, "A013", "Q")} == dict.fromkeys(
        [*simple, "A013", "Q"], 3
    )
    assert ledger.columns.tolist() == ["code", "topic", "producer", "pseq", "consumer", "other"]


def absent(rows: pd.DataFrame, trace: Path) -> set[tuple[Any, ...]]:
    """Messages that clients which are always there never got; nothing of windows or clocks."""
    key = ["topic", "producer", "pseq"]
    topics = ropewalk.load(trace / "federation.yaml").topics
    strong = [n for n, one in topics.items() if one.contract.delivery.endswith("-once")]
    strong = [n for n in strong if topics[n].contract.delivery != "at-most-once"]
    leaving = rows["client"][rows["kind"] == "disconnect"]
    changing = rows[rows["kind"].isin(["subscribe", "unsubscribe"])]
    changed = set(zip(changing["topic"], changing["client"], strict=True))
    subs = rows[(rows["kind"] == "subscribed") & rows["topic"].isin(strong)]
    subs = subs[~subs["client"].isin(leaving)]
    steady = [one not in changed for one in zip(subs["topic"], subs["client"], strict=True)]
    subs = subs[steady]
    taken = rows[(rows["kind"] == "accepted") & (rows["ts_ns"] < rows["ts_ns"].max() - 6e9)]
    due = taken[key].merge(subs[["topic", "client"]], on="topic")
    got = rows[rows["kind"] == "deliver"][[*key, "client"]].drop_duplicates()
    left = due.merge(got, how="left", on=[*key, "client"], indicator=True)
    found = left[left["_merge"] == "left_only"][[*key, "client"]]
    return set(found.itertuples(index=False, name=None))


def test_steady_clients_get_all_but_what_the_ledger_says(
    trace: Path, rows: pd.DataFrame, ledger: pd.DataFrame
) -> None:
    lost = ledger[ledger["code"] == "A001"][["topic", "producer", "pseq", "consumer"]]
    told = set(lost.itertuples(index=False, name=None))
    found = absent(rows, trace)
    assert found <= told
    assert found, "no fault among steady clients: the next line would prove nothing"
    assert not found <= told - {min(found)}  # a ledger with one row less is caught


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(trace: Path) -> None:
    plan = plan_of(size_of(EVENTS, faults=["all"], seed=1))
    other = plan_of(size_of(EVENTS, faults=["all"], seed=2))
    for number in (3, 1):  # each slice by itself, in any order
        path, content = files_of(plan, number, "parquet")[0]
        assert (trace / path).read_bytes() == content
        assert files_of(other, number, "parquet")[0][1] != content


def test_only_faults_that_were_asked_for_are_put_in() -> None:
    plan = plan_of(size_of(1e4, faults=["late", "fifo"], seed=3, each=2))
    made = [slice_of(plan, number) for number in range(plan.world.size.slices)]
    codes = Counter(entry.code for one in made for entry in one.entries)
    assert codes == {"A005": 2, "A010": 2}
    assert plan.entries == ()


def test_samples_follow_the_true_parameters(trace: Path, rows: pd.DataFrame) -> None:
    truth = json.loads((trace / "truth.json").read_text())["performance"]["brokers"]
    for node, some in rows[rows["kind"] == "sample"].groupby("node"):
        true = truth[node]
        expected = (
            some["messages_in"] * (true["receive_us"] + some["filters"] * true["filter_us"])
            + some["messages_out"] * true["send_us"]
        )
        assert np.median(some["cpu_us"] / expected) == pytest.approx(1, abs=0.03)
        assert (some["window_ns"] == 60e9).all()


def test_jsonl_says_the_same_with_nulls_left_out(trace: Path) -> None:
    plan = plan_of(size_of(EVENTS, faults=["all"], seed=1))
    name, packed = files_of(plan, 0, "jsonl.gz")[0]
    assert name == "traces/part-00000.jsonl.gz"
    lines = gzip.decompress(packed).decode().splitlines()
    expected = pq.read_table(trace / "traces" / "part-00000.parquet").to_pylist()
    assert [json.loads(line) for line in lines] == [
        {key: value for key, value in row.items() if value is not None} for row in expected
    ]
    assert files_of(plan, 0, "jsonl")[0][1] == gzip.decompress(packed)


def test_only_a_generated_trace_is_replaced(spark: "SparkSession", tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="something else is there"):
        generate(spark, other, events=EVENTS)
    assert (other / "letter.txt").read_text() == "dear"
    (other / "ledger.parquet").write_bytes(b"")
    told = generate(spark, other, events=5e3, faults=[], format="jsonl")
    assert told["violations"] == {}
    assert not (other / "letter.txt").exists()
    assert (other / "traces" / "part-00000.jsonl").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"faults": ["lots"]}, "no fault is called 'lots'"),
        ({"events": 10}, "events is 10"),
        ({"hours": 0.01}, "hours is 0.01"),
        ({"topics": 3}, "topics is 3"),
        ({"each": -1}, "each is -1"),
        ({"format": "csv"}, "no format is called 'csv'"),
        ({"folder": Path("/nowhere/t")}, "there is no folder"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    spark: "SparkSession", tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    given: dict[str, Any] = {"folder": tmp_path / "t", "events": EVENTS} | options
    with pytest.raises(UsageError, match=said):
        generate(spark, given.pop("folder"), **given)
    assert not list(tmp_path.iterdir())


def test_the_docs_name_every_column_kind_fault_and_reason() -> None:
    text = (Path(__file__).parents[2] / "docs" / "traces.md").read_text()
    missing = [one for one in (*COLUMNS, *KINDS, *FAULTS) if f"| `{one}` |" not in text]
    assert missing == []


def test_about_a_third_of_subscriptions_changes_inside_the_trace() -> None:
    subs = plan_of(size_of(1e6, faults=[], seed=1)).world.subscriptions
    changed = (subs.asked[:, 0] > 0) | (subs.end_asked[:, 0] < 1 << 60)
    assert 0.25 < changed.mean() < 0.36
