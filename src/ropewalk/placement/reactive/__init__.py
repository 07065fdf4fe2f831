"""Reactive load balancing: see that a broker is overloaded, choose what moves, and move it.

Reading order: `watching` (a figure against two marks), `detector` (one broker), `balance` (a
domain); `books` (what a move changes), `exact` and `greedy` (two searches), `offload` (the choice
and the reasons); `session` (the words of a session), `arrows` (its table) and `mediation` (the
machine of each side). All of it is pure: time is passed in, actions come out.
"""

from typing import TYPE_CHECKING

from ropewalk.lazily import lazily

if TYPE_CHECKING:
    from ropewalk.placement.reactive.balance import Balance, Balanced, balance_step
    from ropewalk.placement.reactive.books import (
        Books,
        Station,
        Subscription,
        TopicLoad,
        books_of,
        loads_after,
    )
    from ropewalk.placement.reactive.detector import Detector, Reading, Watched, store_share
    from ropewalk.placement.reactive.detector import step as detector_step
    from ropewalk.placement.reactive.mediation import Mediator, Patience
    from ropewalk.placement.reactive.mediation import step as mediation_step
    from ropewalk.placement.reactive.offload import Offload, Rejection, relieve
    from ropewalk.placement.reactive.watching import Watch

__all__ = [
    "Balance",
    "Balanced",
    "Books",
    "Detector",
    "Mediator",
    "Offload",
    "Patience",
    "Reading",
    "Rejection",
    "Station",
    "Subscription",
    "TopicLoad",
    "Watch",
    "Watched",
    "balance_step",
    "books_of",
    "detector_step",
    "loads_after",
    "mediation_step",
    "relieve",
    "store_share",
]

__getattr__ = lazily(
    __name__,
    {
        "Balance": "balance",
        "Balanced": "balance",
        "balance_step": "balance",
        "Books": "books",
        "Station": "books",
        "Subscription": "books",
        "TopicLoad": "books",
        "books_of": "books",
        "loads_after": "books",
        "Detector": "detector",
        "Reading": "detector",
        "Watched": "detector",
        "store_share": "detector",
        "detector_step": "detector:step",
        "Mediator": "mediation",
        "Patience": "mediation",
        "mediation_step": "mediation:step",
        "Offload": "offload",
        "Rejection": "offload",
        "relieve": "offload",
        "Watch": "watching",
    },
)
