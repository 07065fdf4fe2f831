"""`ropewalk lab simulate --scenario jia-6.3.2`: packet by packet, beside OSPF and plain PCRT."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.cli.contract import finish, progress
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.federation import Federation

SCENARIO = "jia-6.3.2"
FAMILIES = {"ospf": ("ospf", "fast-ospf")}
"""Rivals that stand for several."""


def reconvergence(
    federation: "Federation | None",
    *,
    rival: str | None,
    seed: int,
    runs: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Run the scenario of Jia 2014, 6.3.2, for our agents and its rivals, and tell the figures."""
    from ropewalk import generate
    from ropewalk.overlay.simulate.scenario_jia import RIVALS, repeat, scheme_of
    from ropewalk.report.reconvergence import draw, lines, mean_lines, means, summary

    rivals = RIVALS if rival is None else FAMILIES.get(rival, (rival,))
    for name in rivals:
        scheme_of(name)
    federation = federation or generate("six-node")
    with progress(f"simulating {federation.name}, packet by packet"):
        found = repeat(federation, range(seed, seed + runs), rivals=rivals)
    told: dict[str, Any] = summary(found[0])
    text = lines(found[0])
    if runs > 1:
        told["means"] = {"runs": runs, "schemes": means(found)}
        text += ["", *mean_lines(found)]
    if plot is not None:
        told["pictures"] = [str(path) for path in draw(found[0], _folder(plot))]
    finish(Document("lab simulate", "ok", told, ()), as_json=as_json, text="\n".join(text))


def _folder(plot: Path) -> Path:
    if plot.suffix == ".png":
        raise UsageError(f"{plot}: this scenario has two pictures: name a folder for them")
    return plot
