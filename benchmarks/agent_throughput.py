"""Messages per second of the whole stack, and each agent's CPU for one: two hops, all promises on.

Three brokers in a line with an agent beside each: custody, its log on disk and the trace are on, as
they are by default. Clients that are no bottleneck publish 100 bytes with 4,096 in flight; what is
published is acknowledged when the first agent has it on disk. Brokers, agents and clients share the
cores of this machine; there is no fault proxy between them. The brokers' own CPU for a message is
the yardstick of the machine: how busy it is otherwise shows in both alike.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import psutil
import uvloop

from _measure import report
from contenders.ours import status
from contenders.saturation import SIZE_BYTES, WINDOW, Saturation
from contenders.shapes import chain
from ropewalk.agent.lab.agents import agent_command
from ropewalk.agent.lab.lab import Lab
from ropewalk.agent.lab.layout import Layout
from ropewalk.agent.lab.makes import mosquitto
from ropewalk.agent.lab.makes.recipe import program
from ropewalk.errors import UsageError
from ropewalk.federation import load
from ropewalk.federation.facts import Make

GOALS: dict[str, dict[str, float]] = {
    "nats": {"least_messages_per_s": 40_000, "most_cpu_us": 10},
    "nats_with_ids": {},
    "mosquitto": {"most_cpu_us": 40},
}
"""By contest; ids are the publisher's own (`Nats-Msg-Id`)."""
FIRST = 5_000
"""Messages that go before, so that nothing is done for the first time while it counts."""


def direct(layout: Layout, name: str) -> list[str]:
    """An agent that reaches its neighbours' brokers themselves, not through the proxy."""
    return [one for one in agent_command(layout, name) if not one.startswith("--reach=")]


async def once(contest: str, messages: int, folder: Path) -> dict[str, Any]:
    lab = Lab(chain(make_of(contest)), folder, agent_command=direct)
    try:
        await lab.start()
        named = contest == "nats_with_ids"
        async with Saturation(load(lab.layout.file), named=named) as load_clients:
            await load_clients.warm_up()
            await load_clients.flow(FIRST)
            before, brokers, own_s = await _cpu_s(lab), _brokers_s(lab), process_time()
            flow = await load_clients.flow(messages)
            own_s = process_time() - own_s
            after, brokers_after = await _cpu_s(lab), _brokers_s(lab)
    finally:
        await lab.stop()
    return {
        "messages_per_s": messages / flow.seconds,
        "cpu_us": {name: (after[name] - before[name]) * 1e6 / messages for name in before},
        "brokers_cpu_us": (brokers_after - brokers) * 1e6 / messages,
        "clients_cpu_us": own_s * 1e6 / messages,
        "lost": flow.figures.lost,
        "duplicated": flow.figures.doubled,
    }


async def _cpu_s(lab: Lab) -> dict[str, float]:
    return {name: (await status(lab, name))["cpu_s"] for name in lab.agents}


def _brokers_s(lab: Lab) -> float:
    """CPU of all brokers."""
    every = (psutil.Process(one.child.pid).cpu_times() for one in lab.brokers.values())
    return sum(one.user + one.system for one in every)


def make_of(contest: str) -> Make:
    """The make of brokers in a contest."""
    return "mosquitto" if contest == "mosquitto" else "nats"


def measured(contest: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians, and whether they reach what they should."""
    rate = median(one["messages_per_s"] for one in runs)
    cpu = {name: median(one["cpu_us"][name] for one in runs) for name in runs[0]["cpu_us"]}
    goals = GOALS[contest]
    brokers = median(one["brokers_cpu_us"] for one in runs)
    return {
        "messages_per_s": round(rate),
        "messages_per_s_runs": [round(one["messages_per_s"]) for one in runs],
        "cpu_us_per_message": {name: round(one, 2) for name, one in cpu.items()},
        "brokers_cpu_us_per_message": round(brokers, 2),
        "agents_over_brokers_cpu": round(sum(cpu.values()) / brokers, 2),
        "clients_cpu_us_per_message": round(median(one["clients_cpu_us"] for one in runs), 2),
        "lost": sum(one["lost"] for one in runs),
        "duplicated": sum(one["duplicated"] for one in runs),
        **goals,
        "reached": rate >= goals.get("least_messages_per_s", 0)
        and max(cpu.values()) <= goals.get("most_cpu_us", float("inf")),
    }


def why_not(contest: str) -> str:
    """Why something cannot be measured here; empty if it can."""
    try:
        if make_of(contest) == "mosquitto":
            program("mosquitto", install=mosquitto.INSTALL)
    except UsageError as error:
        return str(error)
    return ""


def main() -> None:
    asked = _arguments()
    skipped = {one: why for one in asked.only or GOALS if (why := why_not(one))}
    runs: dict[str, list[dict[str, Any]]] = {
        one: [] for one in asked.only or GOALS if one not in skipped
    }
    for turn in range(asked.repeats):
        for contest, found in runs.items():
            print(f"  {contest} ({turn + 1} of {asked.repeats})", file=sys.stderr)
            with tempfile.TemporaryDirectory(prefix="throughput-") as folder:
                found.append(uvloop.run(once(contest, asked.messages, Path(folder) / "lab")))
    report(
        "agent_throughput",
        messages=asked.messages,
        payload_bytes=SIZE_BYTES,
        window=WINDOW,
        skipped=skipped,
        **{contest: measured(contest, found) for contest, found in runs.items()},
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--repeats", type=int, default=3, help="[default: 3]")
    parser.add_argument("--messages", type=int, default=200_000, help="[default: 200,000]")
    parser.add_argument("--only", action="append", choices=GOALS, help="may be repeated")
    return parser.parse_args()


if __name__ == "__main__":
    main()
