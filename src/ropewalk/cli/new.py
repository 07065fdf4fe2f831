"""`ropewalk new`: a small commented federation file to start from."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, program
from ropewalk.errors import UsageError
from ropewalk.report.document import Document


def new(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("federation.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a small commented file to start from."""
    with contract("new", as_json=as_json):
        text = resources.files("ropewalk.federation").joinpath("starter.yaml").read_bytes()
        if file.suffix.lower() not in (".yaml", ".yml"):
            raise UsageError(f"{file}: name a file that ends in .yaml")
        try:
            with file.open("wb" if force else "xb") as out:
                out.write(text)
        except FileExistsError:
            raise UsageError(
                f"{file} is there already: name another file, or add --force"
            ) from None
        except OSError as error:
            raise UsageError(f"{file}: cannot be written: {error.strerror}") from None
        done = Document("new", "ok", {"file": str(file)})
        finish(done, as_json=as_json, text=f"Wrote {file}. Next: {program()} verify {file}")
