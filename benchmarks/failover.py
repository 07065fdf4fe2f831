"""Failover of Ropewalk against what users run, by turns: `python benchmarks/failover.py`.

Numbers are published at one end and checked at the other while the broker between them is killed,
or a link is blackholed or cut. Every link of every contender goes through the same fault proxy.
The traces of Ropewalk's agents go through Spark afterwards: of each trial the audit has to tell as
lost what the clients missed. `--markdown FILE` prints the table of an earlier document.
"""

import argparse
import asyncio
import gc
import json
import logging
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _measure import report
from contenders.audited import audited, spark_here
from contenders.ours import Ours
from contenders.peers import MOSQUITTO_BRIDGE, NATS_LEAF, RABBITMQ_FEDERATION
from contenders.rig import Contender, Rig
from contenders.shapes import TOPIC
from contenders.summary import NEVER, ratios_of, summary_of, table
from contenders.trial import FAULTS, Fault, Outcome, Times, trial
from ropewalk import load
from ropewalk.errors import RopewalkError, UsageError

CONTENDERS: dict[str, Callable[[], Contender]] = {
    "mosquitto_bridge": lambda: Rig(MOSQUITTO_BRIDGE),
    "nats_leaf": lambda: Rig(NATS_LEAF),
    "rabbitmq_federation": lambda: Rig(RABBITMQ_FEDERATION),
    "ropewalk_nats": lambda: Ours("nats"),
    "ropewalk_mosquitto": lambda: Ours("mosquitto"),
}
KILL = next(iter(FAULTS))


class NotInstalledError(RopewalkError):
    """A contender's broker is not on this machine."""


class Contest:
    """All trials, by turns; contenders that are slow to start are kept between them."""

    def __init__(self, folder: Path, times: Times) -> None:
        self._folder, self._times = folder, times
        self._kept: dict[str, Contender] = {}
        self._started_so_far = 0
        self.outcomes: dict[str, dict[str, list[Outcome]]] = {}
        self.skipped: dict[str, str] = {}
        self.failures: list[str] = []
        """Trials that could not be made, and why."""
        self._traced: list[tuple[str, Path, int]] = []
        """Of each of our trials: whose, its lab, and what clients missed."""

    async def run(self, names: list[str], faults: dict[str, Fault], repeats: int) -> None:
        """Put each through each fault, so that what else this machine does hits all alike."""
        try:
            for turn in range(repeats):
                for fault in faults:
                    for name in names:
                        print(f"  {turn + 1} of {repeats}: {name}, {fault}", file=sys.stderr)
                        await self._one(name, fault)
        finally:
            for contender in self._kept.values():
                await contender.stop()

    async def _one(self, name: str, fault: str) -> None:
        gc.collect()
        if name in self.skipped:
            return
        try:
            contender = self._kept.pop(name, None) or await self._started(name)
            outcome = await self._tried(name, contender, FAULTS[fault])
            if isinstance(contender, Ours):
                self._traced.append((f"{name}, {fault}", contender.folder, outcome.lost))
        except NotInstalledError as error:
            self.skipped[name] = str(error)
        except RopewalkError as error:  # it says nothing about the fault
            self.failures.append(f"{name}, {fault}: {error}")
        else:
            shown = f"{outcome.outage_ms:,.0f} ms" if outcome.recovered else NEVER
            print(f"      {shown}, {outcome.lost} lost", file=sys.stderr)
            self.outcomes.setdefault(fault, {}).setdefault(name, []).append(outcome)

    async def _started(self, name: str) -> Contender:
        contender = CONTENDERS[name]()
        self._started_so_far += 1
        folder = self._folder / str(self._started_so_far)
        folder.mkdir()
        try:
            await contender.start(folder)
        except UsageError as error:
            await contender.stop()
            raise NotInstalledError(str(error)) from error
        except BaseException:
            await contender.stop()
            raise
        return contender

    async def _tried(self, name: str, contender: Contender, fault: Fault) -> Outcome:
        """Try it, and keep it for the next time if it lasts and is well."""
        try:
            outcome = await trial(contender, fault, self._times)
            if contender.lasting:
                self._kept[name] = contender
            return outcome
        finally:
            if name not in self._kept:
                await contender.stop()

    def audit(self) -> dict[str, Any]:
        """Whether the agents' traces tell the same as the clients, trial by trial."""
        apart = []
        with spark_here() as spark:
            for told, folder, lost in self._traced:
                found = audited(spark, folder, load(folder / "federation.yaml"))
                if not found.agrees({TOPIC: lost} if lost else {}):
                    apart.append(f"{told}: clients missed {lost}, the audit {found.lost}")
        return {"trials": len(self._traced), "agree": not apart, "apart": apart}


def main() -> None:
    logging.disable(logging.WARNING)  # clients tell of every connection that breaks
    asked = _arguments()
    if asked.markdown:
        print(table(json.loads(asked.markdown.read_text())))
        return
    names = [
        name
        for name in asked.only or CONTENDERS
        if not any(name.startswith(one) for one in asked.without)
    ]
    faults = {
        name: one for name, one in FAULTS.items() if not asked.fault or one.what in asked.fault
    }
    repeats = 1 if asked.quick else asked.repeats
    with tempfile.TemporaryDirectory(prefix="failover-") as folder:
        contest = Contest(Path(folder), Times())
        asyncio.run(contest.run(names, faults, repeats))
        told = contest.audit()
    found = {
        fault: {name: summary_of(some) for name, some in one.items()}
        for fault, one in contest.outcomes.items()
    }
    report(
        "failover",
        repeats=repeats,
        skipped=contest.skipped,
        failures=contest.failures,
        faults=found,
        ratios=ratios_of(found.get(KILL, {})),
        audit=told,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=10, help="of each fault [default: 10]")
    parser.add_argument("--quick", action="store_true", help="one repeat, to try it")
    parser.add_argument("--only", action="append", choices=CONTENDERS, help="may be repeated")
    parser.add_argument("--without", action="append", default=[], help="such as rabbitmq")
    parser.add_argument("--fault", action="append", help="kill, blackhole or cut")
    parser.add_argument("--markdown", type=Path, help="print the table of an earlier document")
    return parser.parse_args()


if __name__ == "__main__":
    main()
