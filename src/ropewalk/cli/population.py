"""`ropewalk population`: what can come about with any number of clients."""

import json
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ropewalk.cli.apart import first_of
from ropewalk.cli.contract import Json, Unnamed, contract, finish, progress, say
from ropewalk.cli.files import PIPE
from ropewalk.errors import InputError, UsageError
from ropewalk.findings import Finding
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.verify.population.asking import Question, Told
    from ropewalk.verify.population.engine.deciding import Lane
    from ropewalk.verify.population.engine.verdict import Answer
    from ropewalk.verify.population.net import Net

app = typer.Typer(
    cls=Unnamed,
    help="Prove that nothing bad can come about, for any number of clients; or show how it does.",
    no_args_is_help=True,
)

GRACE_S = 1.0
"""One step of an engine may take long: then it is stopped from outside."""

Files = Annotated[
    list[Path], typer.Argument(help="Population files, or nets in .spec.", show_default=False)
]
Semantics = Annotated[
    str | None,
    typer.Option(help="local, retained or global, for all topics. Default: what the file says."),
]
Bad = Annotated[
    list[str] | None, typer.Option(help="Only this bad pattern; may be given several times.")
]


@app.command("check")
def check(
    paths: Files,
    semantics: Semantics = None,
    bad: Bad = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="For each pattern or net; then it is not decided.")
    ] = 60.0,
    rival: Annotated[
        bool, typer.Option("--rival", help="The plain backward algorithm as well, as long.")
    ] = False,
    evidence: Annotated[
        Path | None, typer.Option(help="Write runs and invariants to this file, as JSON.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Decide whether a bad pattern can come about, whatever the number of clients.

    Unsafe comes with a run, replayed by separate code; safe with an invariant, checked by separate
    code in whole numbers. Exit 0 if all are safe, 1 if one is unsafe, 3 if one is not decided.
    """
    with contract("population", as_json=as_json):
        if not isfinite(seconds):
            raise UsageError(f"--seconds {seconds}: write a number of seconds")
        if evidence is not None and not evidence.absolute().parent.is_dir():
            raise UsageError(f"{evidence}: there is no folder {evidence.parent}: make it first")
        asked = _asked(paths, semantics, bad or [])
        found = [decided(one, seconds, rival=rival) for one in asked]
        if evidence is not None:
            _write_evidence(evidence, [(one.question, answer) for one, answer, _ in found])
        told = [(one, summary) for one, _, summary in found]
        from ropewalk.report.population import population_text

        finish(_document(told), as_json=as_json, text=population_text(told))


@app.command("net")
def net(
    path: Annotated[Path, typer.Argument(help="A population file.", show_default=False)],
    semantics: Semantics = None,
    bad: Bad = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="FILE.spec, or - for stdout.")] = PIPE,
    as_json: Json = False,
) -> None:
    """Write the net that a pattern is decided on, in mist's format, for a second opinion."""
    with contract("population", as_json=as_json):
        from ropewalk.federation.saving import write_text
        from ropewalk.verify.population.spec import spec_text

        if as_json and out == PIPE:
            raise UsageError("--json goes with -o FILE: the net itself is no JSON")
        asked = _asked([path], semantics, bad or [])
        if len(asked) > 1:
            names = ", ".join(one.name for one in asked)
            raise UsageError(f"{path}: choose one of its patterns with --bad: {names}")
        made = asked[0].net
        if not made.targets:
            name = asked[0].name
            raise UsageError(
                f"{path}: {name} is safe by signs: nothing leads to it, no net is left"
            )
        if out == PIPE:
            say(spec_text(made))
            return
        write_text(out, spec_text(made))
        size = {"places": len(made.places), "rules": len(made.rules)}
        done = Document("population", "ok", {"out": str(out), **size})
        finish(done, as_json=as_json, text=f"{out}: {size['places']:,} places")


def _asked(paths: list[Path], semantics: str | None, bad: list[str]) -> "list[Question]":
    """Everything that is asked; faults of all files are told at once."""
    from ropewalk.verify.population.asking import questions

    found, faults = [], list[Finding]()
    for path in paths:
        if not path.suffix and not path.exists():
            raise UsageError(
                f"{str(path)!r} is no file, and no command: use check FILE or net FILE"
            )
        try:
            with progress(f"reading {path}"):
                found += questions(path, semantics=semantics, bad=bad)
        except InputError as error:
            faults += error.findings
    if faults:
        raise InputError(faults)
    return found


def decided(
    asked: "Question", seconds: float, *, rival: bool
) -> "tuple[Told, Answer, dict[str, Any]]":
    """What was found, the answer it comes from, and the figures."""
    from ropewalk.verify.population.asking import told
    from ropewalk.verify.population.engine.deciding import LANES, prepare
    from ropewalk.verify.population.engine.verdict import GaveUp

    prepare()
    begun = monotonic()
    until = begun + seconds
    with progress(f"deciding {asked.name or asked.file}"):
        lanes = [_lane(asked.net, lane, until) for lane in LANES]
        first: Answer | str = first_of(
            lanes, until + GRACE_S, settles=lambda found: not isinstance(found, GaveUp)
        )
    answer = GaveUp("", first) if isinstance(first, str) else first
    took = monotonic() - begun
    found = told(asked, answer)
    summary: dict[str, Any] = {
        "file": asked.file,
        "pattern": asked.name,
        "verdict": found.verdict,
        "method": found.method,
        "clients": sum(found.clients.values()) if found.clients else None,
        "kinds": dict(found.clients),
        "steps": found.length,
        "evidence": found.evidence,
        "places": len(asked.net.places),
        "rules": len(asked.net.rules),
        "seconds": round(took, 3),
    }
    if rival:
        summary["rival"] = _plainly(asked.net, seconds)
    return found, answer, summary


def _lane(net: "Net", lane: "Lane", until: float) -> "Callable[[], Answer]":
    def run() -> "Answer":
        from ropewalk.verify.population.engine.deciding import Deciding

        return Deciding(net, monotonic, until).alone(lane)

    return run


def _plainly(net: "Net", seconds: float) -> dict[str, Any]:
    """The same by the plain backward algorithm."""

    def run() -> str | None:
        from ropewalk.verify.population.engine.plain import plain

        return plain(net, monotonic, until)

    begun = monotonic()
    until = begun + seconds
    with progress("the plain backward algorithm"):
        verdict = first_of([run], until + GRACE_S)
    known = verdict if verdict in ("safe", "unsafe") else "undecided"
    return {"verdict": known, "seconds": round(monotonic() - begun, 3)}


def _document(found: "list[tuple[Told, dict[str, Any]]]") -> Document:
    from ropewalk.report.population import findings_of

    verdicts = [one.verdict for one, _ in found]
    worst = min(verdicts, key=("unsafe", "undecided", "safe").index)
    outcome: Any = {"unsafe": "findings", "undecided": "undecided", "safe": "ok"}[worst]
    decisive = next(summary for one, summary in found if one.verdict == worst)
    summary = {
        "verdict": worst,
        "method": decisive["method"],
        "clients": decisive["clients"],
        "seconds": round(sum(one["seconds"] for _, one in found), 3),
        "patterns": [one for _, one in found],
    }
    findings = [finding for one, _ in found for finding in findings_of(one)]
    return Document("population", outcome, summary, findings)


def _write_evidence(path: Path, found: "list[tuple[Question, Answer]]") -> None:
    from ropewalk.federation.saving import write_text
    from ropewalk.verify.population.asking import evidence
    from ropewalk.verify.population.engine.verdict import GaveUp

    known = [evidence(one, answer) for one, answer in found if not isinstance(answer, GaveUp)]
    write_text(path, json.dumps(known, indent=1) + "\n")
