"""Policies: what to do when brokers fail, worked out ahead (Wang 2015, 4.6).

`failures` finds where the items of failed brokers go; `cases` keeps the answers by the state of
the system, and finds the nearest where none fits.
"""

from typing import TYPE_CHECKING

from ropewalk.lazily import lazily

if TYPE_CHECKING:
    from ropewalk.placement.policies.cases import Advice, Case, CaseBase, case_base
    from ropewalk.placement.policies.failures import Policy, policies, policy, quiet

__all__ = ["Advice", "Case", "CaseBase", "Policy", "case_base", "policies", "policy", "quiet"]

__getattr__ = lazily(
    __name__,
    {
        "Advice": "cases",
        "Case": "cases",
        "CaseBase": "cases",
        "case_base": "cases",
        "Policy": "failures",
        "policies": "failures",
        "policy": "failures",
        "quiet": "failures",
    },
)
