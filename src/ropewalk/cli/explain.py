"""`ropewalk explain`: what a finding code means and what to do about it."""

from collections.abc import Iterator
from textwrap import fill, indent
from typing import Annotated, Any

import typer

from ropewalk.cli.contract import Json, contract, finish
from ropewalk.errors import UsageError
from ropewalk.findings import Rule, rules
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
        summary = {one.code: _facts(one) for one in chosen}
        if rule:
            text = "\n\n".join(_parts(rule))
        else:
            text = "\n".join(f"{one.code}  {one.name}" for one in chosen)
        finish(Document("explain", "ok", summary), as_json=as_json, text=text)


def _parts(rule: Rule) -> Iterator[str]:
    """Name, meaning, remedy; then the promises that it watches, and an example, if it has them."""
    said = [f"{rule.code} {rule.name}", rule.meaning, f"What to do: {rule.fix}"]
    if (watched := _watched(rule)) is not None:
        said.append(watched)
    yield from (fill(part, 80, break_on_hyphens=False) for part in said)
    if rule.example:
        yield "The smallest that breaks it:\n\n" + indent(rule.example.strip("\n"), "    ")


def _facts(rule: Rule) -> dict[str, Any]:
    from ropewalk.federation.contracts import promises_of

    facts: dict[str, Any] = {"name": rule.name, "meaning": rule.meaning, "fix": rule.fix}
    if rule.example:
        facts["example"] = rule.example.strip("\n")
    if promises := promises_of(rule.code):
        facts["promises"] = list(promises)
    return facts


def _watched(rule: Rule) -> str | None:
    """Which promises a rule looks after, and who else does."""
    from ropewalk.federation.contracts import WATCHED, promises_of

    told = []
    for promise in promises_of(rule.code):
        watch = WATCHED[promise]
        design = ", ".join(watch.design) or "nobody"
        told.append(f"{promise} (by design {design}; in traces {', '.join(watch.audit)})")
    return f"Watches over {', '.join(told)}." if told else None
