"""Tables computed ahead of the failures (Jia 2014, chapter 6): a base row and a patch per colour.

Reading order: `colours` (a number for every failure), `network` (which failures are ahead),
`patches`, `sweep` and `pairs` (what one and two failures change), `gathering` (by broker),
`broker_table` and `tables` (the result), `lookup` and `on_demand` (what an agent asks),
`description` and `store` (files), `stored` (files as verification takes them), `views` (as the
thesis prints them), `editing` (changes by hand).
"""

from ropewalk.routing.ahead.colours import Colours, colours_of
from ropewalk.routing.ahead.lookup import Lookup
from ropewalk.routing.ahead.network import Network
from ropewalk.routing.ahead.tables import Tables, tables_of

__all__ = ["Colours", "Lookup", "Network", "Tables", "colours_of", "tables_of"]
