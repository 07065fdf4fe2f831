"""From brokers' own files to verdicts, to real brokers and back to files, through the commands."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropewalk.errors import ConfigurationError
from ropewalk.federation import load
from ropewalk.federation.readers.reading import read_native
from ropewalk.verify import verify
from tests.conftest import Ran, Run

NATIVE = Path("examples/native")
FAMILIES = ("mosquitto", "nats", "rabbitmq")
CASES = sorted(
    str(one.relative_to(NATIVE)) for family in FAMILIES for one in (NATIVE / family).iterdir()
)
EXPECTED = {
    "mosquitto/ring": "V012",
    "mosquitto/parallel": "V013",
    "rabbitmq/ring": "V004",
    "rabbitmq/script": "V004",
    "nats/one-hub": "V015",
}
"""What the bad examples are found to do; none of the others has an error."""
UPSTREAM = "federation-upstream"


def document(ran: Ran) -> dict[str, Any]:
    assert ran.code in (0, 1), ran.out + ran.err
    return ran.document


def ok(ran: Ran) -> Ran:
    assert ran.code == 0, ran.out + ran.err
    return ran


@pytest.mark.parametrize("case", CASES)
def test_examples_are_found_to_do_what_they_are_there_for(ropewalk: Run, case: str) -> None:
    told = document(ropewalk("verify", str(NATIVE / case), "--json"))
    codes = {one["code"]: one for one in told["findings"]}
    if case in EXPECTED:
        found = codes[EXPECTED[case]]
        assert found["where"]["line"] > 0
        assert str(NATIVE / case) in found["where"]["file"]
    else:
        assert told["ok"], codes


@pytest.mark.parametrize("case", [*CASES, "mixed"])
def test_what_is_read_can_be_kept_and_verifies_alike(
    ropewalk: Run, tmp_path: Path, case: str
) -> None:
    kept = tmp_path / "kept.yaml"
    ok(ropewalk("read", str(NATIVE / case), "-o", str(kept)))
    assert load(kept) == read_native([NATIVE / case], name=Path(case).name).federation
    direct = document(ropewalk("verify", str(NATIVE / case), "--json"))
    stored = document(ropewalk("verify", str(kept), "--json"))
    findings = [one for one in direct["findings"] if one["code"][0] != "C"]
    assert stored["findings"] == findings  # with the lines of brokers' own files


@pytest.mark.parametrize("case", CASES)
def test_files_written_anew_mean_what_was_read(ropewalk: Run, tmp_path: Path, case: str) -> None:
    told = document(ropewalk("export", str(NATIVE / case), "-o", str(tmp_path / "out"), "--json"))
    assert told["summary"]["read_again"] == []


def test_a_changed_federation_shows_as_a_difference_of_its_file(
    ropewalk: Run, tmp_path: Path
) -> None:
    kept = tmp_path / "ring.yaml"
    ok(ropewalk("read", str(NATIVE / "mosquitto/ring"), "-o", str(kept)))
    text = kept.read_text().replace("direction: both", "direction: out", 1)
    kept.write_text(text)
    shown = ok(ropewalk("export", str(kept), "--diff")).out
    assert "-topic sensors/# both 1" in shown
    assert "+topic sensors/# out 1" in shown
    assert "password_file /etc/mosquitto/passwords" not in [
        line[1:] for line in shown.splitlines() if line[:1] in "+-"
    ]


def copied(tmp_path: Path, case: str) -> Path:
    return Path(shutil.copytree(NATIVE / case, tmp_path / Path(case).name))


def needs(program: str) -> pytest.MarkDecorator:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    return pytest.mark.skipif(found is None, reason=f"{program} is not installed")


@needs("mosquitto")
@pytest.mark.parametrize("case", ["mosquitto/ring", "mosquitto/parallel"])
def test_loops_and_copies_are_confirmed_on_real_brokers(
    ropewalk: Run, tmp_path: Path, case: str
) -> None:
    folder = copied(tmp_path, case)
    before = {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()}
    told = document(ropewalk("verify", str(folder), "--confirm", "--json"))
    (played,) = told["summary"]["replayed"]
    assert played["code"] == EXPECTED[case]
    assert played["confirmed"], played["words"]
    assert {one: one.read_bytes() for one in folder.rglob("*") if one.is_file()} == before


@needs("mosquitto")
def test_a_prediction_that_is_wrong_is_not_confirmed(ropewalk: Run, tmp_path: Path) -> None:
    """The control: the federation file says what the brokers' files do not do."""
    folder = copied(tmp_path, "mosquitto/ring")
    kept = tmp_path / "ring.yaml"
    ok(ropewalk("read", str(folder), "-o", str(kept)))
    conf = folder / "cairo" / "mosquitto.conf"
    conf.write_text(conf.read_text().replace("topic sensors/# both 1", "topic other/# both 1"))
    told = document(ropewalk("verify", str(kept), "--confirm", "--json"))
    (played,) = told["summary"]["replayed"]
    assert not played["confirmed"]


def test_a_replay_that_is_told_to_end_leaves_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "ropewalk",
        "verify",
        str(NATIVE / "nats/one-hub"),
        "--confirm",
    ]
    told = subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.PIPE, text=True
    )
    while told.poll() is None and not list(tmp_path.rglob("*.conf")):
        time.sleep(0.05)
    told.terminate()
    _, said = told.communicate(timeout=60)
    assert (told.returncode, "Traceback" in said) == (130, False), said
    assert not list(tmp_path.iterdir())


def test_a_single_point_of_failure_is_confirmed_on_real_servers(ropewalk: Run) -> None:
    told = document(ropewalk("verify", str(NATIVE / "nats/one-hub"), "--confirm", "--json"))
    (played,) = told["summary"]["replayed"]
    assert played["code"] == "V015"
    assert played["confirmed"], played["words"]


BROKEN: dict[str, tuple[str, str, str]] = {
    "a text": ("notes.conf", "hello world\nthis is nothing\n", "C001"),
    "json": ("definitions.json", '{"vhosts": [', "C004"),
    "yaml": ("api.yaml", "asyncapi: 3.0.0\n\tx: [", "C004"),
    "a wrong line": ("mosquitto.conf", "listener 1883\nconnection a\ntopic\n", "C002"),
    "braces": ("nats.conf", "port: 4222\ncluster {\n", "C003"),
    "not there": ("", "", "C001"),
    "nothing": ("empty.conf", "", "C001"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_read_is_refused_with_its_place(
    ropewalk: Run, tmp_path: Path, name: str
) -> None:
    file, text, code = BROKEN[name]
    path = tmp_path / (file or "gone.conf")
    if file:
        path.write_text(text)
    result = ropewalk("read", str(path), "-o", str(tmp_path / "out.yaml"))
    assert result.code == 2
    assert code in result.out
    assert str(path) in result.out
    assert not (tmp_path / "out.yaml").exists()


def test_two_files_for_one_broker_are_a_conflict_with_both_places(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mosquitto.conf").write_text("listener 1883\n")
    said = tmp_path / "map.yml"
    said.write_text("names: {a/mosquitto.conf: hub, b/mosquitto.conf: hub}\n")
    with pytest.raises(ConfigurationError) as refused:
        read_native([tmp_path / "a", tmp_path / "b"], mapping=said)
    (fault,) = [one for one in refused.value.findings if one.code == "C007"]
    assert "a/mosquitto.conf:1" in str(fault)
    assert "b/mosquitto.conf:1" in str(fault)


def conf(tmp_path: Path) -> Callable[[str, str], None]:
    def write(file: str, text: str) -> None:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


def test_addresses_mean_brokers_by_name_by_port_or_by_what_the_user_says(tmp_path: Path) -> None:
    write = conf(tmp_path)
    write("hub/mosquitto.conf", "listener 1883\n")
    write(
        "edge/mosquitto.conf", "listener 1884\nconnection a\naddress 127.0.0.1:1883\ntopic # out\n"
    )
    write(
        "far/mosquitto.conf", "listener 1885\nconnection b\naddress hub.example.org\ntopic # out\n"
    )
    write("odd/mosquitto.conf", "listener 1886\nconnection c\naddress 10.0.0.7:1999\ntopic # out\n")
    read = read_native([tmp_path])
    assert {one.from_: one.to for one in read.federation.bridges} == {
        "edge": "hub",
        "far": "hub",
        "odd": "10.0.0.7",
    }
    assert [one.code for one in read.findings if one.code == "C011"] == ["C011"]
    write("map.yaml", "brokers: {'10.0.0.7:1999': hub}\n")
    said = read_native([tmp_path], mapping=tmp_path / "map.yaml")
    assert {one.to for one in said.federation.bridges} == {"hub"}
    assert not [one for one in said.findings if one.code in ("C011", "C013")]


@pytest.mark.parametrize(
    ("second", "brokers"),
    [
        ("hub.west.example", {"a", "b", "hub", "hub.east.example", "hub.west.example"}),
        ("hub.east.example.internal", {"a", "b", "hub"}),
        ("hub", {"a", "b", "hub"}),
    ],
)
def test_two_domains_are_two_servers(tmp_path: Path, second: str, brokers: set[str]) -> None:
    write = conf(tmp_path)
    write("hub/mosquitto.conf", "listener 1883\n")
    for name, host in (("a", "hub.east.example"), ("b", second)):
        text = f"listener 1883\nconnection up\naddress {host}\ntopic # out\n"
        write(f"{name}/mosquitto.conf", text)
    assert set(read_native([tmp_path]).federation.brokers) == brokers
    write("map.yaml", f"brokers: {{{second}: west}}\n")
    said = read_native([tmp_path], mapping=tmp_path / "map.yaml").federation
    assert {one.from_: one.to for one in said.bridges} == {"a": "hub", "b": "west"}


def test_what_the_user_says_of_nothing_is_told(tmp_path: Path) -> None:
    write = conf(tmp_path)
    write("hub/mosquitto.conf", "listener 1883\nconnection u\naddress far.example\ntopic # out\n")
    write(
        "map.yaml",
        "brokers: {far.example: far, fra.example: far, far.example:1884: far}\n"
        "names: {hub/mosquitto.conf: hub, bub/mosquitto.conf: bub}\n"
        "sites: {hub: {at: [1, 2]}, bub: {at: [1, 2]}}\n",
    )
    findings = read_native([tmp_path], mapping=tmp_path / "map.yaml").findings
    told = [one for one in findings if one.code == "C005"]
    assert [(one.where.line, one.message.partition(" is ")[0]) for one in told] == [
        (1, "fra.example"),
        (1, "far.example:1884"),
        (2, "bub/mosquitto.conf"),
        (3, "bub"),
    ]
    assert {one.severity for one in told} == {"warning"}


def test_the_user_may_say_which_account_an_address_is_for(tmp_path: Path) -> None:
    write = conf(tmp_path)
    accounts = "accounts {A {users: [{user: a}]}, B {users: [{user: b}]}}"
    write("hub.conf", f"port: 4222\nleafnodes {{port: 7422}}\n{accounts}\n")
    write(
        "site.conf",
        "port: 4222\nleafnodes {remotes: [{url: nats://hub.example:7422, credentials: x}]}\n",
    )
    write("map.yaml", "brokers: {hub.example: B@hub}\n")
    assert [one.code for one in read_native([tmp_path]).findings].count("C012") == 1
    said = read_native([tmp_path], mapping=tmp_path / "map.yaml")
    assert {one.to for one in said.federation.bridges} == {"B@hub"}
    assert "C012" not in {one.code for one in said.findings}


@pytest.mark.parametrize(("second", "told"), [("n2.example:5672", 0), ("n1.example:5673", 1)])
def test_nodes_of_a_cluster_stand_in_for_each_other(tmp_path: Path, second: str, told: int) -> None:
    write = conf(tmp_path)
    value = {"uri": [f"amqp://{one}" for one in ("n1.example:5672", second)]}
    write(
        "hub/definitions.json",
        json.dumps(
            {
                "vhosts": [{"name": "/"}],
                "exchanges": [{"name": "x", "vhost": "/", "type": "topic"}],
                "parameters": [{"component": "federation-upstream", "name": "u", "value": value}],
                "policies": [{"name": "p", "pattern": "x", "definition": {UPSTREAM: "u"}}],
            }
        ),
    )
    write("map.yaml", f"brokers: {{'n1.example:5672': far, '{second}': far}}\n")
    federation = read_native([tmp_path], mapping=tmp_path / "map.yaml").federation
    found = [one.message for one in verify(federation).findings if one.code == "V017"]
    assert len([one for one in found if "no backup" in one]) == told, found


def test_documents_alone_promise_nothing_of_who_else_is_there(tmp_path: Path) -> None:
    """An application of two environments, and one that gets what no document sends."""
    write = conf(tmp_path)
    write(
        "app.yaml",
        "asyncapi: 3.0.0\ninfo: {title: s, version: '1'}\n"
        "servers: {one: {host: '{stage}.x', protocol: mqtt, variables: {stage: {enum: [d, p]}}}}\n"
        "channels: {c: {address: a/b}, d: {address: d}}\n"
        "operations:\n"
        "  s: {action: send, channel: {$ref: '#/channels/c'}}\n"
        "  r: {action: receive, channel: {$ref: '#/channels/c'}}\n"
        "  d: {action: receive, channel: {$ref: '#/channels/d'}}\n",
    )
    reading = read_native([tmp_path])
    assert [one.code for one in reading.findings].count("C012") == 1
    result = verify(reading.federation)
    assert {(one.code, one.severity) for one in result.findings} >= {
        ("V006", "warning"),
        ("V010", "warning"),
    }
    assert result.ok


def test_what_an_application_sends_is_not_promised_to_whoever_takes_anything(
    tmp_path: Path,
) -> None:
    write = conf(tmp_path)
    write(
        "app.yaml",
        "asyncapi: 3.0.0\ninfo: {title: s, version: '1'}\nservers: {m: {host: m, protocol: mqtt}}\n"
        "channels: {c: {address: a/b}}\n"
        "operations: {s: {action: send, channel: {$ref: '#/channels/c'}}}\n",
    )
    write("n.conf", "port: 4222\nleafnodes {remotes: [{url: nats://far:7422}]}\n")
    result = verify(read_native([tmp_path]).federation)
    assert result.ok, result.findings


def test_a_folder_with_too_many_files_is_refused_not_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = conf(tmp_path)
    for i in range(3):
        write(f"{i}/mosquitto.conf", "listener 1883\n")
    monkeypatch.setattr("ropewalk.federation.readers.sources.MAX_FILES", 2)
    with pytest.raises(ConfigurationError, match="3 files, and 2 at most"):
        read_native([tmp_path])


def test_included_files_belong_to_their_broker(tmp_path: Path) -> None:
    write = conf(tmp_path)
    write("mosquitto.conf", "listener 1883\ninclude_dir /etc/mosquitto/conf.d\n")
    write("conf.d/bridge.conf", "connection up\naddress hub:1883\ntopic a/# out 1\n")
    read = read_native([tmp_path], name="site")
    (bridge,) = read.federation.bridges
    assert bridge.from_ == tmp_path.name or bridge.from_ in read.federation.brokers
    assert str(read.federation.where("bridges", 0)).endswith("conf.d/bridge.conf:3")
    assert len(read.natives) == 1


def test_secrets_stay_in_their_files(tmp_path: Path, ropewalk: Run) -> None:
    write = conf(tmp_path)
    secret = "Sesame-77"
    write(
        "a/mosquitto.conf",
        f"listener 1883\nconnection c\naddress b:1883\ntopic # out\nremote_password {secret}\n",
    )
    write(
        "b/nats.conf",
        f'port: 4222\nleafnodes {{ remotes: [{{url: "nats://u:{secret}@hub:7422"}}] }}\n',
    )
    uri = f"amqp://u:{secret}@c"
    definitions = {
        "component": "federation-upstream",
        "name": "c",
        "vhost": "/",
        "value": {"uri": uri},
    }
    write(
        "r/definitions.json", json.dumps({"vhosts": [{"name": "/"}], "parameters": [definitions]})
    )
    out = tmp_path / "out.yaml"
    result = ok(ropewalk("read", str(tmp_path), "-o", str(out)))
    assert secret not in out.read_text() + result.out + result.err


def test_what_many_sites_have_in_common_is_told_once(ropewalk: Run, tmp_path: Path) -> None:
    write = conf(tmp_path)
    write("hub/mosquitto.conf", "listener 1883\n")
    write("spare/mosquitto.conf", "listener 1883\n")
    for i in range(9):
        text = "connection up\naddress hub:1883 spare:1883\ntopic data/# out 1\n"
        write(f"site{i}/mosquitto.conf", text)
    told = document(ropewalk("verify", str(tmp_path), "--json"))
    (choice,) = [one for one in told["findings"] if one["code"] == "V017"]
    assert len(choice["witness"]["connections"]) == 9
    assert "the same holds for bridge up of site1, " in choice["message"]
    copies = [one for one in told["findings"] if one["code"] == "C020"]
    assert len(copies) == 9  # programs get each place
    lines = ropewalk("verify", str(tmp_path)).out.splitlines()
    (line,) = [one for one in lines if "warning C020" in one]
    assert line.endswith("(and at 8 more places)")


def test_loops_and_copies_do_not_wait_for_who_is_stated(ropewalk: Run, tmp_path: Path) -> None:
    write = conf(tmp_path)
    for here, there in (("a", "b"), ("b", "a")):
        write(
            f"{here}/mosquitto.conf",
            f"listener 1883\nconnection {there}\naddress {there}.example\ntopic t/# both\n",
        )
    write(
        "api.yaml",
        "asyncapi: 3.0.0\ninfo: {title: x, version: 1.0.0}\n"
        "servers: {s: {host: a.example, protocol: mqtt}}\n"
        'channels: {c: {address: "t/#"}}\n'
        "operations: {o: {action: receive, channel: {$ref: '#/channels/c'}}}\n",
    )
    told = document(ropewalk("verify", str(tmp_path), "--json"))
    codes = [one["code"] for one in told["findings"] if one["severity"] == "error"]
    assert codes == ["V012"]
    (tmp_path / "b/mosquitto.conf").unlink()
    out = "connection {}\naddress b.example\ntopic t/# out\n"
    write("a/mosquitto.conf", "listener 1883\n" + out.format("b") + out.format("c"))
    told = document(ropewalk("verify", str(tmp_path), "--json"))
    (twice,) = [one for one in told["findings"] if one["code"] == "V013"]
    assert twice["where"]["line"] > 1


@pytest.mark.parametrize("name", ["empty", "prose", "manifests", "templates", "federation.yaml"])
def test_a_folder_without_configuration_says_what_is_in_it(
    ropewalk: Run, tmp_path: Path, name: str
) -> None:
    write = conf(tmp_path)
    (tmp_path / "some").mkdir()
    manifest = "apiVersion: v1\nkind: ConfigMap\ndata:\n  nats.conf: |\n    port: 4222\n"
    wanted = "save each file"
    if name == "prose":
        write("some/README.md", "# Our brokers\n")
    if name in ("manifests", "federation.yaml"):
        write(f"some/{name.removesuffix('.yaml')}.yaml", f"{manifest}---\n{manifest}")
    if name == "templates":
        write("some/mosquitto.conf.j2", "listener {{ port }}\n")
        wanted = "it is a template"
    ran = ropewalk("verify", str(tmp_path / "some"))
    assert ran.code == 2
    assert "C008 there is no broker's configuration here" in ran.out.replace(": ", " ")
    assert (wanted in ran.out) == (name not in ("empty", "prose"))


def test_errors_are_told_before_all_else_and_each_of_them(ropewalk: Run, tmp_path: Path) -> None:
    text = "listener 1883\n" + "log_type all\n" * 60 + "topic\n" * 70
    (tmp_path / "mosquitto.conf").write_text(f"{text}listener abc\n")
    ran = ropewalk("read", str(tmp_path / "mosquitto.conf"), "-o", str(tmp_path / "out.yaml"))
    lines = ran.out.splitlines()
    errors = [one for one in lines if " error " in one]
    assert len(errors) >= 71
    assert lines[: len(errors)] == errors


def test_a_folder_that_may_not_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = conf(tmp_path)
    write("open/mosquitto.conf", "listener 1883\n")
    write("locked/mosquitto.conf", "listener 1883\n")
    scandir = os.scandir

    def refused(path: Any) -> Any:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)  # root may read everything
    with pytest.raises(ConfigurationError) as told:
        read_native([tmp_path])
    (fault,) = told.value.findings
    assert (fault.code, fault.where.file) == ("C001", str(tmp_path / "locked"))


@needs("mosquitto")
@needs("rabbitmq-server")
def test_a_mosquitto_beside_a_rabbitmq_is_played_with_both(ropewalk: Run, tmp_path: Path) -> None:
    write = conf(tmp_path)
    bridge = "connection hub\naddress hub:1883\n{}topic a/# both 0\n"
    write("site/mosquitto.conf", "listener 1883\n" + bridge.format("try_private false\n"))
    write("hub/definitions.json", '{"rabbit_version": "3.10.8", "vhosts": [{"name": "/"}]}')
    told = document(ropewalk("verify", str(tmp_path), "--confirm", "--json"))
    (played,) = told["summary"]["replayed"]
    assert (played["code"], played["confirmed"]) == ("V013", True), played["words"]
    write("site/mosquitto.conf", "listener 1883\n" + bridge.format(""))
    told = document(ropewalk("verify", str(tmp_path), "--json"))
    (refused,) = [one["message"] for one in told["findings"] if one["code"] == "C020"]
    assert refused.endswith("write try_private false")


def test_of_a_connection_only_lines_change_that_mean_something_else(
    ropewalk: Run, tmp_path: Path
) -> None:
    text = """listener 1883
connection b
# keep
address b.example
remote_username a
bridge_attempt_unsubscribe false
topic x/# out 1
# alarms too
topic y/# in 0
keepalive_interval 30
"""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mosquitto.conf").write_text(text)
    kept = tmp_path / "kept.yaml"
    ok(ropewalk("read", str(tmp_path / "a"), "-o", str(kept)))
    kept.write_text(kept.read_text().replace("x/#", "z/#"))
    shown = ok(ropewalk("export", str(kept), "--diff")).out.splitlines()
    changed = [one for one in shown if one[:1] in "+-" and one[:3] not in ("+++", "---")]
    assert changed == ["-topic x/# out 1", "+topic z/# out 1"]
    (tmp_path / "a").rename(tmp_path / "gone")
    refused = ropewalk("export", str(kept), "--diff")
    assert (refused.code, "is not there" in refused.err) == (2, True)
    out = ok(ropewalk("export", str(kept), "-o", str(tmp_path / "out"))).out
    assert "is not there: its broker is written without" in out


def test_what_was_read_with_a_mapping_is_written_and_played_with_it(
    ropewalk: Run, tmp_path: Path
) -> None:
    write = conf(tmp_path)
    write("a/mosquitto.conf", "listener 1883\nconnection b\naddress b\ntopic x/# out\n")
    write("b/mosquitto.conf", "listener 1883\n")
    write("map.yml", "names: {a/mosquitto.conf: athens}\n")
    kept, said = tmp_path / "kept.yaml", ["--map", str(tmp_path / "map.yml")]
    ok(ropewalk("read", str(tmp_path / "a"), str(tmp_path / "b"), *said, "-o", str(kept)))
    assert "Nothing changes" in ok(ropewalk("export", str(kept), "--diff", *said)).out
    without = ropewalk("export", str(kept), "--diff")
    assert (without.code, "give --map as it was given to read" in without.err) == (2, True)


def test_a_change_of_names_alone_is_told_as_such(ropewalk: Run, tmp_path: Path) -> None:
    write = conf(tmp_path)
    for name in ("old", "new"):
        write(f"{name}/hub/mosquitto.conf", "listener 1883\n")
        topic = f'topic a/# out 0 "" {name}/\n'
        write(f"{name}/site/mosquitto.conf", f"listener 1883\nconnection up\naddress hub\n{topic}")
    told = ropewalk("diff", str(tmp_path / "old"), str(tmp_path / "new")).out
    assert "from site to hub arrives under another name" in told


def test_topics_without_their_connection_are_told(ropewalk: Run, tmp_path: Path) -> None:
    conf(tmp_path)("some/bridge.conf", "# ours\ntopic a/# out 0\n\ntopic b/# in 1 x/ y/\n")
    told = ropewalk("verify", str(tmp_path / "some"))
    assert (told.code, "topics of a bridge of Mosquitto" in told.out) == (2, True)
