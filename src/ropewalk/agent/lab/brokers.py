"""Real brokers of any make, started in a folder of their own and started again in the same."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from ropewalk.agent.lab.child import Child
from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.makes import mosquitto, nats, rabbitmq
from ropewalk.agent.lab.makes.recipe import Login, Order, Recipe, Tls, Users
from ropewalk.agent.lab.ports import Ports
from ropewalk.errors import UsageError

MAKES: Mapping[str, ModuleType] = {"nats": nats, "mosquitto": mosquitto, "rabbitmq": rabbitmq}
_HELPERS_LOG = "helper.log"


class Running:
    """A broker that runs, or ran and can be started again on the same ports with the same data."""

    def __init__(self, order: Order, make: str, recipe: Recipe, group: Group) -> None:
        self.name, self.make, self.url, self.watch = order.name, make, recipe.url, recipe.watch
        self.folder, self.ports = order.folder, dict(order.ports)
        self._recipe = recipe
        self.child = Child(
            name=f"{order.name} ({make})",
            command=recipe.command,
            folder=order.folder,
            log=order.folder / "log",
            group=group,
            environment=recipe.environment,
        )
        self._helper = Child(
            name=f"{order.name}'s helper",
            command=recipe.helper,
            folder=order.folder,
            log=order.folder / _HELPERS_LOG,
            group=group,
            environment=recipe.environment,
        )

    async def start(self) -> None:
        """Start it, or start it again after it was killed; returns when clients can use it.

        Raises LabError with its last words if it ends, or takes too long.
        """
        if self._recipe.helper and not self._helper.alive:
            self._helper.start()
        self.child.start()
        await self.child.ready(self._recipe.answers, patience_s=self._recipe.patience_s)

    async def stop(self) -> None:
        """End it; its data stays."""
        await self.child.stop(self._recipe.grace_s)
        await self._helper.stop()


def ports_for(make: str, ports: Ports) -> dict[str, int]:
    """The ports that a broker of a make needs, by what they are for."""
    return {use: ports.take() for use in _make(make).PORTS}


async def start_broker(
    name: str,
    make: str,
    folder: Path,
    ports: Mapping[str, int],
    group: Group,
    *,
    tls: Tls | None = None,
    users: Users | None = None,
) -> Running:
    """Start a broker in a folder (made if it is not there) and wait until clients can use it.

    Raises UsageError if its program is not installed, LabError if it does not start.
    """
    broker = prepare_broker(name, make, folder, ports, group, tls=tls, users=users)
    await broker.start()
    return broker


def prepare_broker(
    name: str,
    make: str,
    folder: Path,
    ports: Mapping[str, int],
    group: Group,
    *,
    tls: Tls | None = None,
    users: Users | None = None,
    admin: Login | None = None,
) -> Running:
    """A broker that is ready to be started; UsageError if its program is not installed."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    order = Order(name=name, folder=folder, ports=ports, tls=tls, users=users, admin=admin)
    try:
        recipe: Recipe = _make(make).recipe(order)
    except UsageError as error:
        raise UsageError(f"{name} (make: {make}): {error}") from None
    return Running(order, make, recipe, group)


def _make(make: str) -> ModuleType:
    if make not in MAKES:
        raise UsageError(f"no make is called {make!r}: there are {', '.join(MAKES)}")
    return MAKES[make]
