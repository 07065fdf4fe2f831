"""The lab's ear: a unix socket in its folder that takes orders from `ropewalk fault` and others."""

import asyncio
from pathlib import Path

from ropewalk.agent.lab.lab import Lab
from ropewalk.agent.lab.layout import CONTROL
from ropewalk.agent.lab.wire import Answers, Message, ask
from ropewalk.errors import LabError, UsageError


class Control:
    """Answers `fault`, `plan`, `status` and `stop`, which sets the event that it is given."""

    def __init__(self, lab: Lab, stop: asyncio.Event) -> None:
        self._lab, self._stop = lab, stop
        self._answers = Answers(lab.layout.control, self._answer)

    async def start(self) -> None:
        """Take orders from now on."""
        await self._answers.start()

    async def close(self) -> None:
        """Take no more."""
        await self._answers.close()

    async def _answer(self, question: Message) -> Message:
        match question:
            case {"do": "fault", "what": str(what), "target": str(target)}:
                value = question.get("value")
                text = None if value is None else str(value)
                return {"done": await self._lab.fault(what, target, text)}
            case {"do": "plan", "file": str(file)}:
                return {"plan": self._lab.plan(Path(file))}
            case {"do": "status"}:
                return {"lab": self._lab.status()}
            case {"do": "stop"}:
                self._stop.set()
                return {}
        raise LabError("the lab knows fault {what, target, value}, plan {file}, status and stop")


def order(folder: Path, question: Message) -> Message:
    """Tell the lab in a folder something; UsageError if none runs there."""
    try:
        return ask(folder.resolve() / CONTROL, question)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        raise UsageError(
            f"{folder}: no lab runs here: start one with ropewalk lab up FILE --dir {folder}"
        ) from None
