"""`ropewalk place`: where items go; `place explain`, `place replay`."""

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ropewalk.cli.contract import Json, Unnamed, contract, finish, progress
from ropewalk.cli.files import Source, load_from
from ropewalk.cli.pipeline import Peak, Window
from ropewalk.cli.spark import Master, Remote, started, work_of
from ropewalk.errors import UsageError
from ropewalk.report.document import Document, Outcome

if TYPE_CHECKING:
    from ropewalk.pipeline.folders import Work

app = typer.Typer(
    cls=Unnamed,
    help="Place items on brokers so that bursts that rise together do not share one:"
    " place FILE --stats DIR [-o plan.yaml]; `place items --help` has it all.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PlanFile = Annotated[Path, typer.Argument(help="A plan that `ropewalk place` wrote.")]
Statistics = Annotated[
    Path | None,
    typer.Option(
        "--stats",
        help="What `pipeline rates` wrote, or a folder with means.csv and covariance.csv.",
    ),
]
Capacities = Annotated[
    Path | None,
    typer.Option(
        help="What `pipeline calibrate` wrote. Default: capacities.yaml beside the"
        " statistics. The federation file's own win."
    ),
]


@app.command("items")
def items(
    path: Source,
    stats: Statistics = None,
    from_trace: Annotated[
        Path | None,
        typer.Option(
            help="A working folder with traces: ingest, rates and calibrate it first, on Spark."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The plan, *.yaml; policies go beside it. Nothing else"
            " is changed: agents carry a plan out.",
        ),
    ] = None,
    capacities: Capacities = None,
    objective: Annotated[
        Literal["margin", "product", "utility", "excess"],
        typer.Option(
            help="margin: the least margin, then the product; product: nobody"
            " overloaded; utility, excess: messages less a penalty."
        ),
    ] = "margin",
    model: Annotated[
        Literal["normal", "lognormal"], typer.Option(help="How a broker's load is distributed.")
    ] = "normal",
    gain: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="How much of the possible gain is enough: less needs fewer moves."
        ),
    ] = 0.9,
    failures: Annotated[
        int, typer.Option(min=0, max=2, help="Policies for so many brokers down at once.")
    ] = 2,
    without: Annotated[
        list[str] | None, typer.Option(help="A broker to be emptied; may be repeated.")
    ] = None,
    silent: Annotated[
        bool, typer.Option("--silent", help="Items without a rate carry nothing.")
    ] = False,
    quiet: Annotated[
        Path | None,
        typer.Option(help="Statistics of quiet hours: which brokers can be switched off then?"),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="A folder for risk.png, correlation.png and gap.png.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same plan.")] = 1,
    window_s: Window = 1.0,
    peak: Peak = "busiest:1",
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Make a plan (`place FILE` is short for this). It is a dry run: nothing is moved."""
    with contract("place", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.report.placement import draw, plan_lines
        from ropewalk.report.verbs.placing import place
        from ropewalk.report.verbs.plans import existing

        start = perf_counter()
        _check_outputs(out, pictures)
        if (stats is None) == (from_trace is None):
            raise UsageError("say --stats DIR or --from-trace DIR, one of them")
        federation = load_from(path, max_mb=MAX_YAML_MB)
        timed: dict[str, float] = {}
        if from_trace is not None:
            work = work_of(from_trace)
            timed = _measured(work, path, window_s, peak, master, remote)
            stats, capacities = work.rates, capacities or existing(work.capacities)
        assert stats is not None  # noqa: S101  (one of the two was given)
        with progress("placing"):
            found = place(
                federation,
                stats,
                capacities=capacities,
                objective=objective,
                model=model,
                gain=gain,
                failures=failures,
                without=without or (),
                silent=silent,
                quiet=quiet,
                seed=seed,
                file=path,
            )
        plan = found.save(out) if out is not None else found.plan()
        drawn = [str(one) for one in draw(found.placed, pictures)] if pictures else []
        summary = {
            **plan,
            "notes": list(found.notes),
            "pictures": drawn,
            "timed": {**timed, "seconds": round(perf_counter() - start, 3)},
        }
        text = plan_lines(plan, found.notes)
        if out is not None:
            text += f"\nWrote {out} (version {plan['version']}) and {plan['policies']['file']}."
        outcome: Outcome = "ok" if found.ok else "findings"
        document = Document("place", outcome, summary, found.findings)
        finish(document, as_json=as_json, text=text)


@app.command("explain")
def explain(
    plan: PlanFile,
    item: Annotated[str, typer.Argument(help="An item of the plan.")],
    as_json: Json = False,
) -> None:
    """Tell why an item is where a plan puts it, and what other brokers would mean."""
    with contract("place explain", as_json=as_json):
        from ropewalk.placement.plan import digest_of
        from ropewalk.placement.plan_file import plan_in
        from ropewalk.placement.solve.scores import Model
        from ropewalk.report.placement import explained, explained_text
        from ropewalk.report.verbs.plans import again, near, place_in

        read = plan_in(plan)
        if item not in read.items:
            raise UsageError(f"{plan}: there is no item {item!r} in this plan{near(item, read)}")
        found = again(read, plan)
        changed = digest_of(found.problem) != read.made_from.get("digest")
        place = place_in(found, read, plan)
        told = explained(
            found.problem, place, found.problem.items.index(item), Model[read.goal["model"].upper()]
        )
        told["changed_since"] = changed
        text = explained_text(told)
        if changed:
            text = f"note: what the plan was made of has changed since: make it anew\n{text}"
        finish(Document("place explain", "ok", told), as_json=as_json, text=text)


@app.command("replay")
def replay_(
    plan: PlanFile,
    folder: Annotated[Path, typer.Argument(help="A working folder with an ingested trace.")],
    today: Annotated[
        bool, typer.Option("--today", help="Items where they were before the plan, not after it.")
    ] = False,
    delivered: Annotated[
        bool,
        typer.Option(
            "--delivered",
            help="Load is what brokers really handed to clients, wherever the plan has it.",
        ),
    ] = False,
    peak: Peak = "busiest:1",
    master: Master = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Replay a trace under a plan: how often each broker would really have been overloaded.

    With --delivered nothing is supposed: the trace says which broker gave what to clients.
    """
    from ropewalk.pipeline.jobs import peak_rule

    with contract("place replay", as_json=as_json), started(master, remote, folder) as spark:
        from ropewalk.report.verbs.replaying import replay, replay_text

        with progress("replaying"):
            found = replay(
                plan, folder, peak=peak_rule(peak), today=today, delivered=delivered, spark=spark
            )
        outcome: Outcome = "ok" if found.ok else "findings"
        document = Document("place replay", outcome, found.summary, found.findings)
        finish(document, as_json=as_json, text=replay_text(found.summary))


def _measured(
    work: "Work", path: Path, window_s: float, peak: str, master: str | None, remote: str | None
) -> dict[str, float]:
    """Ingest, rates and calibration of a working folder, on Spark; how long each took."""
    from ropewalk.cli.pipeline import calibrated_if_sampled, ingested, rated

    with started(master, remote, work.folder) as spark:
        taken = ingested(spark, work, None, None)
        counted = rated(spark, work, window_s, peak, "float64", None, path)
        tuned = calibrated_if_sampled(spark, work)
    return {
        "ingest_s": taken["seconds"],
        "rates_s": counted["seconds"],
        "calibrate_s": tuned["seconds"] if tuned else 0.0,
    }


def _check_outputs(out: Path | None, pictures: Path | None) -> None:
    if out is not None:
        from ropewalk.placement.plan_file import is_plan

        if out.suffix not in (".yaml", ".yml"):
            raise UsageError(f"{out}: name the plan *.yaml")
        if out.exists() and not is_plan(out):
            raise UsageError(f"{out}: something that is no plan is there: name another file")
        if not out.parent.is_dir():
            raise UsageError(f"{out}: there is no folder {out.parent}: make it, or name another")
    if pictures is not None and not pictures.is_dir():
        raise UsageError(f"{pictures}: there is no such folder: make it, or name another")
