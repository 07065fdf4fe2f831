"""The guardian: a child that ends the lab's process group when the lab is gone, however it went.

Its standard input is a pipe of which only the lab holds the other end. The kernel closes that end
when the lab exits, crashes or is killed; the guardian then asks the whole group to end and, a
moment later, makes it. It is run as a file by a bare Python, so it imports next to nothing.
"""

import os
import signal
import time

GRACE_S = 2.0
"""How long processes have to end by themselves."""
LOOK_S = 0.02


def watch() -> None:
    """Wait until the lab is gone, then end the group, this process with it."""
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    while others() and time.monotonic() < until:
        time.sleep(LOOK_S)
    if others():
        os.killpg(0, signal.SIGKILL)


def others() -> bool:
    """Whether anybody else in this process group is still running."""
    mine, group = os.getpid(), os.getpgrp()
    return any(pid != mine and _group_of(pid) == group for pid in _processes())


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _group_of(pid: int) -> int | None:
    """The process group of a running process; None of a dead one."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            state, _parent, group, *_rest = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(group)


if __name__ == "__main__":
    watch()
