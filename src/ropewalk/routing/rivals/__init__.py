"""The rivals of pre-calculated tables: what each recovers, how far round, and what it keeps.

In reading order: `scheme` (what a scheme is), then one file each: `lfa`, `remote` (remote LFA),
`segments` (TI-LFA), `notvia`, `layers` (RRL), `configurations` (MRC), `redundant` (MRT); `score`
(every case, one by one), `comparison` (all of it side by side), `lengths` (of paths, as figure 6-10
counts them), `outage` (how long it takes, beside OSPF), `timeline` (one failure, message by
message).
"""

from ropewalk.routing.rivals.comparison import Comparison, Row, compare

__all__ = ["Comparison", "Row", "compare"]
