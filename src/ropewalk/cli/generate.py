"""`ropewalk generate NAME`: a sub-command per generator, made from its function's signature."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
import typer.core

from ropewalk.cli.contract import Json, contract, progress
from ropewalk.cli.files import PIPE, deliver

if TYPE_CHECKING:
    from ropewalk.federation import Federation

COMMON: dict[str, tuple[Any, Any]] = {
    "seed": (Annotated[int, typer.Option(help="The same seed gives the same federation.")], 1),
    "topics": (Annotated[int, typer.Option(help="Add so many random topics.")], 0),
    "subscribers": (
        Annotated[int | None, typer.Option(help="Subscribers of each; default: 5.")],
        None,
    ),
    "out": (
        Annotated[
            Path,
            typer.Option("--out", "-o", help="FILE.yaml, DIR.parquet, or - for stdout."),
        ],
        PIPE,
    ),
    "as_json": (Json, False),
}
"""What every generator's sub-command takes besides the generator's own options."""


class Generators(typer.core.TyperGroup):
    """Sub-commands that are made when they are asked for: generators import numpy."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The generators, in the order of their table."""
        from ropewalk.federation.generators import GENERATORS

        return list(GENERATORS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The sub-command of a generator, or None."""
        from ropewalk.federation.generators import GENERATORS

        return _command(cmd_name, GENERATORS[cmd_name]) if cmd_name in GENERATORS else None


app = typer.Typer(
    cls=Generators,
    help="Make a federation: a shape, random growth, a map, a model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    pass


def _command(name: str, make: "Callable[..., Federation]") -> Any:
    own = _own_parameters(make)

    def run(**given: Any) -> None:
        _run(name, given)

    parameters = [
        *own,
        *(
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kind)
            for key, (kind, value) in COMMON.items()
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = (make.__doc__ or "").split("\n\n")[0]
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command(name)(run)
    command = typer.main.get_command(made)
    command.name = name
    return command


def _own_parameters(make: "Callable[..., Federation]") -> list[inspect.Parameter]:
    """A generator's arguments as command-line parameters, with their help."""
    hints = get_type_hints(make, include_extras=True)
    found = []
    for parameter in inspect.signature(make).parameters.values():
        if parameter.name in COMMON:
            continue
        kind, text = get_args(hints[parameter.name])
        text = f"{text[:1].upper()}{text[1:]}."
        required = parameter.default is inspect.Parameter.empty
        role = (
            typer.Argument(help=text, autocompletion=_map_names)
            if required
            else typer.Option(help=text)
        )
        found.append(
            inspect.Parameter(
                parameter.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=parameter.default,
                annotation=Annotated[kind, role],
            )
        )
    return found


def _map_names(incomplete: str) -> list[str]:
    from ropewalk.federation.generators.maps import map_names

    return [name for name in map_names() if name.startswith(incomplete)]


def _run(name: str, given: dict[str, Any]) -> None:
    out, as_json = given.pop("out"), given.pop("as_json")
    with contract("generate", as_json=as_json):
        from ropewalk.federation.generators import generate

        with progress(f"generating {name}"):
            federation = generate(name, **given)
        deliver("generate", federation, out, as_json=as_json)
