"""A lab in a process of its own: what it does to others does not hold up the clients here."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ropewalk.agent.drive.timing import FaultCall
from ropewalk.cli.drive import lab_control
from ropewalk.errors import LabError
from ropewalk.federation import Federation
from ropewalk.federation.dump import dump


@asynccontextmanager
async def lab_apart(federation: Federation, folder: Path) -> AsyncIterator[FaultCall]:
    """A lab that runs in a folder while this is entered; what is given breaks and heals it."""
    file = folder.with_suffix(".yaml")
    file.write_text(dump(federation))
    command = [sys.executable, "-m", "ropewalk", "lab", "up", str(file), "--dir", str(folder)]
    up = await asyncio.create_subprocess_exec(*command, "--json", stdout=asyncio.subprocess.PIPE)
    try:
        if up.stdout is None or not await up.stdout.readline():
            raise LabError(f"{' '.join(command)} has ended")
        yield lab_control(folder)
    finally:
        if up.returncode is None:
            up.terminate()
        await up.wait()
