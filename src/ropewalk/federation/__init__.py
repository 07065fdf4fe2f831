"""The facts of a federation of brokers, and the file that states them.

In reading order: `names` and `facts` (the records), `yaml_text` and `slips` (text to values),
`schema`, `shape`, `words` and `sense` (what can be wrong), `rest` and `loading`, then `plain`,
`dump`, `large` and `saving` (back to files), `arrays` and `places` (integers and coordinates
inside), `generators`.
"""

from ropewalk.federation.facts import Federation
from ropewalk.federation.loading import load, loads
from ropewalk.federation.saving import save

__all__ = ["Federation", "load", "loads", "save"]
