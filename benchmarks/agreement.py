"""Random native configurations: what is predicted of a message beside what real brokers do.

    python benchmarks/agreement.py [--runs 10] [--seed 0] [--only rabbitmq]

Each run writes files for a few brokers, reads them as `ropewalk read` does, follows a message
through the bridges, starts the brokers from the same files and counts its copies. A loop agrees if
it is seen; circles of leaf nodes are left out, as what is refused there depends on the order in
which servers start, and so are gateways that may be at any of several servers. RabbitMQ takes half
a minute a run, so it is asked for by `--only`.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from _measure import report
from ropewalk.agent.replay import Actor, Scene, play
from ropewalk.federation.facts import Federation
from ropewalk.federation.readers.reading import Reading, read_native
from ropewalk.verify.flood import Flood
from ropewalk.verify.floods import Floods
from ropewalk.verify.leaf_circles import circles

Files = dict[str, str]
GROWN = 60
"""Copies that a message leaves which gets a longer name each time it goes round."""
TOPICS = ("t/x", "u/x", "x", "t/y/z", "p/t/x", "t/t/x")
PATTERNS = ("#", "t/#", "t/+", "t/x", "+/x", "u/#", "x")
PREFIXES = ('"" p/', 't/ ""', "p/ p/", '"" t/', "u/ t/", "t/ u/")


def mosquitto(random: Random) -> Files:
    """Two to four brokers with up to four connections of up to three topic lines."""
    names = "abcd"[: random.randint(2, 4)]
    files = dict.fromkeys(names, "listener 1883\nallow_anonymous true\n")
    for i in range(random.randint(1, 4)):
        holder, to = random.sample(names, 2)
        lines = [f"connection c{i}", f"address {to}:1883", f"local_clientid c{i}"]
        lines += random.choices(
            ["try_private false", "cleansession true", "bridge_protocol_version mqttv50", ""], k=2
        )
        for _ in range(random.randint(1, 3)):
            way = random.choice(["in", "out", "both"])
            prefixes = random.choice(PREFIXES) if random.random() < 0.4 else ""
            pattern, qos = random.choice(PATTERNS), random.randint(0, 2)
            lines.append(f"topic {pattern} {way} {qos} {prefixes}".rstrip())
        files[holder] += "\n".join(dict.fromkeys(one for one in lines if one)) + "\n"
    return files


def nats(random: Random) -> Files:
    """Three to six servers, up to two clusters, perhaps with gateways, up to three leaf nodes."""
    names = [f"n{i}" for i in range(random.randint(3, 6))]
    cluster: dict[str, str] = {}
    for label in "CD"[: random.randint(0, 2)]:
        free = [one for one in names if one not in cluster]
        cluster |= dict.fromkeys(free[: random.randint(2, 3)] if len(free) > 1 else (), label)
    gateways = sorted(set(cluster.values())) if random.random() < 0.4 else []
    pairs = [
        random.choice([(a, b), (b, a)])
        for a, b in combinations(names, 2)
        if cluster.get(a, a) != cluster.get(b, b)
    ]
    leaves = random.sample(pairs, min(len(pairs), random.randint(1, 3)))
    files = {}
    for name in names:
        remotes = [
            f"{{url: nats-leaf://a:a@{to}:7422, account: A}}" for at, to in leaves if at == name
        ]
        files[name] = (
            f"server_name: {name}\nport: 4222\n"
            f"accounts {{SYS {_user('s')}, A {_user('a')}}}\nsystem_account: SYS\n"
            f"leafnodes {{port: 7422, remotes: [{', '.join(remotes)}]}}\n"
        )
        if name in cluster:
            files[name] += _cluster(name, cluster, gateways)
    return files


def _user(name: str) -> str:
    return f"{{users: [{{user: {name}, password: {name}}}]}}"


def _cluster(name: str, cluster: Mapping[str, str], gateways: list[str]) -> str:
    own = cluster[name]
    routes = ", ".join(f"nats://{one}:6222" for one in cluster if cluster[one] == own)
    text = f"cluster {{name: {own}, port: 6222, routes: [{routes}]}}\n"
    others = []
    for far in gateways:
        urls = ", ".join(f"nats://{one}:7222" for one in cluster if cluster[one] == far)
        others += [f"{{name: {far}, urls: [{urls}]}}"] if far != own else []
    if others:
        text += f"gateway {{name: {own}, port: 7222, gateways: [{', '.join(others)}]}}\n"
    return text


def rabbitmq(random: Random) -> Files:
    """Two or three clusters with a federated exchange, hop limits, and perhaps shovels."""
    names = "abc"[: random.randint(2, 3)]
    return {name: json.dumps(_definitions(name, names, random), indent=1) for name in names}


def _definitions(own: str, names: str, random: Random) -> dict[str, Any]:
    others = [one for one in names if one != own]
    upstreams = {
        far: {"uri": f"amqp://{far}", "max-hops": random.randint(1, 3)}
        for far in random.sample(others, random.randint(0, len(others)))
    }
    shovels = {
        f"to-{far}": {
            "src-protocol": "amqp091",
            "src-uri": "amqp://",
            "src-exchange": "e",
            "src-exchange-key": "#",
            "dest-protocol": "amqp091",
            "dest-uri": f"amqp://{far}",
            "dest-exchange": "e",
        }
        for far in random.sample(others, int(random.random() < 0.3))
    }
    kinds: dict[str, dict[str, dict[str, Any]]] = {
        "federation-upstream": upstreams,
        "shovel": shovels,
    }
    return {
        "rabbit_version": "3.10.8",
        "vhosts": [{"name": "/"}],
        "exchanges": [{"name": "e", "vhost": "/", "type": "topic", "durable": True}],
        "parameters": [
            {"vhost": "/", "component": kind, "name": name, "value": value}
            for kind, entries in kinds.items()
            for name, value in entries.items()
        ],
        "policies": [
            {
                "vhost": "/",
                "name": "federated",
                "pattern": "^e$",
                "apply-to": "exchanges",
                "definition": {"federation-upstream-set": "all"},
            }
        ],
    }


@dataclass(frozen=True, slots=True)
class Make:
    """How files of a make come about, what they are called, and what is not compared."""

    files: Callable[[Random], Files]
    name: str
    topics: tuple[str, ...]
    left_out: Callable[[Federation], bool]


def _by_order(federation: Federation) -> bool:
    """Whether the order of starting decides: circles, and gateways to more servers than one."""
    choice = any(one.kind == "gateway" and one.addresses for one in federation.bridges)
    leaves = any(one.kind == "leaf" for one in federation.bridges)
    return bool(circles(federation)) or (choice and leaves)


MAKES = {
    "mosquitto": Make(mosquitto, "{}/mosquitto.conf", TOPICS, lambda _: False),
    "nats": Make(nats, "{}/nats.conf", ("t/x",), _by_order),
    "rabbitmq": Make(rabbitmq, "{}/definitions.json", ("e/k",), lambda _: False),
}


def compared(make: str, seed: int) -> str:
    """What came of one run: agrees, loops (seen as well), left out, or differs."""
    random, how = Random(seed), MAKES[make]
    files = how.files(random)
    with TemporaryDirectory(prefix="ropewalk-agreement-") as folder:
        for name, text in files.items():
            path = Path(folder) / how.name.format(name)
            path.parent.mkdir()
            path.write_text(text, encoding="utf-8")
        reading = read_native([folder])
        federation = reading.federation
        broker, topic = random.choice(sorted(federation.brokers)), random.choice(how.topics)
        if how.left_out(federation):
            return "left out"
        found = Floods(federation).of(broker, topic)
        actors = list(_actors(make, files, reading))
        scene = Scene(broker=broker, topic=topic, watch=tuple(federation.brokers))
        seen = asyncio.run(play(actors, lambda _, host, __: host, scene, Path(folder) / "run"))
        return _verdict(found, seen.copies, storm=seen.storm)


def _actors(make: str, files: Files, reading: Reading) -> Iterator[Actor]:
    brokers = reading.federation.brokers.items()
    for name, text in files.items():
        spaces = {at: one.space or "" for at, one in brokers if (one.server or at) == name}
        yield Actor(name=name, make=make, text=text, file=f"{name}.conf", spaces=spaces)


def _verdict(found: Flood, copies: Mapping[tuple[str, str], int], *, storm: bool) -> str:
    if found.loop:
        seen = storm or (found.grows and sum(copies.values()) > GROWN)
        return "loops" if seen else "differs"
    real = {place: many for place, many in copies.items() if many}
    return "agrees" if real == dict(found.copies) and not storm else "differs"


def main() -> None:
    """Run it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runs", type=int, default=10)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--only", choices=sorted(MAKES), help="default: mosquitto and nats")
    options = asked.parse_args()
    figures: dict[str, Any] = {}
    for make in ("mosquitto", "nats") if options.only is None else (options.only,):
        came: dict[str, list[int]] = {}
        for seed in range(options.seed, options.seed + options.runs):
            verdict = compared(make, seed)
            came.setdefault(verdict, []).append(seed)
            print(f"  {make} {seed}: {verdict}", file=sys.stderr)
        figures[make] = {verdict: len(seeds) for verdict, seeds in came.items()}
        figures[make]["differing_seeds"] = came.get("differs", [])
    report("agreement", runs=options.runs, **figures)


if __name__ == "__main__":
    main()
