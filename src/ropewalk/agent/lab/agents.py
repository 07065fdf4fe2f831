"""The command line of an agent in the lab."""

import sys

from ropewalk.agent.lab.layout import Layout, address


def agent_command(layout: Layout, name: str) -> list[str]:
    """How the agent beside a broker is started; it reaches its neighbours through the proxy."""
    reach = (
        f"--reach={to}={address(port)}" for to, port in sorted(layout.neighbours(name).items())
    )
    return [
        *(sys.executable, "-m", "ropewalk", "agent", str(layout.file)),
        *("--broker", name, "--state", str(layout.agent(name)), *reach),
        *("--trace", str(layout.trace(name)), "--plan", str(layout.plan)),
        *("--key", f"file:{layout.key}", "--admin", f"file:{layout.credentials('admin')}"),
        *("--http", address(layout.http[name])),
    ]
