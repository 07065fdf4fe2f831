"""Tables of a federation for a terminal 80 columns wide."""

from collections import defaultdict
from typing import Any

from rich.table import Table
from rich.text import Text

from ropewalk.federation import Federation
from ropewalk.federation.arrays import broker_of


def summary_of(federation: Federation) -> dict[str, Any]:
    """The sizes of a federation."""
    return {
        "federation": federation.name,
        "brokers": len(federation.brokers),
        "links": len(federation.links),
        "bridges": len(federation.bridges),
        "topics": len(federation.topics),
        "pairs": federation.topic_table.pairs(),
    }


def summary_line(summary: dict[str, Any]) -> str:
    """The sizes of a federation in words."""
    parts = [
        f"{summary[key]:,} {key if summary[key] != 1 else key[:-1]}"
        for key in ("brokers", "links", "topics", "pairs")
    ]
    return ", ".join(parts)


def broker_table(federation: Federation) -> Table:
    """A row per broker: its neighbours, what it publishes, what it subscribes to."""
    published, subscribed = _topics_by_broker(federation)
    graph = federation.graph
    table = Table(title=f"{federation.name}: {summary_line(summary_of(federation))}")
    table.add_column("broker", no_wrap=True)
    table.add_column("neighbours", max_width=24)
    table.add_column("publishes", max_width=18)
    table.add_column("subscribes", max_width=18)
    for i, name in enumerate(graph.names):
        near = [graph.names[n] for n in graph.neighbours(i)]
        cells = (name, *(_listed(one) for one in (near, published[name], subscribed[name])))
        table.add_row(*map(Text, cells))  # as text: a topic may look like markup
    return table


def _topics_by_broker(federation: Federation) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    published: dict[str, list[str]] = defaultdict(list)
    subscribed: dict[str, list[str]] = defaultdict(list)
    for name, topic in federation.topics.items():
        for one in topic.publishers:
            published[broker_of(one)].append(name)
        for one in topic.subscribers:
            subscribed[broker_of(one)].append(name)
    return published, subscribed


def _listed(names: list[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} +{len(names) - most}"
