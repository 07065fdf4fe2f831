"""`ropewalk route`: tables for every failure, ahead of it; `route show`, `set`, `compare`."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Literal

import typer

from ropewalk.cli import compare
from ropewalk.cli.contract import Json, Unnamed, contract, finish, progress
from ropewalk.cli.files import Source, load_from
from ropewalk.cli.verify import asked_for
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

app = typer.Typer(
    cls=Unnamed,
    help="Compute the tables of every failure ahead of it:"
    " route FILE [--failures links=1,brokers=1] [-o DIR]; `route tables --help` has it all.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(help="A folder that `ropewalk route` wrote.")]
Colour = Annotated[
    str | None, typer.Option(help="A colour's number, or a failure such as a--b or a--b+c.")
]


@app.command("tables")
def tables(
    path: Source,
    failures: Annotated[
        list[str] | None,
        typer.Option(
            "--failures",
            help="links=K, brokers=K, any=K (K is 1 or 2), groups, sites, or one failure such as"
            " a--b+c. Default: links=1,brokers=1. Others are computed when they happen.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder: a small file per broker.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute and store tables (`route FILE` is short for this).

    Every broker's next hops with nothing failed, and what each failure changes in them.
    """
    with contract("route", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.report.routing import tables_summary, tables_text
        from ropewalk.routing.ahead import tables_of
        from ropewalk.routing.ahead.network import DEFAULT
        from ropewalk.routing.ahead.store import write_tables

        start = perf_counter()
        with progress(f"routing {path}"):
            federation = load_from(path, max_mb=MAX_YAML_MB)
            made = tables_of(federation, asked_for(failures) or DEFAULT)
            if out is not None:
                write_tables(made, out)
        summary = {
            "federation": federation.name,
            **tables_summary(made),
            "hand_made_routes": len(federation.routes),
            "folder": str(out) if out is not None else None,
            "seconds": round(perf_counter() - start, 3),
        }
        finish(Document("route", "ok", summary), as_json=as_json, text=tables_text(summary))


@app.command("show")
def show(
    folder: Folder,
    broker: Annotated[str | None, typer.Option(help="Whose tables.")] = None,
    colour: Colour = None,
    view: Annotated[
        Literal["row", "super", "array", "colours"],
        typer.Option(
            help="row: next hops in a colour; super: the condensed table of single failures;"
            " array: addresses in it by colour; colours: which failure has which number."
        ),
    ] = "row",
    as_json: Json = False,
) -> None:
    """Show stored tables, whole or one broker's in a colour."""
    with contract("route show", as_json=as_json):
        from ropewalk.report import routing
        from ropewalk.routing.ahead.description import read_network
        from ropewalk.routing.ahead.store import read_broker, read_tables
        from ropewalk.routing.ahead.tables import Tables

        if colour is not None and (view != "row" or not colour.strip()):
            raise UsageError("--colour goes with --view row: a number, or a failure such as a--b")
        if broker is not None and view == "colours":
            raise UsageError("--view colours is the same for every broker: leave out --broker")
        network = read_network(folder)
        if view == "colours":
            summary, text = routing.colours_view(network)
        elif broker is None:
            if colour is not None or view != "row":
                raise UsageError("--colour and --view need --broker: whose table?")
            summary = {"folder": str(folder), **routing.tables_summary(read_tables(folder))}
            text = routing.tables_text(summary)
        else:
            one = Tables(network, [read_broker(folder, broker, network)])
            if view == "row":
                summary, text = routing.row_view(one, colour or "none")
            else:
                summary, text = routing.super_view(one, array=view == "array")
        finish(Document("route show", "ok", summary), as_json=as_json, text=text)


@app.command("set")
def set_entry(
    folder: Folder,
    broker: Annotated[str, typer.Option(help="Whose table.")],
    to: Annotated[str, typer.Option(help="The destination.")],
    next: Annotated[str, typer.Option(help="The neighbour that messages for it go to.")],
    colour: Colour = None,
    as_json: Json = False,
) -> None:
    """Change an entry of stored tables by hand.

    `verify --routes` then tells what that does. Without --colour in every colour in which that
    neighbour can be reached.
    """
    with contract("route set", as_json=as_json):
        from ropewalk.routing.ahead.description import read_network
        from ropewalk.routing.ahead.editing import edited
        from ropewalk.routing.ahead.store import read_broker, write_broker

        network = read_network(folder)
        table = edited(
            network, read_broker(folder, broker, network), to=to, hop=next, failure=colour
        )
        write_broker(folder, network, table)
        every = "in every colour in which it can be reached"
        where = every if colour is None else f"in colour {colour}"
        text = f"{broker}: messages for {to} go to {next} {where}."
        check = f"`ropewalk verify FILE --routes {folder}` tells what that does."
        summary = {"broker": broker, "to": to, "next": next, "colour": colour}
        finish(Document("route set", "ok", summary), as_json=as_json, text=f"{text}\n{check}")


app.command("compare")(compare.compare)
app.command("compare-maps")(compare.maps)
