"""Statistics are read from a folder of rates or from CSV files; what is wrong is told in a line."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates import load_stats
from ropewalk.pipeline.rates.grid import Reals, grid_of
from ropewalk.pipeline.rates.job import RATES_FILES

NAMES = ("b/two", "a/one", "c/three")
IDS = np.array([20, -7, 3])
WINDOW_S = 2.0
FIRST = 100


def counts() -> Reals:
    """Windows x topics, those of IDS, with windows that nobody has messages in."""
    rng = np.random.default_rng(5)
    there = (rng.random((30, 1)) < 0.7).astype(np.float64)
    return rng.poisson([4.0, 1.5, 0.5], (30, 3)) * there


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as the rates job leaves it."""
    folder = tmp_path / "rates"
    folder.mkdir()
    made = counts()
    windows, topics = np.nonzero(made)
    grid = grid_of(IDS[topics], windows + FIRST, made[windows, topics].astype(np.int64), len(made))
    order = [IDS.tolist().index(topic) for topic in grid.topics]
    matrix = np.cov(made[:, order], rowvar=False)
    np.save(folder / "topics.npy", grid.topics)
    np.save(folder / "mean.npy", grid.mean)
    np.save(folder / "covariance.npy", matrix)
    np.save(folder / "loadings.npy", np.full((3, 1), 0.1))
    np.save(folder / "own.npy", matrix.diagonal() - 0.01)
    np.savez_compressed(
        folder / "counts.npz",
        starts=grid.starts,
        columns=grid.columns,
        counts=grid.counts,
        at=grid.at,
        ranges=[[FIRST, FIRST + 10], [FIRST + 10, FIRST + 30]],
    )
    write_json(folder, {"window_s": WINDOW_S, "windows": 30})
    write_topics(folder, {})
    return folder


def write_json(folder: Path, said: object) -> None:
    (folder / "rates.json").write_text(json.dumps(said))


def write_topics(folder: Path, other: dict[str, Any], without: str = "") -> None:
    columns = {
        "topic": IDS,
        "name": NAMES,
        "messages": [120, 40, 10],
        "deliveries": [360, 40, 0],
        "clients": [3, 1, 0],
        "bytes": [1200, 800, 0],
        **other,
    }
    columns.pop(without, None)
    pq.write_table(pa.table(columns), folder / "topics.parquet")


def refused(path: Path) -> str:
    with pytest.raises(UsageError) as raised:
        load_stats(path)
    text = str(raised.value)
    assert "\n" not in text
    return text


def test_a_saved_folder_is_read_in_messages_per_second(folder: Path) -> None:
    stats = load_stats(folder)
    made = counts()[:, [NAMES.index(name) for name in stats.names]] / WINDOW_S
    assert np.allclose(stats.mean_msgs_s, made.mean(0))
    assert np.allclose(stats.dense(), np.cov(made, rowvar=False))
    assert np.allclose(stats.variance, made.var(0, ddof=1))
    assert np.allclose(stats.block(slice(0, 2), [2]), stats.dense()[:2, [2]])
    assert stats.dense(precision="float32").dtype == np.float32
    assert isinstance(stats.stored, np.memmap)
    at = stats.place(NAMES)
    assert stats.replication[at].tolist() == [3, 1, 0]
    assert stats.filters[at].tolist() == [3, 1, 0]
    assert stats.message_bytes[at].tolist() == [10, 20, 0]
    assert stats.counts is not None
    assert stats.counts.windows == stats.windows == 30
    assert set(stats.counts.at - FIRST) == set(np.flatnonzero(counts().any(1)))


def test_spark_is_not_needed(folder: Path) -> None:
    code = (
        "import sys; from ropewalk.pipeline.rates import load_stats; load_stats(sys.argv[1]);"
        "sys.exit(any(name.startswith('pyspark') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code, folder], check=False).returncode == 0


@pytest.mark.parametrize("name", RATES_FILES)
@pytest.mark.parametrize("harm", ["missing", "empty", "cut", "noise", "folder", "text"])
def test_a_damaged_file_is_named(folder: Path, name: str, harm: str) -> None:
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if harm == "folder":
        path.mkdir()
    elif harm != "missing":
        noise = np.random.default_rng(1).bytes(len(content))
        made = {"empty": b"", "cut": content[: len(content) * 2 // 3], "noise": noise}
        path.write_bytes(made.get(harm, b"\xff\xfe nothing of the kind \n"))
    text = refused(folder)
    assert text.startswith(f"{path}: ")
    assert text.endswith("run `ropewalk pipeline rates` again")


@pytest.mark.parametrize("name", [name for name in RATES_FILES if name.endswith((".npy", ".npz"))])
def test_a_file_that_is_cut_anywhere_or_has_one_wrong_byte_gives_no_traceback(
    folder: Path, name: str
) -> None:
    path = folder / name
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        for harmed in (content[:at], content[:at] + b"\xa5" + content[at + 1 :]):
            path.write_bytes(harmed)
            try:  # a wrong byte may leave a number that can be
                load_stats(folder)
            except UsageError as error:
                assert str(path) in str(error) or name in ("topics.npy", "mean.npy")


@pytest.mark.parametrize("name", ["mean.npy", "covariance.npy", "counts.npz"])
def test_objects_are_never_loaded(folder: Path, name: str) -> None:
    harmful = np.array([print, None], object)
    if name.endswith("z"):
        np.savez(folder / name, starts=harmful)
    else:
        np.save(folder / name, harmful, allow_pickle=True)
    assert "cannot be read" in refused(folder)
    (folder / name).write_bytes(pickle.dumps(print))
    assert "cannot be read" in refused(folder)


def matrix_with(row: int, column: int, value: float) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        matrix = np.load(folder / "covariance.npy")
        matrix[row, column] = value
        np.save(folder / "covariance.npy", matrix)

    return change


def saved(name: str, values: object) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / name, np.array(values))


def counts_with(**other: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        with np.load(folder / "counts.npz") as kept:
            np.savez(folder / "counts.npz", **{**kept, **other})

    return change


WRONG: list[tuple[Callable[[Path], None], tuple[str, ...]]] = [
    (matrix_with(0, 2, 5.5), ("covariance.npy", "not symmetric: b/two with c/three is 5.5")),
    (matrix_with(1, 2, np.nan), ("covariance.npy", "topic a/one", "with c/three is nan")),
    (matrix_with(2, 2, np.inf), ("covariance.npy", "topic c/three", "is inf")),
    (matrix_with(1, 1, -0.5), ("covariance.npy", "a/one: its variance, -0.5, is negative")),
    (saved("covariance.npy", np.eye(4)), ("covariance.npy: has 4 x 4 numbers, not 3 x 3",)),
    (saved("covariance.npy", np.ones(9)), ("covariance.npy: has 1 dimensions, not 2",)),
    (saved("covariance.npy", np.eye(3, dtype=complex)), ("covariance.npy: does not hold",)),
    (saved("mean.npy", [1.0, 2.0]), ("mean.npy: has 2 numbers, not 3",)),
    (saved("mean.npy", [1.0, -2.0, 0.0]), ("mean.npy: topic a/one: its mean rate, -2, is neg",)),
    (saved("mean.npy", [1.0, 2.0, np.nan]), ("mean.npy: topic c/three", "no number")),
    (saved("mean.npy", [1.0, 2.0, 3.0]), ("counts.npz: other messages than in mean.npy",)),
    (saved("own.npy", [1.0, -2.0, 0.0]), ("own.npy: topic a/one: its own variance",)),
    (saved("own.npy", [1.0]), ("own.npy: has 1 numbers",)),
    (saved("loadings.npy", np.ones((2, 1))), ("loadings.npy: has 2 x 1 numbers, not 3 x 1",)),
    (saved("loadings.npy", np.full((3, 1), np.nan)), ("loadings.npy: topic b/two",)),
    (saved("topics.npy", [20, -7, 4]), ("topics.parquet: topic 4 of topics.npy is missing",)),
    (saved("topics.npy", [20, -7, 21]), ("topics.parquet: topic 21 of topics.npy is missing",)),
    (saved("topics.npy", [20, -7, -7]), ("topics.parquet: topic a/one is there twice",)),
    (saved("topics.npy", np.empty(0, int)), ("topics.parquet: has no topic",)),
    (lambda at: write_json(at, {"windows": 30}), ("rates.json: window_s", "is missing")),
    (lambda at: write_json(at, {"window_s": 0, "windows": 30}), ("rates.json: window_s", "is 0")),
    (lambda at: write_json(at, {"window_s": "1", "windows": 30}), ("rates.json: window_s", "'1'")),
    (lambda at: write_json(at, {"window_s": 1.0}), ("rates.json: windows", "is missing")),
    (lambda at: write_json(at, {"window_s": 1.0, "windows": 1}), ("rates.json: windows", "is 1")),
    (lambda at: write_json(at, {"window_s": 2.0, "windows": 9}), ("counts.npz: 30 windows were",)),
    (lambda at: write_json(at, [1]), ("rates.json: does not say what was counted",)),
    (lambda at: write_topics(at, {}, without="name"), ("topics.parquet", "no column name")),
    (lambda at: write_topics(at, {"bytes": ["x"] * 3}), ("topics.parquet: cannot be read",)),
    (lambda at: write_topics(at, {"clients": [1, None, 1]}), ("topics.parquet: column clients",)),
    (lambda at: write_topics(at, {"clients": [1, -1, 1]}), ("topic a/one: its clients, -1",)),
    (lambda at: write_topics(at, {"name": ["x", "x", "y"]}), ("topic x is there twice",)),
    (counts_with(at=np.arange(3)), ("counts.npz: lists have other lengths",)),
    (counts_with(at=np.zeros((2, 2), int)), ("counts.npz: lists have other shapes",)),
    (counts_with(ranges=np.array([[0, 30]])), ("counts.npz: a row is of a window that was not",)),
    (counts_with(starts=np.array([0.5])), ("counts.npz: holds other things than whole numbers",)),
]


@pytest.mark.parametrize(("change", "told"), WRONG, ids=[told[0] for _, told in WRONG])
def test_what_makes_no_sense_is_told_with_the_topic(
    folder: Path, change: Callable[[Path], None], told: tuple[str, ...]
) -> None:
    load_stats(folder)  # a control: it is the change that is refused
    change(folder)
    text = refused(folder)
    assert [part for part in told if part not in text] == [], text
    assert text.endswith("run `ropewalk pipeline rates` again")


def test_both_values_of_an_unequal_pair_are_told_beyond_the_first_block(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropewalk.pipeline.rates.stats.checks.ROWS", 1)
    load_stats(folder)
    matrix_with(2, 1, 7.25)(folder)
    kept = np.load(folder / "covariance.npy")[1, 2]
    told = f"a/one with c/three is {kept:.9g}, c/three with a/one is 7.25"
    assert told in refused(folder)


def test_folders_that_hold_no_rates_are_told_apart(folder: Path, tmp_path: Path) -> None:
    assert "there is no such folder" in refused(tmp_path / "none")
    assert f"name {folder}" in refused(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    assert "is no folder of rates" in refused(other)


MEANS = "topic,mean_msgs_s,replication,filters,bytes\na,5,2,3,100\nb,1.5,1,1,10\n"
COVARIANCE = "topic,b,a\na,-1,4\nb,2,-1\n"


def write(folder: Path, means: str | None = MEANS, covariance: str | None = COVARIANCE) -> Path:
    for name, text in (("means.csv", means), ("covariance.csv", covariance)):
        if text is not None:
            (folder / name).write_text(text)
    return folder


def test_tables_made_by_hand_are_statistics(tmp_path: Path) -> None:
    for given in (write(tmp_path), tmp_path / "means.csv"):
        stats = load_stats(given)
        assert stats.names == ("a", "b")
        assert stats.mean_msgs_s.tolist() == [5, 1.5]
        assert stats.dense().tolist() == [[4, -1], [-1, 2]]
        assert (stats.replication.tolist(), stats.filters.tolist()) == ([2, 1], [3, 1])
        assert stats.message_bytes.tolist() == [100, 10]
        assert (stats.window_s, stats.windows, stats.counts, stats.own) == (None,) * 4
    (tmp_path / "covariance.csv").rename(tmp_path / "c.csv")
    assert load_stats(tmp_path / "means.csv", tmp_path / "c.csv").variance.tolist() == [4, 2]


def test_columns_may_be_left_out_and_names_quoted(tmp_path: Path) -> None:
    means = '\ufefftopic,mean_msgs_s\n\n"x, ""y""",1e3\r\n'
    stats = load_stats(write(tmp_path, means, '"","x, ""y"""\n"x, ""y""",0.5\n'))
    assert stats.names == ('x, "y"',)
    assert (stats.replication[0], stats.filters[0], stats.message_bytes[0]) == (1, 1, 0)


BAD_MEANS = [
    (None, "means.csv: is missing"),
    ("", "means.csv: is empty"),
    ("topic,mean_msgs_s\n", "means.csv: has no topic"),
    ("topic,rate\na,5\n", "means.csv:1: there is no column mean_msgs_s"),
    ("topic,mean_msgs_s,x\na,5,1\n", "means.csv:1: column 'x' is not known"),
    ("topic,mean_msgs_s,mean_msgs_s\na,5,1\n", "means.csv:1: column mean_msgs_s is there twice"),
    ("topic,mean_msgs_s\na,5\nb,\n", "means.csv:3: topic b has no rate"),
    ("topic,mean_msgs_s\na,5\nb\n", "means.csv:3: has 1 cells, the first line 2"),
    ("topic,mean_msgs_s\na,5\n\na,6\n", "means.csv:4: topic a is in line 2 already"),
    ("topic,mean_msgs_s\na,five\n", "means.csv:2: mean_msgs_s of a is 'five', no number"),
    ("topic,mean_msgs_s\na,1_0\n", "means.csv:2: mean_msgs_s of a is '1_0', no number"),
    ("topic,mean_msgs_s\na,nan\n", "means.csv:2: mean_msgs_s of a is 'nan', no number"),
    ("topic,mean_msgs_s\na,-5\n", "means.csv:2: mean_msgs_s of a, -5, is negative"),
    ("topic,mean_msgs_s\n,5\n", "means.csv:2: a topic without a name"),
    ("topic,mean_msgs_s\na,5\n", "covariance.csv:1: topic b has no rate: add it to the file of"),
    (MEANS + "c,1,1,1,1\n", "means.csv:4: topic c has no row and no column in"),
    (MEANS + '"c,1\n', "means.csv:4: unexpected end of data"),
]
BAD_COVARIANCE = [
    (None, "covariance.csv: is missing"),
    ("", "covariance.csv: is empty"),
    ("topic,a,a\n", "covariance.csv:1: topic a has two columns"),
    ("topic,a\nb,1\n", "covariance.csv:2: topic b has a row and no column"),
    ("topic,a,b\na,1,2\nz,1,2\n", "covariance.csv:3: topic z has no rate"),
    ("topic,a,b\na,1,0\na,1,0\n", "covariance.csv:3: topic a is in line 2 already"),
    ("topic,a,b\na,1,0\n", "means.csv:3: topic b has no row in"),
    ("topic,a,b\na,1\n", "covariance.csv:2: has 2 cells, the first line 3"),
    ("topic,a,b\na,1,x\n", "covariance.csv:2: a with b is 'x', no number"),
    ("topic,a,b\na,1,inf\n", "covariance.csv:2: a with b is 'inf', no number"),
    ("topic,b,a\nb,1,0.5\na,0.25,1\n", "covariance.csv:3: not symmetric: a with b is 0.25, b with"),
    ("topic,a,b\na,1,0\nb,0,-1\n", "covariance.csv:3: topic b: its variance, -1, is negative"),
]


@pytest.mark.parametrize(("text", "told"), BAD_MEANS, ids=[told for _, told in BAD_MEANS])
def test_a_file_of_means_with_a_fault_is_told_with_its_line(
    tmp_path: Path, text: str | None, told: str
) -> None:
    assert f"{tmp_path}/{told}" in refused(write(tmp_path, text))


@pytest.mark.parametrize(("text", "told"), BAD_COVARIANCE, ids=[told for _, told in BAD_COVARIANCE])
def test_a_covariance_with_a_fault_is_told_with_its_line(
    tmp_path: Path, text: str | None, told: str
) -> None:
    assert f"{tmp_path}/{told}" in refused(write(tmp_path, covariance=text))


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "means.csv").write_bytes(b"topic,mean_msgs_s\n\xff\xfe,1\n")
    assert "means.csv: cannot be read" in refused(tmp_path)
