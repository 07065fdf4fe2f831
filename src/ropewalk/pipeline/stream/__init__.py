"""Ingest, rates and audit over a trace that grows, in micro-batches of Structured Streaming.

In reading order: `sources` (where pieces of a trace come from: a folder, or `jetstream` with
`pulling`), `windows` (messages per topic and window), `closing` (the watermark, and which buckets
are judged again), `changes` (what is told of two audits), `kept` (what a stream remembers, and its
log), `step` (one micro-batch), `job` (`run`, until it is stopped).
"""
