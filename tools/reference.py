"""Writes docs/reference from the program itself: commands, finding codes, fields of the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ropewalk.cli import app
from ropewalk.federation.schema import schema
from ropewalk.findings import rules

FOLDER = Path(__file__).parents[1] / "docs" / "reference"


def commands() -> Iterator[str]:
    """Every verb with its arguments and options."""
    yield "# Commands\n"
    group: Any = typer.main.get_command(app)
    yield from _command(group, "ropewalk")


def _command(command: Any, name: str) -> Iterator[str]:
    context = command.context_class(command, info_name=name)
    yield f"## {name}\n"
    yield f"{(command.help or '').strip()}\n"
    parameters = [one for one in command.get_params(context) if one.name != "help"]
    if parameters:
        yield "| option | default | meaning |\n|---|---|---|"
        for one in parameters:
            names = ", ".join(f"`{text}`" for text in (*one.opts, *one.secondary_opts))
            default = f"`{one.default}`" if one.default not in (None, False, "", ...) else ""
            yield f"| {names} | {default} | {getattr(one, 'help', None) or ''} |"
        yield ""
    for inner in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _command(command.get_command(context, inner), f"{name} {inner}")


def findings() -> Iterator[str]:
    """Every finding code."""
    yield "# Finding codes\n"
    for rule in rules().values():
        yield f"## {rule.code} {rule.name}\n\n{rule.meaning}\n\n**What to do.** {rule.fix}\n"
        if rule.example:
            yield f"The smallest that breaks it:\n\n```text\n{rule.example.strip()}\n```\n"


def fields() -> Iterator[str]:
    """Every record of the file with its fields."""
    made = schema()
    yield "# Fields of the federation file\n"
    for name, record in {"Federation": made, **made["$defs"]}.items():
        yield f"## {name}\n\n{record.get('description', '')}\n"
        yield "| field | kind | default | meaning |\n|---|---|---|---|"
        for field, kind in record["properties"].items():
            required = field in record.get("required", ())
            default = "required" if required else _default(kind)
            yield f"| `{field}` | {_kind(kind)} | {default} | {_meaning(kind)} |"
        yield ""


def _meaning(kind: dict[str, Any]) -> str:
    inner = [one.get("description", "") for one in kind.get("anyOf", ())]
    return str(kind.get("description") or next((text for text in inner if text), ""))


def _default(kind: dict[str, Any]) -> str:
    default = kind.get("default")
    return f"`{default}`" if isinstance(default, str | int | float) else ""


def _kind(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(_kind(one) for one in kind["anyOf"] if one.get("type") != "null")
    if "enum" in kind:
        return ", ".join(f"`{one}`" for one in kind["enum"])
    if kind.get("type") == "array":
        if "prefixItems" in kind:
            return "[" + ", ".join(_kind(one) for one in kind["prefixItems"]) + "]"
        return f"list of {_kind(kind.get('items', {}))}"
    if kind.get("type") == "object":
        inner = [*kind.get("patternProperties", {}).values(), kind.get("additionalProperties")]
        return f"map of {_kind(next(one for one in inner if isinstance(one, dict)))}"
    bounds = [(">=", "minimum"), (">", "exclusiveMinimum"), ("<=", "maximum")]
    bounds += [("<", "exclusiveMaximum")]
    limits = [f"{sign} {kind[key]:g}" for sign, key in bounds if key in kind]
    return " ".join([kind.get("type", "any"), *limits])


def main() -> None:
    """Write the three pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in (commands, findings, fields):
        (FOLDER / f"{page.__name__}.md").write_text("\n".join(page()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
