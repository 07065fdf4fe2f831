"""NATS: `codec` (its protocol as bytes), `connection`, `interest`, `monitoring`, `local`, `lane`.

An own codec, because it is three to seven times faster than nats-py where every message passes:
whole reads are parsed at once, and whatever is written in one turn of the loop leaves together.
"""

from ropewalk.agent.brokers.nats.lane import NatsLane
from ropewalk.agent.brokers.nats.local import NatsLocal

__all__ = ["NatsLane", "NatsLocal"]
