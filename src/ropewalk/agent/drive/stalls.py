"""When the clients' own process stood still: what came meanwhile was late for nobody's fault."""

import asyncio

Stall = tuple[float, float]
"""When one began, in seconds after the start of the run, and how many milliseconds it took."""

LOOK_S = 0.01
LEAST_S = 0.05
"""What is shorter is not noted."""


async def watch(found: list[Stall], start_s: float) -> None:
    """Note stalls of this process's loop until it is cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        asked_s = loop.time() + LOOK_S
        await asyncio.sleep(LOOK_S)
        late_s = loop.time() - asked_s
        if late_s > LEAST_S:
            found.append((round(asked_s - start_s, 3), round(late_s * 1e3, 3)))
