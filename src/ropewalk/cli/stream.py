"""`ropewalk pipeline stream`: ingest, rates and audit of a trace that goes on."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ropewalk.cli.contract import Json, contract, finish
from ropewalk.cli.files import load_from
from ropewalk.cli.spark import Master, Remote, started
from ropewalk.errors import UsageError
from ropewalk.report.document import Document, Outcome


def stream(
    folder: Annotated[Path, typer.Argument(help="A working folder; made if it is not there.")],
    traces: Annotated[
        Path | None,
        typer.Option(help="The folder that trace files are renamed into. Default: FOLDER/traces."),
    ] = None,
    nats: Annotated[
        str | None, typer.Option(help="Or NATS servers: nats://host:4222, with --stream.")
    ] = None,
    stream: Annotated[str | None, typer.Option(help="The JetStream stream to read.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only this subject of it.")] = None,
    gaps: Annotated[
        Literal["error", "skip"], typer.Option(help="What to do about deleted messages.")
    ] = "error",
    federation: Annotated[
        Path | None, typer.Option(help="The federation file. Default: FOLDER/federation.yaml.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop when all that is there is done.")] = (
        False
    ),
    interval_s: Annotated[float, typer.Option("--interval-s", help="Between batches.")] = 10.0,
    delay_s: Annotated[
        float, typer.Option("--delay-s", help="How late rows may come before a window closes.")
    ] = 10.0,
    window_s: Annotated[float, typer.Option("--window-s", help="Length of a window.")] = 1.0,
    deadline_ms: Annotated[
        float, typer.Option("--deadline-ms", help="How long a delivery may take at most.")
    ] = 5000,
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Follow a folder that grows, or a JetStream stream; changes go to FOLDER/store/stream."""
    with contract("pipeline stream", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.pipeline.folders import Work
        from ropewalk.pipeline.stream.job import run
        from ropewalk.pipeline.stream.sources import Folder, Growing, JetStream
        from ropewalk.protocol.reading import load_automata
        from ropewalk.report.pipeline import stream_text

        if (nats is None) != (stream is None) or (nats and traces):
            raise UsageError("write --nats SERVERS --stream NAME, or --traces FOLDER")
        work = Work(folder)
        path = federation or work.federation
        described = load_from(path, max_mb=MAX_YAML_MB)
        source: Growing = (
            JetStream(nats, stream, subject, gaps=gaps)
            if nats is not None and stream is not None
            else Folder(traces or work.folder / "traces")
        )
        with started(master, remote) as spark:
            done = run(
                spark,
                source,
                work.store,
                described,
                once=once,
                interval_s=interval_s,
                delay_ns=round(delay_s * 1e9),
                window_ns=round(window_s * 1e9),
                deadline_ns=round(deadline_ms * 1e6),
                protocols=load_automata(described.protocols, path.parent),
            )
        outcome: Outcome = "findings" if done.violations else "ok"
        document = Document("pipeline stream", outcome, done.summary)
        finish(document, as_json=as_json, text=stream_text(done.summary))
