"""The papers' own models, as far as their texts give them.

What a text leaves open is filled in here and said so; `docs/papers.md` lists it.
"""

from ropewalk.federation.facts import (
    Broker,
    Client,
    Federation,
    Link,
    Route,
    Takeover,
    Topic,
    Underlay,
    UnderlayLink,
    UnderlayNode,
)


def three_broker() -> Federation:
    """Jia 2014, 5.1 and figure 6-1: a triangle, each broker taken over by the next.

    Every broker has one publisher and one subscriber of a topic of its own: p1 and s1 at broker 1.
    """
    return Federation(
        name="three-broker",
        brokers={f"b{i}": Broker(takeover=_both(f"b{i % 3 + 1}")) for i in (1, 2, 3)},
        links=_links("1-2 1-3 2-3"),
        topics={
            f"topic{i}": Topic(
                publishers=(Client(broker=f"b{i}", client=f"p{i}"),),
                subscribers=(Client(broker=f"b{i}", client=f"s{i}"),),
            )
            for i in (1, 2, 3)
        },
    )


SIX_BROKER_ADDRESSES = ("2.0.0.1", "2.0.1.1", "2.0.0.2", "1.0.1.2", "1.0.0.1", "1.0.0.2")

TABLE_5_1 = (
    ("2.0.0.*", "*", "*", "2.0.1.1"),
    ("2.0.1.1", "2.0.*.*", "1.0.*.*", "1.0.1.2"),
    ("1.0.1.2", "2.0.*.*", "1.0.*.*", "*"),
    ("2.0.1.1", "2.0.*.*", "2.0.*.*", "*"),
    ("1.0.0.*", "*", "*", "1.0.1.2"),
    ("1.0.1.2", "1.0.*.*", "2.0.*.*", "2.0.1.1"),
    ("2.0.1.1", "1.0.*.*", "2.0.*.*", "*"),
    ("1.0.1.2", "1.0.0.*", "1.0.*.*", "*"),
)
"""Location, source, destination, next location; `*` as the last: straight to the destination."""

TABLE_5_3 = (
    ("2.0.0.2", "*", "*", "2.0.1.1"),
    *TABLE_5_1[1:3],
    ("2.0.1.1", "2.0.1.1", "2.0.0.2", "2.0.0.2"),
    *TABLE_5_1[4:],
)


def six_broker() -> Federation:
    """Jia 2014, 5.2: two stars joined at brokers 2 and 4, with the tables 5-1 to 5-4.

    Table 5-1 holds while nothing has failed, table 5-3 when broker 1 has; then its publisher
    moves to broker 2 and its subscriber to broker 3, which turns table 5-2 into 5-4.
    """
    brokers = {
        f"b{i}": Broker(address=address) for i, address in enumerate(SIX_BROKER_ADDRESSES, start=1)
    }
    brokers["b1"] = Broker(
        address=SIX_BROKER_ADDRESSES[0],
        takeover=Takeover(publishers=("b2",), subscribers=("b3",)),
    )
    return Federation(
        name="six-broker",
        brokers=brokers,
        links=_links("1-2 2-3 2-4 4-5 4-6"),
        topics={
            "A": Topic(publishers=("b1",), subscribers=("b2", "b5")),
            "B": Topic(publishers=("b3",), subscribers=("b4",)),
            "C": Topic(publishers=("b5",), subscribers=("b1", "b6")),
            "D": Topic(publishers=("b6",), subscribers=("b3",)),
        },
        routes=(*_routes(TABLE_5_1, "none"), *_routes(TABLE_5_3, "b1")),
    )


FIFTY_BROKER_LINKS = """
    1-11 1-16 2-11 2-16 2-18 3-11 3-16 11-19 11-26 16-17 16-31 13-17 17-18 12-14 13-14
    4-18 18-20 4-5 5-15 13-15 4-6 6-20 10-14 10-31 31-45 31-46 19-45 26-46 45-47 46-47 45-48 47-48
    46-49 48-49 47-50 49-50 8-45 8-9 8-12 9-46 7-19 19-21 19-22 7-21 21-23 22-24 23-24 24-25 7-25
    26-27 26-28 26-32 27-29 28-30 29-30 25-30 32-33 32-34 33-35 34-36 35-36 35-37 36-38 37-38 37-39
    38-40 39-40 39-41 40-42 41-42 41-43 42-44 43-44 27-33 29-44
"""
"""The first line is what the text states; the other links are ours, so that every next hop of
table 5-7 lies on a shortest path and no single failure cuts the graph."""


def fifty_broker() -> Federation:
    """Jia 2014, 5.2.5 to 5.3.3: fifty brokers with every neighbour and topic the text names.

    The figure is not in the text. Table 5-6 gives broker 2 the neighbours 11 and 18; table 5-7
    and section 5.3.3 also use its link to 16, so it is there.
    """
    return Federation(
        name="fifty-broker",
        brokers={f"b{i}": Broker() for i in range(1, 51)},
        links=_links(FIFTY_BROKER_LINKS),
        topics={
            "weather": Topic(publishers=("b1",), subscribers=("b2", "b13")),
            "films": Topic(publishers=("b1",), subscribers=("b50",)),
            "sports": Topic(publishers=("b2",), subscribers=("b3",)),
            "music": Topic(publishers=("b3",), subscribers=("b1",)),
            "stock": Topic(publishers=("b44",), subscribers=("b2",)),
        },
    )


GAP_NODES = {
    "s": (1.0, 1.0),
    "t": (9.0, 9.0),
    "n1": (3.0, 3.0),
    "n2": (2.0, 7.0),
    "n3": (3.0, 2.0),
    "n4": (4.0, 3.0),
    "n5": (9.0, 1.0),
    "n6": (2.5, 9.0),
}
GAP_LINKS = "s-n1 n1-t s-n2 n2-t s-n5 n5-t s-n3 n3-n4 n4-t n2-n6 n6-t n4-n5"
"""The text gives the three paths s-1-t, s-2-t, s-5-t and the sum of all weights, 66.083829. Of
all sets of further links between the eight nodes exactly one gives that sum."""


def gap_validation() -> Federation:
    """Wang 2015, 5.4.2 and appendix 6.3: the eight-node graph in a 10 x 10 plane.

    Nodes 1 and 3 are underlay only; the others carry brokers. The overlay has one link, between
    s and t, over the primary path s-1-t.
    """
    return Federation(
        name="gap-validation",
        brokers={
            name: Broker(node=name, xy=GAP_NODES[name])
            for name in GAP_NODES
            if name not in ("n1", "n3")
        },
        links=(Link(between=("s", "t"), via=("s", "n1", "t")),),
        underlay=Underlay(
            nodes={name: UnderlayNode(xy=xy) for name, xy in GAP_NODES.items()},
            links=tuple(UnderlayLink(between=(a, b)) for a, b in _pairs(GAP_LINKS)),
        ),
    )


def six_node() -> Federation:
    """Jia 2014, 6.3.2: the six nodes of the comparison with OSPF.

    The text gives the path 1-2-3 and, with link 2-3 down, 1-2-6-5-3. Node 4 and its two links are
    ours: with seven links, an input and an output queue per direction, the source's queue is
    number 29, as the text has it.
    """
    return Federation(
        name="six-node",
        brokers={f"b{i}": Broker() for i in range(1, 7)},
        links=_links("1-2 2-3 2-6 5-6 3-5 3-4 4-5"),
        topics={"data": Topic(publishers=("b1",), subscribers=("b3",))},
    )


def _both(broker: str) -> Takeover:
    return Takeover(publishers=(broker,), subscribers=(broker,))


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(a, b) for a, _, b in (pair.partition("-") for pair in text.split())]


def _links(text: str) -> tuple[Link, ...]:
    return tuple(Link(between=(f"b{a}", f"b{b}")) for a, b in _pairs(text))


def _routes(table: tuple[tuple[str, str, str, str], ...], colour: str) -> tuple[Route, ...]:
    return tuple(
        Route(at=at, from_=source, to=to, next=hop, colours=(colour,))
        for at, source, to, hop in table
    )
