"""NuSMV models of a federation, as Jia 2014 writes them, so that anyone can check our verdicts.

`paths`: messages following the tables (5.2.3, 5.2.6), with the topics' specifications (5.4.1) and,
with failures, a colour (6.4). `clients`: clients of failing brokers (5.1).
"""

from ropewalk.verify.smv.clients import clients_model
from ropewalk.verify.smv.paths import paths_model

__all__ = ["clients_model", "paths_model"]
