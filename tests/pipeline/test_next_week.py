"""The example that plans next week from last week's trace, in the session of all these tests."""

from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(300)

SCRIPT = Path(__file__).parents[2] / "examples" / "python" / "next_week.py"


def test_next_week_is_planned_from_last_weeks_trace(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script: dict[str, Any] = run_path(str(SCRIPT))
    week = script["main"](tmp_path / "week", spark=spark)
    assert week.violations == 0
    assert week.moves > 0
    assert week.risk_after < week.risk_before
    assert week.observed_after < week.observed_before
    assert week.confirmed
    out = capsys.readouterr().out
    assert f"{week.moves} moves." in out
    assert max(map(len, out.splitlines())) <= 80
