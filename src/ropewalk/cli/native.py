"""Verifying what was read from brokers' own files: what is left out, and the replay of findings."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ropewalk.cli.contract import progress
from ropewalk.cli.files import missing_files, read_again
from ropewalk.errors import RopewalkError, UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.agent.replay import Actor, Observed, Scene
    from ropewalk.federation import Federation
    from ropewalk.federation.readers.reading import Reading
    from ropewalk.findings import Finding

DEAD = "does not start"
"""What is said of settings that a broker refuses."""
PLAY_S = {"rabbitmq": 30, "mosquitto": 8, "nats": 8}
"""About how long it takes to start brokers of a make and to play a finding on them."""
PATIENCE_S = 60
"""One finding of each code is played; more of them as long as that takes no longer than this."""
MOST_SERVERS = 12
"""If a message is only sent to more than these, they are not started to show that it stops."""
STAND_INS = {
    "mosquitto": "listener 1883\nallow_anonymous true\n",
    "nats": "port: 4222\nleafnodes {{ port: 7422 }}\nserver_name: {name}\n",
    "rabbitmq": '{{"vhosts": [{{"name": "/"}}]}}',
}
"""What stands in for a server of which there is no file: it only takes connections."""


def with_reading(
    document: Document, text: str, reading: "Reading", failures: Sequence[str] | None = None
) -> tuple[Document, str]:
    """What was found, after what the files themselves say otherwise than people think."""
    told = reading.telling
    idle = sum(one.code == "C020" and DEAD in one.message for one in told)
    aside = reading.not_modelled
    findings = [*document.findings, *told]
    summary = {**document.summary, "not_modelled": aside}
    text += "".join(f"\n{one}" for one in _besides(reading, aside, idle, failures or ()))
    return replace(document, findings=findings, summary=summary), text


def _besides(reading: "Reading", aside: int, idle: int, failures: Sequence[str]) -> "Iterator[str]":
    """What a reader of the verdict has to know of the files."""
    federation = reading.federation
    if aside:
        settings = "1 setting" if aside == 1 else f"{aside} settings"
        yield f"Not modelled: {settings} of the files; `ropewalk read` tells each."
    if idle:
        yield f"A broker that {DEAD} is taken to run: mend what the warnings tell of it first."
    if federation.bridges and not federation.links and any("links" in one for one in failures):
        yield "There are no links to fail: the only connections of something are in V016."


def confirmed(
    document: Document,
    text: str,
    federation: "Federation",
    reading: "Reading | None",
    mapping: Path | None,
) -> tuple[Document, str]:
    """Play what can be played of the findings, and say of each what was seen."""
    if reading is None and (gone := missing_files(federation)):
        raise UsageError(f"{gone[0]}: this file was read, and is not there: verify the files anew")
    reading = reading or read_again(federation, mapping)
    if reading is None:
        raise UsageError(
            "--confirm needs brokers' own files: verify these, or what was read of them"
        )
    findings: list[Finding] = []
    results: list[dict[str, Any]] = []
    spent, left = 0, 0
    for finding in document.findings:
        asked = _replay(finding)
        cost = _seconds(asked, federation) if asked is not None else 0
        again = any(one["code"] == finding.code for one in results)
        if asked is None or (again and spent + cost > PATIENCE_S):
            left += asked is not None
            findings.append(finding)
            continue
        spent += cost
        with progress(f"playing {finding.code} on real brokers"):
            result = _played(asked, federation, reading)
        results.append({"code": finding.code, "where": str(finding.where), **result})
        words = "confirmed" if result["confirmed"] else "not confirmed"
        message = f"{finding.message}; {words} on real brokers: {result['words']}"
        findings.append(replace(finding, message=message))
    seen = sum(bool(one["confirmed"]) for one in results)
    left_out = list(dict.fromkeys(text for one in results for text in one["left_out"]))
    summary = {**document.summary, "replayed": results}
    played = f"{len(results)} finding{'s' if len(results) != 1 else ''}"
    text += f"\nReplayed {played} on real brokers: {seen} confirmed."
    if left:
        text += f" {left} more of the same kinds would take too long."
    if left_out:
        text += "".join(f"\nchanged for the replay: {one}" for one in left_out)
    return replace(document, findings=findings, summary=summary), text


def _seconds(asked: Mapping[str, Any], federation: "Federation") -> int:
    makes = {federation.brokers[one].make for one, _, _ in asked["copies"]}
    return max((PLAY_S[one] for one in makes), default=0) * (2 if asked["claim"] == "cut" else 1)


def _replay(finding: "Finding") -> Mapping[str, Any] | None:
    """What has to be played for a finding; None where that cannot be had on demand."""
    witness = finding.witness if isinstance(finding.witness, Mapping) else {}
    asked = witness.get("replay")
    return asked if isinstance(asked, Mapping) and not asked["connected"] else None


def _played(
    asked: Mapping[str, Any], federation: "Federation", reading: "Reading"
) -> dict[str, Any]:
    from ropewalk.agent.replay import judge

    try:
        actors, scene, expected = _cast(asked, federation, reading)
        observed = _observed(actors, scene, reading)
        control = None
        if asked["claim"] == "cut":
            control = _observed(actors, replace(scene, down=()), reading)
        verdict = judge(asked["claim"], expected, observed, control=control)
    except RopewalkError as error:
        return {"confirmed": False, "words": f"it could not be played: {error}", "left_out": []}
    counted = [[*place, many] for place, many in sorted(observed.copies.items())]
    return {
        "confirmed": verdict.confirmed,
        "words": verdict.words,
        "copies": counted,
        "left_out": [*observed.left_out, *observed.missing],
        "setup_seconds": round(observed.setup_seconds, 2),
    }


def _observed(actors: "Sequence[Actor]", scene: "Scene", reading: "Reading") -> "Observed":
    from ropewalk.agent.replay import play

    # Of a file that another includes only that other one's name may be known there.
    anywhere = {(host, port): server for (_, host, port), server in reading.meant.items()}

    def reach(file: str, host: str, port: int) -> str | None:
        return reading.meant.get((file, host, port)) or anywhere.get((host, port))

    with TemporaryDirectory(prefix="ropewalk-replay-") as folder:
        try:
            return asyncio.run(_unless_ended(play(actors, reach, scene, Path(folder))))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None


async def _unless_ended(played: "Coroutine[Any, Any, Observed]") -> "Observed":
    """Whoever sends SIGTERM (`timeout`, systemd) wants brokers and their folder gone as well."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await played


def _cast(
    asked: Mapping[str, Any], federation: "Federation", reading: "Reading"
) -> "tuple[list[Actor], Scene, dict[tuple[str, str], int]]":
    """The servers that the message meets, the message, and what is predicted."""
    from ropewalk.agent.replay import Scene

    copies = {(broker, name): many for broker, name, many in asked["copies"]}
    to, down = asked["to"], {_server(federation, one) for one in asked["down"]}
    brokers = dict.fromkeys(
        (asked["broker"], to, *(broker for broker, _ in copies), *asked["down"])
    )
    near = asked["near"] if asked["claim"] in ("gap", "cut") else ()
    servers = {_server(federation, one) for one in brokers} | down
    around = {_server(federation, one) for one in near} | servers
    servers = around if len(around) <= MOST_SERVERS else servers
    expected = copies
    if asked["claim"] == "copies":
        expected = {place: many for place, many in copies.items() if place[0] == to}
    elif asked["claim"] in ("gap", "cut"):
        silent = {(to, name): 0 for name in asked["names"]}
        expected = {**({} if asked["claim"] == "cut" else copies), **silent}
    actors = list(_actors(servers, federation, reading))
    watched = tuple(one for one in brokers if _server(federation, one) not in down)
    scene = Scene(
        broker=asked["broker"], topic=asked["topic"], down=tuple(sorted(down)), watch=watched
    )
    return actors, scene, expected


def _server(federation: "Federation", broker: str) -> str:
    return federation.brokers[broker].server or broker


def _actors(servers: set[str], federation: "Federation", reading: "Reading") -> "Iterator[Actor]":
    from ropewalk.agent.replay import Actor

    natives = {one.server: one for one in reading.natives}
    for server in sorted(servers):
        spaces = {
            name: one.space or ""
            for name, one in federation.brokers.items()
            if (one.server or name) == server
        }
        make = federation.brokers[next(iter(spaces))].make
        native = natives.get(server)
        yield Actor(
            name=server,
            make=make,
            text=native.text if native else STAND_INS[make].format(name=server),
            file=native.file if native else "",
            parts=native.parts if native else {},
            assumed=native.assumed if native else (),
            spaces=spaces,
        )
