"""`ropewalk read`: brokers' own configuration files in, or a federation, and a federation out."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ropewalk.cli.contract import Json, contract, progress
from ropewalk.cli.files import PIPE, deliver, load_from, read_from
from ropewalk.errors import UsageError

if TYPE_CHECKING:
    from ropewalk.federation.readers.reading import Reading

Map = Annotated[
    Path | None,
    typer.Option("--map", help="YAML: which broker an address means, what brokers are called."),
]


def read(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="mosquitto.conf, RabbitMQ definitions.json and scripts that set it up, NATS"
            " configurations, AsyncAPI documents, folders of them; or one federation"
            " (- for stdin).",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="FILE.yaml, DIR.parquet (large form), or - for stdout."),
    ],
    mapping: Map = None,
    name: Annotated[str | None, typer.Option(help="The federation's name.")] = None,
    family: Annotated[
        Literal["mosquitto", "nats", "rabbitmq", "asyncapi"] | None,
        typer.Option("--as", help="Whose files these are, where they do not show it."),
    ] = None,
    max_mb: Annotated[
        float, typer.Option(help="Read YAML up to this size.", min=0.001, max=100_000)
    ] = 64,
    as_json: Json = False,
) -> None:
    """Read brokers' own configuration files into one federation, with the line of every fact.

    What a federation has no room for is told as "not modelled", with its line. A federation file
    is written in the other form, YAML or Parquet.
    """
    with contract("read", as_json=as_json):
        if (
            out != PIPE
            and out.exists()
            and any(one.exists() and out.samefile(one) for one in paths)
        ):
            raise UsageError(f"{out} is what is read, and its comments would be lost: name another")
        with progress(f"reading {', '.join(map(str, paths))}"):
            reading = read_from(paths, mapping=mapping, name=name, family=family)
            if reading is None and (mapping or name):
                raise UsageError(
                    "--map and --name are for brokers' own files, not for a federation"
                )
            federation = load_from(paths[0], max_mb=max_mb) if reading is None else None
        if federation is not None:
            deliver("read", federation, out, as_json=as_json)
        elif reading is not None:
            _deliver(reading, out, as_json=as_json)


def _deliver(reading: "Reading", out: Path, *, as_json: bool) -> None:
    """The federation, and how much of the files is in it."""
    families = Counter(one.family for one in reading.natives)
    if not as_json and out != PIPE and reading.natives:
        read_ = ", ".join(f"{count} {family}" for family, count in families.items())
        many = "s" if len(reading.natives) > 1 else ""
        typer.echo(f"Read {len(reading.natives)} configuration{many}: {read_}.", err=True)
    deliver("read", reading.federation, out, as_json=as_json, findings=reading.findings)
