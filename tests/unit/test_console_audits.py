"""An audit in the console: what is told of a folder, whom a violation concerns, what is new."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ropewalk.federation import Federation, loads
from ropewalk.pipeline.audit.results import SUMMARY, UNCHECKED, VIOLATIONS
from ropewalk.trace.ids import id_of
from ropewalk.web import audits as audits_module
from ropewalk.web.audits import audited, stamp_of

FEDERATION = """
federation: f
brokers: {a: , b: , c: }
links: [{between: [a, b]}, {between: [b, c]}]
topics: {t: {publishers: [{broker: a, client: feed}], subscribers: [{broker: c, client: app}]}}
"""


@pytest.fixture
def federation() -> Federation:
    return loads(FEDERATION)


def violation(code: str, **others: Any) -> dict[str, Any]:
    row = {"code": code, "topic": "t", "producer": "feed", "pseq": 1, "consumer": "app"}
    return row | {"other": None, "amount": None, "evidence": []} | others


def written(folder: Path, violations: list[dict[str, Any]], **summary: Any) -> None:
    """What an audit leaves in a working folder."""
    made = folder / "audit"
    made.mkdir(exist_ok=True)
    key = pa.struct([("node", pa.int64()), ("incarnation", pa.int64()), ("li", pa.int64())])
    whole, text = pa.int64(), pa.string()
    schema = pa.schema(
        [("code", text), ("topic", text), ("producer", text), ("pseq", whole), ("consumer", text),
         ("other", text), ("amount", whole), ("evidence", pa.list_(key))]
    )  # fmt: skip
    pq.write_table(pa.Table.from_pylist(violations, schema), made / VIOLATIONS)
    pq.write_table(pa.table({"code": pa.array([], text)}), made / UNCHECKED)
    codes = [one["code"] for one in violations]
    told = {
        "rows": 1234,
        "violations": len(violations),
        "codes": {code: codes.count(code) for code in ("A001", "A002", "A005")},
        "unchecked": [],
        "conversations": {},
    }
    (made / SUMMARY).write_text(json.dumps(told | summary))


def test_violations_are_told_with_the_brokers_that_they_concern(
    tmp_path: Path, federation: Federation
) -> None:
    seen = [{"node": id_of("b"), "incarnation": 1, "li": 1}, {"node": 7, "incarnation": 1, "li": 2}]
    written(
        tmp_path,
        [violation("A001", evidence=seen), violation("A012", consumer=None, other="c")],
        conversations={"p": {"ended": 1, "open": 2, "left": 0, "unknown": 0}},
        unchecked=[{"code": "A005", "reason": "no `rank`", "topics": 2}],
    )
    found = audited(tmp_path, federation)
    assert (found.fault, found.good, found.words) == ("", False, "2 violations in 1,234 rows.")
    assert [(one.number, one.code, one.brokers) for one in found.violations] == [
        (1, "A001", ("b", "a", "c")),
        (2, "A012", ("a", "c")),
    ]
    assert found.violations[0].words == "message 1 of feed on t never reached app, which was due it"
    assert found.figures[1] == ("lost (audit)", "1", "bad")
    assert found.command(2) == f"ropewalk trace show {tmp_path} 2"
    assert any("p: 3 conversations" in one for one in found.notes)
    assert "Not checked: A005 fifo on 2 topics: no `rank`" in found.notes


def test_an_audit_without_violations_is_good(tmp_path: Path, federation: Federation) -> None:
    written(tmp_path, [])
    found = audited(tmp_path, federation)
    assert (found.good, found.violations, found.fault) == (True, (), "")


def test_of_every_kind_the_first_are_listed(
    tmp_path: Path, federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits_module, "MOST_OF_A_KIND", 2)
    written(tmp_path, [violation("A001", pseq=n) for n in range(5)] + [violation("A005")] * 3)
    found = audited(tmp_path, federation)
    assert [one.number for one in found.violations] == [1, 2, 6, 7]
    assert [one.count for one in found.kinds] == [5, 0, 3]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"codes": 1}'])
def test_what_cannot_be_read_is_told_and_not_thrown(
    tmp_path: Path, federation: Federation, text: str
) -> None:
    assert "was not audited yet" in audited(tmp_path, federation).fault
    assert "no such folder" in audited(tmp_path / "none", federation).fault
    written(tmp_path, [])
    (tmp_path / "audit" / SUMMARY).write_text(text)
    assert str(tmp_path) in audited(tmp_path, federation).fault


def test_another_audit_is_noticed(tmp_path: Path, federation: Federation) -> None:
    none = stamp_of(tmp_path)
    written(tmp_path, [])
    first = stamp_of(tmp_path)
    assert none != first == stamp_of(tmp_path)
    written(tmp_path, [violation("A001")])
    assert stamp_of(tmp_path) != first
    assert not audited(tmp_path, federation).good
