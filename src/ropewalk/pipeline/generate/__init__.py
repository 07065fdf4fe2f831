"""Traces of any size with known faults, made on Spark.

`plan` (kinds of topics and faults, sizes), `world` with `clients` and `windows` (who is there),
`rates` (how much, when), `messages`, `deliveries`, `control`, `samples` (what happens),
`scene`, `faults` and `order` (what goes wrong), `rows` and `slices` (a slice as files), `ledger`
and `federation` (what an audit needs and has to find), `job` (the Spark job: `generate`).
"""

from ropewalk.pipeline.generate.job import generate

__all__ = ["generate"]
