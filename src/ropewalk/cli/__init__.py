"""The command line: `contract` (exit codes, --json), then one file per verb.

Heavy imports happen inside the verbs, so that `ropewalk --help` answers at once.
"""

import os
import sys
from typing import Any

import typer
import typer.core

from ropewalk.cli import demo, explain, generate, new, read, schema, verify


class Verbs(typer.core.TyperGroup):
    """Lists the verbs in the order in which they are used; typer would put groups last."""

    ORDER = ("new", "generate", "read", "verify", "explain", "schema", "demo")

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs, in order of use."""
        return sorted(super().list_commands(ctx), key=self.ORDER.index)


app = typer.Typer(
    name="ropewalk",
    cls=Verbs,
    help="Keeps federated message brokers delivering.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("new")(new.new)
app.add_typer(generate.app, name="generate")
app.command("read")(read.read)
app.command("verify")(verify.verify)
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
    """Run the command line; a reader that closes the pipe early is no error."""
    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
