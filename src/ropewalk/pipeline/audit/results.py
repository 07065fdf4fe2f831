"""What an audit found, with names: a folder that people and other programs read."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ropewalk.errors import UsageError
from ropewalk.findings import Finding, Where, rules
from ropewalk.pipeline.audit.conform import Conformance
from ropewalk.pipeline.audit.job import UNCHECKED as UNCHECKED_ROWS
from ropewalk.pipeline.audit.job import Audited
from ropewalk.pipeline.folders import save_folder
from ropewalk.pipeline.shapes import VIOLATION_KEY
from ropewalk.pipeline.store import Store

VIOLATIONS, UNCHECKED, SUMMARY = "violations.parquet", "unchecked.parquet", "summary.json"
AUDIT_FILES = (VIOLATIONS, UNCHECKED, SUMMARY)

OTHER = {"A008": "client", "A011": "subscription", "A012": "node", "A013": "conversation"}
"""Of which column the name in `other` is."""
MOST_FINDINGS = 100
"""A report names at most so many violations; the table has them all."""
BAD_ROWS = "Q"
"""What a ledger calls rows that cannot be let in."""


@dataclass(frozen=True, slots=True)
class Result:
    """An audit with names; violations are numbered from 1 in their order."""

    violations: pa.Table
    unchecked: pa.Table
    summary: dict[str, Any]

    def save(self, folder: Path) -> None:
        """Write a folder, whole or not at all."""
        save_folder(folder, AUDIT_FILES, self._write)

    def _write(self, folder: Path) -> None:
        pq.write_table(self.violations, folder / VIOLATIONS)
        pq.write_table(self.unchecked, folder / UNCHECKED)
        text = json.dumps(self.summary, ensure_ascii=False)
        (folder / SUMMARY).write_text(text, encoding="utf-8")


def result_of(audited: Audited, store: Store) -> Result:
    """An audit with the names of the store that it judged."""
    names = Names(store)
    violations = names.violations(audited.violations)
    counts = Counter(violations["code"].to_pylist())
    rows = store.manifest.rows
    reasons = Counter(
        zip(
            audited.unchecked["code"].to_pylist(),
            audited.unchecked["reason"].to_pylist(),
            strict=True,
        )
    )
    summary = {
        "rows": rows["events"] + rows["control"],
        "events": rows["events"],
        "violations": len(violations),
        "codes": {code: counts.get(code, 0) for code in rules() if code.startswith("A")},
        "unchecked": [
            {"code": code, "reason": reason, "topics": count}
            for (code, reason), count in sorted(reasons.items())
        ],
        "conversations": audited.conversations,
    }
    return Result(violations, names.topics(audited.unchecked), summary)


def conformance_of(found: Conformance, store: Store) -> Result:
    """The same of conversations alone; nothing is said of what was not looked at."""
    audited = Audited(found.violations, UNCHECKED_ROWS.empty_table(), found.conversations)
    result = result_of(audited, store)
    result.summary["codes"] = {"A013": result.summary["violations"]}
    return result


class Names:
    """The names behind ids, read from a store when they are needed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.read: dict[str, dict[int, str]] = {}

    def __getitem__(self, column: str) -> dict[int, str]:
        if column not in self.read:
            self.read[column] = self.store.names(column)
        return self.read[column]

    def violations(self, found: pa.Table) -> pa.Table:
        """Violations with names in the place of ids, also in their evidence."""
        codes = found["code"].to_pylist()
        columns = {
            "code": found["code"],
            "topic": self._named(found["topic"], "topic"),
            "producer": self._named(found["producer"], "producer"),
            "pseq": found["pseq"],
            "consumer": self._named(found["consumer"], "client"),
            "other": pa.array(
                [
                    None if one is None else self[OTHER[code]].get(one)
                    for code, one in zip(codes, found["other"].to_pylist(), strict=True)
                ],
                pa.string(),
            ),
            "amount": found["amount"],
            "evidence": found["evidence"],
        }
        return pa.table(columns)

    def topics(self, table: pa.Table) -> pa.Table:
        """A table with names of topics."""
        at = table.column_names.index("topic")
        return table.set_column(at, "topic", self._named(table["topic"], "topic"))

    def _named(self, column: pa.ChunkedArray, name: str) -> pa.Array:
        ids = column.to_pylist()
        return pa.array([None if one is None else self[name].get(one) for one in ids], pa.string())


def read_result(folder: Path) -> Result:
    """An audit that was saved; UsageError where there is none."""
    try:
        return Result(
            pq.read_table(folder / VIOLATIONS),
            pq.read_table(folder / UNCHECKED),
            json.loads((folder / SUMMARY).read_text(encoding="utf-8")),
        )
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{folder}: there is no audit that can be read ({error}): run `ropewalk pipeline audit`"
        ) from None


def against_ledger(violations: pa.Table, quarantined: int, ledger: Path) -> dict[str, Any]:
    """What a generated trace was given against what was found, by kind."""
    try:
        given = pq.read_table(ledger)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{ledger}: cannot be read as a ledger: {error}") from None
    injected = _keys(given.filter(pc.not_equal(given["code"], BAD_ROWS)))
    found = _keys(violations)
    missed, spurious = _by_code(injected - found), _by_code(found - injected)
    bad = pc.sum(pc.equal(given["code"], BAD_ROWS)).as_py() or 0
    counts = _by_code(injected)
    kinds = {
        code: {
            "injected": counts[code],
            "missed": missed[code],
            "spurious": spurious[code],
        }
        for code in sorted({*counts, *spurious})
    }
    lost, extra = max(0, bad - quarantined), max(0, quarantined - bad)
    kinds[BAD_ROWS] = {"injected": bad, "missed": lost, "spurious": extra}
    return {
        "injected": len(injected) + bad,
        "missed": sum(missed.values()) + lost,
        "spurious": sum(spurious.values()) + extra,
        "kinds": kinds,
    }


def _keys(table: pa.Table) -> set[tuple[Any, ...]]:
    columns = [table[name].to_pylist() for name in VIOLATION_KEY]
    return set(zip(*columns, strict=True))


def _by_code(keys: set[tuple[Any, ...]]) -> Counter[str]:
    return Counter(key[0] for key in keys)


def sentence(violation: Mapping[str, Any]) -> str:
    """A violation in words."""
    code, topic, other = violation["code"], violation["topic"], violation["other"]
    message = f"message {violation['pseq']} of {violation['producer']} on {topic}"
    consumer, amount = violation["consumer"], violation["amount"]
    texts = {
        "A001": f"{message} never reached {consumer}, which was due it",
        "A002": f"{message} reached {consumer} {amount} times too often",
        "A003": f"{message} reached {consumer}, which was not subscribed",
        "A004": f"{message} reached {consumer} and was never published",
        "A005": f"{message} reached {consumer} after a later one of the same producer",
        "A006": f"{message} was handed to {consumer} while a more urgent one waited",
        "A007": f"{message} reached {consumer} after one with a larger rank",
        "A008": f"{consumer} and {other} have messages on {topic} in opposite orders",
        "A009": f"no order of messages on {topic} fits all consumers: {amount} go in a circle,"
        f" message {violation['pseq']} of {violation['producer']} among them",
        "A010": f"{message} reached {consumer} {_ms(amount)} too late",
        "A011": f"{consumer}'s subscription to {topic} was never confirmed",
        "A012": f"{other} never heard that {violation['producer']} advertises {topic}",
        "A013": f"{message} is none that its protocol allows in conversation {other}",
    }
    return texts[code]


def _ms(amount: int | None) -> str:
    return f"{(amount or 0) / 1e6:.3g} ms"


def first_violations(result: Result, most: int) -> Sequence[dict[str, Any]]:
    """Violations as records with their numbers, some of every code before more of one."""
    numbered = [
        {"number": number, **row} for number, row in enumerate(result.violations.to_pylist(), 1)
    ]
    seen: Counter[str] = Counter()
    turns = []
    for row in numbered:
        turns.append((seen[row["code"]], row["number"]))
        seen[row["code"]] += 1
    chosen = sorted(number for _, number in sorted(turns)[:most])
    return [numbered[number - 1] for number in chosen]


def findings_of(result: Result, folder: Path) -> list[Finding]:
    """Violations as findings: some of every code; their place is their number in the table."""
    return [
        Finding(
            one["code"],
            sentence(one),
            Where(str(folder / VIOLATIONS), one["number"]),
            witness={key: one[key] for key in one if key not in ("code", "number")},
        )
        for one in first_violations(result, MOST_FINDINGS)
    ]
