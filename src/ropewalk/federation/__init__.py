"""The facts of a federation of brokers, and the file that states them.

In reading order: `names`, `kinds`, `limits`, `contracts` and `facts` (the records), `yaml_text`
and `slips` (text to values), `schema`, `shape`, `words` and `sense` (what can be wrong), `rest`
and `loading`, then `plain`, `dump`, `large` and `saving` (back to files), `arrays`, `places` and
`items` (integers, coordinates and what is placed as one), `generators`.
"""

from ropewalk.federation.facts import Federation
from ropewalk.federation.loading import load, loads
from ropewalk.federation.saving import save

__all__ = ["Federation", "load", "loads", "save"]
