"""Reading what goes into a report: plans, working folders, documents of other verbs.

Spark is not started: what its jobs left is read as the plain files that it is.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ropewalk.errors import UsageError
from ropewalk.findings import SEVERITIES, Finding, Where
from ropewalk.pipeline.audit.results import Result, findings_of, read_result
from ropewalk.pipeline.folders import Work
from ropewalk.pipeline.store import MANIFEST, open_store
from ropewalk.placement.plan import read_plan
from ropewalk.placement.plan_file import plan_texts
from ropewalk.report.filed.facts import Gathered, Input, Making, Observed, PlanFile, Proof, Ran
from ropewalk.report.filed.sources import every, hashed, of_federation

KEYS = {"command", "ok", "summary", "findings"}
"""What every document of a verb has."""


def gather(
    proof: Proof,
    *,
    making: Making,
    plans: Sequence[Path] = (),
    work: Sequence[Path] = (),
    documents: Sequence[Path] = (),
    title: str | None = None,
) -> Gathered:
    """All that goes into a report; UsageError names the file that cannot be used."""
    federation = proof.result.check.federation
    inputs = [*of_federation(federation)]
    inputs += [hashed("plan", one) for one in plans]
    inputs += [hashed("document", one) for one in documents]
    for folder in work:
        inputs += _of_work(folder)
    return Gathered(
        title=title or f"Report on {federation.name}",
        federation=federation,
        proof=proof,
        making=making,
        plans=tuple(map(plan_of_file, plans)),
        observed=tuple(map(observed_in, work)),
        documents=tuple(map(document_of, documents)),
        inputs=tuple(dict.fromkeys(inputs)),
    )


def plan_of_file(path: Path) -> PlanFile:
    """A plan, whole and unchanged since it was made."""
    found = plan_texts(path)
    read_plan(found, str(path))
    return PlanFile(str(path), found)


def document_of(path: Path) -> Ran:
    """A document that a verb printed with --json."""
    found = _json(path)
    if not is_document(found):
        raise UsageError(
            f"{path}: this is no document of a verb: give what `ropewalk VERB ... --json` printed"
        )
    try:
        return Ran(
            str(path),
            str(found["command"]),
            bool(found["ok"]),
            dict(found["summary"]),
            tuple(map(_finding, found["findings"])),
            tuple(map(str, found.get("argv") or ())),
        )
    except (KeyError, TypeError, ValueError):
        raise UsageError(f"{path}: its findings cannot be read: print the document anew") from None


def is_document(found: Any) -> bool:
    """Whether a value has the form of what verbs print with --json."""
    return (
        isinstance(found, dict)
        and found.keys() >= KEYS
        and isinstance(found["summary"], dict)
        and isinstance(found["findings"], list)
    )


def is_document_file(path: Path) -> bool:
    """Whether a file is such a document; a broker's own JSON is none."""
    return path.suffix.lower() == ".json" and path.is_file() and is_document(_json(path))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: this is no JSON document") from None


def _finding(one: Mapping[str, Any]) -> Finding:
    where, severity = one["where"], one["severity"]
    return Finding(
        str(one["code"]),
        str(one["message"]),
        Where(str(where["file"]), int(where["line"])),
        severity if severity in SEVERITIES else "error",
        one.get("witness"),
    )


def observed_in(folder: Path) -> Observed:
    """What jobs left in a working folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    work = Work(folder)
    audit = _audit(work.audit)
    conformance = _audit(work.conformance)
    return Observed(
        str(folder),
        _taken(work),
        _json(work.rates / "rates.json") if (work.rates / "rates.json").is_file() else None,
        _capacities(work.capacities),
        audit.summary if audit else None,
        tuple(findings_of(audit, work.audit)) if audit else (),
        conformance.summary if conformance else None,
    )


def _audit(folder: Path) -> Result | None:
    return read_result(folder) if folder.is_dir() else None


def _taken(work: Work) -> dict[str, Any] | None:
    if not (work.store / MANIFEST).is_file():
        return None
    manifest = open_store(work.store).manifest
    return {
        "taken": sum(one.rows for one in manifest.sources),
        "stored": manifest.rows,
        "files": len(manifest.sources),
    }


def _capacities(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506
        return {name: one.get("capacity") for name, one in found["brokers"].items()}
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, AttributeError):
        raise UsageError(
            f"{path}: these are no capacities: `ropewalk pipeline calibrate` writes them"
        ) from None


def _of_work(folder: Path) -> Iterable[Input]:
    """What a working folder's figures are made of, and the figures themselves."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    work = Work(folder)
    yield from every("federation of the traces", work.federation)
    for one in work.traces:
        if one != folder:
            yield from every("trace", one)
    yield from every("store", work.store / MANIFEST)
    yield from every("rates", work.rates)
    yield from every("capacities", work.capacities)
    yield from every("audit", work.audit)
    yield from every("conformance", work.conformance)
