"""What the placement of items on brokers has to respect: places, pins, groups, limits."""

from dataclasses import dataclass, field, fields
from typing import Annotated

from pydantic import Field

from ropewalk.federation.kinds import CLOSED, Many, Name, Part, Positive, Reference, Risk

SITE_MARK = "site:"
"""Before a site's name it stands for all brokers of the site."""


# The texts are in the annotations, not below them: pydantic would lose them in the subclass.
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a broker; what is not given is not limited."""

    __pydantic_config__ = CLOSED
    risk: Annotated[
        Risk | None, Field(description="Probability that its load is above its capacity.")
    ] = None
    utilisation: Annotated[
        Part | None, Field(description="Part of its capacity that may be used; default: all.")
    ] = None
    delay_us: Annotated[
        Positive | None, Field(description="Mean time of a message in it, waiting included.")
    ] = None
    service_us: Annotated[Positive | None, Field(description="Mean work of a message.")] = None
    replication: Annotated[Positive | None, Field(description="Mean copies of a message.")] = None
    items: Annotated[Many | None, Field(description="Items on it.")] = None
    volume_bytes_s: Annotated[Positive | None, Field(description="Bytes that come in.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementLimits(Limits):
    """Limits of every broker, and of a change of places."""

    __pydantic_config__ = CLOSED
    moves: Annotated[Many | None, Field(description="Items that may change their broker.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteLimits:
    """Limits of all brokers of a site together."""

    __pydantic_config__ = CLOSED
    items: Many | None = None
    """Items on them."""
    rate_msgs_s: Positive | None = None
    """Messages that come in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What placing items respects; an item is one of `items`, or a topic that is in none."""

    __pydantic_config__ = CLOSED
    at: dict[str, Reference] = field(default_factory=dict)
    """Where items are today; default: their topics' home, else their publishers' broker."""
    pinned: tuple[Reference, ...] = ()
    """Items that stay where they are."""
    only: dict[str, Annotated[tuple[Reference, ...], Field(min_length=1)]] = field(
        default_factory=dict
    )
    """Where an item may be: brokers, or site:NAME for all brokers of a site."""
    apart: tuple[
        Annotated[
            tuple[Reference, ...],
            Field(json_schema_extra={"minItems": 2, "uniqueItems": True}),
        ],
        ...,
    ] = ()
    """Groups of items of which no two may be on one broker."""
    limits: PlacementLimits = PlacementLimits()
    """Limits of every broker."""
    brokers: dict[Name, Limits] = field(default_factory=dict)
    """Other limits of single brokers."""
    sites: dict[Name, SiteLimits] = field(default_factory=dict)
    """Limits of all brokers of a site together."""

    def limits_of(self, broker: str) -> Limits:
        """A broker's limits: its own and, where it has none, those of every broker.

        >>> every = PlacementLimits(utilisation=0.8, items=400)
        >>> one = Placement(limits=every, brokers={"lon-e1": Limits(items=40)}).limits_of("lon-e1")
        >>> one.utilisation, one.items
        (0.8, 40)
        """
        own = self.brokers.get(broker, _NONE)
        given = {one.name: getattr(own, one.name) for one in fields(Limits)}
        return Limits(
            **{
                name: getattr(self.limits, name) if limit is None else limit
                for name, limit in given.items()
            }
        )


_NONE = Limits()
