"""`ropewalk lab drive`: ordinary clients publish and subscribe, and every number is checked."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import load_from
from ropewalk.report.document import Document, Outcome

if TYPE_CHECKING:
    from ropewalk.agent.drive.timing import FaultCall

FEDERATION = "federation.yaml"
"""The federation file of a lab folder, with the URLs of its brokers."""
SATURATION = 4096
"""The window of a run that publishes as fast as it can."""


def drive(
    path: Annotated[
        Path | None,
        typer.Argument(help="A federation file with the brokers' URLs. Default: the lab's own."),
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0, help="Messages/s of each publisher; 0: as fast as possible.")
    ] = 1000,
    bursts: Annotated[
        Path | None,
        typer.Option(help="A file of topics that burst together: rates that change, not --rate."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.001, help="How long to publish.")] = 10,
    size: Annotated[int, typer.Option(min=24, help="Bytes of each payload.")] = 100,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="What the lab is to break, such as 'at 3 s blackhole a--b for 2 s'; may be"
            " repeated, or several with ; between."
        ),
    ] = None,
    mode: Annotated[
        Literal["acked", "plain"],
        typer.Option(help="Publish with acknowledgements, or without any."),
    ] = "acked",
    folder: Annotated[Path, typer.Option("--dir", help="The folder of the lab.")] = Path("lab"),
    settle: Annotated[float, typer.Option(min=0, help="Seconds to wait for the last ones.")] = 10,
    warm_up: Annotated[float, typer.Option(min=0, help="Seconds to wait for the first ones.")] = 30,
    window: Annotated[
        int | None,
        typer.Option(min=1, help="Messages that may wait for an answer. [default: 256]"),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="NATS: a load client instead of nats-py.")
    ] = False,
    no_duplicates: Annotated[
        bool, typer.Option("--no-duplicates", help="What comes twice is a finding on any topic.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Publish and subscribe at every broker as its clients would, and check every number.

    Findings: D001 lost although acknowledged, D002 came twice (exactly-once and at-most-once
    topics), D003 out of order (fifo and total ones), D004 never came at all (exit 3).
    """
    with contract("lab drive", as_json=as_json):
        from ropewalk.agent.drive import DrivePlan, findings_of
        from ropewalk.agent.drive import drive as driven
        from ropewalk.agent.drive.bursts import load_bursts
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.report.driving import driving_text, summary_of

        file = path or folder / FEDERATION
        plan = DrivePlan(
            federation=load_from(file, max_mb=MAX_YAML_MB),
            rate_msgs_s=rate,
            seconds=seconds,
            bursts=load_bursts(bursts) if bursts is not None else None,
            size_bytes=size,
            mode=mode,
            fast=fast,
            window=window or (256 if rate else SATURATION),
            faults=tuple(fault or ()),
            fault=lab_control(folder) if fault else None,
            warm_up_s=warm_up,
            settle_s=settle,
        )
        with progress(f"driving {plan.federation.name}"):
            result = asyncio.run(driven(plan))
        findings = findings_of(result, str(file), no_duplicates=no_duplicates)
        found: Outcome = "findings" if findings else "ok"
        outcome = "undecided" if result.silent else found
        document = Document("lab drive", outcome, summary_of(result), findings)
        finish(document, as_json=as_json, text=driving_text(result))


def lab_control(folder: Path) -> "FaultCall":
    """Does to the lab of a folder what a text says; UsageError if none runs there."""
    from asyncio import to_thread

    from ropewalk.agent.lab.control import order

    order(folder, {"do": "status"})

    async def fault(text: str) -> None:
        what, target, *value = text.split(" ", 2)
        question = {"do": "fault", "what": what, "target": target}
        await to_thread(order, folder, question | ({"value": value[0]} if value else {}))

    return fault
