"""Is my RabbitMQ ring safe?

Four RabbitMQ servers, each with a federation upstream to the next. Their exported definitions are
read as they are; nothing is connected to. Run it from the folder above `examples`:

    python examples/python/ring_safe.py [FOLDER]
"""

# ruff: noqa: T201  (a script: what it finds it prints)
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import ropewalk

RING = Path(__file__).parents[1] / "native" / "rabbitmq" / "ring"


class Outcome(NamedTuple):
    """What becomes of a ring: pairs that get nothing, pairs that get copies, loops."""

    name: str
    missing: int
    copies: int
    loops: int
    cut_by_one: int
    """Pairs that the worst single broker's death cuts off."""


def judged(name: str, federation: ropewalk.Federation) -> tuple[Outcome, ropewalk.Verification]:
    """Every publisher to every subscriber, with nothing failed and with each broker dead."""
    result = ropewalk.verify(federation, failures="brokers=1")
    calm = result.frame().set_index("failure").to_dict("index")["none"]
    codes = [one.code for one in result.findings]
    worst = max((int(one["pairs"]) - int(one["stranded"]) for one in result.cuts()), default=0)
    missing = int(calm["too_long"] + calm["black_hole"] + calm["cut"])
    return Outcome(name, missing, codes.count("V013"), codes.count("V012"), worst), result


def with_hops(federation: ropewalk.Federation, hops: int) -> ropewalk.Federation:
    """The same, each upstream with another max-hops."""
    bridges = tuple(replace(one, max_hops=hops) for one in federation.bridges)
    return replace(federation, bridges=bridges)


def both_ways(federation: ropewalk.Federation) -> ropewalk.Federation:
    """The same, with upstreams in the other direction as well."""
    back = tuple(
        replace(one, from_=one.to, to=one.from_, name=one.from_, reached_at=(), written={})
        for one in federation.bridges
    )
    return replace(federation, bridges=(*federation.bridges, *back))


def main(folder: Path = RING) -> list[Outcome]:
    """Judge the ring as it is, mended, and with the cure that many think of first."""
    reading = ropewalk.read_native([folder])
    ring = reading.federation

    # As it is. RabbitMQ drops a message that comes back to where it was, so there is no loop. But
    # max-hops is 2, and the farthest server of a ring of four is three hops away.
    as_it_is, result = judged("as it is", ring)
    print(f"{ring.name}: {len(ring.brokers)} brokers, {len(ring.bridges)} upstreams\n")
    print("What the files do:")
    for one in result.findings:
        if one.severity == "error":
            where = f"  {Path(one.where.file).name}:{one.where.line}  "
            says = one.message.partition(";")[0]
            print(fill(says, 80, initial_indent=where, subsequent_indent="      "))

    # The fix is what the findings say: as many hops as the farthest server is away.
    needed = len(ring.brokers) - 1
    mended, _ = judged(f"max-hops {needed}", with_hops(ring, needed))

    # A second ring the other way round survives any one broker, and sends everything twice.
    doubled, twice = judged("both ways", both_ways(with_hops(ring, needed)))
    copies = next(one for one in twice.findings if one.code == "V013")

    outcomes = [as_it_is, mended, doubled]
    print(f"\n{'':14}{'missing':>9}{'copies':>9}{'loops':>9}{'cut by one broker':>20}")
    for row in outcomes:
        print(f"{row.name:14}{row.missing:>9}{row.copies:>9}{row.loops:>9}{row.cut_by_one:>20}")
    told = f"Both ways: {copies.message.partition(';')[0]}."
    print(f"\n{fill(told, 80, subsequent_indent='  ')}")

    print("\nIs the ring safe? It never loops, but it is not complete.")
    print(f"Write max-hops {needed} in each upstream: then every pair gets each message once.")
    print("One dead server still cuts others off: upstreams need a second address.")
    return outcomes


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
