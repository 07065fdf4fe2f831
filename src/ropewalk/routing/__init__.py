"""Where messages go: canonical shortest-path tables, hand-made entries, failures.

Reading order: `trees` (the tree of shortest paths to a broker), `delta` (only what a failure
changes in it), `ground` and `scenarios` (what fails together), `entries` (hand-made routes),
`table` and `reading` (next hops of all pairs, computed or given), `workers` (destinations spread
over the cores), `all_pairs` (distances of all pairs, one failure at a time). Then `ahead/` (tables
of every failure, ahead of it), `rivals/` (other schemes, case by case), `mixed/` (messages while
only some brokers know of a change), `apart/` (alternate paths that lie apart on the map).
"""

from ropewalk.routing.reading import read_table
from ropewalk.routing.scenarios import Scenarios, scenarios_of
from ropewalk.routing.table import Table, shortest_paths

__all__ = ["Scenarios", "Table", "read_table", "scenarios_of", "shortest_paths"]
