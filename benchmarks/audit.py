"""Audits on Spark against duckdb's queries on the same Parquet: `benchmarks/audit.py [EVENTS]`.

Each audit alone, and all of them in one job, take turns with duckdb's query for the same question,
five warm times. `scale EVENTS...` measures how time and memory grow; `cores` what a second core
brings; `laws` holds a thousand small traces against brute force. Without a word: all but `scale`,
at ten million. Traces are made once and kept in the temporary folder.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

import ropewalk
from _measure import peak_memory, report
from ropewalk.pipeline.audit import delivery, fifo, found
from ropewalk.pipeline.audit.bucket import bucket
from ropewalk.pipeline.audit.conversations import run
from ropewalk.pipeline.audit.job import Ground, audit, ground_of
from ropewalk.pipeline.audit.rows import read, starts
from ropewalk.pipeline.batches import Batches, batch, rows
from ropewalk.pipeline.calibrate.jobs import calibrate
from ropewalk.pipeline.generate import generate
from ropewalk.pipeline.ingest.job import ingest
from ropewalk.pipeline.rates.counts import merged
from ropewalk.pipeline.rates.job import rates
from ropewalk.pipeline.session import session
from ropewalk.pipeline.store import Store, open_store
from ropewalk.protocol.reading import load_automata
from ropewalk.trace.columns import KIND

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPEATS = 5
COUNT = pa.schema([("found", pa.int64())])
CACHE = Path(tempfile.gettempdir()) / "ropewalk-bench"


def prepared(spark: "SparkSession", events: float) -> tuple[Store, Any, dict[str, Any]]:
    """A generated trace in a store, kept for the next run; its federation; what that took."""
    folder = CACHE / f"{events:.0e}"
    taken: dict[str, Any] = {}
    if not (folder / "store" / "manifest.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        generate(spark, folder, events=events, faults=["all"], seed=3)
        taken["generate_s"] = round(time.perf_counter() - start, 1)
        start = time.perf_counter()
        ingest(spark, [folder / "traces"], folder / "store")
        taken["ingest_s"] = round(time.perf_counter() - start, 1)
        shutil.rmtree(folder / "traces")
    return open_store(folder / "store"), folder / "federation.yaml", taken


def setting(store: Store, federation: Path) -> tuple[Ground, dict[str, Any]]:
    described = ropewalk.load(federation)
    protocols = load_automata(described.protocols, federation.parent)
    ground = ground_of(store, described, protocols=protocols)
    return ground, {"federation": described, "protocols": protocols}


def fifo_alone(spark: "SparkSession", store: Store, ground: Ground) -> int:
    contracts = ground.contracts

    def count(files: list[bytes]) -> int:
        these = read(files, fifo.COLUMNS)
        runs = starts(these.topic)
        order = contracts.order[contracts.places(these.topic[runs[:-1]])]
        return len(fifo.judge_fifo(these, runs, order))

    return total(spark, store, count)


def loss_alone(spark: "SparkSession", store: Store, ground: Ground) -> int:
    contracts, due, deadline = ground.contracts, ground.due, ground.deadline_ns

    def count(files: list[bytes]) -> int:
        one = bucket(files, contracts, due, delivery.COLUMNS)
        lines, _, _ = delivery.judge_deliveries(
            one.rows, one.topics, one.numbers, one.due, deadline
        )
        return int((lines[:, 0] != found.LATE).sum())

    return total(spark, store, count)


def total(spark: "SparkSession", store: Store, count: Callable[[list[bytes]], int]) -> int:
    """What a function of each bucket's files counts, summed up."""

    def run(batches: Batches) -> Batches:
        for _, group in groupby(rows(batches), lambda row: row[0]):
            yield batch(COUNT, (count([content for _, content in group]),))

    counts = store.contents(spark).mapInArrow(run, "found bigint").toArrow()
    return sum(counts["found"].to_pylist())


def scan(spark: "SparkSession", store: Store) -> int:
    columns = ("topic", "kind", "client", "producer", "pseq", "ts_ns")
    frame = spark.read.parquet(*store.paths("events")).selectExpr(
        *(f"sum({one} % 1000) as {one}" for one in columns)
    )
    return int(frame.collect()[0][0])


class Rival:
    """duckdb, two threads, on the same files; due rows and contracts are tables before."""

    def __init__(self, store: Store, ground: Ground) -> None:
        self.db = duckdb.connect(config={"threads": 2})
        self.ground = ground
        due, contracts = ground.due, ground.contracts
        fields = ("topic", "client", "durable", "may_from", "may_until", "must_from", "a", "b")
        self.table("due", {name: getattr(due, name) for name in fields})
        self.table(
            "contracts",
            {"topic": contracts.topic, "promise": contracts.promise, "ord": contracts.order,
             "protocol": contracts.protocol},
        )  # fmt: skip
        files = ", ".join(f"'{path}'" for path in store.paths("events"))
        self.events = f"read_parquet([{files}])"

    def table(self, name: str, columns: dict[str, Any]) -> None:
        """Make a table of duckdb's own."""
        arrow = pa.table(columns)
        self.db.register("given", arrow)
        self.db.execute(f"create table {name} as select * from given")
        self.db.unregister("given")

    def one(self, query: str) -> int:
        """A number that a query gives; $DELIVER and such stand for kinds."""
        kinds = {f"${name.upper()}": str(number) for name, number in KIND.items()}
        for name, number in kinds.items():
            query = query.replace(name + " ", number + " ")
        query = query.replace("$EVENTS", self.events).replace("$D", str(self.ground.deadline_ns))
        return int(self.db.execute(query).fetchall()[0][0] or 0)

    def fifo(self) -> int:
        """Deliveries that the one before has a larger number than."""
        return self.one(
            """select count(*) from (
                 select pseq, lag(pseq) over (partition by topic, producer, client
                   order by node, incarnation, li) as before
                 from $EVENTS join contracts using (topic)
                 where kind = $DELIVER and not redelivered and ord = 1)
               where pseq < before"""
        )

    def loss(self) -> int:
        """Lost, duplicate, not subscribed, never published."""
        return self.one(
            """with p as (
                 select topic, producer, pseq, min(ts_ns - clock_err_ns) lo,
                   max(ts_ns + clock_err_ns) hi, bool_or(kind = $ACCEPTED ) acc
                 from $EVENTS where kind in ($PUBLISH , $ACCEPTED ) group by all),
               d as (
                 select topic, producer, pseq, client, count(*) n,
                   count(*) filter (not redelivered) u
                 from $EVENTS where kind = $DELIVER group by all),
               m as (
                 select topic, producer, pseq, client,
                   bool_or(may_from <= hi and lo <= may_until) may,
                   bool_or(acc and must_from <= lo and (durable or a <= lo)
                     and b >= greatest(a, hi) + $D) must
                 from p join due using (topic) group by all)
               select count(*) from m full join d using (topic, producer, pseq, client)
                 left join p using (topic, producer, pseq) join contracts using (topic)
               where (n is null and must and promise >= 2)
                 or (n is not null and p.lo is not null and not coalesce(may, false))
                 or (n is not null and p.lo is null)
                 or (promise = 1 and n > 1) or (promise = 3 and u > 1)"""
        )

    def rank(self) -> int:
        """Deliveries that the one before has a larger rank than."""
        return self.one(
            """select count(*) from (
                 select rank, lag(rank) over (partition by topic, client, node
                   order by incarnation, li) as before
                 from $EVENTS join contracts using (topic)
                 where kind = $DELIVER and not redelivered and ord = 3)
               where rank < before"""
        )

    def priority(self) -> int:
        """Deliveries while something more urgent waits, by running sums per level."""
        levels = self.db.execute(
            f"""select distinct priority from {self.events} join contracts using (topic)
                where kind = {KIND["enqueue"]} and ord = 2 order by 1"""
        ).fetchall()
        sums = ", ".join(
            f"""sum(case when priority <> {level} then 0 when kind = $ENQUEUE then 1 else -1 end)
                over w as n{level}"""
            for (level,) in levels
        )
        worse = " or ".join(f"(priority < {level} and n{level} > 0)" for (level,) in levels)
        return self.one(
            f"""select count(*) from (
                 select kind, priority, {sums}
                 from $EVENTS join contracts using (topic)
                 where kind in ($ENQUEUE , $DELIVER ) and not redelivered and ord = 2
                 window w as (partition by topic, client, node order by incarnation, li
                   rows unbounded preceding))
               where kind = $DELIVER and ({worse})"""
        )

    def protocol(self) -> int:
        """Sorted by duckdb, then run through the same automaton."""
        names = "conversation, ts_ns, node, incarnation, li, label"
        query = f"""select protocol::bigint, {names} from {self.events} join contracts using (topic)
            where kind = {KIND["publish"]} and conversation is not null and protocol >= 0
            order by protocol, conversation, ts_ns, node, incarnation, li"""
        columns = [np.ma.getdata(one) for one in self.db.execute(query).fetchnumpy().values()]
        tables = self.ground.tables
        of, talk, label = columns[0].astype(np.int64), columns[1], columns[-1]
        new = np.concatenate(([True], (talk[1:] != talk[:-1]) | (of[1:] != of[:-1])))
        codes = (np.cumsum(new) - 1).astype(np.int32)
        state = tables.initial[of[new]].copy()
        at = np.searchsorted(tables.label, label)
        left = np.full(len(state), -1, np.int32)
        run(codes, tables.column[at].astype(np.int16), tables.step, state, left)
        return int((left >= 0).sum())


def timed(repeats: int, calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Wall seconds of each call, in turns; the first turn warms up and does not count."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn:
                taken[name].append(time.perf_counter() - start)
        print(f"  turn {turn} of {repeats}", file=sys.stderr)
    return taken


def compare(events: float) -> dict[str, Any]:
    spark = session("local[2]")
    store, federation, taken = prepared(spark, events)
    ground, options = setting(store, federation)
    rival = Rival(store, ground)
    ours = {
        "scan": lambda: scan(spark, store),
        "fifo": lambda: fifo_alone(spark, store, ground),
        "loss": lambda: loss_alone(spark, store, ground),
        "all": lambda: audit(spark, store, **options),
    }
    theirs = {
        "duckdb_fifo": rival.fifo,
        "duckdb_loss": rival.loss,
        "duckdb_rank": rival.rank,
        "duckdb_priority": rival.priority,
        "duckdb_protocol": rival.protocol,
    }
    answers = {name: call() for name, call in {**ours, **theirs}.items() if name != "all"}
    seconds = {name: median(each) for name, each in timed(REPEATS, {**ours, **theirs}).items()}
    every = sum(seconds[name] for name in theirs)
    spark.stop()
    return {
        "rows": store.manifest.rows["events"],
        **taken,
        "answers": answers,
        "seconds": {name: round(one, 3) for name, one in seconds.items()},
        "fifo_over_duckdb": round(seconds["fifo"] / seconds["duckdb_fifo"], 2),
        "loss_over_duckdb": round(seconds["loss"] / seconds["duckdb_loss"], 2),
        "all_over_sum_of_duckdb": round(seconds["all"] / every, 2),
    }


def scale(*sizes: float) -> dict[str, Any]:
    """Time of the whole audit, sizes in turns, and memory at the largest."""
    memory = {"spark.driver.memory": "1g"}
    spark = session("local[2]", **memory)
    ready = {f"{events:.0e}": prepared(spark, events) for events in sizes}
    spark.stop()  # what making them took up is not what is measured
    spark = session("local[2]", **memory)
    calls: dict[str, Callable[[], object]] = {
        name: partial(audit, spark, store, **setting(store, federation)[1])
        for name, (store, federation, _) in ready.items()
    }
    peak: dict[str, float] = {}
    with peak_memory(peak, "gb"):
        seconds = {name: median(each) for name, each in timed(REPEATS, calls).items()}
    spark.stop()
    smallest, *_, largest = seconds.values()
    return {
        "rows": {name: store.manifest.rows["events"] for name, (store, _, _) in ready.items()},
        "made": {name: taken for name, (_, _, taken) in ready.items() if taken},
        "seconds": {name: round(one, 2) for name, one in seconds.items()},
        "largest_over_smallest": round(largest / smallest, 2),
        "peak_gb": peak["gb"],
    }


def laws(count: int) -> dict[str, Any]:
    """Small random traces through the whole pipeline against brute force."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.pipeline.audited import both_ways

    spark = session("local[2]")
    with tempfile.TemporaryDirectory() as scratch:
        found, expected, summary = both_ways(spark, range(count), Path(scratch))
    spark.stop()
    return {
        "traces": count,
        "violations": len(expected),
        "missed": len(expected - found),
        "too_many": len(found - expected),
        "rows_in_two_files": summary["quarantined"],
    }


def cores() -> dict[str, Any]:
    """What a second core brings: two million events made and taken in, ten million looked at."""
    one, two = "local[1]", "local[2]"
    taken: dict[str, dict[str, list[float]]] = {one: {}, two: {}}
    with tempfile.TemporaryDirectory() as scratch:
        for master in (one, two) * 3:  # in turns: the machine is not the same all the time
            spark = session(master)
            for name, seconds in timed(2, jobs(spark, Path(scratch))).items():
                taken[master].setdefault(name, []).extend(seconds)
            spark.stop()
    middle = {
        master: {name: round(median(each), 2) for name, each in of.items()}
        for master, of in taken.items()
    }
    speed_up = {name: round(middle[one][name] / middle[two][name], 2) for name in middle[one]}
    return {"seconds": middle, "speed_up": speed_up}


def jobs(spark: "SparkSession", scratch: Path) -> dict[str, Callable[[], object]]:
    """Every job over traces; `survive.py` has the others."""
    store, federation, _ = prepared(spark, 1e7)
    ground, options = setting(store, federation)
    made = scratch / "made"

    def taken_in() -> None:
        shutil.rmtree(scratch / "store", ignore_errors=True)
        ingest(spark, [made / "traces"], scratch / "store")

    return {
        "generate": partial(generate, spark, made, events=2e6, seed=3),
        "ingest": taken_in,
        "counts": merged(store.contents(spark), 1_000_000_000).count,
        "rates": lambda: rates(store.contents(spark), factors=4),
        "calibrate": lambda: calibrate(store.frame(spark, "samples")),
        "fifo": partial(fifo_alone, spark, store, ground),
        "loss": partial(loss_alone, spark, store, ground),
        "audit": partial(audit, spark, store, **options),
    }


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["default"]
    if what == "default":
        report("audit", at_ten_million=compare(1e7), cores=cores(), laws=laws(1000))
    elif what == "scale":
        report("audit scale", **scale(*map(float, rest or ["5e7", "1e8"])))
    elif what == "laws":
        report("audit laws", **laws(int(rest[0]) if rest else 1000))
    elif what == "cores":
        report("audit cores", **cores())
    else:
        report("audit", **compare(float(what)))
