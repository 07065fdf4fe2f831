"""The tables that jobs pass on: their columns, as Arrow and as Spark write them."""

import pyarrow as pa

ROW_KEY = pa.struct([("node", pa.int64()), ("incarnation", pa.int64()), ("li", pa.int64())])
"""A row of the trace: what `ropewalk trace show` finds it by."""

VIOLATIONS = pa.schema(
    [
        ("code", pa.string()),
        ("topic", pa.int64()),
        ("producer", pa.int64()),
        ("pseq", pa.int64()),
        ("consumer", pa.int64()),
        ("other", pa.int64()),
        ("amount", pa.int64()),
        ("evidence", pa.list_(ROW_KEY)),
    ]
)
"""A violation. `other` is the second consumer (A008), the subscription (A011), the node (A012) or
the conversation (A013); `amount` how many (extra deliveries, messages of a cycle) or how much (ns
late)."""

VIOLATION_KEY = ("code", "topic", "producer", "pseq", "consumer", "other")
"""No two violations of an audit have the same; what does not apply is null."""
