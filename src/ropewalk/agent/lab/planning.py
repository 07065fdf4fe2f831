"""A plan for a lab that runs: its agents carry it out, and the lab's file says where clients are.

The plan and its policies are put beside the lab's federation file, where the agents look for them
when they are told to read again. They are asked how far they are; of items that have moved, the
file then names the new broker, so that clients that are started afterwards connect there at once.
"""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from ropewalk.agent.lab.layout import Layout, address
from ropewalk.agent.policies import moves_of, policies_file, policies_of
from ropewalk.agent.rehoming import PlannedMove
from ropewalk.errors import UsageError
from ropewalk.federation import Federation, load, save
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Client
from ropewalk.federation.saving import write_text

LOOK_S, ANSWER_S = 0.2, 2.0
OVER = ("done", "passed over")


class Planning:
    """The plan that a lab was given last."""

    def __init__(self, layout: Layout, federation: Federation) -> None:
        self._layout, self._federation = layout, federation
        self._version = ""
        self._moves: tuple[PlannedMove, ...] = ()
        self._states: dict[str, str] = {}
        """By item."""
        self._watching: asyncio.Task[None] | None = None

    def begin(self, file: Path) -> None:
        """Take a plan; UsageError if it is none, or not of this federation."""
        moves, base = moves_of(file), policies_of(self._federation, file)
        policies = policies_file(file)
        if base is None or policies is None:
            raise UsageError(f"{file}: it is empty: `ropewalk place FILE -o {file}` makes a plan")
        if strange := set(base.brokers) - set(self._federation.brokers):
            raise UsageError(f"{file}: this lab has no broker {min(strange)}: plan for its file")
        if strange := {one.item for one in moves} - set(self._federation.items):
            raise UsageError(
                f"{file}: agents move items that the federation file names under items:, and it has"
                f" no {min(strange)} there"
            )
        if self._watching is not None:
            self._watching.cancel()
        write_text(self._layout.folder / policies.name, policies.read_text("utf-8"))
        write_text(self._layout.plan, file.read_text("utf-8"))
        self._version, self._moves = base.version, moves
        self._states = {one.item: "waiting" for one in moves}
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    def status(self) -> dict[str, Any] | None:
        """How far it is; None without a plan."""
        if self._watching is None:
            return None
        rows = [
            {
                "item": one.item,
                "from": one.source,
                "to": one.target,
                "state": self._states[one.item],
            }
            for one in self._moves
        ]
        return {"policies": self._version, "moves": rows, "over": self._watching.done()}

    async def close(self) -> None:
        """Ask no more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        sources = sorted({one.source for one in self._moves})
        while any(state not in OVER for state in self._states.values()):
            await asyncio.sleep(LOOK_S)
            for source in sources:
                told = await asyncio.to_thread(_council_of, self._layout.http[source])
                self._note(source, told)
        done = [one for one in self._moves if self._states[one.item] == "done"]
        save(moved(load(self._layout.file), done), self._layout.file)

    def _note(self, source: str, told: dict[str, Any]) -> None:
        """What an agent says of the items that were at its broker."""
        if told.get("plan") == self._version:
            for row in told["moves"]:
                if row["from"] == source and row["item"] in self._states:
                    self._states[row["item"]] = row["state"]


def moved(federation: Federation, moves: Iterable[PlannedMove]) -> Federation:
    """The federation with the subscribers of items where these have gone."""
    topics = dict(federation.topics)
    for move in moves:
        for name in federation.items[move.item]:
            if name in topics:
                new = tuple(_elsewhere(one, move) for one in topics[name].subscribers)
                topics[name] = replace(topics[name], subscribers=new)
    return replace(federation, topics=topics)


def _elsewhere(one: "str | Client", move: PlannedMove) -> "str | Client":
    if broker_of(one) != move.source:
        return one
    return move.target if isinstance(one, str) else replace(one, broker=move.target)


def _council_of(port: int) -> dict[str, Any]:
    """What an agent says of its council; nothing if it does not answer now."""
    try:
        with urlopen(f"http://{address(port)}/status", timeout=ANSWER_S) as answer:
            return json.load(answer).get("council") or {}
    except (OSError, ValueError):
        return {}
