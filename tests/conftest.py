"""What all tests share: printed seeds, and calls of the command line in this process."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from typer.testing import CliRunner

from ropewalk.cli import app

settings.register_profile(
    "house",
    deadline=None,
    print_blob=True,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
# Where a landing waits for the tests, they try the same cases every time; elsewhere they search on.
settings.register_profile("search", settings.get_profile("house"), derandomize=False)
settings.load_profile("house" if os.environ.get("CI") else "search")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert set(document) == {"command", "ok", "summary", "findings"}
        return dict(document)


Run = Callable[..., Ran]


def _run(*arguments: object) -> Ran:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def ropewalk(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a verb; an exception that escapes it fails the test."""
    monkeypatch.setenv("COLUMNS", "80")
    return _run


@pytest.fixture(scope="session")
def ropewalk_once() -> Run:
    """The same for fixtures that several tests share."""
    return _run
