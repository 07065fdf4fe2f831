"""The command line: `contract` (exit codes, --json), then one file per verb.

Heavy imports happen inside the verbs, so that `ropewalk --help` answers at once.
"""

import os
import sys

import typer

from ropewalk.cli import demo, explain, generate, new, read, schema, verify

app = typer.Typer(
    name="ropewalk",
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
