"""`ropewalk lab`: try things where nothing can break: `lab simulate`; `lab_live` has the rest."""

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.cli import lab_live
from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.drive import drive
from ropewalk.cli.files import load_from
from ropewalk.cli.packets import SCENARIO, reconvergence
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.overlay.settings import Settings
    from ropewalk.overlay.simulate import Load, Scenario
    from ropewalk.overlay.simulate.faults import Fault

app = typer.Typer(
    help="Try a federation where nothing can break: lab simulate FILE --random 5, lab up FILE.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
MOST_RUNS = 100_000


app.command("drive")(drive)


@app.command("simulate")
def simulate(
    path: Annotated[
        Path | None,
        typer.Argument(help="A federation file, or - for stdin. Default: the scenario's own."),
    ] = None,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            help="What goes wrong, such as 'at 500 ms cut a--b for 800 ms' or 'at 1 s crash c"
            " without disk for 2 s'; may be repeated, or several with ; between."
        ),
    ] = None,
    random: Annotated[int, typer.Option(min=0, help="So many random faults in each run.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the first run; the next has the next.")] = 1,
    runs: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="How many runs.")] = 1,
    rate: Annotated[
        float | None, typer.Option(min=0.001, help="Messages/s of each publisher. [default: 50]")
    ] = None,
    duration: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds of publishing. [default: 5]")
    ] = None,
    settle: Annotated[
        float | None, typer.Option(min=0.0, help="Quiet seconds at the end. [default: 20]")
    ] = None,
    scenario: Annotated[str | None, typer.Option(help="A scenario by its name.")] = None,
    rival: Annotated[str | None, typer.Option(help="Hold a rival's agents against ours.")] = None,
    settled: Annotated[
        bool,
        typer.Option(
            "--settled", help="All links are known to work at the start: for large federations."
        ),
    ] = False,
    shrink: Annotated[
        bool, typer.Option(help="Find the smallest plan that fails, and tell its story.")
    ] = True,
    plot: Annotated[
        Path | None, typer.Option(help="A picture (*.png) of the first run that failed, or the 1st")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the real agents in a simulated world, break it, and check what they promise.

    The same seed gives the same run. What must never happen is a finding: M001 lost, M002
    doubled, M003 out of order, M004 going round, M005 wrong about what is down, M006 too much
    memory, M007 left its domain.
    """
    with contract("lab simulate", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.overlay.simulate import Summary
        from ropewalk.overlay.simulate.cores import agents_of
        from ropewalk.report.simulation import draw, fault_lines, simulation_text
        from ropewalk.report.verbs.simulating import plans_of, run_of, story_of, violations_of

        start = perf_counter()
        if scenario == SCENARIO:
            given_file = load_from(path, max_mb=MAX_YAML_MB) if path is not None else None
            reconvergence(given_file, rival=rival, seed=seed, runs=runs, plot=plot, as_json=as_json)
            return
        _check_picture(plot)
        chosen = _scenario(scenario)
        federation = _federation(path, chosen)
        settings = _settings(chosen)
        load = _load(chosen, rate, duration, settle)
        given = _faults(faults, chosen)
        make = agents_of(federation, settings)
        rivals = _rival(rival, federation, settings)
        with progress(f"simulating {federation.name}"):
            plans = plans_of(federation, given, load, random, seed, runs)
            run = partial(run_of, federation, settings=settings, settled=settled)
            done = [run(plan, make) for plan in plans]
            others = [run(plan, rivals) for plan in plans] if rivals else []
        totals = Summary(done).totals()
        findings = list(violations_of(done, str(path or scenario)))
        story = story_of(done) if shrink else None
        shown = next((run for run in done if run.violations), done[0])
        if plot is not None:
            draw(shown, plot)
        seconds = perf_counter() - start
        summary: dict[str, Any] = {
            "federation": federation.name,
            "scenario": scenario,
            "seed": seed,
            **totals,
            "faults_of_first_run": [str(one) for one in done[0].plan.faults],
            "rival": {"name": rival, **Summary(others).totals()} if others else None,
            "picture": str(plot) if plot else None,
            "story": story,
            "seconds": round(seconds, 3),
            "events_per_s": round(totals["events"] / seconds),
        }
        text = [simulation_text(totals, summary["rival"])]
        if runs == 1 and done[0].plan.faults:
            text = ["\n".join(fault_lines(done[0])), *text]
        text += ["\n" + "\n".join(story)] if story else []
        outcome = Document("lab simulate", "findings" if findings else "ok", summary, findings)
        finish(outcome, as_json=as_json, text="\n".join(text))


lab_live.add_to(app)


def _check_picture(plot: Path | None) -> None:
    if plot is not None and plot.suffix != ".png":
        raise UsageError(f"{plot}: name the picture *.png")


def _scenario(name: str | None) -> "Scenario | None":
    from ropewalk.overlay.simulate import SCENARIOS

    if name is not None and name not in SCENARIOS:
        known = ", ".join([*SCENARIOS, SCENARIO])
        raise UsageError(f"no scenario is called {name!r}: there are {known}")
    return SCENARIOS[name] if name is not None else None


def _federation(path: Path | None, chosen: "Scenario | None") -> "Federation":
    from ropewalk.federation.loading import MAX_YAML_MB

    if path is not None:
        return load_from(path, max_mb=MAX_YAML_MB)
    if chosen is None:
        raise UsageError("name a federation file, or a scenario with --scenario")
    return chosen.federation()


def _settings(chosen: "Scenario | None") -> "Settings":
    from ropewalk.overlay.settings import Settings

    return chosen.settings if chosen else Settings()


def _load(
    chosen: "Scenario | None", rate: float | None, duration: float | None, settle: float | None
) -> "Load":
    from dataclasses import replace

    from ropewalk.overlay.simulate import Load

    load = chosen.load if chosen else Load()
    if rate is not None:
        load = replace(load, rate_msgs_s=rate)
    if duration is not None:
        load = replace(load, duration_us=round(duration * 1e6))
    return load if settle is None else replace(load, settle_us=round(settle * 1e6))


def _faults(texts: list[str] | None, chosen: "Scenario | None") -> "tuple[Fault, ...]":
    from ropewalk.overlay.simulate import parse_faults

    return (*(chosen.faults if chosen else ()), *parse_faults(texts or ()))


def _rival(name: str | None, federation: "Federation", settings: "Settings") -> Any:
    from ropewalk.overlay.simulate.scenarios import RIVALS

    if name is None:
        return None
    if name not in RIVALS:
        known = ", ".join(RIVALS) or "none yet"
        raise UsageError(f"no rival is called {name!r}: there are {known}")
    return RIVALS[name](federation, settings)
