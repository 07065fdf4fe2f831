"""NuSMV models of a federation, as Jia 2014 writes them, so that anyone can check our verdicts.

`paths`: messages following the tables (5.2.3, 5.2.6), with the topics' specifications (5.4.1) and,
with failures, a colour (6.4). `clients`: clients of failing brokers (5.1).

Any model as text: `naming` (names that NuSMV takes), `writing`. And text as a model: `scanning`
(comments and long tables), `expressions`, `sections`, `scopes` (instances of modules), `tables`,
`resolving`, `reading`.
"""

from ropewalk.verify.smv.clients import clients_model
from ropewalk.verify.smv.paths import paths_model
from ropewalk.verify.smv.reading import read_smv
from ropewalk.verify.smv.writing import smv_text

__all__ = ["clients_model", "paths_model", "read_smv", "smv_text"]
