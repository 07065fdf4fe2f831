import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import jsonschema
import pytest
import yaml

from ropewalk.findings import rules
from tests.conftest import Run
from tests.unit.test_federation_file import TRADE_NET

PROTOCOLS = Path(__file__).parents[2] / "examples" / "protocols"
FIVE_FAULTS = """federation: broken
brokers:
  a: {make: natz}
  b: {}
links:
  - {between: [a, b], latency_ms: -3}
  - {between: [a, c]}
  - {between: [b, a], latency_ms: 8ms}
topics:
  t: {subscribers: [a]}
"""


def test_verify_tells_five_faults_with_their_lines_in_one_run(
    ropewalk: Run, tmp_path: Path
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(FIVE_FAULTS.replace("[b, a]", "[b, x]"))
    ran = ropewalk("verify", file, "--json")
    assert ran.code == 2
    assert ran.document["ok"] is False
    found = {(one["code"], one["where"]["line"]) for one in ran.document["findings"]}
    assert found == {("F015", 3), ("F013", 6), ("F020", 7), ("F020", 8), ("F014", 8), ("F024", 10)}
    assert {one["where"]["file"] for one in ran.document["findings"]} == {str(file)}
    text = ropewalk("verify", file)
    assert text.code == 2
    assert f"{file}:6: error F013: " in text.out
    assert "6 findings; `ropewalk explain F015` tells more" in text.out


def test_generate_then_verify_then_load(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    made = ropewalk("generate", "waxman", "--brokers", 100, "--m", 4, "--seed", 7, "-o", file)
    assert (made.code, made.out) == (
        0,
        f"Wrote {file}: 100 brokers, 390 links, 0 topics, 0 pairs.\n",
    )
    ran = ropewalk("verify", file, "--json")
    assert ran.code == 0
    assert ran.document["ok"] is True
    assert ran.document["summary"].items() >= {"brokers": 100, "links": 390}.items()
    assert "Everything that could be delivered is delivered." in ropewalk("verify", file).out


def test_generate_without_a_file_prints_the_federation(ropewalk: Run) -> None:
    ran = ropewalk("generate", "ring", "--brokers", 4, "--topics", 3, "--subscribers", 2)
    assert ran.code == 0
    assert len(yaml.safe_load(ran.out)["topics"]) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("generate", "ring", "--brokers", "1"),
        ("generate", "topohub", "nowhere/land"),
        ("generate", "ring", "-o", "f.txt"),
        ("explain", "F999"),
        ("new", "no/such/folder/f.yaml"),
    ],
)
def test_bad_usage_exits_2_with_a_message_and_no_traceback(
    ropewalk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = ropewalk(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"ropewalk {arguments[0]}: ")
    document = ropewalk(*arguments, "--json").document
    assert [one["code"] for one in document["findings"]] == ["U001"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [("verify",), ("frobnicate",), ("generate", "torus"), ("verify", "--x")]
)
def test_unknown_words_exit_2(ropewalk: Run, arguments: tuple[str, ...]) -> None:
    assert ropewalk(*arguments).code == 2


def test_new_writes_a_file_that_verifies_and_never_overwrites(
    ropewalk: Run, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    assert ropewalk("new", file).code == 0
    assert ropewalk("verify", file).code == 0
    file.write_text("precious")
    assert ropewalk("new", file).code == 2
    assert file.read_text() == "precious"
    assert ropewalk("new", file, "--force").code == 0
    assert file.read_text() != "precious"


def test_read_turns_one_form_into_the_other(ropewalk: Run, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(TRADE_NET)
    copytree(PROTOCOLS, tmp_path / "protocols")
    assert ropewalk("read", tmp_path / "f.yaml", "-o", tmp_path / "f.parquet").code == 0
    assert ropewalk("verify", tmp_path / "f.parquet", "--failures", "none").code == 0
    assert ropewalk("read", tmp_path / "f.parquet", "-o", tmp_path / "g.yaml").code == 0
    assert ropewalk("verify", tmp_path / "g.yaml", "--json").document["summary"]["brokers"] == 3


def test_explain_knows_every_rule_by_code_and_name(ropewalk: Run) -> None:
    for number, (code, rule) in enumerate(rules().items()):
        by_code = ropewalk("explain", code.lower())
        if number % 8 == 0:  # it takes a while
            assert ropewalk("explain", rule.name) == by_code
        words = " ".join(by_code.out.split())
        assert rule.meaning in words
        assert rule.fix in words
        assert max(map(len, by_code.out.splitlines())) <= 80
    assert set(ropewalk("explain", "--json").document["summary"]) == set(rules())


def test_the_schema_accepts_good_files_and_refuses_bad_ones(ropewalk: Run) -> None:
    schema = json.loads(ropewalk("schema").out)
    assert schema == ropewalk("schema", "--json").document["summary"]["schema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    good = yaml.safe_load(TRADE_NET)
    assert list(checker.iter_errors(good)) == []
    for record in schema["$defs"].values():
        assert all('"description"' in json.dumps(one) for one in record["properties"].values())
    for broken in (
        {**good, "topix": {}},
        {**good, "brokers": {"two--dashes": {}}},
        {**good, "links": [{"between": ["a", "b"], "latency_ms": "8ms"}]},
        {**good, "placement": {"brokers": {"lon-e1": {"moves": 3}}}},
        {**good, "placement": {"limits": {"risk": 1}}},
        {**good, "placement": {"apart": [["equities"]]}},
    ):
        assert list(checker.iter_errors(broken)) != []


def test_an_internal_error_exits_4_without_a_traceback(
    ropewalk: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("ropewalk.verify.result.scenarios_of", bug)
    file = tmp_path / "f.yaml"
    file.write_text(TRADE_NET)
    ran = ropewalk("verify", file)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == "ropewalk verify: ZeroDivisionError: a bug\n"
    assert ropewalk("verify", file, "--json").document["findings"][0]["code"] == "X001"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a pipeline of the real program."""
    return subprocess.run(
        [
            "bash",
            "-c",
            f"set -o pipefail; {command}".replace("ropewalk", f"{sys.executable} -m ropewalk"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_closed_pipe_is_no_error() -> None:
    # 19,900 links are more than a pipe holds, so the program meets the closed end.
    done = shell("ropewalk generate mesh --brokers 200 | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "federation: mesh-200\n", "")


def test_a_full_disk_is_told_as_such() -> None:
    done = shell("ropewalk generate mesh --brokers 200 > /dev/full")
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_federations_go_through_pipes() -> None:
    done = shell("ropewalk generate ring --brokers 4 | ropewalk read - -o - | ropewalk verify -")
    assert done.stdout.startswith("/dev/stdin: 4 brokers, 4 links, 0 topics, 12 pairs\n")
    assert done.stdout.endswith("Everything that could be delivered is delivered.\n")


@pytest.mark.parametrize("arguments", ["verify", "verify --nonsense", "generate ring --brokers x"])
def test_wrong_options_are_told_as_a_document_too(arguments: str) -> None:
    done = shell(f"ropewalk {arguments} --json")
    assert (done.returncode, done.stderr) == (2, "")
    document = json.loads(done.stdout)
    assert document["command"] == arguments.split()[0]
    assert [one["code"] for one in document["findings"]] == ["U001"]


def test_a_name_that_no_terminal_can_show_is_no_crash() -> None:
    done = shell("ropewalk verify $'\\xff[/x].yaml'")
    assert done.returncode == 2
    assert "error F001" in done.stdout
    assert "Traceback" not in done.stderr


def test_read_never_writes_over_what_it_reads(ropewalk: Run, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(TRADE_NET)
    assert ropewalk("read", file, "-o", file).code == 2
    assert file.read_text() == TRADE_NET


def test_generate_without_a_file_puts_the_text_into_the_document(ropewalk: Run) -> None:
    summary = ropewalk("generate", "ring", "--brokers", 4, "--json").document["summary"]
    assert len(yaml.safe_load(summary["yaml"])["brokers"]) == 4


def test_help_imports_nothing_heavy() -> None:
    heavy = ("numpy", "pydantic", "pandas", "pyarrow", "pyspark", "yaml", "topohub")
    program = (
        "import sys, contextlib\n"
        "from ropewalk.cli import main\n"
        "sys.argv = ['ropewalk', '--help']\n"
        "with contextlib.suppress(SystemExit): main()\n"
        f"print('loaded', [name for name in {heavy!r} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded []"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ropewalk ver", "verify"),
        ("ropewalk generate wa", "waxman"),
        ("ropewalk generate topohub sndlib/ger", "sndlib/germany50"),
        ("ropewalk explain F02", "F020"),
    ],
)
def test_completion_offers_verbs_generators_maps_and_codes(words: str, offered: str) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("ropewalk")],
        env={
            "_ROPEWALK_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
            "PATH": "",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split()[0] == offered, done.stderr
