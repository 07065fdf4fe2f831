"""Plans and what they are made of, from and to files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError
from ropewalk.federation.opening import opened

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.federation.facts import Performance
    from ropewalk.pipeline.rates.stats import Stats
    from ropewalk.placement.inputs import Input
    from ropewalk.placement.placing import Placed
    from ropewalk.placement.plan import ReadPlan


PIPE = Path("-")


def stats_of(path: Path) -> "Stats":
    """Statistics of topics."""
    from ropewalk.pipeline.rates.stats import load_stats

    return load_stats(path)


def input_of(
    federation: "Federation",
    stats: Path,
    loaded: "Stats",
    capacities: Path | None,
    without: list[str],
    *,
    silent: bool,
) -> "Input":
    """The problem of a federation and its statistics, which were in a folder."""
    from ropewalk.placement.inputs import problem_of

    beside = stats.parent / "capacities.yaml" if stats.is_dir() else None
    known = _capacities(capacities or (existing(beside) if beside else None))
    try:
        return problem_of(federation, loaded, capacities=known, without=without, silent=silent)
    except UsageError as error:
        ours = str(error).startswith(("item", "covariance"))
        raise UsageError(f"{stats}: {error}" if ours else str(error)) from None


def existing(path: Path) -> Path | None:
    """A file, if it is there."""
    return path if path.is_file() else None


def _capacities(path: Path | None) -> dict[str, "Performance"]:
    if path is None:
        return {}
    from ropewalk.pipeline.calibrate.results import read_capacities

    return read_capacities(path)


def seen_from(out: Path | None, path: Path) -> str:
    """A path as the plan's folder sees it: both may be taken elsewhere together."""
    if out is None or path == PIPE:
        return str(path)
    return os.path.relpath(path, out.parent)


def write_plan(plan: dict[str, Any], placed: "Placed", out: Path) -> dict[str, str]:
    """The policies, then the plan that names them."""
    from ropewalk.federation.saving import write_text
    from ropewalk.placement.plan import plan_text

    beside = out.with_name(f"{out.stem}.policies.json")
    named = {"file": beside.name, "version": placed.cases.version}
    write_text(beside, placed.cases.text())
    write_text(out, plan_text({**plan, "policies": named}))
    return named


def again(read: "ReadPlan", plan: Path) -> "Input":
    """The problem that a plan was made of."""
    made, here = read.made_from, plan.parent
    capacities = here / made["capacities"] if made.get("capacities") else None
    without = [one for one in made.get("without", "").split(",") if one]
    try:
        if made["federation"] == str(PIPE):
            raise UsageError(f"{plan}: its federation came through a pipe: make it of a file")
        federation = opened(here / made["federation"])
        stats = here / made["stats"]
        return input_of(
            federation,
            stats,
            stats_of(stats),
            capacities,
            without,
            silent=made.get("silent") == "true",
        )
    except KeyError as error:
        raise UsageError(f"{plan}: it does not say of what it was made: {error}") from None


def place_in(found: "Input", read: "ReadPlan", plan: Path) -> Any:
    """The placement of a plan, for the problem that it was made of."""
    import numpy as np

    number = {name: b for b, name in enumerate(found.problem.brokers)}
    try:
        return np.array([number[read.items[name]] for name in found.problem.items], np.int64)
    except KeyError as error:
        raise UsageError(
            f"{plan}: the federation has changed since: there is no {error} in both: make the"
            " plan anew"
        ) from None


def today_of(found: "Input", plan: Path) -> Any:
    """Where items were before a plan."""
    if (found.problem.rules.today < 0).any():
        raise UsageError(f"{plan}: it is not known where all items were: write placement: at:")
    return found.problem.rules.today


def near(item: str, read: "ReadPlan") -> str:
    """An item that may be meant."""
    from difflib import get_close_matches

    found = get_close_matches(item, read.items, 1)
    return f": did you mean {found[0]!r}?" if found else ""
