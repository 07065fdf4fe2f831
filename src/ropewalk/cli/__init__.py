"""The command line: `contract` (exit codes, --json), then one file per verb.

Heavy imports happen inside the verbs, so that `ropewalk --help` answers at once.
"""

import sys
from io import TextIOWrapper
from typing import Any

import typer
import typer.core

from ropewalk.cli import (
    agent,
    demo,
    diff,
    explain,
    export,
    fault,
    generate,
    lab,
    new,
    paths,
    pipeline,
    place,
    population,
    protocol,
    read,
    report,
    route,
    schema,
    serve,
    smv,
    trace,
    verify,
)
from ropewalk.cli.contract import Exit, print_failure


class Verbs(typer.core.TyperGroup):
    """Lists the verbs in the order in which they are used; typer would put groups last."""

    ORDER = (
        *("new", "generate", "read", "verify", "diff", "export", "smv", "route", "paths"),
        *("place", "protocol", "population", "pipeline", "lab", "fault", "agent", "trace"),
        "report",
        *("serve", "explain", "schema", "demo"),
    )

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs, in order of use."""
        known = super().list_commands(ctx)
        return [
            *(verb for verb in self.ORDER if verb in known),
            *sorted(set(known) - set(self.ORDER)),
        ]


app = typer.Typer(
    name="ropewalk",
    cls=Verbs,
    help="Keeps federated message brokers delivering.",
    epilog="Exit codes: 0 clean, 1 findings, 2 bad usage or input, 3 could not decide, 4 internal.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading rich for it would double the time to answer
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("new")(new.new)
app.add_typer(generate.app, name="generate")
app.command("read")(read.read)
app.command("verify")(verify.verify)
app.command("diff")(diff.diff)
app.command("export")(export.export)
app.command("smv")(smv.smv)
app.add_typer(route.app, name="route")
app.command("paths")(paths.paths)
app.add_typer(place.app, name="place")
app.add_typer(protocol.app, name="protocol")
app.add_typer(population.app, name="population")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(lab.app, name="lab")
app.command("agent")(agent.agent)
app.command("fault")(fault.fault)
app.add_typer(trace.app, name="trace")
app.command("report")(report.report)
app.command("serve")(serve.serve)
app.command("demo")(demo.demo)
app.command("explain")(explain.explain)
app.command("schema")(schema.schema)


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from ropewalk import __version__

        typer.echo(f"ropewalk {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; wrong options are told as the contract says."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show
    try:
        sys.exit(app(standalone_mode=False))
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer raises for a wrong option has one
            raise
        _wrong_options(error)


def _wrong_options(error: Any) -> None:
    verb = next((one for one in sys.argv[1:] if not one.startswith("-")), "ropewalk")
    if "--json" in sys.argv:
        print_failure(verb, "U001", error.format_message().replace("\n", " "), as_json=True)
    else:
        error.show()
    sys.exit(Exit.BAD_INPUT)
