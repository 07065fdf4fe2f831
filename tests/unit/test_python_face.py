"""`import ropewalk`: every verb as a function, and what they return."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ropewalk
from tests.conftest import Run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PLACED = EXAMPLES / "placement"


@pytest.fixture
def net() -> ropewalk.Federation:
    return ropewalk.load(EXAMPLES / "trade-net.yaml")


def test_packages_that_are_verbs_answer_for_their_functions(net: ropewalk.Federation) -> None:
    from ropewalk.report.verbs.reporting import report
    from ropewalk.verify import verify

    assert ropewalk.verify(net, failures="links=1").ok == verify(net, failures="links=1").ok
    for package, function in ((ropewalk.verify, verify), (ropewalk.report, report)):
        assert inspect.signature(package) == inspect.signature(function)
    with pytest.raises(TypeError):
        import_module("ropewalk.routing")()  # type: ignore[operator]


@pytest.mark.parametrize("first", ["import ropewalk.verify", "import ropewalk.report.document", ""])
def test_verbs_are_there_in_whatever_order_things_are_imported(first: str) -> None:
    program = f"{first}\nimport ropewalk\nassert callable(ropewalk.verify)\nassert callable(ropewalk.report)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_nothing_of_spark_is_loaded_until_a_job_runs() -> None:
    program = (
        "import sys, ropewalk; [getattr(ropewalk, name) for name in ropewalk.__all__];"
        "print([one for one in ('pyspark', 'py4j', 'typer') if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_result_has_a_frame(net: ropewalk.Federation, tmp_path: Path) -> None:
    result = ropewalk.verify(net, failures="links=1")
    placement = ropewalk.place(PLACED / "federation.yaml", PLACED)
    results: dict[str, Any] = {
        "verify": result,
        "repair": ropewalk.repair(result),
        "diff": ropewalk.diff(net, net),
        "route": ropewalk.route(net),
        "paths": ropewalk.paths(net, radius_km=100),
        "latency": ropewalk.latency(net),
        "place": placement,
        "protocol": ropewalk.check_protocol(EXAMPLES / "protocols/rosettanet.yaml"),
        "population": ropewalk.check_population(EXAMPLES / "population/lock.yaml"),
        "simulate": ropewalk.simulate(net, seconds=1, settle_s=2),
        "report": ropewalk.report(result),
    }
    for name, one in results.items():
        assert isinstance(one.frame(), pd.DataFrame), name
        if name not in ("repair", "diff"):  # nothing to mend, nothing changed
            assert len(one.frame()), name
        if name != "route":
            assert isinstance(one.ok, bool), name
            assert one.findings is not None


def test_what_is_wrong_has_a_witness() -> None:
    wrong = ropewalk.verify(ropewalk.load(EXAMPLES / "misrouted.yaml"))
    assert not wrong.ok
    assert wrong.witness["path"] == ["north", "west", "north"]  # type: ignore[index]
    mended = ropewalk.repair(wrong)
    assert mended.ok
    gone = ropewalk.diff(wrong.check.federation, mended.federation)
    assert gone.ok
    lost = ropewalk.diff(mended.federation, wrong.check.federation)
    assert not lost.ok
    assert lost.witness is not None


def test_a_protocol_is_judged_over_the_channels_asked_for() -> None:
    file = EXAMPLES / "protocols/rosettanet.yaml"
    check = ropewalk.check_protocol(file)
    assert (check.ok, check.verdict) == (False, "needs-synchronisation")
    assert "buyer says order" in check.witness["steps"]  # type: ignore[index]
    assert check.frame().set_index("over").safe.to_dict() == {
        "fifo": False,
        "unordered": False,
        "messenger": False,
    }
    assert ropewalk.check_protocol(EXAMPLES / "protocols/order-entry.yaml", over="messenger").ok


def test_a_population_is_safe_unsafe_or_undecided() -> None:
    file = EXAMPLES / "population/lock.yaml"
    assert ropewalk.check_population(file).ok
    unsafe = ropewalk.check_population(file, semantics="local")
    assert not unsafe.ok
    assert unsafe.witness["clients"] == {"worker": 2}  # type: ignore[index]
    ticks = iter(range(10**9))
    open_ = ropewalk.check_population(file, seconds=0, clock=lambda: float(next(ticks)))
    if open_.outcome != "ok":  # the first turns may be enough
        assert open_.outcome == "undecided"
        assert not open_.ok


def test_a_plan_is_that_of_the_command_line(ropewalk: Run, tmp_path: Path) -> None:
    import ropewalk as face

    face.place(PLACED / "federation.yaml", PLACED).save(tmp_path / "a.yaml")
    ropewalk("place", PLACED / "federation.yaml", "--stats", PLACED, "-o", tmp_path / "b.yaml")
    a, b = ((tmp_path / f"{one}.yaml").read_text("utf-8") for one in "ab")
    assert a == b.replace("b.policies.json", "a.policies.json")
    assert face.place(PLACED / "federation.yaml", PLACED).ok


def test_paths_are_those_of_the_command_line(ropewalk: Run, net: Any) -> None:
    import ropewalk as face

    ran = ropewalk("paths", EXAMPLES / "trade-net.yaml", "--radius-km", 100, "--json").document
    found = face.paths(net, radius_km=100)
    assert ran["summary"]["captured"] == found.summary["captured"]
    assert [one["primary"]["path"] for one in ran["summary"]["paths"]] == [
        path.split(" > ") for path in found.frame().query("way == 'primary'").path
    ]
    with pytest.raises(face.UsageError, match="there is no broker 'nobody'"):
        face.paths(net, [("lon-gw", "nobody")], radius_km=100)


def test_a_simulation_that_breaks_promises_says_so(net: ropewalk.Federation) -> None:
    fault = "at 500 ms cut lon-gw--par-gw for 500 ms"
    run = ropewalk.simulate(net, fault, seconds=1, settle_s=5, runs=2)
    assert run.ok
    assert len(run.frame()) == 2
    assert run.summary["lost"] == 0
    assert run.story is None
    with pytest.raises(ropewalk.UsageError):
        ropewalk.simulate(net, "at 1 s cut nobody--par-gw for 1 s", seconds=1)


def test_a_report_takes_a_file_a_reading_a_federation_or_a_verification(tmp_path: Path) -> None:
    ring = EXAMPLES / "native/rabbitmq/ring"
    reading = ropewalk.read_native([ring])
    by_path, by_reading = ropewalk.report(ring), ropewalk.report(reading)
    assert not by_path.ok
    assert by_path.frame().equals(by_reading.frame())
    assert by_path.frame().set_index("part").not_checked["Verification"] == 1
    bare = ropewalk.report(reading.federation)
    assert bare.frame().set_index("part").not_checked["Verification"] == 0
    by_path.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text("utf-8") == by_path.html()
    with pytest.raises(ropewalk.UsageError, match=r"name the page \*.html"):
        by_path.save(tmp_path / "r.txt")
    with pytest.raises(ropewalk.FederationError):
        ropewalk.report(EXAMPLES / "broken.yaml")
