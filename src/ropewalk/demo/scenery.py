"""What the demo is about: a federation of three sites, its traffic, and what its brokers bear.

Prices are published in Zurich and wanted in London; what power stations deliver is published there
too and wanted in Paris. Each site there has two brokers, and somebody has put what belongs together
onto one of them: shares on one, bonds on the other. So their bursts add up.
"""

from dataclasses import dataclass
from typing import Literal

Make = Literal["nats", "mosquitto"]

TOPICS = {
    "shares": ("banks", "oil", "retail", "tech"),
    "bonds": ("short", "long", "states", "firms"),
    "wind": ("north", "south", "sea"),
    "gas": ("east", "west", "reserve"),
}
HOMES = {"shares": "lon-1", "bonds": "lon-2", "wind": "par-1", "gas": "par-2"}
"""Where they are today."""
SITES = {"lon-1": "london", "lon-2": "london", "par-1": "paris", "par-2": "paris"}
RATE_MSGS_S = 24
"""Of each topic, on average."""
USED = 0.85
"""The part of its capacity that a broker may use."""
CAPACITY_MSGS_S = {"london": 180.0, "paris": 140.0, "zurich": 1000.0}
"""What is declared."""
STEP_S = 0.5

_FEDERATION = """\
federation: three-sites
sites:
  london: {at: [51.507, -0.128]}
  paris: {at: [48.857, 2.352]}
  zurich: {at: [47.377, 8.542]}
brokers:
  lon-gw: {site: london}
  lon-1: {site: london, takeover: [lon-2]}
  lon-2: {site: london, takeover: [lon-1]}
  par-1: {site: paris, takeover: [par-2]}
  par-2: {site: paris, takeover: [par-1]}
  zur-1: {site: zurich, make: %(make)s, takeover: [zur-2]}
  zur-2: {site: zurich, make: %(make)s, takeover: [zur-1]}
links:
  - {between: [zur-1, zur-2], latency_ms: 0.2}
  - {between: [zur-1, lon-gw]}
  - {between: [zur-2, par-1]}
  - {between: [zur-2, par-2]}
  - {between: [par-1, par-2], latency_ms: 0.2}
  - {between: [lon-gw, lon-1], latency_ms: 0.2}
  - {between: [lon-gw, lon-2], latency_ms: 0.2}
  - {between: [lon-1, lon-2], latency_ms: 0.2}
  - {between: [par-1, lon-1], cost: 3}
  - {between: [par-2, lon-2], cost: 3}
topics:
%(topics)s
items:
%(items)s
placement:
  at: {%(at)s}
  only:
%(only)s
  limits: {utilisation: %(used)s}
requirements: {survive: {links: 1, brokers: 1}, regions: {radius_km: 10}}
"""

_PLANTED = """\
routes:
  - {at: zur-1, to: lon-1, next: lon-gw}
  - {at: zur-1, to: lon-1, next: zur-2}   # should the first fail
  - {at: zur-2, to: lon-1, next: zur-1}
"""
"""A route that comes back: zur-2 sends to zur-1, which sends to zur-2 when its link has failed."""


@dataclass(frozen=True, slots=True)
class Scenery:
    """The files that the demo begins with."""

    make: Make
    """Of the brokers in Zurich."""
    seed: int

    @property
    def mistaken(self) -> str:
        """The federation as somebody wrote it: with a route that loops after a failure."""
        return self._federation() + _PLANTED

    @property
    def bursts(self) -> str:
        """For `lab drive --bursts`."""
        return _BURSTS % {"seed": self.seed, "step": STEP_S, "rate": RATE_MSGS_S}

    @property
    def capacities(self) -> str:
        """For `place --capacities`."""
        return _CAPACITIES + "".join(
            f"  {broker}: {{capacity: {_costs(CAPACITY_MSGS_S[site])}}}\n"
            for broker, site in brokers().items()
        )

    def _federation(self) -> str:
        names = [(group, one) for group, some in TOPICS.items() for one in some]
        return _FEDERATION % {
            "make": self.make,
            "topics": "\n".join(_topic(group, one, k) for k, (group, one) in enumerate(names)),
            "items": "\n".join(f"  {group}-{one}: [{group}/{one}]" for group, one in names),
            "at": ", ".join(f"{group}-{one}: {HOMES[group]}" for group, one in names),
            "only": "\n".join(f"    {group}-{one}: {_where(group)}" for group, one in names),
            "used": USED,
        }


def brokers() -> dict[str, str]:
    """Every broker and its site."""
    return {"lon-gw": "london", **SITES, "zur-1": "zurich", "zur-2": "zurich"}


def _topic(group: str, one: str, number: int) -> str:
    publisher = f"zur-{number % 2 + 1}"
    return f"  {group}/{one}: {{publishers: [{publisher}], subscribers: [{HOMES[group]}]}}"


def _where(group: str) -> str:
    site = SITES[HOMES[group]]
    return f"[{', '.join(broker for broker, at in SITES.items() if at == site)}]"


def _costs(capacity_msgs_s: float) -> str:
    """Of a message that one client gets: half for taking it, half for handing it out."""
    half_us = 5e5 / capacity_msgs_s
    return f"{{receive_us: {half_us:.1f}, filter_us: 0, send_us: {half_us:.1f}}}"


_BURSTS = """\
# When the market rises, so do shares, all of them, and bonds fall; when the wind blows, gas rests.
seed: %(seed)d
step_s: %(step)s
last_s: 1
groups:
  - {topics: [shares/#], rate_msgs_s: %(rate)d, factors: {market: 0.5, nerves: 0.15}, own: 0.1}
  - {topics: [bonds/#], rate_msgs_s: %(rate)d, factors: {market: -0.35, nerves: 0.35}, own: 0.1}
  - {topics: [wind/#], rate_msgs_s: %(rate)d, factors: {weather: 0.5}, own: 0.15}
  - {topics: [gas/#], rate_msgs_s: %(rate)d, factors: {weather: -0.35, frost: 0.35}, own: 0.15}
"""

_CAPACITIES = """\
# Declared, not measured: the servers of this demo bear far more than a small machine can drive, so
# these brokers are said to be small. What a message really costs them is in before/capacities.yaml.
brokers:
"""
