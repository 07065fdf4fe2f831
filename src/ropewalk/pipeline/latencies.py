"""Latencies of links, from traces: a histogram for each, as federation files have them.

A latency is what passes from a `forward` row at one end of a link until the message is first seen
at the other end, by a `forward` or `deliver` row there. So the far broker's own time is in it, and
so is what it took to send it again. Both times are of clocks that may be off: the largest sum of
the two errors goes with the histogram, and what could not be even then is left out and counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError
from ropewalk.federation.facts import Histogram
from ropewalk.federation.names import link_name
from ropewalk.federation.saving import write_text
from ropewalk.trace.columns import KIND
from ropewalk.trace.ids import id_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILE = "latencies.yaml"
LINKS = "link long, near long, far long"
"""A link's id with those of its ends, once in each direction."""
LATENCIES = "link long, bin int, messages long, error_ns long"
"""Messages of a link in a bin; bin -1 has those that came before they were sent."""

LEAST_NS, PER_OCTAVE, BINS = 10_000, 8, 240
"""Bins: up to 10 microseconds, then eight to a doubling; the last holds half an hour and more."""
MESSAGE = ("topic", "producer", "pseq")


def ends_of(names: Iterable[str]) -> list[tuple[int, int, int]]:
    """LINKS of links by name; what is no name of a link is left out.

    >>> [len(ends_of([one])) for one in ("a--b", "odd")]
    [2, 0]
    """
    pairs = [(name, *name.split("--")) for name in names if name.count("--") == 1]
    both = [(name, a, b) for name, *ends in pairs for a, b in (ends, ends[::-1])]
    return [(id_of(name), id_of(a), id_of(b)) for name, a, b in both]


def latencies(events: "DataFrame", links: "DataFrame") -> "DataFrame":
    """LATENCIES of all links, from the stored table `events` and LINKS."""
    from pyspark.sql import functions as f

    on_the_way = (KIND["forward"], KIND["deliver"])
    seen = events.where(f.col("kind").isin(*on_the_way))
    first = seen.groupBy(*MESSAGE, f.col("node").alias("far")).agg(
        f.min(f.struct("ts_ns", "clock_err_ns")).alias("came")
    )
    sent = (
        events.where(f.col("kind") == KIND["forward"])
        .groupBy(*MESSAGE, f.col("node").alias("near"), "link")
        .agg(f.min(f.struct("ts_ns", "clock_err_ns")).alias("left"))
    )
    took = (
        sent.join(f.broadcast(links), ["link", "near"])
        .join(first, [*MESSAGE, "far"])
        .select(
            "link",
            (f.col("came.ts_ns") - f.col("left.ts_ns")).alias("ns"),
            (f.col("came.clock_err_ns") + f.col("left.clock_err_ns")).alias("error_ns"),
        )
    )
    place = 1 + f.floor(f.log2(f.col("ns") / LEAST_NS) * PER_OCTAVE)
    placed = (
        f.when(f.col("ns") + f.col("error_ns") < 0, -1)
        .when(f.col("ns") <= LEAST_NS, 0)
        .otherwise(f.least(place, f.lit(BINS)))
    )
    return (
        took.select("link", placed.cast("int").alias("bin"), "error_ns")
        .groupBy("link", "bin")
        .agg(f.count("*").alias("messages"), f.max("error_ns").alias("error_ns"))
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """Histograms of links by name, and how many messages made no sense."""

    links: Mapping[str, Histogram]
    messages: int
    impossible: int

    @property
    def summary(self) -> dict[str, Any]:
        """Sizes, as `--json` prints them."""
        worst = max((one.error_ms for one in self.links.values()), default=0.0)
        return {
            "links": len(self.links),
            "messages": self.messages,
            "impossible": self.impossible,
            "error_ms": worst,
        }

    def plain(self) -> dict[str, Any]:
        """The part of a federation file that holds them."""
        return {
            "links": [
                {
                    "between": name.split("--"),
                    "histogram": {
                        "edges_ms": list(one.edges_ms),
                        "counts": list(one.counts),
                        "error_ms": one.error_ms,
                    },
                }
                for name, one in self.links.items()
            ]
        }


def measured(rows: Iterable[tuple[int, int, int, int]], names: Mapping[int, str]) -> Measured:
    """Histograms from rows of LATENCIES, links by the names of their ids."""
    bins: dict[int, dict[int, int]] = {}
    errors: dict[int, int] = {}
    impossible = 0
    for link, place, messages, error_ns in rows:
        if place < 0:
            impossible += messages
            continue
        bins.setdefault(link, {})[place] = messages
        errors[link] = max(errors.get(link, 0), error_ns)
    order = sorted(bins, key=lambda link: names[link])
    found = {names[link]: _histogram(bins[link], errors[link]) for link in order}
    return Measured(found, sum(sum(one.values()) for one in bins.values()), impossible)


def _histogram(counts: Mapping[int, int], error_ns: int) -> Histogram:
    first, last = min(counts), max(counts)
    edges = tuple(_edge_ms(place) for place in range(first, last + 2))
    every = tuple(counts.get(place, 0) for place in range(first, last + 1))
    return Histogram(edges_ms=edges, counts=every, error_ms=error_ns / 1e6)


def _edge_ms(place: int) -> float:
    """Where a bin begins; whole nanoseconds, downwards at its start as at the end before it."""
    return 0.0 if place == 0 else round(LEAST_NS * 2 ** ((place - 1) / PER_OCTAVE)) / 1e6


def write_latencies(found: Measured, path: Path) -> None:
    """Write the part of a federation file that holds histograms."""
    import yaml

    text = yaml.safe_dump(found.plain(), default_flow_style=None, sort_keys=False, width=1000)
    write_text(path, text)


def read_latencies(path: Path) -> dict[str, Histogram]:
    """Histograms by link, from a file as `write_latencies` makes it.

    Raises UsageError for what cannot be read; the message names the link.
    """
    import yaml
    from pydantic import TypeAdapter, ValidationError

    from ropewalk.federation.sense.network import histogram_faults

    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {(error.strerror or '').lower()}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise UsageError(f"{path}: no YAML that can be read: measure again") from None
    links = said.get("links") if isinstance(said, dict) else None
    if not isinstance(links, list) or not links:
        raise UsageError(f"{path}: holds no latencies: `ropewalk pipeline latency` writes them")
    adapter, found = TypeAdapter(Histogram), {}
    for number, one in enumerate(links, start=1):
        between = one.get("between") if isinstance(one, dict) else None
        if not isinstance(between, list) or len(between) != 2:
            raise UsageError(f"{path}: link {number}: write between: [BROKER, BROKER]")
        name = link_name(*map(str, between))
        try:
            given = adapter.validate_python(one.get("histogram"))
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            field = ".".join(map(str, ("histogram", *wrong["loc"])))
            raise UsageError(f"{path}: {name}: {field}: {wrong['msg'].lower()}") from None
        for fault in histogram_faults(given, ()):
            raise UsageError(f"{path}: {name}: {fault.what}: {fault.advice}")
        found[name] = given
    return found
