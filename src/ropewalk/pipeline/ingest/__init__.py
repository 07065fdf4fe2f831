"""Ingest: traces as agents wrote them into a store that all other jobs read.

`reading` (files into tables), `checking` (good rows and bad ones), `naming` (names into ids),
`packing` (pieces by bucket, and files made of them), `job` (the chain on Spark).
"""
