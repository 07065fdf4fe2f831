"""What a check has to say: a finding with its code, place and witness; the rules behind the codes.

Codes, their meaning and what to do about them live in `rules.toml` alone; the `explain` verb and
the reference pages are made from it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From what has to be mended to what is worth knowing."""


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file; line 0 means the file as a whole."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check has found, with what a person needs to act on it."""

    code: str
    message: str
    where: Where
    severity: Severity = "error"
    witness: object = None

    def __str__(self) -> str:
        return f"{self.where}: {self.code} {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """The form that `--json` prints."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "where": {"file": self.where.file, "line": self.where.line},
            "witness": self.witness,
        }


@dataclass(frozen=True, slots=True)
class Rule:
    """What a finding code stands for."""

    code: str
    name: str
    meaning: str
    fix: str
    example: str = ""
    """The smallest that breaks it, where one is shown: a federation file, or a style."""


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its code, in the order of the file."""
    text = resources.files("ropewalk").joinpath("rules.toml").read_text(encoding="utf-8")
    return {code: Rule(code, **entry) for code, entry in tomllib.loads(text).items()}
