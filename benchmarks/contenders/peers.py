"""How each peer is configured: as its manual says, with its own default timers."""

import json
from collections.abc import Mapping
from typing import Any

from contenders.rig import Peer
from contenders.shapes import TOPIC, chain, diamond
from ropewalk.agent.lab.brokers import Running
from ropewalk.agent.lab.ports import HOST

ONWARD = {"a--b": ("a", "b"), "a--c": ("a", "c"), "b--d": ("b", "d"), "c--d": ("c", "d")}


# --- Mosquitto: bridges, the first with a backup address -------------------------------------


def bridge_text(name: str, ports: list[int]) -> str:
    """A bridge that keeps what is not acknowledged; further addresses are backups."""
    addresses = " ".join(f"{HOST}:{port}" for port in ports)
    lines = (
        f"connection {name}-onward",
        f"address {addresses}",
        f"topic {TOPIC} out 1",
        "cleansession false",
        "notifications false",
    )
    return "\n".join(lines) + "\n"


def write_bridge(broker: Running, reach: Mapping[str, int]) -> None:
    """Add the bridge to the broker's configuration, b before c."""
    if reach:
        with (broker.folder / "mosquitto.conf").open("a") as file:
            file.write(bridge_text(broker.name, [reach[to] for to in sorted(reach)]))


MOSQUITTO_BRIDGE = Peer(
    federation=diamond("mosquitto"),
    dials=ONWARD,
    port="client",
    waves=("d", "bc", "a"),
    write=write_bridge,
)


# --- NATS: leaf nodes, the first with a backup hub --------------------------------------------


def leaf_text(name: str, own: Mapping[str, int], remotes: list[list[int]]) -> str:
    """A server that is a hub for whoever connects, and a leaf of each remote's first server.

    Servers are tried in order, and tell nobody their own address: the leaf would use it to go
    round the proxy.
    """
    lines = [
        f"server_name: {name}",
        f"host: {HOST}",
        f"port: {own['client']}",
        f'http: "{HOST}:{own["http"]}"',
        "leafnodes {",
        f"  host: {HOST}",
        f"  port: {own['leaf']}",
        "  no_advertise: true",
        "  remotes: [",
    ]
    for ports in remotes:
        urls = ", ".join(f'"nats-leaf://{HOST}:{port}"' for port in ports)
        lines.append(f"    {{urls: [{urls}], no_randomize: true}}")
    return "\n".join([*lines, "  ]", "}"]) + "\n"


def write_leaf(broker: Running, reach: Mapping[str, int]) -> None:
    """Make a a leaf of b, or else of c, and d one of both."""
    ports = [reach[to] for to in sorted(reach)]
    remotes = [ports] if broker.name == "a" else [[port] for port in ports]
    (broker.folder / "nats.conf").write_text(leaf_text(broker.name, broker.ports, remotes))


NATS_LEAF = Peer(
    federation=diamond("nats"),
    dials={**ONWARD, "b--d": ("d", "b"), "c--d": ("d", "c")},
    port="leaf",
    waves=("bc", "ad"),
    write=write_leaf,
    mode="plain",  # it acknowledges nothing
)


# --- RabbitMQ: federated exchanges in a chain -------------------------------------------------


def federation_definitions(ports: Mapping[str, int]) -> dict[str, Any]:
    """The clients' exchange is federated with that of each upstream broker."""
    everything = dict.fromkeys(("configure", "write", "read"), ".*")
    return {
        # With definitions the broker makes none of these by itself.
        "vhosts": [{"name": "/"}],
        "users": [{"name": "guest", "password": "guest", "tags": "administrator"}],
        "permissions": [{"user": "guest", "vhost": "/", **everything}],
        "parameters": [
            {
                "vhost": "/",
                "component": "federation-upstream",
                "name": name,
                "value": {"uri": f"amqp://{HOST}:{port}", "max-hops": 2},
            }
            for name, port in ports.items()
        ],
        "policies": [
            {
                "vhost": "/",
                "name": "federate",
                "pattern": r"^amq\.topic$",
                "apply-to": "exchanges",
                "definition": {"federation-upstream-set": "all"},
            }
        ],
    }


def write_federation(broker: Running, reach: Mapping[str, int]) -> None:
    """Switch the plug-in on and say who is upstream."""
    folder = broker.folder
    (folder / "enabled_plugins").write_text("[rabbitmq_management, rabbitmq_federation].\n")
    if reach:
        file = folder / "federation.json"
        file.write_text(json.dumps(federation_definitions(reach)))
        with (folder / "rabbitmq.conf").open("a") as config:
            config.write(f"load_definitions = {file}\n")


RABBITMQ_FEDERATION = Peer(
    federation=chain("rabbitmq"),
    dials={"a--b": ("b", "a"), "b--d": ("d", "b")},
    port="client",
    waves=("abd",),
    write=write_federation,
    rate_msgs_s=500.0,
    lasting=True,  # it takes some 12 s to start
)
