"""At a mirror: items of a dead broker are carried here until it is back.

What the core does by itself when the council has decided it (`overlay.carrying`):

- the agent wants the item's topics in its own name, so that every origin sends them here;
- what comes is kept in the custody log, for whoever subscribes to one of these topics by name;
- origins send here what they still kept for the dead broker;
- a client that comes gets all that waits, in order, then messages as they come.

Clients come by their own libraries' lists of servers, and are seen as ordinary subscribers: there
is nothing to do for them. What is left is to say it: in the news, in the status and in metrics.
The core keeps what came in the first minute; who comes later gets what comes from then on.

Not even so is all of it certain (`docs/domains.md`): where a make does not tell clients apart, the
first one of a pattern that comes gets what waits, and clients that the mirror had before of the
same pattern hide those that come.
"""

import time
from typing import Any, Protocol

from ropewalk.overlay.events import GiveBack, TakeOver
from ropewalk.overlay.managing import Managing


class Tells(Protocol):
    """Who says things to people; see `news`."""

    def tell(self, what: str, about: tuple[Any, ...]) -> None:
        """Say something."""


class Takeovers:
    """Items of other brokers that this one carries."""

    def __init__(self, managing: Managing, me: str, news: Tells) -> None:
        self._managing, self._me, self._news = managing, me, news
        self.carried: dict[str, float] = {}
        """Items, and since when."""
        self.lent: dict[str, float] = {}
        """Items of this broker that others carry."""

    def take(self, action: TakeOver) -> None:
        """The council has decided that these are here."""
        for item in action.items:
            home = self._home(item)
            if home == self._me:
                self.lent.pop(item, None)
                self._news.tell("is back at its home", (item,))
            else:
                self.carried[item] = time.time()
                self._news.tell("takes over", (item, "of", home))

    def give_back(self, action: GiveBack) -> None:
        """These are elsewhere."""
        for item in action.items:
            if self._home(item) == self._me:
                self.lent[item] = time.time()
                self._news.tell("is carried by a mirror", (item,))
            elif self.carried.pop(item, None) is not None:
                self._news.tell("gives back", (item, "to", self._home(item)))

    def _home(self, item: str) -> str:
        number = self._managing.mirrors.home(item)
        return "nobody" if number is None else self._managing.moving.names.names[number]

    def status(self) -> dict[str, Any]:
        """For people who ask."""
        carrying, election = self._managing.carrying, self._managing.election
        names, master = self._managing.moving.names.names, election.master
        base = self._managing.mirrors.base
        return {
            "master": None if master is None else names[master],
            "policies": base.version if base is not None else None,
            "carries": {
                item: {
                    "of": self._home(item),
                    "since": since_s,
                    "waiting": sum(1 for _ in berth.waiting) if berth is not None else 0,
                    "clients": sorted(berth.live) if berth is not None else [],
                }
                for item, since_s in self.carried.items()
                for berth in [carrying.berths.get(item)]
            },
            "lent": self.lent,
        }
