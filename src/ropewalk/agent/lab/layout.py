"""Where everything of a lab is: ports, addresses and files, settled before anything is started."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ropewalk.agent.lab.brokers import Running
from ropewalk.agent.lab.makes.recipe import Login, Users, write_secret
from ropewalk.agent.lab.ports import HOST, Ports
from ropewalk.federation import Federation, save
from ropewalk.federation.names import link_name
from ropewalk.federation.saving import write_text
from ropewalk.protocol import load_automaton

CONTROL = "lab.sock"


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of a lab."""

    folder: Path
    links: Mapping[str, tuple[str, str]]
    """By name, its two ends."""
    reach: Mapping[tuple[str, str], int]
    """The proxy's port from an agent to a neighbour's broker."""
    http: Mapping[str, int]
    """The port of each agent's own pages."""

    @property
    def file(self) -> Path:
        """The federation as it is in the lab: with the lab's addresses."""
        return self.folder / "federation.yaml"

    @property
    def plan(self) -> Path:
        """The plan that agents carry out; empty until the lab is given one."""
        return self.folder / "plan.yaml"

    @property
    def key(self) -> Path:
        """The secret that agents share."""
        return self.folder / "key"

    @property
    def control(self) -> Path:
        """Where the lab takes orders."""
        return self.folder / CONTROL

    @property
    def proxy(self) -> Path:
        """Where the proxy takes them."""
        return self.folder / "proxy.sock"

    @property
    def record(self) -> Path:
        """What the lab is, for programs."""
        return self.folder / "lab.json"

    def broker(self, name: str) -> Path:
        """A broker's folder."""
        return self.folder / "brokers" / name

    def agent(self, name: str) -> Path:
        """An agent's folder: its state."""
        return self.folder / "agents" / name

    def trace(self, name: str) -> Path:
        """An agent's trace: the lab's folder is one that `ropewalk pipeline` works on."""
        return self.folder / "traces" / name

    def credentials(self, who: str) -> Path:
        """How agents, or clients, log in: one line, USER:PASSWORD."""
        return self.folder / f"{who}.login"

    def neighbours(self, name: str) -> dict[str, int]:
        """The proxy's port towards each neighbour of a broker."""
        return {to: port for (at, to), port in self.reach.items() if at == name}

    def ways(self, link: str, brokers: Mapping[str, Running]) -> dict[int, int]:
        """The proxy's ports of a link, and the brokers' that they lead to."""
        a, b = self.links[link]
        return {
            self.reach[a, b]: brokers[b].ports["client"],
            self.reach[b, a]: brokers[a].ports["client"],
        }


def layout_of(federation: Federation, folder: Path, ports: Ports) -> Layout:
    """The places of a lab for a federation."""
    links = {link_name(*one.between): one.between for one in federation.links}
    ends = sorted({end for a, b in links.values() for end in ((a, b), (b, a))})
    return Layout(
        folder=folder.resolve(),
        links=links,
        reach={end: ports.take() for end in ends},
        http={name: ports.take() for name in federation.brokers},
    )


def write_files(
    layout: Layout,
    federation: Federation,
    brokers: Mapping[str, Running],
    users: Users | None,
    admin: Login,
) -> None:
    """Write the lab's federation file, a new key, the admin's login and users' if there are any."""
    write_text(layout.plan, "")
    write_secret(layout.key, secrets.token_hex(32) + "\n")
    logins, credentials = {"admin": admin}, None
    if users is not None:
        credentials = f"file:{layout.credentials('agent')}"
        logins |= {"agent": users.agent, "client": users.client}
    for who, login in logins.items():
        write_secret(layout.credentials(who), f"{login.user}:{login.password}\n")
    placed = {
        name: replace(
            broker,
            url=brokers[name].url,
            watch=brokers[name].watch or None,
            credentials=credentials,
        )
        for name, broker in federation.brokers.items()
    }
    protocols = _copied_protocols(federation, layout.folder)
    save(replace(federation, brokers=placed, protocols=protocols), layout.file)


def _copied_protocols(federation: Federation, folder: Path) -> dict[str, str]:
    """Protocol files beside the lab's federation file; raises ProtocolError for a bad one."""
    home, copies = Path(federation.source.file).parent, dict[str, str]()
    for name, path in federation.protocols.items():
        load_automaton(home / path)
        copies[name] = f"protocols/{name}.yaml"
        (folder / "protocols").mkdir(exist_ok=True)
        write_text(folder / copies[name], (home / path).read_text("utf-8"))
    return copies


def write_record(layout: Layout, status: Mapping[str, Any]) -> None:
    """Write what the lab is now into `lab.json`."""
    write_text(layout.record, json.dumps(status, indent=1) + "\n")


def address(port: int) -> str:
    """HOST:PORT on this machine."""
    return f"{HOST}:{port}"
