"""Proofs of what a configuration does, under every failure asked for.

Reading order: `demand` (who is owed what), `takeover` (clients that move), `verdicts`, `judge` and
`examine` (the kernels), `check` (destinations over the cores), `paths` and `faults` (findings with
witnesses), `flood` and `bridges` (native bridges), `reconfiguration` and `promises`, `result`
(`verify` itself), `again` (after an edit).
"""

from ropewalk.lazily import as_a_verb
from ropewalk.verify.result import Verification, verify
from ropewalk.verify.verdicts import Verdict

__all__ = ["Verdict", "Verification", "verify"]

as_a_verb(__name__, "ropewalk.verify.result")
