"""A demo's last lines, to be compared: its figures vary from run to run, its words do not."""

import re

from ropewalk.demo.figures import Audited, Driven, Risk
from ropewalk.demo.judging import Seen

RUN = Driven(
    sent=6700,
    acknowledged=6700,
    lost=0,
    doubled=0,
    disordered=0,
    refused=0,
    skipped=0,
    slowest_ms=83.4,
    p50_ms=2.3,
    stalls=0,
    silent=0,
    window_s=0.5,
    peak="between:10.000..30.000",
)
SEEN = Seen(
    folder="demo",
    planted=True,
    bad_cases=0,
    runs={"before": RUN, "moving": RUN, "after": RUN},
    audits={"before": Audited(6714, 0, 0), "whole": Audited(20142, 0, 0)},
    moved=6,
    moves=6,
    before=Risk(0.28, 10, 40),
    after=Risk(0.006, 0, 40),
)
"""A run in which everything held."""


def without_figures(text: str) -> str:
    """A text with # for its figures, and one space wherever there is some."""
    return " ".join(re.sub(r"(under )?\d[\d,.]*\d|\d", "#", text).split())
