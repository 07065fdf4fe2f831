"""Sense of the placement: items and brokers that exist, places that do not contradict."""

from collections.abc import Iterator
from dataclasses import replace

from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation
from ropewalk.federation.items import (
    brokers_for,
    candidates,
    inside_domain,
    inside_only,
    place_of,
)
from ropewalk.federation.limits import SITE_MARK
from ropewalk.federation.sense.fault import Fault, unknown
from ropewalk.federation.showing import shown
from ropewalk.federation.yaml_text import Path


def item_names(federation: Federation) -> Iterator[Fault]:
    """An item is not called like a topic outside of all items: that is an item of its own."""
    for item in federation.items:
        if item in federation.topics and item not in federation.lookup.holder:
            what, advice = "a topic in no item has its name", "rename the item, or add the topic"
            yield Fault(code="F044", path=("items", item), what=what, advice=advice)


def references(federation: Federation) -> Iterator[Fault]:
    """Items, brokers and sites that the placement names are there."""
    placement, brokers = federation.placement, federation.brokers
    for path, item in _named(federation):
        yield from _item(item, path, federation)
    for item, broker in placement.at.items():
        if broker not in brokers:
            yield unknown("broker", broker, brokers, ("placement", "at", item), "brokers")
    for item, names in placement.only.items():
        for i, name in enumerate(names):
            yield from _place(name, ("placement", "only", item, i), federation)
    for name in placement.brokers:
        if name not in brokers:
            yield unknown("broker", name, brokers, ("placement", "brokers", name), "brokers")
    for name in placement.sites:
        if name not in federation.sites:
            yield unknown("site", name, federation.sites, ("placement", "sites", name), "sites")


def _named(federation: Federation) -> Iterator[tuple[Path, str]]:
    """Every item that the placement names, and where."""
    placement = federation.placement
    for item in placement.at:
        yield ("placement", "at", item), item
    for i, item in enumerate(placement.pinned):
        yield ("placement", "pinned", i), item
    for item in placement.only:
        yield ("placement", "only", item), item
    for i, group in enumerate(placement.apart):
        for j, item in enumerate(group):
            yield ("placement", "apart", i, j), item


def _item(name: str, path: Path, federation: Federation) -> Iterator[Fault]:
    items = federation.lookup.topics
    if name in items:
        return
    if holder := federation.lookup.holder.get(name):
        what = f"topic {shown(name)} is moved with item {shown(holder)}"
        yield Fault(code="F043", path=path, what=what, advice=f"write {shown(holder)} instead")
    else:
        missing = unknown("item or topic", name, items, path, "items")
        yield replace(missing, advice="write it under items or topics, or correct the name")


def _place(name: str, path: Path, federation: Federation) -> Iterator[Fault]:
    """A broker, or a site with brokers, that an item may be on."""
    site = name.removeprefix(SITE_MARK)
    if site == name:
        if name not in federation.brokers:
            yield unknown("broker", name, federation.brokers, path, "brokers")
    elif site not in federation.sites:
        yield unknown("site", site, federation.sites, path, "sites")
    elif not federation.lookup.site[site]:
        what, advice = f"site {shown(site)} has no broker", "name brokers, or another site"
        yield Fault(code="F038", path=path, what=what, advice=advice)


def places(federation: Federation) -> Iterator[Fault]:
    """A pinned item has a place; what is placed, or limited to places, may be there."""
    placement, rooms = federation.placement, _Rooms(federation)
    for item in placement.at:
        yield from rooms.outside(item, ("placement", "at", item))
    for i, item in enumerate(placement.pinned):
        path: Path = ("placement", "pinned", i)
        if item not in federation.lookup.topics or item in placement.at:
            continue
        if place_of(federation, item) is None:
            yield from _lost(item, path, federation)
        else:
            yield from rooms.outside(item, path)
    for item in placement.only:
        if rooms.clear(item) and not brokers_for(federation, item):
            what = "none of these brokers is in the domain that its topics never leave"
            advice = "add one, or use scope: federation"
            yield Fault(code="F037", path=("placement", "only", item), what=what, advice=advice)


def _lost(item: str, path: Path, federation: Federation) -> Iterator[Fault]:
    found = candidates(federation, item)
    brought = federation.bridges and federation.lookup.topics[item]
    if not (found or brought) or not federation.brokers.keys() >= set(found):
        return  # nobody publishes it, or someone at a broker that is not there: that is told
    shows = f"it may be {_either(found)}" if found else "it has neither home nor publisher"
    what = f"it is not known where {shown(item)} is: {shows}"
    yield Fault(code="F036", path=path, what=what, advice="write its broker under placement.at")


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(map(shown, names[:2])) + (" or another" if len(names) > 2 else "")


class _Rooms:
    """Where items may be, for the check of places; what is not there is told elsewhere."""

    def __init__(self, federation: Federation) -> None:
        self.federation = federation
        domains, brokers = federation.domains.values(), federation.brokers
        members = (name for one in domains for name in (*one.gateways, *one.edges))
        self.domains_are_whole = all(name in brokers for name in members)

    def clear(self, item: str) -> bool:
        """Whether all that decides on an item's brokers is there."""
        if item not in self.federation.lookup.topics or not self.domains_are_whole:
            return False
        topics = (self.federation.topics[one] for one in self.federation.lookup.topics[item])
        attached = (broker_of(one) for topic in topics for one in topic.publishers)
        if not all(broker in self.federation.brokers for broker in attached):
            return False
        names = self.federation.placement.only.get(item, ())
        return not any(True for name in names for _ in _place(name, (), self.federation))

    def outside(self, item: str, path: Path) -> Iterator[Fault]:
        """Whether an item is where it may not be."""
        place = place_of(self.federation, item) if self.clear(item) else None
        if place not in self.federation.brokers:
            return
        at = f"{shown(item)} is at {shown(place)}"
        only = inside_only(self.federation, item)
        domain = inside_domain(self.federation, item)
        if only is not None and place not in only:
            what, advice = f"{at}, which placement.only does not allow", "correct one of the two"
            yield Fault(code="F037", path=path, what=what, advice=advice)
        elif domain is not None and place not in domain:
            what = f"{at}, outside the domain that its topics never leave"
            advice = "correct the place, or use scope: federation"
            yield Fault(code="F037", path=path, what=what, advice=advice)


def apart(federation: Federation) -> Iterator[Fault]:
    """A group to keep apart has items enough, each once, not too many, and not pinned together."""
    if not federation.placement.apart:
        return
    brokers, pinned_at = len(federation.brokers), _pinned(federation)
    for i, group in enumerate(federation.placement.apart):
        path: Path = ("placement", "apart", i)
        items = list(dict.fromkeys(group))
        if len(items) < len(group):
            again = next(j for j, item in enumerate(group) if group.index(item) < j)
            what = f"{shown(group[again])} is listed twice"
            yield Fault(code="F039", path=(*path, again), what=what, advice="keep one")
        elif len(items) < 2:
            what, advice = "it has fewer than two items", "name two or more, or remove it"
            yield Fault(code="F039", path=path, what=what, advice=advice)
        if len(items) > brokers:
            what = f"it has {len(items):,} items, more than there are brokers"
            yield Fault(code="F041", path=path, what=what, advice=f"name {brokers:,} at most")
        yield from _together(group, path, pinned_at)


def _pinned(federation: Federation) -> dict[str, str]:
    """The brokers of pinned items, as far as they are there."""
    pinned = (item for item in federation.placement.pinned if item in federation.lookup.topics)
    places = ((item, place_of(federation, item)) for item in pinned)
    return {item: place for item, place in places if place in federation.brokers}


def _together(group: tuple[str, ...], path: Path, pinned_at: dict[str, str]) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for i, item in enumerate(group):
        if item not in pinned_at:
            continue
        other = first.setdefault(pinned_at[item], item)
        if other != item:
            what = f"{shown(other)} and {shown(item)} are both pinned at {shown(pinned_at[item])}"
            advice = "unpin one, or take it out of the group"
            yield Fault(code="F042", path=(*path, i), what=what, advice=advice)
