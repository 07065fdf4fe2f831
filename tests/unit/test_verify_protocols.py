"""`ropewalk verify` judges the protocols of topics by what carries them."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "protocols"
FEDERATION = """\
federation: f
brokers: {a: {make: mosquitto}, b: {make: mosquitto}}
links: [{between: [a, b]}]
protocols: {p: FILE}
topics:
  x: {publishers: [a], subscribers: [b], protocol: p, contract: {CONTRACT}}
  y: {publishers: [b], subscribers: [a], protocol: p}
"""


def verified(ropewalk: Run, folder: Path, figure: str, contract: str = "") -> tuple[int, list[str]]:
    shutil.copy(EXAMPLES / f"{figure}.yaml", folder)
    text = FEDERATION.replace("FILE", f"{figure}.yaml").replace("CONTRACT", contract)
    (folder / "f.yaml").write_text(text)
    ran = ropewalk("verify", folder / "f.yaml", "--failures", "none", "--json")
    return ran.code, [f"{one['code']} {one['severity']}" for one in ran.document["findings"]]


@pytest.mark.parametrize(
    ("figure", "contract", "expected"),
    [
        ("figure-4-left", "", (0, [])),
        ("figure-3", "", (0, [])),
        ("figure-3", "order: none", (0, [])),
        ("figure-3", "delivery: best-effort", (0, ["P023 note", "P026 note"])),
        ("figure-3", "delivery: best-effort, order: none", (1, ["P023 error", "P026 note"])),
        ("figure-5", "", (0, [])),
        ("figure-1", "", (0, ["P024 warning"])),
        ("rosettanet", "", (1, ["P021 error"])),
    ],
)
def test_a_protocol_is_judged_by_what_carries_its_topics(
    ropewalk: Run, tmp_path: Path, figure: str, contract: str, expected: tuple[int, list[str]]
) -> None:
    assert verified(ropewalk, tmp_path, figure, contract) == expected


BRIDGED = """\
federation: f
brokers: {a: {make: mosquitto}, b: {make: mosquitto}, c: {make: mosquitto}}
links: [{between: [a, c]}]
bridges: [{from: a, to: b, qos: 1, direction: both}]
protocols: {p: FILE}
topics:
  x: {publishers: [a], subscribers: [b], protocol: p}
  y: {publishers: [b], subscribers: [a], protocol: p}
"""


def test_bridges_have_no_messengers(ropewalk: Run, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "figure-5.yaml", tmp_path)
    file = tmp_path / "f.yaml"
    file.write_text(BRIDGED.replace("FILE", "figure-5.yaml"))
    ran = ropewalk("verify", file, "--failures", "none", "--json")
    codes = [f"{one['code']} {one['severity']}" for one in ran.document["findings"]]
    assert (ran.code, codes) == (1, ["P022 error", "P026 note", "P026 note"])
    assert "bridges carry it to b: agents judge none" in ran.document["findings"][1]["message"]
    linked = file.read_text().replace("subscribers: [b]", "subscribers: [c]")
    file.write_text(linked.replace("publishers: [b]", "publishers: [c]"))
    assert ropewalk("verify", file, "--failures", "none").code == 0


def test_an_error_of_a_protocol_counts_even_if_other_things_are_undecided(
    ropewalk: Run, tmp_path: Path
) -> None:
    shutil.copy(EXAMPLES / "rosettanet.yaml", tmp_path)
    text = FEDERATION.replace("FILE", "rosettanet.yaml").replace("CONTRACT", "")
    (tmp_path / "f.yaml").write_text(text)
    ran = ropewalk("verify", tmp_path / "f.yaml", "--budget", "0", "--json")
    assert ran.code == 1  # not 3, undecided


def test_every_fault_of_every_protocol_file_is_told(ropewalk: Run, tmp_path: Path) -> None:
    text = FEDERATION.replace("{p: FILE}", "{p: bad.yaml, q: gone.yaml}").replace("CONTRACT", "")
    (tmp_path / "f.yaml").write_text(text)
    (tmp_path / "bad.yaml").write_text("protocol: p\ninitial: a\ntransitions:\n  - a -> b\n")
    ran = ropewalk("verify", tmp_path / "f.yaml")
    assert ran.code == 2
    assert "bad.yaml:4: error P005" in ran.out
    assert "gone.yaml: error P001" in ran.out
