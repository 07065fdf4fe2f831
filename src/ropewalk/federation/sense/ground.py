"""Sense of the ground: the underlay and the links' ways through it, places, risk groups."""

from collections.abc import Iterator, Mapping

from ropewalk.federation.facts import Federation, Link
from ropewalk.federation.names import is_name, link_name
from ropewalk.federation.places import attached_nodes
from ropewalk.federation.sense.fault import Fault, unknown
from ropewalk.federation.showing import shown
from ropewalk.federation.yaml_text import Path


def underlay(federation: Federation) -> Iterator[Fault]:
    """Underlay links join two known, different nodes, once."""
    nodes = federation.underlay.nodes
    seen: dict[str, int] = {}
    for i, link in enumerate(federation.underlay.links):
        path: Path = ("underlay", "links", i)
        for j, name in enumerate(link.between):
            if name not in nodes:
                at = (*path, "between", j)
                yield unknown("underlay node", name, nodes, at, "underlay.nodes")
        name = link_name(*link.between)
        if link.between[0] == link.between[1]:
            what = f"it joins {shown(link.between[0])} to itself"
            yield Fault(code="F021", path=path, what=what, advice="name two nodes")
        elif name in seen:
            what = f"{name} is underlay link {seen[name] + 1} already"
            yield Fault(code="F022", path=path, what=what, advice="keep one of the two")
        seen.setdefault(name, i)


def vias(federation: Federation) -> Iterator[Fault]:
    """A link's way through the underlay starts and ends at its brokers and follows its links."""
    ways = [(i, link) for i, link in enumerate(federation.links) if link.via]
    if not ways:
        return
    nodes = tuple(federation.underlay.nodes)
    joined = {link_name(*link.between) for link in federation.underlay.links}
    attached = {
        name: nodes[node]
        for name, node in zip(federation.brokers, attached_nodes(federation), strict=True)
        if node >= 0
    }
    for i, link in ways:
        path: Path = ("links", i, "via")
        strange = [j for j, name in enumerate(link.via) if name not in federation.underlay.nodes]
        for j in strange:
            yield unknown("underlay node", link.via[j], nodes, (*path, j), "underlay.nodes")
        if not strange and (wrong := _wrong_way(link, joined, attached)):
            yield Fault(code="F030", path=path, what=wrong[0], advice=wrong[1])


def _wrong_way(link: Link, joined: set[str], attached: dict[str, str]) -> tuple[str, str] | None:
    for a, b in zip(link.via, link.via[1:], strict=False):
        if link_name(a, b) not in joined:
            return (
                f"via goes from {shown(a)} to {shown(b)}, which no underlay link joins",
                "add it there",
            )
    for broker, node in zip(link.between, (link.via[0], link.via[-1]), strict=True):
        at = attached.get(broker, node)
        if at != node:
            what = (
                f"via ends at {shown(node)}, but broker {shown(broker)} is attached to {shown(at)}"
            )
            return what, "list the nodes from the first broker's to the second's"
    if len(set(link.via)) < len(link.via):
        return "via passes a node twice", "list each node once"
    return None


def positions(federation: Federation) -> Iterator[Fault]:
    """A place is given once, and all of a federation on the globe or all on a plane."""
    first: tuple[str, str] | None = None
    sections: list[tuple[Path, Mapping[str, object]]] = [
        (("sites",), federation.sites),
        (("brokers",), federation.brokers),
        (("underlay", "nodes"), federation.underlay.nodes),
    ]
    for section, places in sections:
        for name, place in places.items():
            given = [kind for kind in ("at", "xy") if getattr(place, kind) is not None]
            if not given:
                continue
            first = first or (name, given[0])
            if len(given) == 2:
                what, advice = "it has both at (degrees) and xy (km on a plane)", "keep one"
                yield Fault(code="F027", path=(*section, name), what=what, advice=advice)
            elif given[0] != first[1]:
                what = f"it is placed by {given[0]}, but {shown(first[0])} by {first[1]}"
                advice = "use one kind throughout"
                yield Fault(code="F027", path=(*section, name), what=what, advice=advice)
                return


def risk_groups(federation: Federation) -> Iterator[Fault]:
    """Groups have proper names; where the section is there, every group is declared in it."""
    declared = federation.risk_groups
    for path, groups in grouped(federation):
        for i, group in enumerate(groups):
            at: Path = (*path, "risk_groups", i)
            if declared and group not in declared:
                yield unknown("risk group", group, declared, at, "risk_groups")
            elif not is_name(group):
                advice = "use letters, digits and _ . @ -, without --"
                yield Fault(code="F016", path=at, what=f"{shown(group)} is no name", advice=advice)


def grouped(federation: Federation) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Everything that may be in a risk group, and the groups it is in."""
    for i, link in enumerate(federation.links):
        yield ("links", i), link.risk_groups
    for name, broker in federation.brokers.items():
        yield ("brokers", name), broker.risk_groups
    for name, node in federation.underlay.nodes.items():
        yield ("underlay", "nodes", name), node.risk_groups
    for i, cable in enumerate(federation.underlay.links):
        yield ("underlay", "links", i), cable.risk_groups
