"""The edge: the agent process beside a real broker, and a lab of them.

Reading order: `brokers/` (one contract, an adapter for each make), `makes` (which is which),
`access`, `orders` and `tables` (what an agent is told, and what it keeps of it), `seal` and
`fragments` (words between agents), `segments`, `log_writer`, `early_log` and `custody_log` (what
survives a crash), `deliveries` (what the broker has confirmed), `waiting` (what could not be taken
yet), `roles` and `edge` (drives the core), `trace_*` and `tracing` (what happened), `samples`,
`news`, `status`, `metrics` and `web` (how it is), `process` (all of it). Then `lab/` (brokers,
agents and faults on one machine) and `drive/` (clients that check every number).
"""
