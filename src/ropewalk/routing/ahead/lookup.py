"""What an agent asks at every message: one row, that of the colour which holds now.

The row is kept as it is until the colour changes; then the old patch is taken off and the new one
laid on. So a lookup is one read, and a change of colour costs what the two patches have in
entries (Jia's two-dimensional array would be as long as all tables together).
"""

from collections import OrderedDict
from collections.abc import Iterable

from ropewalk.federation.arrays import Ints
from ropewalk.routing.ahead.broker_table import BrokerTable, Unsigned, lay, lift
from ropewalk.routing.ahead.colours import Things
from ropewalk.routing.ahead.network import Network
from ropewalk.routing.ahead.on_demand import row_after
from ropewalk.routing.trees import NOWHERE

KEPT = 64
"""Rows computed on demand that are kept."""


class Lookup:
    """One broker's next hops now.

    >>> from ropewalk import generate
    >>> from ropewalk.routing.ahead import tables_of
    >>> tables = tables_of(generate("three-broker"))
    >>> now = Lookup(tables.network, tables.broker("b1"))
    >>> now.hop(1), now.switch(tables.colours.things_of("b1--b2")), now.hop(1)
    (1, 2, 2)
    """

    def __init__(self, network: Network, table: BrokerTable) -> None:
        self._network, self._table = network, table
        self.row: Ints = table.base_row.copy()
        """Next hops by destination; -1 for nowhere."""
        self.things: Things = ()
        self._on: list[Unsigned] = []
        self._computed: OrderedDict[Things, Ints] = OrderedDict()

    @property
    def colour(self) -> int:
        """The number of the colour that holds now."""
        return self._network.colours.number(self.things)

    def hop(self, to: int) -> int:
        """Where messages for a broker go next; -1 for nowhere."""
        return int(self.row[to])

    def switch(self, things: Iterable[int]) -> int:
        """Go over to the tables with these things down; returns the colour's number.

        Raises UsageError, and changes nothing, for a thing that there is not.
        """
        wanted = tuple(sorted(set(things)))
        self._network.colours.check(wanted)
        essential = self._network.colours.essential(wanted)
        self._take_off()
        self.things = wanted
        if self._network.ahead.covers(essential, self._table.links):
            self._lay_on(essential)
        else:
            self.row[:] = self._on_demand(essential)
            self._on = []
        return self.colour

    def _take_off(self) -> None:
        before, table = self._network.colours.essential(self.things), self._table
        dead = table.dead(before)
        if not self._network.ahead.covers(before, table.links) or table.at in dead:
            self.row[:] = table.base_row
            return
        for patch in self._on:
            lift(self.row, patch, 0, len(patch), table.bits, table.base_row)
        self.row[dead] = table.base_row[dead]

    def _lay_on(self, things: Things) -> None:
        table = self._table
        self._on = [patch for patch in table.patches(things) if len(patch)]
        for patch in self._on:
            lay(self.row, patch, 0, len(patch), table.bits, table.hops)
        dead = table.dead(things)
        self.row[dead] = NOWHERE
        if table.at in dead:
            self.row[:] = NOWHERE

    def _on_demand(self, things: Things) -> Ints:
        if things in self._computed:
            self._computed.move_to_end(things)
            return self._computed[things]
        net, down = self._network.net, self._network.colours.down(things)
        row = row_after(net, self._table.links, self._table.at, down)
        self._computed[things] = row
        if len(self._computed) > KEPT:
            self._computed.popitem(last=False)
        return row
