"""Plans from files: whether a file is one, and what it says."""

from pathlib import Path
from typing import Any

import yaml

from ropewalk.errors import UsageError
from ropewalk.placement.plan import ReadPlan, read_plan


def is_plan(path: Path) -> bool:
    """Whether a file is a plan, of any version."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline().startswith("plan:")
    except (OSError, UnicodeDecodeError):
        return False


def plan_in(path: Path) -> ReadPlan:
    """What a plan file says; UsageError for what is none, or was changed by hand."""
    return read_plan(plan_texts(path), str(path))


def plan_texts(path: Path) -> Any:
    """All that a plan file says, every value a text: nothing is checked yet."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError):
        raise UsageError(f"{path}: no YAML that can be read: make the plan anew") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
