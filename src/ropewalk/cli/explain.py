"""`ropewalk explain`: what a finding code means and what to do about it."""

from textwrap import fill
from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish
from ropewalk.errors import UsageError
from ropewalk.findings import rules
from ropewalk.report.document import Document


def _codes(incomplete: str) -> list[tuple[str, str]]:
    return [(code, rule.name) for code, rule in rules().items() if code.startswith(incomplete)]


def explain(
    code: Annotated[
        str, typer.Argument(help="A code such as F020; none lists them all.", autocompletion=_codes)
    ] = "",
    as_json: Json = False,
) -> None:
    """Explain a finding code."""
    with contract("explain", as_json=as_json):
        known = rules()
        by_name = {rule.name: rule for rule in known.values()}
        rule = known.get(code.upper()) or by_name.get(code.lower())
        if code and rule is None:
            raise UsageError(f"no finding has the code {code!r}: `ropewalk explain` lists them all")
        chosen = [rule] if rule else list(known.values())
        summary = {
            one.code: {"name": one.name, "meaning": one.meaning, "fix": one.fix} for one in chosen
        }
        if rule:
            parts = (f"{rule.code} {rule.name}", rule.meaning, f"What to do: {rule.fix}")
            text = "\n\n".join(fill(part, 80, break_on_hyphens=False) for part in parts)
        else:
            text = "\n".join(f"{one.code}  {one.name}" for one in chosen)
        finish(Document("explain", "ok", summary), as_json=as_json, text=text)
