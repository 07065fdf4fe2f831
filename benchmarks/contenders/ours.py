"""Ropewalk in its lab: a diamond of brokers of one make, an agent beside each, default timers."""

from pathlib import Path
from typing import Any

from contenders.shapes import diamond
from ropewalk.agent.brokers.http import get_json
from ropewalk.agent.drive.plan import Mode
from ropewalk.agent.lab.lab import Lab
from ropewalk.agent.lab.layout import address
from ropewalk.errors import LabError
from ropewalk.federation import load
from ropewalk.federation.facts import Make


class Ours:
    """Ropewalk on brokers of one make."""

    rate_msgs_s = 1000.0
    mode: Mode = "acked"
    lasting = False

    def __init__(self, make: Make) -> None:
        self.federation = diamond(make)

    async def start(self, folder: Path) -> None:
        """Start the lab."""
        self.folder = folder / "lab"
        self._lab = Lab(self.federation, self.folder)
        await self._lab.start()
        self.federation = load(self._lab.layout.file)

    async def check(self) -> None:
        """LabError unless it is b that forwards what a publishes."""
        sent = {name: (await status(self._lab, name))["counts"]["forwarded"] for name in "bc"}
        if sent["b"] <= sent["c"]:
            raise LabError(f"messages do not go through b: forwarded were {sent}")

    async def fault(self, what: str, target: str) -> None:
        """Kill, blackhole, cut or heal a broker or a link."""
        await self._lab.fault(what, target)

    async def stop(self) -> None:
        """End all of it."""
        await self._lab.stop()


async def status(lab: Lab, name: str) -> dict[str, Any]:
    """What the agent beside a broker says about itself."""
    told: dict[str, Any] = await get_json(f"http://{address(lab.layout.http[name])}/status")
    return told
