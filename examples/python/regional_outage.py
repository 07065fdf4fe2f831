"""Which backup path survives a regional outage?

A storm, a flood or a power cut takes everything within some radius. Two paths that share no link
may still run side by side. Run it anywhere:

    python examples/python/regional_outage.py [FROM TO]
"""

# ruff: noqa: T201  (a script: what it finds it prints)
import sys
from textwrap import fill
from typing import NamedTuple

import ropewalk

RADIUS_KM = 100.0
MOST = 1.6
"""A backup may take so many times as long as the primary."""
WAYS = {
    "disjoint": "shortest that shares no link",
    "gap": "penalised near the primary (Wang 2015)",
    "exposure": "least exposed to the same regions",
}


class Backup(NamedTuple):
    """A backup path: how long it takes, and what part of avoidable outages it survives."""

    method: str
    path: str
    delay_ms: float
    survives: float


def backup(germany: ropewalk.Federation, ends: tuple[str, str], method: str) -> Backup:
    """The backup that a method chooses, judged by a thousand regions that it has not seen."""
    found = ropewalk.paths(
        germany,
        [ends],
        radius_km=RADIUS_KM,
        method=method,  # type: ignore[arg-type]
        max_stretch=MOST,
    )
    rows = found.frame().set_index("way")
    path, delay_ms = rows["path"]["alternate"], rows["delay_ms"]["alternate"]
    return Backup(method, path, delay_ms, found.summary["captured"])


def main(start: str = "Hamburg", end: str = "Muenchen") -> list[Backup]:
    """Choose a backup in three ways, and tell which survives most."""
    germany = ropewalk.generate("topohub", map="sndlib/germany50")
    primary = ropewalk.paths(germany, [(start, end)], radius_km=RADIUS_KM).frame().iloc[0]
    print(f"{start} to {end}: {len(germany.brokers)} brokers, {len(germany.links)} links")
    print(f"  primary, {primary['delay_ms']:.2f} ms")
    print(wrapped(str(primary["path"])))
    print(f"\nOutages of {RADIUS_KM:g} km that hit it, though there is a way round them,")
    print("are survived by its backup:\n")

    backups = [backup(germany, (start, end), method) for method in WAYS]
    for one in backups:
        print(f"  {one.survives:>6.1%}  {one.method}: {WAYS[one.method]}, {one.delay_ms:.2f} ms")
        print(wrapped(one.path, 10))

    best = max(backups, key=lambda one: (one.survives, -one.delay_ms))
    print(f"\nTake the {best.method} backup: it survives {best.survives:.1%}.")

    # What the whole network could keep, if every pair had such a backup.
    cities = ropewalk.paths(germany, radius_km=RADIUS_KM, method="exposure", most_pairs=50)
    told = f"Over {len(cities.study.pairs)} pairs such backups survive"
    print(f"{told} {cities.summary['captured']:.1%}.")
    return backups


def wrapped(path: str, indent: int = 4) -> str:
    """A path in 80 columns."""
    return fill(path, 80, initial_indent=" " * indent, subsequent_indent=" " * indent)


if __name__ == "__main__":
    main(*sys.argv[1:])
