"""Compiles the kernels of the audit, so that nobody waits for them later.

python -m ropewalk.pipeline.audit.warm
"""

import io

import pyarrow as pa
import pyarrow.parquet as pq

from ropewalk.federation.facts import Contract, Federation, Order, Topic
from ropewalk.pipeline.audit import conversations, protocol
from ropewalk.pipeline.audit.bucket import bucket
from ropewalk.pipeline.audit.contracts import contracts_of
from ropewalk.pipeline.audit.due import due_rows
from ropewalk.pipeline.audit.judge import judge
from ropewalk.protocol.reading import automaton
from ropewalk.trace.columns import KIND, stored_schema
from ropewalk.trace.ids import id_of

PROTOCOL = "protocol: p\ninitial: a\naccepting: [a]\ntransitions:\n  - a -> a: m\n"


def main() -> None:
    """Judge a trace of a few rows, with every order that a topic may promise."""
    orders: tuple[Order, ...] = ("none", "fifo", "priority", "total")
    topics: dict[str, Topic] = {one: Topic(contract=Contract(order=one)) for one in orders}
    federation = Federation(name="warm", brokers={}, topics=topics)
    names = {id_of(name): name for name in topics}
    kinds = ("publish", "accepted", "enqueue", "deliver", "deliver", "ack")
    rows = [
        {
            "ts_ns": li,
            "clock_err_ns": 0,
            "node": 1,
            "incarnation": 0,
            "li": li,
            "kind": KIND[kind],
            "topic": topic,
            "client": 2,
            "producer": 3,
            "pseq": 1,
            "redelivered": False,
            "priority": 1,
            "rank": 1,
            "conversation": 4,
            "label": 5,
        }
        for topic in sorted(names)
        for li, kind in enumerate(kinds)
    ]
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, stored_schema("events")), file)
    due = due_rows([], {}, 0, names)
    judge(bucket([file.getvalue()], contracts_of(federation, names), due), 0)
    tables = protocol.tables_of([automaton(PROTOCOL)])
    talk = Federation(
        name="warm", brokers={}, protocols={"p": ""}, topics={"fifo": Topic(protocol="p")}
    )
    one = bucket([file.getvalue()], contracts_of(talk, names, ["p"]), due)
    nodes = protocol.nodes_of({(1, 0): 0})
    pieces = [piece for _, piece in protocol.pieces(one.rows, one.topics, 0, nodes, tables, 1)]
    conversations.judge(pieces, tables, nodes)


if __name__ == "__main__":
    main()
