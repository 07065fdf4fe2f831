"""Mixed colours: what becomes of messages while only some brokers know what has changed.

In reading order: `walking` (one message, some brokers knowing), `snapshot` (every pair and change
under given sets of brokers that know), `flights` (knowledge spreads while messages move, and
several links fail and recover).
"""

from ropewalk.routing.mixed.flights import Flight, flights
from ropewalk.routing.mixed.snapshot import Mixed, Witness, mixed

__all__ = ["Flight", "Mixed", "Witness", "flights", "mixed"]
