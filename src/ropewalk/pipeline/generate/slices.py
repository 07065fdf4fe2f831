"""A whole trace as a plan, and one slice of it as files: all that is pure."""

import gzip
import io
import json
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.pipeline.generate.clients import away_from_edges
from ropewalk.pipeline.generate.control import Control, control_of
from ropewalk.pipeline.generate.deliveries import deliveries_of
from ropewalk.pipeline.generate.faults import INJECTORS, inject
from ropewalk.pipeline.generate.kernels import Ints
from ropewalk.pipeline.generate.ledger import Entry
from ropewalk.pipeline.generate.ledger import table_of as ledger_table
from ropewalk.pipeline.generate.messages import messages_of, span_of
from ropewalk.pipeline.generate.plan import AT_DRIVER, FAULTS, Size
from ropewalk.pipeline.generate.rates import Slices, slices_of
from ropewalk.pipeline.generate.rows import table_of
from ropewalk.pipeline.generate.scene import Scene
from ropewalk.pipeline.generate.world import World, world_of

Format = Literal["parquet", "jsonl", "jsonl.gz"]
FORMATS: tuple[Format, ...] = ("parquet", "jsonl", "jsonl.gz")


@dataclass(frozen=True, slots=True)
class Plan:
    """A trace before its rows: what every slice is made from."""

    world: World
    slices: Slices
    control: Control
    entries: tuple[Entry, ...]
    """What is wrong among control rows."""
    faults: tuple[dict[str, range], ...]
    """Which faults of each kind, by number, go into each slice."""


@dataclass(frozen=True, slots=True)
class Made:
    """A slice that was made."""

    table: pa.Table
    entries: tuple[Entry, ...]
    placed: dict[str, int]
    messages: int


def plan_of(size: Size) -> Plan:
    """The plan of a trace; the same for the same size, wherever it is made."""
    world = world_of(size)
    control, _ = control_of(world, {})
    slices = slices_of(world, control.time.size)
    world = replace(world, clients=away_from_edges(world.clients, slices.edges))
    wanted = {kind: size.each for kind in AT_DRIVER if kind in size.faults}
    control, entries = control_of(world, wanted)
    return Plan(world, slices, control, tuple(entries), _faults_by_slice(size, slices))


def slice_of(plan: Plan, number: int) -> Made:
    """One slice: its rows in time order, and what is wrong with them."""
    span = span_of(plan.slices, number)
    messages = messages_of(plan.world, plan.slices, span)
    scene = Scene(
        world=plan.world,
        slices=plan.slices,
        span=span,
        messages=messages,
        made=deliveries_of(plan.world, plan.slices, messages, span),
        subscribed=_subscribed(plan),
        rng=np.random.default_rng([plan.world.size.seed, 7, number]),
    )
    inject(scene, plan.faults[number])
    table = table_of(scene, plan.control)
    return Made(table, tuple(scene.entries), scene.placed, messages.time.size)


def files_of(plan: Plan, number: int, format: Format) -> list[tuple[str, bytes]]:
    """A slice as files: its rows, its part of the ledger and its figures."""
    made = slice_of(plan, number)
    kinds = {one["values"]: one["counts"] for one in made.table["kind"].value_counts().to_pylist()}
    figures = {
        "rows": made.table.num_rows,
        "messages": made.messages,
        "placed": made.placed,
        "kinds": kinds,
    }
    name = f"part-{number:05d}"
    return [
        (f"traces/{name}.{format}", encoded(made.table, format)),
        (f"parts/{name}.parquet", _parquet(ledger_table(made.entries))),
        (f"parts/{name}.json", json.dumps(figures, sort_keys=True).encode()),
    ]


def encoded(table: pa.Table, format: Format) -> bytes:
    """Rows as the bytes of a file."""
    if format == "parquet":
        return _parquet(table)
    lines = (
        json.dumps({name: value for name, value in row.items() if value is not None})
        for row in table.to_pylist()
    )
    text = "".join(f"{line}\n" for line in lines).encode()
    return gzip.compress(text, mtime=0) if format == "jsonl.gz" else text


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    names = [one.name for one in table.schema if pa.types.is_dictionary(one.type)]
    pq.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=1 << 19,
        use_dictionary=[*names, "clock_err_ns", "incarnation", "epoch"],
    )
    return sink.getvalue()


def _faults_by_slice(size: Size, slices: Slices) -> tuple[dict[str, range], ...]:
    """Faults spread over slices, more where there are more messages."""
    rng = np.random.default_rng([size.seed, 8])
    per_slice = np.diff(np.vstack([slices.base, slices.total]), axis=0).sum(axis=1)
    found: list[dict[str, range]] = [{} for _ in per_slice]
    for kind in sorted(FAULTS, key=lambda one: one not in ("rank", "order")):
        if kind in size.faults and kind in INJECTORS:
            counts = rng.multinomial(size.each, per_slice / per_slice.sum())
            ends = np.cumsum(counts)
            for one, begin, end in zip(found, ends - counts, ends, strict=True):
                one[kind] = range(int(begin), int(end))
    return tuple(found)


def _subscribed(plan: Plan) -> Ints:
    """Clients and topics that have to do with each other, confirmed or not."""
    routes, control, wide = plan.world.routes, plan.control, plan.world.size.topics
    asked = (control.client >= 0) & (control.topic >= 0) & (control.topic < wide)
    more = control.client[asked] * wide + control.topic[asked]
    return np.concatenate([routes.client * wide + routes.topic, more])
