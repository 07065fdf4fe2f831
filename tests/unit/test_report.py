"""The report: one page that needs nothing else, and what it says of what was never proved."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ropewalk.report.filed.documents import LAYOUTS, section_of
from ropewalk.report.filed.gather import document_of
from tests.conftest import Run
from tests.unit.filed import SCRIPT, Page, audit, document, drive, finding, pipeline, replay

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PLACED = EXAMPLES / "placement"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    monkeypatch.setattr("sys.argv", ["ropewalk", "report", "fed.yaml"])
    (tmp_path / "fed.yaml").write_text((EXAMPLES / "trade-net.yaml").read_text("utf-8"), "utf-8")
    return tmp_path


def written(folder: Path, name: str, value: dict[str, Any]) -> Path:
    path = folder / name
    path.write_text(json.dumps(value), "utf-8")
    return path


def page(folder: Path, name: str = "report.html") -> Page:
    return Page((folder / name).read_text("utf-8"))


def ok_file(folder: Path) -> Path:
    path = folder / "ok.yaml"
    path.write_text(
        "federation: ok\nbrokers: {a: {takeover: [b]}, b: {takeover: [a]}}\n"
        "links: [{between: [a, b]}]\ntopics: {t: {publishers: [a], subscribers: [b]}}\n",
        "utf-8",
    )
    return path


def test_a_page_needs_nothing_else(ropewalk: Run, here: Path) -> None:
    documents = [written(here, "drive.json", drive()), written(here, "all.json", pipeline())]
    ran = ropewalk("report", "fed.yaml", *documents, "-o", "report.html")
    assert ran.code in (0, 1), ran.out
    found = page(here)
    assert found.runs == []
    assert found.asks == []
    text = (here / "report.html").read_text("utf-8")
    assert text.count("<svg") >= 2
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


@pytest.mark.parametrize(
    "bad",
    [
        "<script>1</script>",
        '<img src="http://x/y.png">',
        "<style>@import 'x';</style>",
        '<p onclick="x()">',
        '<a href="javascript:x()">',
    ],
)
def test_the_check_of_pages_can_fail(bad: str) -> None:
    found = Page(f"<html><body>{bad}</body></html>")
    assert found.runs or found.asks


def test_names_and_documents_cannot_become_markup(ropewalk: Run, here: Path) -> None:
    nasty = f'"/>{SCRIPT}<img src=x onerror=y>'
    (here / "bad.yaml").write_text(
        "federation: bad\nbrokers: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n"
        f"topics: {{'{SCRIPT}': {{publishers: [a], subscribers: [b]}}}}\n",
        "utf-8",
    )
    hostile = drive(lost=1)
    hostile["summary"]["pairs"][0]["topic"] = nasty
    hostile["summary"]["pairs"][0]["publisher"]["client"] = nasty
    hostile["findings"] = [finding("D001", nasty, path=[nasty])]
    hostile["argv"] = ["ropewalk", nasty]
    other = document(nasty, False, {nasty: nasty, "list": [{nasty: nasty}]}, finding(nasty, nasty))
    documents = [written(here, "a.json", hostile), written(here, "b.json", other)]
    ran = ropewalk("report", "bad.yaml", *documents, "-o", "report.html", "--title", nasty)
    assert ran.code == 1, ran.out + ran.err
    found = page(here)
    assert found.runs == []
    assert found.asks == []
    assert found.text.count(SCRIPT) >= 8  # as text, everywhere


def test_the_same_inputs_at_the_same_time_give_the_same_bytes(
    ropewalk: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ropewalk("report", "fed.yaml", "-o", "a.html")
    ropewalk("report", "fed.yaml", "-o", "b.html")
    assert (here / "a.html").read_bytes() == (here / "b.html").read_bytes()
    assert "2027-01-15 08:00:00 UTC" in page(here, "a.html").text
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000001")
    ropewalk("report", "fed.yaml", "-o", "b.html")
    assert (here / "a.html").read_bytes() != (here / "b.html").read_bytes()


def test_every_file_that_went_in_is_there_with_its_hash(ropewalk: Run, here: Path) -> None:
    (here / "p.yaml").write_bytes((EXAMPLES / "protocols/order-entry.yaml").read_bytes())
    with (here / "fed.yaml").open("a", encoding="utf-8") as file:
        file.write("protocols: {orders: p.yaml}\n")
    plan = here / "plan.yaml"
    ropewalk("place", PLACED / "federation.yaml", "--stats", PLACED, "-o", plan)
    drove = written(here, "drive.json", drive())
    ran = ropewalk("report", "fed.yaml", "--plan", plan, "--document", drove, "--json")
    inputs = ran.document["summary"]["provenance"]["inputs"]
    assert {one["role"] for one in inputs} == {"federation", "protocol", "plan", "document"}
    for one in inputs:
        data = Path(one["file"]).read_bytes()
        assert (one["sha256"], one["bytes"]) == (sha256(data).hexdigest(), len(data))
    versions = ran.document["summary"]["provenance"]["versions"]
    assert versions["pyspark"] != "not installed"
    assert {"ropewalk", "Python", "numba", "numpy"} <= set(versions)


def test_brokers_own_files_are_read_and_hashed(ropewalk: Run, here: Path) -> None:
    ring = EXAMPLES / "native/rabbitmq/ring"
    ran = ropewalk("report", ring, "-o", "report.html", "--json")
    assert ran.code == 1
    summary = ran.document["summary"]
    names = [Path(one["file"]).name for one in summary["provenance"]["inputs"]]
    assert names == ["east.json", "north.json", "south.json", "west.json"]
    proof = next(one for one in summary["parts"] if one["title"] == "Verification")
    assert any("not modelled" in one for one in proof["not_checked"])
    assert "max_hops holds it back" in page(here).text


def test_a_clean_federation_ends_with_0(ropewalk: Run, here: Path) -> None:
    ran = ropewalk("report", ok_file(here), "-o", "report.html")
    assert ran.code == 0, ran.out
    assert "Nothing is wrong in what was looked at." in page(here).text


def test_an_error_of_any_part_ends_with_1_and_is_told(ropewalk: Run, here: Path) -> None:
    broken = written(here, "drive.json", drive(lost=3))
    ran = ropewalk("report", ok_file(here), broken, "-o", "report.html")
    assert ran.code == 1
    assert "1 error" in ran.out
    assert "3 of 4321 acknowledged messages never came" in page(here).text


def test_what_was_not_decided_is_never_ok(ropewalk: Run, here: Path) -> None:
    ran = ropewalk("report", ok_file(here), "--budget", "0", "-o", "report.html", "--json")
    assert ran.code == 3
    assert ran.document["summary"]["verdict"] == "undecided"
    assert ran.document["ok"] is False
    text = page(here).text
    assert "Nothing is wrong" not in text
    assert "not decided within the budget" in text


def test_what_was_not_checked_is_told_beside_ok(ropewalk: Run, here: Path) -> None:
    path = ok_file(here)
    text = path.read_text("utf-8").replace("[b]}}", "[b], contract: {within_ms: 5}}}")
    path.write_text(text, "utf-8")
    ran = ropewalk("report", path, "-o", "report.html")
    assert ran.code == 0
    assert "ok, in part" in ran.out
    assert "Not checked, and so not ok: contract.within_ms" in page(here).text


def test_a_whole_run_is_on_the_page(ropewalk: Run, here: Path) -> None:
    plan = here / "plan.yaml"
    ropewalk("place", PLACED / "federation.yaml", "--stats", PLACED, "-o", plan)
    documents = {
        "drive-1.json": drive(doubled=2),
        "drive-2.json": drive(),
        "before.json": replay(0.099, 0.11, placement="today"),
        "after.json": replay(0.0123, 0.0145),
        "all.json": pipeline(),
    }
    documents["drive-1.json"]["argv"] = ["ropewalk", "lab", "drive", "--seconds", "10"]
    for name, one in documents.items():
        written(here, name, one)
    ran = ropewalk("report", "fed.yaml", "--plan", plan, *documents, "-o", "report.html")
    assert ran.code in (0, 1), ran.out
    text = page(here).text
    for shown in (
        *(
            "4,321",
            "187 ms",
            "duplicated 2 came again; contracts allow it",
            "blackhole lon-1--par-1",
        ),
        *("9.9 %", "0.0015 %", "11.0 %", "1.2 %", "1.4 %", "that is proven"),
        *("6,001", "5,678", "2,468", "48.81", "no `rank`", "3 conversations of orders"),
        *("par-1 is not calibrated: too few windows", "before the plan", "with the plan"),
        *("some broker overloaded 12.3 %", "handed to clients"),
        *("(drive-1.json)", "(drive-2.json)", "ropewalk lab drive --seconds 10"),
    ):
        assert shown in text, shown


def test_every_known_command_is_laid_out(ropewalk: Run, here: Path) -> None:
    verbs = {
        "verify": ("verify", EXAMPLES / "misrouted.yaml", "--fix"),
        "latency": ("verify", EXAMPLES / "latency.yaml", "--latency"),
        "diff": ("diff", EXAMPLES / "misrouted.yaml", "fed.yaml"),
        "route": ("route", "fed.yaml"),
        "paths": ("paths", "fed.yaml", "--radius-km", "100"),
        "protocol": ("protocol", "check", EXAMPLES / "protocols/rosettanet.yaml"),
        "population": ("population", "check", EXAMPLES / "population/lock.yaml"),
        "place": ("place", PLACED / "federation.yaml", "--stats", PLACED),
        "simulate": ("lab", "simulate", "fed.yaml", "--faults", "at 1 s crash lon-gw for 1 s"),
    }
    made = {name: ropewalk(*words, "--json").document for name, words in verbs.items()}
    made |= {"drive": drive(), "all": pipeline(), "replay": replay(0.01, 0.01)}
    made["audit"] = document("pipeline audit", True, audit())
    gone = {"item": "fx", "from": "lon-1", "to": "par-1", "state": "done"}
    made["moved"] = document("lab plan", True, {"moves": [gone], "over": True, "seconds": 3.25})
    for name, one in made.items():
        assert one["command"] in LAYOUTS, name
        section = section_of(document_of(written(here, f"{name}.json", one)))
        assert section.chapter != "besides", name
        assert (section.status == "ok") == one["ok"], name
        assert section.data == one["summary"]


def test_a_document_of_another_version_is_shown_plainly(here: Path) -> None:
    changed = drive()
    changed["summary"]["pairs"] = "many"
    section = section_of(document_of(written(here, "a.json", changed)))
    assert section.chapter == "besides"
    assert ("pairs", "many") in section.blocks[0].entries  # type: ignore[union-attr]


def test_a_verb_that_is_not_known_is_a_plain_table(ropewalk: Run, here: Path) -> None:
    rows = [{"item": "fx", "to": "lon-2"}, {"item": "news", "to": "par-1"}]
    one = document("lab walk", True, {"moved_items": 17, "over": True, "moves": rows})
    ropewalk("report", ok_file(here), written(here, "a.json", one), "-o", "report.html")
    text = page(here).text
    for shown in ("ropewalk lab walk", "moved items 17", "over yes", "fx lon-2 news par-1"):
        assert shown in text


@pytest.mark.parametrize(
    ("one", "status"),
    [
        (document("x", True, {"a": 1}), "ok"),
        (document("x", False, {"a": 1}, finding("V001", "wrong")), "findings"),
        (document("x", False, {"decided": False}), "undecided"),
        (document("population check", False, {"verdict": "unknown"}), "undecided"),
        (document("x", False, {"a": 1}), "undecided"),
        (document("lab drive", False, {"silent": [1]}, finding("D004", "never")), "undecided"),
        (document("x", False, {}, finding("F010", "no field")), "findings"),
    ],
)
def test_a_document_that_is_not_ok_never_looks_so(
    here: Path, one: dict[str, Any], status: str
) -> None:
    assert section_of(document_of(written(here, "a.json", one))).status == status


def test_a_working_folder_is_read_without_spark(ropewalk: Run, here: Path) -> None:
    work = audited(here / "work")
    ran = ropewalk("report", ok_file(here), "--work", work, "-o", "report.html")
    assert ran.code == 1, ran.out
    text = page(here).text
    for shown in ("5,678 rows", "message 27 of feed-7 on prices never reached desk-9"):
        assert shown in text
    assert "ropewalk trace show" in text
    assert "A007 rank on 2 topics" in text
    program = (
        "import sys; from pathlib import Path; from ropewalk.report.filed.gather import observed_in;"
        f"assert observed_in(Path({str(work)!r})).audit['violations'] == 1;"
        "print([one for one in ('pyspark', 'py4j') if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_folder_without_an_audit_is_not_ok(ropewalk: Run, here: Path) -> None:
    (here / "work").mkdir()
    ran = ropewalk("report", ok_file(here), "--work", "work", "-o", "report.html")
    assert ran.code == 3
    assert "delivery was not audited" in page(here).text


def audited(work: Path) -> Path:
    import pyarrow as pa

    from ropewalk.pipeline.audit.results import Result

    work.mkdir()
    row = {"code": "A001", "topic": "prices", "producer": "feed-7", "pseq": 27}
    row |= {"consumer": "desk-9", "other": None, "amount": None, "evidence": None}
    unchecked = pa.table({"code": ["A007"], "topic": ["t"], "reason": ["no `rank`"]})
    Result(pa.Table.from_pylist([row]), unchecked, audit(1)).save(work / "audit")
    return work


def test_the_shell_makes_several_words_of_documents(ropewalk: Run, here: Path) -> None:
    names = [f"{name}.json" for name in "abc"]
    for name in names:
        written(here, name, drive())
    words = ("--document", *names)
    assert "3 parts" not in ropewalk("report", ok_file(here), "-o", "r.html").out
    for line in ((ok_file(here), *words), (*words, ok_file(here))):
        ran = ropewalk("report", *line, "-o", "report.html")
        assert "Wrote report.html: 5 parts of 4 files." in ran.out


def test_the_data_is_the_same_in_a_file_and_on_the_pipe(ropewalk: Run, here: Path) -> None:
    ran = ropewalk("report", "fed.yaml", "-o", "report.json", "--json")
    assert json.loads((here / "report.json").read_text("utf-8")) == ran.document
    assert ran.document["command"] == "report"
    assert [one["title"] for one in ran.document["summary"]["parts"]][1] == "Verification"


def test_bad_input_is_told_and_leaves_the_old_page(ropewalk: Run, here: Path) -> None:
    (here / "old.html").write_text("old", "utf-8")
    plan = here / "plan.yaml"
    ropewalk("place", PLACED / "federation.yaml", "--stats", PLACED, "-o", plan)
    plan.write_text(plan.read_text("utf-8").replace("to: slo-2", "to: lon-1"), "utf-8")
    (here / "none.json").write_text("[1]", "utf-8")
    (here / "cut.json").write_text('{"command": ', "utf-8")
    for words, said in (
        (("fed.yaml", "--plan", plan), "changed by hand"),
        (("fed.yaml", "--document", "none.json"), "no document of a verb"),
        (("fed.yaml", "--document", "cut.json"), "no JSON"),
        (("fed.yaml", "--document", "gone.json"), "gone.json: cannot be read"),
        (("fed.yaml", "--work", "gone"), "no such folder"),
        (("fed.yaml", "ok.yaml"), "name one federation file"),
        (("-",), "SHA-256"),
        ((EXAMPLES / "broken.yaml",), ""),
    ):
        ran = ropewalk("report", *words, "-o", "old.html")
        assert ran.code == 2, words
        assert said in " ".join((ran.out + ran.err).split())
    assert (here / "old.html").read_text("utf-8") == "old"
    assert ropewalk("report", "fed.yaml", "-o", "page.pdf").code == 2
    assert ropewalk("report", "fed.yaml", "-o", "nowhere/page.html").code == 2


def test_a_person_reads_it_in_80_columns(ropewalk: Run, here: Path) -> None:
    ran = ropewalk("report", "fed.yaml")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "Nothing is written: add -o report.html" in ran.out
    assert not list(here.glob("*.html"))


def test_fates_are_told_by_kind_of_failure(ropewalk: Run, here: Path) -> None:
    (here / "two.yaml").write_text(
        "federation: two\nsites: {s: {at: [1, 2]}}\nbrokers: {a: {site: s}, b: {site: s}, c: {}}\n"
        "links: [{between: [a, b]}, {between: [b, c]}, {between: [a, c]}]\n"
        "topics: {t: {publishers: [a], subscribers: [b, c]}}\n",
        "utf-8",
    )
    ran = ropewalk("report", "two.yaml", "--failures", "links=2,brokers=1,sites", "--json")
    proof = ran.document["summary"]["parts"][1]["data"]
    told = {one["failed"]: one["scenarios"] for one in proof["by_kind"]}
    assert next(iter(told)) == "nothing"
    assert told["1 link"] == told["2 links"] == 3
    assert sum(told.values()) == proof["scenarios"]
    assert {"1 broker", "a site or risk group"} <= set(told)
    fates = [name for name in proof["by_kind"][0] if name not in ("failed", "scenarios")]
    total = sum(one[name] for one in proof["by_kind"] for name in fates)
    assert total == proof["scenarios"] * proof["pairs"]
