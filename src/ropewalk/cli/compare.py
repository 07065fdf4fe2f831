"""`ropewalk route compare`: pre-calculated tables beside their rivals, also on all maps."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import Source, load_from
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.federation import Federation

Layers = Annotated[
    list[int] | None,
    typer.Option(help="Layers of RRL and MRC; repeat for a row each. Default: 4."),
]


def compare(
    path: Source,
    layers: Layers = None,
    hello_ms: Annotated[float, typer.Option(help="Between hellos or heartbeats.")] = 10_000,
    dead_ms: Annotated[float, typer.Option(help="Silence after which a link is dead.")] = 40_000,
    flood_ms: Annotated[float, typer.Option(help="News over one link.")] = 10,
    spf_delay_ms: Annotated[float, typer.Option(help="OSPF waits before it calculates.")] = 5_000,
    rate: Annotated[
        float, typer.Option(min=0, max=1e12, help="Messages a second of one stream.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Compare tables ahead with rival schemes.

    LFA, remote LFA, TI-LFA, not-via, resilient layers, multiple configurations, redundant trees:
    what they recover of every single failure, how far round, what they keep. Then how long messages
    are lost, beside OSPF, and which loop while only some brokers know.
    """
    with contract("route compare", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.report.rivals import comparison_summary, comparison_text
        from ropewalk.routing.mixed import mixed
        from ropewalk.routing.rivals import compare as compared
        from ropewalk.routing.rivals.outage import Timers, outages

        timers = Timers(
            hello_ms=hello_ms, dead_ms=dead_ms, flood_ms=flood_ms, spf_delay_ms=spf_delay_ms
        )
        with progress(f"comparing on {path}"):
            federation = load_from(path, max_mb=MAX_YAML_MB)
            found = compared(federation, layers=layers or (4,))
            waits = outages(federation, timers)
            plain, carrying = mixed(federation), mixed(federation, carrying=True)
        summary = comparison_summary(found, waits, plain, carrying, rate_msgs_s=rate)
        text = comparison_text(found, waits, plain, carrying, rate_msgs_s=rate)
        finish(Document("route compare", "ok", summary), as_json=as_json, text=text)


def maps(
    layers: Layers = None,
    most_brokers: Annotated[
        int, typer.Option(min=2, help="Leave out maps with more brokers than this.")
    ] = 600,
    starting: Annotated[
        str, typer.Option(help="Only maps whose name starts so, such as topozoo/.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Compare on every connected topohub map."""
    with contract("route compare-maps", as_json=as_json):
        import pandas as pd

        from ropewalk.report.rivals import maps_text

        frames, looping = [], []
        left_out = {"not connected": 0, "too large": 0}
        for name, federation in _maps(starting, most_brokers, left_out):
            with progress(f"comparing on {name}"):
                rows, share = _on_map(federation, layers or [4])
            frames.append(rows.assign(map=name, brokers=federation.graph.brokers))
            looping.append(share)
        if not frames:
            raise UsageError("no map is connected and small enough: see --most-brokers, --starting")
        every = pd.concat(frames)
        shares = pd.Series(looping)
        summary: dict[str, Any] = {
            "maps": len(frames),
            "left_out": left_out,
            "looping": {"least": shares.min(), "mean": shares.mean(), "most": shares.max()},
        }
        text = maps_text(every, summary)
        rows_of = every.astype(object).where(every.notna(), None).to_dict("records")
        document = Document("route compare-maps", "ok", {**summary, "rows": rows_of})
        finish(document, as_json=as_json, text=text)


def _maps(
    starting: str, most_brokers: int, left_out: dict[str, int]
) -> "Iterator[tuple[str, Federation]]":
    from ropewalk.federation.generators.maps import map_names, topohub_map
    from ropewalk.routing.ground import connected_parts

    for name in (one for one in map_names() if one.startswith(starting)):
        federation = topohub_map(name)
        if federation.graph.brokers > most_brokers:
            left_out["too large"] += 1
        elif connected_parts(federation.graph).any() or not federation.links:
            left_out["not connected"] += 1
        else:
            yield name, federation


def _on_map(federation: "Federation", layers: list[int]) -> tuple[Any, float]:
    from ropewalk.routing.mixed import mixed
    from ropewalk.routing.rivals import compare as compared

    return compared(federation, layers=layers).frame(), mixed(federation).looping
