"""`ropewalk verify` as it is used: what it says, how it ends, and what it refuses."""

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from ropewalk.federation.generators import generate
from ropewalk.federation.saving import save
from ropewalk.findings import rules
from tests.conftest import Run

SUMMARY = [
    "brokers",
    "links",
    "topics",
    "pairs",
    "scenarios",
    "delivered",
    "loops",
    "black_holes",
    "uturns",
    "unavoidable",
    "paths_tested",
    "paths_total",
    "seconds",
]

SQUARE = """
federation: square
brokers: {a: , b: , c: , d: }
links: [{between: [a, b]}, {between: [b, c]}, {between: [c, d]}, {between: [d, a]}]
topics:
  news: {publishers: [a], subscribers: [c]}
"""


@pytest.fixture
def six(tmp_path: Path) -> Path:
    save(generate("six-broker"), tmp_path / "six.yaml")
    return tmp_path / "six.yaml"


@pytest.fixture
def misrouted(six: Path) -> Path:
    text = six.read_text().replace("routes:\n", "routes:\n  - {at: b4, to: b5, next: b6} # mine\n")
    file = six.parent / "misrouted.yaml"
    file.write_text(text)
    return file


def square(tmp_path: Path, more: str = "") -> Path:
    file = tmp_path / "square.yaml"
    file.write_text(SQUARE + more)
    return file


def test_the_summary_has_what_scripts_rely_on(ropewalk: Run, six: Path) -> None:
    ran = ropewalk("verify", six, "--failures", "links=1", "--json")
    summary = ran.document["summary"]
    assert (ran.code, ran.document["findings"]) == (0, [])
    assert set(SUMMARY) <= set(summary)
    assert (summary["scenarios"], summary["pairs"]) == (6, 6)
    fates = ("delivered", "loops", "black_holes", "too_long", "leaks", "unavoidable")
    assert sum(summary[fate] for fate in fates) == 36


def test_a_loop_is_a_finding_with_its_path_and_line(ropewalk: Run, misrouted: Path) -> None:
    ran = ropewalk("verify", misrouted, "--failures", "links=1", "--json")
    (found,) = ran.document["findings"]
    assert ran.code == 1
    line = misrouted.read_text().splitlines()[found["where"]["line"] - 1]
    assert line.endswith("# mine")
    assert found["witness"]["path"] == ["b1", "b2", "b4", "b6", "b4"]
    assert found["witness"]["topics"] == ["A"]
    assert "loops" in ran.document["summary"]


def test_the_text_fits_a_terminal_and_ends_with_a_verdict(ropewalk: Run, six: Path) -> None:
    ran = ropewalk("verify", six)
    lines = ran.out.replace(str(six), "six.yaml").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "Everything that could be delivered is delivered."


def test_a_required_failure_that_cuts_the_graph_is_a_finding(ropewalk: Run, six: Path) -> None:
    six.write_text(six.read_text() + "requirements: {survive: {links: 1, brokers: 1}}\n")
    ran = ropewalk("verify", six, "--json")
    codes = {one["code"] for one in ran.document["findings"]}
    assert (ran.code, codes) == (1, {"V007", "V008"})
    assert ran.document["summary"]["scenarios"] == 12


def test_without_topics_all_pairs_are_checked(ropewalk: Run, tmp_path: Path) -> None:
    save(generate("ring", brokers=5), tmp_path / "ring.yaml")
    ran = ropewalk("verify", tmp_path / "ring.yaml", "--json")
    assert ran.document["summary"]["pairs"] == 20
    assert ran.code == 0


def test_time_that_runs_out_is_never_shown_as_ok(ropewalk: Run, six: Path) -> None:
    ran = ropewalk("verify", six, "--budget", "0", "--json")
    assert (ran.code, ran.document["ok"]) == (3, False)
    assert ran.document["summary"]["decided"] is False
    assert "Could not decide" in ropewalk("verify", six, "--budget", "0").out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--failures", "links=x"], "links=x"),
        (["--failures", "b1--b9"], "b1--b9"),
        (["--failures", "site:mars"], "mars"),
        (["--failures", "group:none"], "none"),
        (["--pairs", "some"], "topics or all"),
        (["-o", "x.yaml"], "--fix"),
        (["--table", "missing.csv"], "missing.csv"),
        (["--observed", "missing.csv"], "missing.csv"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    ropewalk: Run, six: Path, options: list[str], told: str
) -> None:
    ran = ropewalk("verify", six, *options)
    assert ran.code == 2
    assert told in ran.err + ran.out


def test_more_scenarios_than_anyone_can_wait_for_are_refused(ropewalk: Run, tmp_path: Path) -> None:
    save(generate("waxman", brokers=200, m=4), tmp_path / "f.yaml")
    ran = ropewalk("verify", tmp_path / "f.yaml", "--failures", "any=4")
    assert ran.code == 2
    assert "too many" in ran.err


def test_the_smallest_repair_is_written_and_the_rest_of_the_file_kept(
    ropewalk: Run, misrouted: Path, six: Path
) -> None:
    out = misrouted.parent / "fixed.yaml"
    ran = ropewalk("verify", misrouted, "--fix", "-o", out, "--json")
    assert ran.code == 1
    assert ran.document["summary"]["repaired"] is True
    assert out.read_text() == six.read_text()
    assert ropewalk("verify", out).code == 0


def test_a_route_with_wildcards_gets_an_entry_before_it(ropewalk: Run, tmp_path: Path) -> None:
    more = "routes:\n  # towards c\n  - {at: b, to: '*', next: a}\n"
    file, out = square(tmp_path, more), tmp_path / "out.yaml"
    ran = ropewalk("verify", file, "--failures", "none", "--fix", "-o", out)
    assert "Repair: add {at: b, to: c, next: c} before the route at" in ran.out
    lines = out.read_text().splitlines()
    assert "  # towards c" in lines
    assert lines.index("  - {at: b, to: c, next: c}") + 1 == lines.index(
        "  - {at: b, to: '*', next: a}"
    )


def test_what_entries_cannot_mend_is_said(ropewalk: Run, tmp_path: Path) -> None:
    file = square(tmp_path, "domains: {one: {gateways: [a, c], edges: [b]}}\n")
    file.write_text(file.read_text().replace("subscribers: [c]", "subscribers: [c], scope: domain"))
    ran = ropewalk("verify", file, "--failures", "none", "--fix")
    assert ran.code == 1
    assert "V005" in ran.out
    assert "No single change was found that mends this" in ran.out


def test_messages_sent_into_an_edge_are_dropped(ropewalk: Run, tmp_path: Path) -> None:
    more = "domains: {one: {gateways: [a], edges: [b]}}\nroutes: [{at: a, to: c, next: b}]\n"
    ran = ropewalk("verify", square(tmp_path, more), "--failures", "none", "--json")
    (found,) = ran.document["findings"]
    assert (found["code"], found["witness"]["path"]) == ("V003", ["a", "b"])


def test_paths_longer_than_allowed_are_findings(ropewalk: Run, tmp_path: Path) -> None:
    more = "routes: [{at: a, to: c, next: d}]\n"
    file = square(tmp_path, more)
    assert ropewalk("verify", file, "--most-hops", 2, "--failures", "none").code == 0
    ran = ropewalk("verify", file, "--most-hops", 1, "--failures", "none", "--json")
    assert [one["code"] for one in ran.document["findings"]] == ["V004"]


def test_brokers_without_any_path_are_a_finding_with_nothing_failed(
    ropewalk: Run, tmp_path: Path
) -> None:
    file = square(tmp_path)
    file.write_text(file.read_text().replace("{between: [b, c]}, {between: [c, d]}, ", ""))
    ran = ropewalk("verify", file, "--json")
    assert [one["code"] for one in ran.document["findings"]] == ["V006"]


def test_patterns_meet_topics(ropewalk: Run, tmp_path: Path) -> None:
    more = "  'news/#': {publishers: [b], subscribers: [d]}\n  alone: {publishers: [a]}\n"
    ran = ropewalk("verify", square(tmp_path, more), "--failures", "none", "--json")
    summary, findings = ran.document["summary"], ran.document["findings"]
    assert summary["pairs"] == 4  # news a-c, news/# b-d, and each with the other's subscriber
    assert [(one["code"], one["severity"]) for one in findings] == [("V009", "warning")]
    assert ran.code == 0


def test_groups_and_sites_fail_as_one(ropewalk: Run, tmp_path: Path) -> None:
    text = SQUARE.replace("{between: [a, b]}", "{between: [a, b], risk_groups: [duct]}").replace(
        "{between: [d, a]}", "{between: [d, a], risk_groups: [duct]}"
    )
    file = tmp_path / "f.yaml"
    file.write_text(text + "sites: {home: }\n")
    ran = ropewalk("verify", file, "--failures", "groups,sites", "--json")
    cuts = ran.document["summary"]["cuts"]
    assert cuts == [{"failure": "group:duct", "pairs": 1, "stranded": 0}]


def test_an_underlay_node_takes_the_links_over_it_down(ropewalk: Run, tmp_path: Path) -> None:
    text = SQUARE.replace("a: ,", "a: {node: x},").replace("b: ,", "b: {node: z},")
    file = tmp_path / "f.yaml"
    file.write_text(
        text
        + """
underlay:
  nodes: {x: , y: {risk_groups: [flood]}, z: }
  links: [{between: [x, y]}, {between: [y, z]}]
"""
    )
    ran = ropewalk("verify", file, "--failures", "group:flood,a--b", "--json")
    assert ran.document["summary"]["scenarios"] == 2  # both are the link from a to b


def test_sarif_and_junit_say_the_same(ropewalk: Run, misrouted: Path) -> None:
    sarif, junit = misrouted.parent / "r.sarif", misrouted.parent / "r.xml"
    ran = ropewalk("verify", misrouted, "--sarif", sarif, "--junit", junit, "--json")
    findings = ran.document["findings"]
    (run,) = json.loads(sarif.read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == [one["code"] for one in findings]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == findings[0]["where"]["line"]
    assert run["tool"]["driver"]["rules"][0]["help"]["text"] == rules()["V002"].fix
    suite = Xml.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    clean = misrouted.parent / "six.yaml"
    ropewalk("verify", clean, "--junit", junit)
    assert Xml.parse(junit).getroot().get("failures") == "0"


def test_reports_that_cannot_be_written_are_told(ropewalk: Run, six: Path) -> None:
    ran = ropewalk("verify", six, "--sarif", six.parent / "no" / "r.sarif")
    assert ran.code == 2
    assert "there is no folder" in ran.err


def test_what_failed_is_told_from_test_results(ropewalk: Run, six: Path) -> None:
    tests = six.parent / "tests.csv"
    tests.write_text("from,to,delivered\nb1,b5,no\nb1,b4,yes\nb6,b5,no\n")
    ran = ropewalk("verify", six, "--observed", tests, "--json")
    (found,) = ran.document["findings"]
    assert (ran.code, found["code"]) == (1, "V020")
    assert found["witness"]["explanations"] == ["b4--b5", "b5"]
    tests.write_text("from,to,delivered\nb1,b5,yes\n")
    assert ropewalk("verify", six, "--observed", tests).code == 0
    tests.write_text("from,to,delivered\nb1,b5,yes\nb1,b5,no\n")
    assert "V021" in ropewalk("verify", six, "--observed", tests).out


def test_test_results_with_faults_are_refused_line_by_line(ropewalk: Run, six: Path) -> None:
    tests = six.parent / "tests.csv"
    tests.write_text("from,to,delivered\nb1,b9,no\nb1,b2,perhaps\n")
    ran = ropewalk("verify", six, "--observed", tests, "--json")
    told = [(one["code"], one["where"]["line"]) for one in ran.document["findings"]]
    assert (ran.code, told) == (2, [("T002", 2), ("T001", 3)])
    tests.write_text("source,target\n")
    assert ropewalk("verify", six, "--observed", tests).code == 2


def test_the_same_way_to_two_destinations_is_two_findings(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(
        "federation: f\nbrokers: {a: , b: , d: }\n"
        "topics: {t1: {publishers: [a], subscribers: [b]}, t2: {publishers: [a], subscribers: [d]}}\n"
    )
    ran = ropewalk("verify", file, "--failures", "none", "--json")
    told = [one["witness"]["topics"] for one in ran.document["findings"]]
    assert told == [["t1"], ["t2"]]


def test_the_route_that_holds_is_blamed_and_dropped(ropewalk: Run, tmp_path: Path) -> None:
    more = """routes:
  - {at: b, to: c, next: a, colours: [c--d]}
  - {at: b, to: c, next: a}
"""
    file, out = square(tmp_path, more), tmp_path / "out.yaml"
    ran = ropewalk("verify", file, "--failures", "none", "--fix", "-o", out, "--json")
    (found,) = ran.document["findings"]
    assert found["where"]["line"] == len(file.read_text().splitlines())
    assert ran.document["summary"]["repaired"] is True
    assert out.read_text() == "".join(file.read_text().splitlines(keepends=True)[:-1])


def test_every_repair_names_a_line_of_the_file_as_it_is(ropewalk: Run, tmp_path: Path) -> None:
    more = """  other: {publishers: [a], subscribers: [b]}
routes:
  - {at: b, to: c, next: a}  # first
  # between
  - {at: a, to: b, next: d}
  - {at: d, to: b, next: a}  # last
"""
    file, out = square(tmp_path, more), tmp_path / "out.yaml"
    ran = ropewalk("verify", file, "--failures", "none", "--fix", "-o", out)
    named = [
        line.split(f"{file}:")[1].split(" ")[0]
        for line in ran.out.splitlines()
        if line.startswith("Repair")
    ]
    assert len(named) == 2
    assert len(set(named)) == 2
    assert "  # between\n" in out.read_text()
    assert ropewalk("verify", out, "--failures", "none").code == 0


@pytest.mark.parametrize("text", [SQUARE, SQUARE.replace("\n", "\r\n"), "\ufeff" + SQUARE.strip()])
def test_repairs_keep_line_ends_and_marks(ropewalk: Run, tmp_path: Path, text: str) -> None:
    end = "\r\n" if "\r\n" in text else "\n"
    file, out = tmp_path / "f.yaml", tmp_path / "out.yaml"
    whole = text + end + "routes: # mine" + end + "  - {at: b, to: '*', next: a}"
    file.write_bytes(whole.encode())
    assert ropewalk("verify", file, "--failures", "none", "--fix", "-o", out).err == ""
    expected = whole.replace("  - {at", f"  - {{at: b, to: c, next: c}}{end}  - {{at", 1)
    assert out.read_bytes().decode() == expected + "\n"


def test_layouts_that_cannot_be_kept_are_said_to_be_written_anew(
    ropewalk: Run, tmp_path: Path
) -> None:
    file = square(tmp_path, "routes: [{at: b, to: c, next: a}]\n")
    ran = ropewalk("verify", file, "--failures", "none", "--fix", "-o", tmp_path / "out.yaml")
    assert "written anew" in ran.err
    assert ropewalk("verify", tmp_path / "out.yaml", "--failures", "none").code == 0


def test_nothing_to_repair_is_said(ropewalk: Run, six: Path) -> None:
    assert "Nothing to repair" in ropewalk("verify", six, "--fix").out


def test_strict_makes_findings_of_what_no_routing_survives(ropewalk: Run, six: Path) -> None:
    ran = ropewalk("verify", six, "--failures", "links=1", "--strict", "--json")
    assert ran.code == 1
    found = ran.document["findings"][0]
    assert (found["code"], found["where"]["line"] > 0) == ("V007", True)
    assert found["witness"]["examples"]


def test_what_is_not_checked_is_said(ropewalk: Run, tmp_path: Path) -> None:
    file = square(tmp_path)
    file.write_text(file.read_text().replace("[c]}", "[c], contract: {within_ms: 5}}"))
    assert "Not checked: contract.within_ms." in ropewalk("verify", file).out


def test_an_empty_site_is_nothing_failed(ropewalk: Run, tmp_path: Path) -> None:
    file = square(tmp_path, "sites: {rome: }\n")
    ran = ropewalk("verify", file, "--failures", "sites", "--json")
    assert (ran.code, ran.document["summary"]["scenarios"]) == (0, 1)


def test_faults_of_the_file_are_reported_to_other_tools_too(ropewalk: Run, tmp_path: Path) -> None:
    file, sarif = square(tmp_path, "routes: [{at: z, to: c, next: a}]\n"), tmp_path / "r.sarif"
    assert ropewalk("verify", file, "--sarif", sarif).code == 2
    (run,) = json.loads(sarif.read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["F028"]


def test_the_starter_file_is_clean(ropewalk: Run, tmp_path: Path) -> None:
    ropewalk("new", tmp_path / "f.yaml")
    assert ropewalk("verify", tmp_path / "f.yaml").code == 0
