"""What the files of two Mosquitto brokers say against each other, and bridges to oneself."""

from pathlib import Path

import pytest

from ropewalk.federation.readers.reading import Reading, read_native

HUB = "listener 1883\n"


def sites(tmp_path: Path, files: dict[str, str], said: str = "") -> Reading:
    for name, text in files.items():
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "mosquitto.conf").write_text(text)
    if not said:
        return read_native([tmp_path])
    (tmp_path / "map.yaml").write_text(said)
    return read_native([tmp_path], mapping=tmp_path / "map.yaml")


def told(found: Reading) -> list[str]:
    wanted = [one for one in found.findings if (one.code, one.severity) == ("C020", "warning")]
    return [f"{Path(one.where.file).parent.name}:{one.where.line}: {one.message}" for one in wanted]


def up(address: str = "hub:1883", more: str = "") -> str:
    return f"listener 1883\nconnection up\naddress {address}\ntopic a/# out 0\n{more}"


ITSELF = "listener 1883 127.0.0.1\nconnection self\naddress {}\n{}\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
@pytest.mark.parametrize("other", [{}, {"b": HUB}])
def test_a_bridge_to_its_own_broker_is_told(
    tmp_path: Path, host: str, other: dict[str, str]
) -> None:
    """As seen on a real broker: copies without end."""
    found = sites(tmp_path, {"a": ITSELF.format(f"{host}:1883", "topic a/# out 0"), **other})
    assert set(found.federation.brokers) == {"a", *other}
    assert not found.federation.bridges
    assert any("a:3: connection self leads back to a" in one for one in told(found))
    assert any("again and again, without end: remove" in one for one in told(found))


@pytest.mark.parametrize(
    ("topics", "endless"),
    [
        ('topic a/# out 0 "" x/', False),
        ('topic # out 0 "" x/', True),
        ('topic a/# out 0 "" b/\ntopic b/# out 0 "" c/', False),
        ('topic a/# out 0 "" b/\ntopic b/# out 0 "" a/', True),
        ("topic # out 0 a/ b/\ntopic # out 0 b/ a/", True),
        ("topic # in 0 a/ b/", False),
        ("topic # both 0 a/ b/", True),
    ],
)
def test_what_a_bridge_renames_may_end(tmp_path: Path, topics: str, endless: bool) -> None:
    found = sites(tmp_path, {"a": ITSELF.format("127.0.0.1:1883", topics)})
    assert any("without end" in one for one in told(found)) == endless
    assert any("leads back to a, which holds it" in one for one in told(found))


def test_the_map_says_who_is_behind_an_address_of_this_machine(tmp_path: Path) -> None:
    files = {"a": ITSELF.format("127.0.0.1:1883", "topic a/# out 0"), "b": HUB}
    found = sites(tmp_path, files, "brokers: {'127.0.0.1:1883': b}\n")
    assert [(one.from_, one.to) for one in found.federation.bridges] == [("a", "b")]
    assert not told(found)


def test_another_port_of_this_machine_is_another_broker(tmp_path: Path) -> None:
    files = {"a": up("127.0.0.1:1884"), "b": "listener 1884\n"}
    assert [one.to for one in sites(tmp_path, files).federation.bridges] == ["b"]


@pytest.mark.parametrize("line", ["remote_clientid edge", "clientid edge"])
def test_one_client_id_of_two_brokers_at_a_third_is_told(tmp_path: Path, line: str) -> None:
    files = {"hub": HUB, "a": up(more=f"{line}\n"), "b": up("hub", "remote_clientid edge\n")}
    (one,) = told(sites(tmp_path, files))
    assert one.startswith("b:5: hub knows connection up by this client id, too (")
    assert "a/mosquitto.conf:5), and each ends the other again and again" in one
    files["b"] = up("other", "remote_clientid edge\n")
    assert not told(sites(tmp_path, files))


def test_client_ids_that_are_not_written_or_to_be_filled_in_are_no_clash(tmp_path: Path) -> None:
    for more in ("", "remote_clientid <id>\n", "local_clientid edge\n"):
        assert not told(sites(tmp_path, {"hub": HUB, "a": up(more=more), "b": up(more=more)}))


TLS = "certfile x\nkeyfile y\n"


@pytest.mark.parametrize(
    ("hub", "site", "what"),
    [
        (HUB, up(), ""),
        (
            HUB + "protocol websockets\nlistener 1884\n",
            up(),
            "hub has WebSockets only at port 1883",
        ),
        (HUB + TLS, up(), "hub uses TLS at port 1883"),
        (HUB + TLS, up(more="bridge_cafile x\n"), ""),
        (HUB + "psk_hint x\n", up(more="bridge_psk 01\nbridge_identity x\n"), ""),
        (HUB, up(more="bridge_capath x\n"), "hub has no certificate at port 1883"),
        ("listener 1883 127.0.0.1\n", up(), "hub listens for its own machine only at port 1883"),
        ("listener 1883 localhost\nlistener 1883 10.0.0.1\n", up(), ""),
        ("listener 1883 127.0.0.1\n", up("127.0.0.1:1884"), ""),
        ("persistence true\n", up(), "hub has no listener"),
        ("listener 1884\n", up(), "hub has no listener at port 1883, only at 1884"),
        ("listener 1884\ninclude_dir elsewhere\n", up(), ""),
    ],
)
def test_a_far_listener_that_does_not_fit_is_told(
    tmp_path: Path, hub: str, site: str, what: str
) -> None:
    found = told(sites(tmp_path, {"hub": hub, "site": site}))
    assert [one.startswith(f"site:3: {what}") for one in found] == ([True] if what else [])


def test_a_port_that_the_map_gives_a_broker_is_forwarded(tmp_path: Path) -> None:
    files = {"hub": "listener 1884\n", "site": up()}
    assert not told(sites(tmp_path, files, "brokers: {'hub:1883': hub}\n"))


def test_lines_that_overlap_at_a_broker_that_repeats_are_told(tmp_path: Path) -> None:
    lines = "topic msh/+/map in 0\ntopic msh/# in 0\n"
    site = f"listener 1883\nconnection up\naddress hub\n{lines}"
    files = {"hub": f"allow_duplicate_messages true\n{HUB}", "site": site}
    (one,) = told(sites(tmp_path, files))
    assert one.startswith("site:2: hub has allow_duplicate_messages (")
    for text in (lines.replace("in", "out"), "topic msh/# in 0\n"):
        files["site"] = site.replace(lines, text)
        assert not told(sites(tmp_path, files))
