"""The overlay as it grows: tables, words, time and memory, from a hundred brokers to ten thousand.

`--plot FILE` draws the curves. OSPF's flooding is the rival, on the same graph in the same run, as
far as its databases fit into memory.
"""

import gc
import sys
import tracemalloc
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from _measure import report
from ropewalk.federation.generators import generate
from ropewalk.overlay.chart import Chart, chart_of
from ropewalk.overlay.simulate.fleet import Fleet
from ropewalk.overlay.simulate.flooding import lsa_flood
from ropewalk.overlay.simulate.growth import (
    CONTROL,
    HOP_US,
    Cost,
    cost_of,
    failures_of,
    fleet_of,
    in_domains_of,
    keeper_of,
    mended,
)
from ropewalk.overlay.words import INTEREST, Item
from ropewalk.report.growth import draw
from ropewalk.routing.ahead import tables_of

SIZES = (100, 300, 1_000, 3_000, 10_000)
RIVAL_UP_TO = 1_000
"""Beyond it the rival's databases, one of all brokers in each, do not fit."""
FAILURES, WATCHED_US = 12, 400_000
KEPT, PAYLOAD = 20_000, 100


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr)


def settled(fleet: Fleet) -> Fleet:
    """A fleet that has started; from now on nothing is collected: agents make no circles."""
    fleet.run(500_000)
    gc.collect()
    gc.freeze()
    gc.disable()
    return fleet


def grown(brokers: int) -> dict[str, Any]:
    """One size, in domains of 20 with two gateways."""
    say(f"{brokers} brokers")
    federation = in_domains_of(brokers)
    start = process_time()
    chart = chart_of(federation)
    took = process_time() - start
    fleet = settled(fleet_of(federation, chart))
    found: dict[str, Any] = {
        "brokers": brokers,
        "gateways": len(chart.transit),
        "links": len(chart.link_ends),
        "tables_cpu_s": round(took, 2),
        "table_bytes": chart.tables.nbytes(),
        "table_bytes_per_gateway": round(chart.tables.nbytes() / len(chart.transit)),
        "failures": list(timed(fleet)),
    }
    gc.unfreeze()
    gc.enable()
    if brokers <= RIVAL_UP_TO:
        found |= rivalled(brokers, chart, found["failures"][0]["words"])
    return found


def timed(fleet: Fleet) -> Iterator[dict[str, Any]]:
    """Each failure, with the wall time of simulating it for three seconds."""
    for what, link, broker in failures_of(fleet.chart):
        start = perf_counter()
        cost = cost_of(fleet, what, link, broker)
        yield {**shown(cost), "wall_s": round(perf_counter() - start, 3)}
        if link is not None:
            mended(fleet, link)


def shown(cost: Cost) -> dict[str, Any]:
    row = asdict(cost)
    row["detected_ms"] = round(row.pop("detected_us") / 1000, 1)
    row["converged_ms"] = round(row.pop("converged_us") / 1000, 1)
    return row


def rivalled(brokers: int, chart: Chart, words: int) -> dict[str, Any]:
    """The same without domains: tables of all brokers, and OSPF in one area."""
    flat, graph = tables_of(in_domains_of(brokers)).nbytes(), chart.graph
    link = next(e for e in range(graph.links) if chart.link_number[e] in chart.borders)
    ospf = lsa_flood(graph, link, least_us=HOP_US)
    return {
        "flat_table_bytes": flat,
        "flat_over_domains_table_bytes": round(flat / chart.tables.nbytes(), 1),
        "ospf_words_per_link_failure": ospf.lsas + ospf.acks,
        "ospf_over_ours_words": round((ospf.lsas + ospf.acks) / words, 1),
    }


def flat(brokers: int, links: int) -> dict[str, Any]:
    """All brokers equal: events of the core a second, and the words of a failure."""
    say(f"{brokers} brokers, {links} links, no domains")
    federation = generate("chords", brokers=brokers, links=links)
    fleet = settled(fleet_of(federation, chart_of(federation)))
    rates, paces, words, times = [], [], [], []
    for k in range(FAILURES):
        link, tally, at_us = 17 + k * (links // FAILURES), fleet.tally, fleet.now_us
        events, said = tally.events, sum(tally.words[one] for one in CONTROL)
        fleet.cut(link)
        start = process_time()
        fleet.run(at_us + WATCHED_US)
        spent = process_time() - start
        rates.append((tally.events - events) / spent)
        paces.append((tally.things_us - at_us) / 1e6 / spent)
        words.append(sum(tally.words[one] for one in CONTROL) - said)
        times.append((tally.things_us - at_us) / 1000)
        mended(fleet, link)
    gc.unfreeze()
    gc.enable()
    ospf = lsa_flood(federation.graph, 17, least_us=HOP_US)
    return {
        "brokers": brokers,
        "links": links,
        "failures": FAILURES,
        "events_per_cpu_s_median": round(median(rates)),
        "events_per_cpu_s_best": round(max(rates)),
        "simulated_over_cpu_time": round(median(paces), 2),
        "converged_ms": round(median(times), 1),
        "words_per_failure": median(words),
        "ospf_words_per_failure": ospf.lsas + ospf.acks,
        "ours_over_ospf_words": round(median(words) / (ospf.lsas + ospf.acks), 3),
    }


def custody() -> dict[str, Any]:
    """Memory of what an origin keeps; the rival is the payloads alone."""
    say("custody")
    keeper_of(100, PAYLOAD)
    gc.collect()
    tracemalloc.start()
    agent = keeper_of(KEPT, PAYLOAD)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = taken / len(agent.custody())
    return {
        "messages": KEPT,
        "payload_bytes": PAYLOAD,
        "bytes_per_message": round(each),
        "over_payload": round(each / PAYLOAD, 1),
    }


def interests() -> dict[str, Any]:
    """Memory of what others want: every agent knows every pattern of every broker."""
    agent = keeper_of(0, 0)
    wishes = [Item(INTEREST, 1, f"prices/{k}", 1, k + 1, True) for k in range(KEPT)]
    gc.collect()
    tracemalloc.start()
    for one in wishes:
        agent.gazette.take(one)
        agent.interests.heard(one)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"patterns": KEPT, "bytes_per_pattern": round(taken / KEPT) + sys.getsizeof(wishes[0])}


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=max(SIZES), help="the largest federation")
    parser.add_argument("--plot", type=Path, help="a PNG file for the curves")
    asked = parser.parse_args()
    # First: what larger fleets leave behind in memory would slow it down.
    equal = flat(1_000, 2_000)
    rows = [grown(brokers) for brokers in SIZES if brokers <= asked.most]
    if asked.plot:
        draw(rows, asked.plot)
    report(
        "overlay_scale",
        domains=rows,
        flat=equal,
        custody=custody(),
        interests=interests(),
    )
