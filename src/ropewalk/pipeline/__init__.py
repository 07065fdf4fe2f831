"""The data pipeline on Spark.

`session` (with `java`, `quick`: how Spark starts), `ingest` into a `store` (written through `sink`,
read through `batches`), then the jobs: `rates`, `calibrate`, `latencies`, `audit`, `survive`,
`tables` and `stream`; `replay` holds a placement against a trace (with `shares`); `generate` makes
traces with known faults, `show` finds rows, `folders` says where things lie, `plainly` says what
Spark means when it fails.
"""
