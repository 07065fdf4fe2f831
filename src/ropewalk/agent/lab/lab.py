"""The lab: brokers, a proxy in every link, agents; all of it can be broken and healed."""

import asyncio
import os
import secrets
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

from ropewalk.agent.lab.agents import agent_command
from ropewalk.agent.lab.brokers import Running, ports_for, prepare_broker
from ropewalk.agent.lab.child import Child
from ropewalk.agent.lab.folder import Claim, claim
from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.layout import Layout, address, layout_of, write_files, write_record
from ropewalk.agent.lab.loss import set_loss
from ropewalk.agent.lab.makes.recipe import Login, Tls, Users, listens
from ropewalk.agent.lab.planning import Planning
from ropewalk.agent.lab.ports import Ports
from ropewalk.agent.lab.proxy import proxy_command
from ropewalk.agent.lab.targets import ALL, HEAL, Target, check_fault, numbers_of, target_of
from ropewalk.agent.lab.wire import ask_later
from ropewalk.errors import LabError, UsageError
from ropewalk.federation import Federation
from ropewalk.overlay import chart_of

PROXY_S = 15.0
AGENT_S = 120.0
"""How long proxy and agents may take to be ready: many of them may start at once."""


class Lab:
    """A federation of real brokers on this machine.

    `agent_command` says how the agent beside a broker is started; `agents_answer` is False for
    stand-ins that do not listen on the port of the agent's own pages.
    """

    def __init__(
        self,
        federation: Federation,
        folder: Path,
        *,
        agent_command: Callable[[Layout, str], list[str]] = agent_command,
        agents_answer: bool = True,
        tls: Tls | None = None,
        users: Users | None = None,
        keep: bool = False,
    ) -> None:
        self.federation = federation
        self._command, self._agents_answer = agent_command, agents_answer
        self._tls, self._users = tls, users
        self._admin = Login(user="admin", password=secrets.token_hex(16))
        self._claim: Claim = claim(folder, keep=keep)
        self._ports, self._group = Ports(), Group()
        self.layout = layout_of(federation, folder, self._ports)
        self.brokers: dict[str, Running] = {}
        self.agents: dict[str, Child] = {}
        self.faults: dict[str, str] = {}
        """What is broken now, by target."""
        self.planning = Planning(self.layout, self.federation)
        self._losses: dict[int, float] = {}
        self._proxy = self._child("proxy", proxy_command(self.layout.proxy), folder.resolve())

    async def start(self) -> None:
        """Start brokers, then the proxy, then agents; returns when all of them answer.

        Raises UsageError if a broker's program is not installed, LabError with the last words of
        what does not start. Whatever happens, `stop` ends it all.
        """
        self._prepare()
        await asyncio.to_thread(chart_of, self.federation)  # kernels are compiled once, not by each
        await self._start_all(broker.start() for broker in self.brokers.values())
        await self._start_proxy()
        for name, agent in self.agents.items():
            self.layout.agent(name).mkdir(parents=True, exist_ok=True)
            agent.start()
        await self._start_all(self._agent_ready(name) for name in self.agents)
        self._record()

    def _prepare(self) -> None:
        for name, broker in self.federation.brokers.items():
            self.brokers[name] = prepare_broker(
                name,
                broker.make,
                self.layout.broker(name),
                ports_for(broker.make, self._ports),
                self._group,
                tls=self._tls,
                users=self._users,
                admin=self._admin,
            )
            self.agents[name] = self._child(
                f"agent:{name}", self._command(self.layout, name), self.layout.folder
            )
        write_files(self.layout, self.federation, self.brokers, self._users, self._admin)

    async def fault(self, what: str, target: str, value: str | None = None) -> list[str]:
        """Break something, or heal it; what was done, in words."""
        if what == HEAL and target == ALL:
            numbers_of(what, value)
            done = [await self._apply(HEAL, self._target(one), None) for one in [*self.faults]]
        else:
            hit = self._target(target)
            check_fault(what, hit)
            done = [await self._apply(what, hit, value)]
        self._record()
        return done

    def plan(self, file: Path) -> dict[str, Any] | None:
        """Have the agents carry out a plan; `status` tells how far they are."""
        self.planning.begin(file)
        for agent in self.agents.values():
            agent.hang_up()
        return self.planning.status()

    def status(self) -> dict[str, Any]:
        """Everything there is, with its addresses, process ids and what is wrong with it."""
        return {
            "federation": self.federation.name,
            "pid": os.getpid(),
            "group": self._group.id,
            "folder": str(self.layout.folder),
            "file": str(self.layout.file),
            "key": str(self.layout.key),
            "brokers": {name: self._broker_status(one) for name, one in self.brokers.items()},
            "agents": {name: self._agent_status(name, one) for name, one in self.agents.items()},
            "links": {name: self._link_status(name) for name in self.layout.links},
            "plan": self.planning.status(),
        }

    def ended(self) -> dict[str, Path]:
        """Processes that ended without being told to, and their logs."""
        children = {name: one.child for name, one in self.brokers.items()}
        children |= {f"agent:{name}": one for name, one in self.agents.items()}
        return {
            name: one.log
            for name, one in {**children, "proxy": self._proxy}.items()
            if one.code is not None and name not in self.faults
        }

    async def stop(self) -> None:
        """End agents, proxy and brokers, in that order; data and logs stay."""
        try:
            await self.planning.close()
            await asyncio.gather(*(agent.stop() for agent in self.agents.values()))
            await self._proxy.stop()
            await asyncio.gather(*(broker.stop() for broker in self.brokers.values()))
        finally:
            await asyncio.to_thread(self._group.close)
            self._ports.close()
            self.layout.record.unlink(missing_ok=True)
            self._claim.close()

    @property
    def guarded(self) -> bool:
        """Whether the guardian still watches over the lab's processes."""
        return self._group.guarded

    # --- starting ---------------------------------------------------------------------------

    def _child(self, name: str, command: list[str], folder: Path) -> Child:
        log = self.layout.folder / "logs" / f"{name.replace(':', '-')}.log"
        log.parent.mkdir(exist_ok=True)
        return Child(name=name, command=command, folder=folder, log=log, group=self._group)

    async def _start_all(self, starting: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Start side by side; the first failure ends the waiting for the others."""
        tasks = [asyncio.ensure_future(one) for one in starting]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _start_proxy(self) -> None:
        self.layout.proxy.unlink(missing_ok=True)
        self._proxy.start()
        await self._proxy.ready(self._proxy_listens, patience_s=PROXY_S)
        for link in self.layout.links:
            ways = self.layout.ways(link, self.brokers)
            await self._ask_proxy(do="open", link=link, ways=ways)

    async def _proxy_listens(self) -> bool:
        try:
            await ask_later(self.layout.proxy, {"do": "status"})
        except OSError:  # not there, or there and not listening yet
            return False
        return True

    async def _agent_ready(self, name: str) -> None:
        if self._agents_answer:
            port = self.layout.http[name]
            await self.agents[name].ready(lambda: listens(port), patience_s=AGENT_S)

    # --- breaking and healing ---------------------------------------------------------------

    def _target(self, text: str) -> Target:
        return target_of(text, brokers=self.brokers, links=self.layout.links)

    async def _apply(self, what: str, target: Target, value: str | None) -> str:
        numbers, name = numbers_of(what, value), str(target)
        was = self.faults.get(name)
        if what != HEAL:  # known before it happens: what is being killed does not end by itself
            self.faults[name] = " ".join(filter(None, (what, value)))
        try:
            if target.kind == "link":
                await self._break_link(what, target.name, numbers)
            else:
                await self._break_process(what, target)
        except BaseException:
            self.faults.pop(name, None)
            if was is not None:
                self.faults[name] = was
            raise
        if what == HEAL:
            self.faults.pop(name, None)
            return f"{target} is healed" if was else f"{target} was well"
        return f"{target}: {self.faults[name]}"

    async def _break_link(self, what: str, link: str, numbers: tuple[float, float]) -> None:
        ways = self.layout.ways(link, self.brokers)
        if what == "loss":
            self._set_loss({**self._losses, **dict.fromkeys(ways, numbers[0])})
            return
        if what == HEAL and not self._losses.keys().isdisjoint(ways):
            self._set_loss({port: one for port, one in self._losses.items() if port not in ways})
        proxied = "" if what == HEAL else what
        delay_ms, rate_kb_s = numbers
        await self._ask_proxy(
            do="fault", link=link, what=proxied, delay_ms=delay_ms, rate_kb_s=rate_kb_s
        )

    def _set_loss(self, losses: dict[int, float]) -> None:
        set_loss(losses)
        self._losses = losses

    async def _break_process(self, what: str, target: Target) -> None:
        running = self.brokers[target.name]
        child = running.child if target.kind == "broker" else self.agents[target.name]
        if what == HEAL:
            await self._heal_process(target, child)
            return
        if not child.alive:
            raise UsageError(f"{target} does not run (exit {child.code}): heal {target} first")
        if what == "kill":
            await child.kill()
        else:
            child.pause()

    async def _heal_process(self, target: Target, child: Child) -> None:
        """Let it go on, or start it again, whether it was killed or died by itself."""
        if child.paused and child.alive:
            child.resume()
        elif not child.alive and target.kind == "broker":
            await self.brokers[target.name].start()
        elif not child.alive:
            child.start()
            await self._agent_ready(target.name)

    async def _ask_proxy(self, **question: Any) -> None:
        try:
            await ask_later(self.layout.proxy, question)
        except OSError as error:
            raise LabError(f"the proxy does not answer ({error}): start the lab again") from None

    # --- telling ----------------------------------------------------------------------------

    def _broker_status(self, broker: Running) -> dict[str, Any]:
        return {
            "make": broker.make,
            "url": broker.url,
            "watch": broker.watch or None,
            "ports": broker.ports,
            "folder": str(broker.folder),
            **_state(broker.child, self.faults.get(broker.name)),
        }

    def _agent_status(self, name: str, agent: Child) -> dict[str, Any]:
        return {
            "http": f"http://{address(self.layout.http[name])}",
            "folder": str(self.layout.agent(name)),
            "reach": {to: address(port) for to, port in self.layout.neighbours(name).items()},
            **_state(agent, self.faults.get(f"agent:{name}")),
        }

    def _link_status(self, link: str) -> dict[str, Any]:
        return {"between": list(self.layout.links[link]), "fault": self.faults.get(link)}

    def _record(self) -> None:
        write_record(self.layout, self.status())


def _state(child: Child, fault: str | None) -> dict[str, Any]:
    running = "paused" if child.paused else "running"
    state = running if child.alive else f"ended ({child.code})"
    return {"pid": child.pid, "state": state, "fault": fault, "log": str(child.log)}
