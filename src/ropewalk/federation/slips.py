"""Slips of the pen that break YAML, told by their cause instead of by what the parser met.

The parser often notices a mistake lines later and in words of its own trade. Here the lines
around are looked at as a person would look at them.
"""

import re

import yaml

_CONFLICT = re.compile(r"(<{7}|={7}|>{7})(\s|$)")
_NO_SPACE_AFTER_COLON = re.compile(r"""^\s*(- )?[A-Za-z_][\w.@-]*:[A-Za-z{\["'][^:]*$""")
_NO_SPACE_AFTER_DASH = re.compile(r"""^\s*-[A-Za-z{\["']""")
_TEMPLATE = re.compile(r"""(?<!["'])\{\{|\{%""")
"""What Helm, Jinja and others fill in."""
_SEEN_AROUND = 2
"""How many lines above the parser's complaint are looked at."""


def slip(text: str, error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """The line of the mistake and what to do about it."""
    lines = text.splitlines()
    at = error.problem_mark.line if error.problem_mark else 0
    if at < len(lines) and _TEMPLATE.search(lines[at]):
        return at + 1, "this line is a template's: fill it in first, and read what that makes"
    if hasattr(error, "code"):  # our own reader stopped, and says why
        return at + 1, error.problem or ""
    from_line = error.context_mark.line if error.context_mark else at
    return (
        _in_the_lines(lines, at)
        or _never_closed(error, at, from_line, len(lines))
        or _in_the_words(error, at, from_line)
        or (at + 1, _as_the_parser_says(error))
    )


def _in_the_lines(lines: list[str], at: int) -> tuple[int, str] | None:
    """What can be seen in the lines just before the place where the parser gave up."""
    for i in range(min(at, len(lines) - 1), max(-1, at - 1 - _SEEN_AROUND), -1):
        line = lines[i]
        if line.lstrip().startswith("#"):
            continue
        indent = line[: len(line) - len(line.lstrip())]
        if _CONFLICT.match(line):
            return i + 1, "a merge conflict is left here: settle it and remove its marks"
        if "\t" in indent:
            return i + 1, "the line is indented with a tab: use spaces"
        if "\N{NO-BREAK SPACE}" in line:
            return i + 1, "a no-break space is in the line: write a plain space"
        if _NO_SPACE_AFTER_COLON.match(line):
            return i + 1, "there is no space after the colon: write NAME: VALUE"
        if _NO_SPACE_AFTER_DASH.match(line):
            return i + 1, "there is no space after the dash: write - ENTRY"
    return None


def _never_closed(
    error: yaml.MarkedYAMLError, at: int, from_line: int, last: int
) -> tuple[int, str] | None:
    context, problem = error.context or "", error.problem or ""
    if "flow" in context and from_line >= last:
        return last, "the text ends inside a [ or { that is never closed: add ] or }"
    if any(word in problem for word in ("escape", "Unicode character code", "hexdecimal")):
        what = "in double quotes a \\ starts an escape"
        return at + 1, f"{what}: use single quotes, or write \\\\"
    if "quoted scalar" in context:
        return from_line + 1, "a quote that starts here is never closed: add the closing quote"
    for kind, opened, closed in (("flow mapping", "{", "}"), ("flow sequence", "[", "]")):
        if kind in context and "did not find expected ','" in problem:
            unclosed = f"the {opened} that starts here is never closed"
            return from_line + 1, f"a comma is missing, or {unclosed}: add , or {closed}"
    return None


def _in_the_words(error: yaml.MarkedYAMLError, at: int, from_line: int) -> tuple[int, str] | None:
    context, problem = error.context or "", error.problem or ""
    if "could not find expected ':'" in problem:
        return from_line + 1, "a colon is missing: write NAME: VALUE"
    if "mapping values are not allowed" in problem:
        return at + 1, "a second colon in one value: quote the text, or start a new line"
    if "did not find expected key" in problem:
        return at + 1, "the indentation does not fit the lines above: align it with them"
    if "alias" in context or "anchor" in context:
        return at + 1, "a text that starts with * or & goes in quotes: write '*'"
    return None


def _as_the_parser_says(error: yaml.MarkedYAMLError) -> str:
    column = f" (column {error.problem_mark.column + 1})" if error.problem_mark else ""
    return f"not YAML{column}: {', '.join(p for p in (error.problem, error.context) if p)}"
