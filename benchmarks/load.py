"""Loading 10,000 brokers, 40,000 links and 100,000 topics, against a plain PyYAML C-loader parse.

The rival only parses; ours also checks every field and name and builds the arrays. A plain parse
spends most of its time in Python's garbage collector, so it is measured with it (as people call
it) and without.
"""

import gc
import tempfile
from pathlib import Path

import yaml

from _measure import interleaved, report
from ropewalk.federation import load, save
from ropewalk.federation.generators import generate

BROKERS, M, TOPICS, SUBSCRIBERS, REPEATS = 10_000, 4, 100_000, 5, 3


def plain(file: Path) -> None:
    yaml.load(file.read_text(), Loader=yaml.CSafeLoader)


def plain_without_collector(file: Path) -> None:
    gc.disable()
    try:
        plain(file)
    finally:
        gc.enable()


def ours(path: Path) -> None:
    federation = load(path)
    assert federation.graph.brokers == BROKERS
    assert federation.topic_table.pairs() == TOPICS * SUBSCRIBERS


def main() -> None:
    made = generate("barabasi-albert", brokers=BROKERS, m=M, topics=TOPICS, subscribers=SUBSCRIBERS)
    with tempfile.TemporaryDirectory() as folder:
        text, tables = Path(folder) / "f.yaml", Path(folder) / "f.parquet"
        save(made, text)
        save(made, tables)
        seconds = interleaved(
            REPEATS,
            plain_yaml=lambda: plain(text),
            plain_yaml_no_gc=lambda: plain_without_collector(text),
            ropewalk_yaml=lambda: ours(text),
            ropewalk_large=lambda: ours(tables),
        )
        report(
            "load",
            brokers=BROKERS,
            links=made.graph.links,
            topics=TOPICS,
            yaml_mb=round(text.stat().st_size / 1e6, 1),
            large_mb=round(sum(one.stat().st_size for one in tables.iterdir()) / 1e6, 1),
            arrays_mb=round((made.graph.nbytes() + made.topic_table.nbytes()) / 1e6, 1),
            cpu_seconds=seconds,
            ratio_to_plain_yaml=round(seconds["ropewalk_yaml"] / seconds["plain_yaml"], 2),
            ratio_to_plain_yaml_no_gc=round(
                seconds["ropewalk_yaml"] / seconds["plain_yaml_no_gc"], 2
            ),
            large_ratio_to_plain_yaml=round(seconds["ropewalk_large"] / seconds["plain_yaml"], 2),
        )


if __name__ == "__main__":
    main()
