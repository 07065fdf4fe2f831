"""`ropewalk verify`: what a federation's configuration does, under every failure."""

from dataclasses import replace
from pathlib import Path
from threading import TIMEOUT_MAX, Timer
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ropewalk.cli import latency as slow
from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import PIPE, Source, load_from, read_from, reported
from ropewalk.cli.logic import NODES, Asked, answered
from ropewalk.cli.native import confirmed, with_reading
from ropewalk.cli.read import Map
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.federation import Federation
    from ropewalk.routing import Table
    from ropewalk.verify import Verification
    from ropewalk.verify.repair import Repaired

Failures = Annotated[
    list[str] | None,
    typer.Option(
        "--failures",
        help="links=K, brokers=K or any=K (every set of up to K), groups, sites, none, or one"
        " failure such as a--b or a--b+c. Joined by commas, or repeated. Default: what the file"
        " requires, else links=1,brokers=1.",
    ),
]
Pairs = Annotated[
    str | None, typer.Option(help="topics, or all pairs of brokers (default without topics).")
]
TableFile = Annotated[
    Path | None, typer.Option("--table", help="The whole routing table, as CSV or Parquet.")
]
Routes = Annotated[
    Path | None,
    typer.Option(help="Tables stored by `ropewalk route`: check them in every colour they have."),
]
Hops = Annotated[int | None, typer.Option(min=1, help="Paths of more hops are findings.")]
Observed = Annotated[
    Path | None,
    typer.Option(help="Test results (CSV: from, to, delivered): tell what failed, instead."),
]
Fix = Annotated[bool, typer.Option("--fix", help="Propose repairs; with -o, write them.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where --fix writes.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="What no routing could survive is a finding, too.")
]
Budget = Annotated[
    float | None, typer.Option(min=0, help="Seconds; what is not decided by then is exit 3.")
]
Ltl = Annotated[
    list[str] | None,
    typer.Option("--ltl", help="A property in LTL, past included: 'G (!up(b1) -> F up(b1))'."),
]
Ctl = Annotated[list[str] | None, typer.Option("--ctl", help="A property in CTL.")]
SpecFile = Annotated[
    Path | None,
    typer.Option("--spec", help="Properties in a file: LTLSPEC, CTLSPEC, or one in each line."),
]
Property = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        help="A property by name: failover-rehomes, returns-after-recovery, eventually-delivered,"
        " no-bounce, never-lost, arrives.",
    ),
]
Timing = Annotated[
    Literal["free", "lockstep"],
    typer.Option(help="Properties: all takes its time, or one step each (Jia 2014)."),
]
Forwarding = Annotated[
    Literal["carrying", "plain"],
    typer.Option(help="Properties: messages carry what was known on their way, or do not."),
]
Resend = Annotated[
    bool, typer.Option(help="Properties: what a dead broker had is sent again from its source.")
]
Nodes = Annotated[
    int, typer.Option(min=1, help="Properties: nodes of decision diagrams; more is exit 3.")
]
Confirm = Annotated[
    bool,
    typer.Option(
        "--confirm",
        help="Play what is found of bridges on real brokers, started from the files as read.",
    ),
]
Sarif = Annotated[Path | None, typer.Option(help="Also write a SARIF report.")]
Junit = Annotated[Path | None, typer.Option(help="Also write a JUnit report.")]


def verify(
    path: Source,
    failures: Failures = None,
    pairs: Pairs = None,
    table: TableFile = None,
    routes: Routes = None,
    most_hops: Hops = None,
    strict: Strict = False,
    observed: Observed = None,
    fix: Fix = False,
    out: Out = None,
    budget: Budget = None,
    sarif: Sarif = None,
    junit: Junit = None,
    ltl: Ltl = None,
    ctl: Ctl = None,
    spec: SpecFile = None,
    property: Property = None,
    timing: Timing = "free",
    forwarding: Forwarding = "carrying",
    resend: Resend = True,
    nodes: Nodes = NODES,
    latency: slow.Asked = False,
    within_ms: slow.Within = None,
    probability: slow.Probability = None,
    slot_ms: slow.Slot = None,
    retry_ms: slow.Again = None,
    retries: slow.Retries = None,
    stats: slow.Stats = None,
    latency_from: slow.Measured = None,
    confirm: Confirm = False,
    mapping: Map = None,
    as_json: Json = False,
) -> None:
    """Check a federation: the file, and what becomes of every topic under every failure.

    Every fault of the file is told at once. Then every publisher and subscriber of every topic:
    delivered, in a loop, dropped, sent back, or cut off by a failure that no routing could survive.
    Then what topics promise: whether overlay, bridges and brokers can keep it. Brokers' own
    files, or a folder of them, are read as `ropewalk read` does.

    With --ltl, --ctl, --spec or --property, those properties are decided instead: failures and
    recoveries mixed with delivery, clients that move, news that spreads. The file may be a model
    in SMV (FILE.smv); then its own specifications are decided, too.
    """
    with contract("verify", as_json=as_json), reported("verify", sarif, junit) as told:
        start = perf_counter()
        asked = Asked(
            ltl or (),
            ctl or (),
            spec,
            property or (),
            asked_for(failures),
            pairs,
            table,
            timing,
            forwarding,
            resend,
            budget,
            nodes,
        )
        if asked or path.suffix == ".smv":
            if observed or fix or out or routes or most_hops or strict or latency or confirm:
                raise UsageError("properties go with --failures, --pairs, --table, --budget only")
            with progress(f"deciding properties of {path}"):
                done, text = answered(path, asked)
            done = replace(done, summary={**done.summary, **_seconds(start)})
            told.append(done)
            finish(done, as_json=as_json, text=text)
            return
        _refuse_odd(
            observed, fix, out, failures or pairs or most_hops or strict or budget is not None
        )
        wishes = slow.Wishes(
            latency=latency,
            within_ms=within_ms,
            probability=probability,
            slot_ms=slot_ms,
            retry_ms=retry_ms,
            retries=retries,
            stats=stats,
            latency_from=latency_from,
        )
        wishes.refuse_odd(observed=observed is not None)
        if routes is not None and table is not None:
            raise UsageError("--routes and --table: give one of them")
        with progress(f"verifying {path}"):
            reading = read_from([path], mapping=mapping)
            federation = reading.federation if reading else _loaded(path)
            given = _stored(routes, federation) if routes else _table(table, federation)
            if given is not None and given.patches is not None and failures is None:
                failures = given.patches.tables.network.ahead.texts() or ["none"]
            if observed is not None:
                done, text = _located(federation, observed, given)
            else:
                result = verified(federation, failures, pairs, given, most_hops, strict, budget)
                also = (slow.CHECKED,) if latency else ()
                done, text = _told(result, fix=fix, out=out, also=also)
                done, text = _with_protocols(done, text, federation, path)
                if reading is not None:
                    done, text = with_reading(done, text, reading, failures)
                if latency:
                    done, text = slow.with_latency(done, text, federation, given, pairs, wishes)
        if confirm:
            done, text = confirmed(done, text, federation, reading, mapping)
        done = replace(done, summary={**done.summary, **_seconds(start)})
        told.append(done)
        finish(done, as_json=as_json, text=text)


def _seconds(start: float) -> dict[str, float]:
    return {"seconds": round(perf_counter() - start, 3)}


def _refuse_odd(observed: Path | None, fix: bool, out: Path | None, other: object) -> None:
    if out is not None and not fix:
        raise UsageError("-o is where --fix writes: add --fix")
    if out == PIPE:
        raise UsageError("-o -: name a file; what is found goes to stdout")
    if observed is not None and (fix or other):
        raise UsageError("--observed goes with --table only: it tells what failed, nothing else")


def _loaded(path: Path) -> "Federation":
    from ropewalk.federation.loading import MAX_YAML_MB

    return load_from(path, max_mb=MAX_YAML_MB)


def _table(path: Path | None, federation: "Federation") -> "Table | None":
    from ropewalk.routing import read_table

    return read_table(path, federation) if path is not None else None


def _stored(folder: Path, federation: "Federation") -> "Table":
    from ropewalk.routing.ahead.store import read_tables
    from ropewalk.routing.ahead.stored import stored_table

    return stored_table(read_tables(folder), federation, str(folder))


def verified(
    federation: "Federation",
    failures: list[str] | None,
    pairs: str | None,
    table: "Table | None",
    most_hops: int | None,
    strict: bool,
    budget: float | None,
) -> "Verification":
    """A verification that ends when the budget of seconds does, undecided then."""
    import numpy as np

    from ropewalk.verify import verify as verify_

    halt = np.zeros(1, np.bool_)
    clock = Timer(min(budget, TIMEOUT_MAX), halt.fill, [True]) if budget is not None else None
    if clock is not None:
        clock.daemon = True
        clock.start()
    try:
        return verify_(
            federation,
            failures=asked_for(failures),
            pairs=pairs,  # type: ignore[arg-type]
            table=table,
            most_hops=most_hops,
            strict=strict,
            halt=halt,
        )
    finally:
        if clock is not None:
            clock.cancel()


def asked_for(failures: list[str] | None) -> list[str] | None:
    """Failures as they were given; an empty text asks for nothing, which is a slip."""
    if failures is not None and not any(text.strip(" ,") for text in failures):
        raise UsageError("--failures is empty: write none for nothing failed")
    return failures


def _with_protocols(
    done: Document, text: str, federation: "Federation", path: Path
) -> tuple[Document, str]:
    """What was found, and what is wrong with the protocols of topics."""
    if not federation.protocols:
        return done, text
    from ropewalk.protocol.reading import load_automata
    from ropewalk.verify.protocols import protocol_findings

    found = list(protocol_findings(federation, load_automata(federation.protocols, path.parent)))
    if any(one.severity == "error" for one in found):
        text += "\nClients cannot keep to their protocols: see the findings."
        done = replace(done, outcome="findings")  # also where other things are undecided
    return replace(done, findings=[*done.findings, *found]), text


def _told(
    result: "Verification", *, fix: bool, out: Path | None, also: tuple[str, ...] = ()
) -> tuple[Document, str]:
    """A verification as a document and in words; `also` names what is checked besides."""
    from ropewalk.report.verification import repair_text, verification_text

    summary: dict[str, Any] = dict(result.summary)
    summary["not_checked"] = [one for one in summary["not_checked"] if one not in also]
    text = verification_text(result, summary)
    if fix and not result.decided:
        text += "\nNothing is repaired: not all was looked at within the budget."
    elif fix:
        repaired = _repaired(result, out)
        summary["repairs"] = [one.words for one in repaired.repairs]
        summary["repaired"] = repaired.mended
        text = "\n".join([text, *repair_text(repaired, out)])
    return Document("verify", result.outcome, summary, result.findings), text


def _repaired(result: "Verification", out: Path | None) -> "Repaired":
    from ropewalk.federation.editing import save_edited
    from ropewalk.verify.repair import repair

    if result.check.table is not None:
        raise UsageError("--fix mends a federation's routes; it does not write given tables")
    repaired = repair(result)
    if out is not None and not save_edited(repaired.federation, result.check.federation, out):
        typer.echo(f"{out}: all of it is written anew: comments are not kept", err=True)
    return repaired


def _located(
    federation: "Federation", observed: Path, table: "Table | None"
) -> tuple[Document, str]:
    from ropewalk.findings import Where
    from ropewalk.verify.locate import MOST_DOWN, locate, read_observations

    tests = read_observations(observed, federation)
    found = locate(federation, tests, table=table)
    findings = list(found.findings(Where(str(observed))))
    summary = {
        "tests": len(tests),
        "failed": sum(not one.delivered for one in tests),
        "explanations": [str(one) for one in found.explanations],
        "complete": found.complete,
    }
    text = "Every test was delivered: nothing to explain."
    if not found.complete and not found.explanations:
        text = f"More than {MOST_DOWN} things failed at once: no explanation was found."
    elif findings:
        text = ""
    outcome = "findings" if findings else "ok" if found.complete else "undecided"
    return Document("verify", outcome, summary, findings), text  # type: ignore[arg-type]
