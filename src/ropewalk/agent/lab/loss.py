"""Packet loss, which only the kernel can make: `tc netem` in a network namespace of the lab's own.

A proxy cannot: bytes that are taken out of a TCP stream are not lost packets, they are a broken
stream. On the machine's own loopback it would hit everybody else.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ropewalk.errors import UsageError

DEVICE = "lo"
_TRY = ("tc", "qdisc", "add", "dev", DEVICE, "root", "netem", "loss", "1%")
_SECONDS = 10


def refusal() -> str | None:
    """Why packets cannot be lost here; None if they can."""
    if shutil.which("tc") is None or shutil.which("unshare") is None:
        return "tc and unshare are not installed: install the Debian package iproute2"
    if why := _ran("unshare", "-n", "true"):
        return f"a network namespace is not permitted ({why}): run the lab as root"
    if why := _ran("unshare", "-n", *_TRY):
        return f"this kernel has no netem ({why}): try slow, cut or blackhole instead"
    if not own_namespace():
        return (
            "the lab shares the machine's network, where loss would hit everybody: start it with"
            " unshare -n sh -c 'ip link set lo up; ropewalk lab up FILE'"
        )
    return None


def own_namespace() -> bool:
    """Whether this process has a network that is not the machine's."""
    try:
        return Path("/proc/self/ns/net").readlink() != Path("/proc/1/ns/net").readlink()
    except OSError:
        return False


def set_loss(percents: dict[int, float]) -> None:
    """Lose so many percent of the packets to and from each port; no port: no loss any more."""
    if why := refusal():
        raise UsageError(f"loss is refused: {why}")
    _ran("tc", "qdisc", "del", "dev", DEVICE, "root")
    for command in loss_commands(percents):
        if why := _ran(*command):
            raise UsageError(f"loss is refused: {' '.join(command)}: {why}")


def loss_commands(percents: dict[int, float]) -> list[Sequence[str]]:
    """What `tc` has to be told: a class per port in which packets are lost, and who goes there."""
    if not percents:
        return []
    add = ("add", "dev", DEVICE)
    commands: list[Sequence[str]] = [("tc", "qdisc", *add, "root", "handle", "1:", "htb")]
    for number, (port, percent) in enumerate(sorted(percents.items()), start=1):
        group = f"1:{number:x}"
        full = ("htb", "rate", "40gbit", "quantum", "60000")
        commands += [
            ("tc", "class", *add, "parent", "1:", "classid", group, *full),
            ("tc", "qdisc", *add, "parent", group, "netem", "loss", f"{percent:g}%"),
        ]
        for side in ("sport", "dport"):
            match = ("match", "ip", side, str(port), "0xffff", "flowid", group)
            commands.append(("tc", "filter", *add, "protocol", "ip", "parent", "1:", "u32", *match))
    return commands


def _ran(*command: str) -> str:
    """Run a command; empty if it went well, else what it said."""
    done = subprocess.run(  # noqa: S603 - no part of it comes from outside
        command, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    said = (done.stderr or done.stdout).strip().splitlines()
    return "" if done.returncode == 0 else said[0] if said else f"exit {done.returncode}"
