"""`ropewalk diff`: what changes in meaning between two federations."""

from pathlib import Path
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import load_from, reported
from ropewalk.cli.verify import Failures, Junit, Sarif, asked_for
from ropewalk.report.document import Document


def diff(
    old: Annotated[Path, typer.Argument(help="The federation as it is.")],
    new: Annotated[Path, typer.Argument(help="The federation as it is to be.")],
    failures: Failures = None,
    sarif: Sarif = None,
    junit: Junit = None,
    as_json: Json = False,
) -> None:
    """Tell who gains or loses delivery, in which failures, and which paths change.

    Exit 0 if both mean the same, however they are written; 1 if they do not.
    """
    with contract("diff", as_json=as_json), reported("diff", sarif, junit) as told:
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.verify.difference import difference

        with progress(f"comparing {old} and {new}"):
            before, after = (load_from(one, max_mb=MAX_YAML_MB) for one in (old, new))
            found = difference(before, after, failures=asked_for(failures))
        outcome = "ok" if found.empty else "findings"
        done = Document("diff", outcome, found.summary, found.findings)  # type: ignore[arg-type]
        told.append(done)
        same = f"{old} and {new} mean the same in {found.scenarios:,} scenarios."
        finish(done, as_json=as_json, text=same if found.empty else "")
