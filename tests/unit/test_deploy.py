"""The units and the container file: their options are those of the program, and they stay closed."""

import re
import shlex
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.shell import ROOT, unknown

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
CLOSED = {
    "CapabilityBoundingSet": "",
    "NoNewPrivileges": "yes",
    "PrivateDevices": "yes",
    "PrivateTmp": "yes",
    "ProtectHome": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectSystem": "strict",
    "Restart": "always",
    "RestrictNamespaces": "yes",
    "UMask": "0077",
    "User": "ropewalk",
}


def settings(unit: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in unit.read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name].append(value)
    return found


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_what_there_is_and_stays_closed(unit: Path) -> None:
    told = settings(unit)
    (start,) = told["ExecStart"]
    program, *given = shlex.split(start)
    assert program == "/opt/ropewalk/bin/ropewalk"
    assert unknown([one for one in given if not one.startswith("$")]) == []
    for name, value in CLOSED.items():
        assert told[name] == [value], name
    secret = told["LoadCredential"][0].partition(":")[0]
    assert f"file:${{CREDENTIALS_DIRECTORY}}/{secret}" in given
    assert "MemoryDenyWriteExecute" not in told  # kernels are compiled in the process


def test_an_agent_reloads_by_the_signal_that_it_knows() -> None:
    told = settings(DEPLOY / "systemd" / "ropewalk-agent@.service")
    assert told["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert told["StateDirectory"] == ["ropewalk/%i"]
    assert int(told["TimeoutStopSec"][0]) > 5, "a stop drains for five seconds"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    (tmp_path / "ropewalk").write_text("#!/bin/sh\n")
    (tmp_path / "ropewalk").chmod(0o755)
    text = unit.read_text("utf-8").replace("/opt/ropewalk/bin", str(tmp_path))
    copy = tmp_path / unit.name
    copy.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    mine = [line for line in done.stderr.splitlines() if "ropewalk" in line]
    assert not mine


def test_the_container_file_installs_what_the_repository_has() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    for copied in re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists(), name
    extras = set(re.findall(r"\[([\w,]+)\]", text)[0].split(","))
    told = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(re.search(rf"^{one} = ", told, re.MULTILINE) for one in extras)
    for command in re.findall(r"\bropewalk ((?:generate|verify|route) [^\\\n&]+)", text):
        assert unknown(shlex.split(command)) == []
    assert re.search(r"^USER ropewalk$", text, re.MULTILINE)
