"""What a mosquitto.conf says, construct by construct, and how it is written again."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ropewalk.errors import ConfigurationError
from ropewalk.export.mosquitto import write_mosquitto
from ropewalk.federation.bridges import Bridge, Prefixes
from ropewalk.federation.facts import Broker, Federation
from ropewalk.federation.readers.drafts import Address, BridgeDraft, Drafts
from ropewalk.federation.readers.mosquitto import read_mosquitto
from ropewalk.federation.readers.mosquitto.known import KNOWN
from ropewalk.federation.readers.reading import Reading, is_native, read_native
from ropewalk.findings import Where
from ropewalk.verify.floods import Floods

EXAMPLES = Path(__file__).parents[2] / "examples" / "native" / "mosquitto"
FILE = "mosquitto.conf"
UP = "connection up\naddress hub:1883\n"


def read(text: str, parts: Mapping[str, Sequence[tuple[str, str]]] | None = None) -> Drafts:
    drafts = Drafts()
    read_mosquitto(text, FILE, "site", drafts, include=lambda path: (parts or {}).get(path))
    return drafts


def said(drafts: Drafts, code: str) -> list[str]:
    found = [str(one) for one in drafts.findings if one.code == code]
    return [one for one in found if "there is no listener here" not in one]


def carried(text: str) -> list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    return [
        (one.direction, f"{one.local}>{one.remote}", one.patterns, one.excepts)
        for one in read(text).bridges
    ]


def test_a_connection_is_a_draft_per_topic_line() -> None:
    text = (
        "listener 1883\n\nconnection up\naddresses hub:1884 [::1]:1883 spare\n"
        "round_robin true\ntopic a/# both 2 l/ r/\ntopic b\n"
    )
    drafts = read(text)
    far = tuple(
        Address(host=host, port=port, where=Where(FILE, 4), make="mosquitto")
        for host, port in (("hub", 1884), ("::1", 1883), ("spare", 1883))
    )
    lines = {
        "connection": Where(FILE, 3),
        "addresses": Where(FILE, 4),
        "round_robin": Where(FILE, 5),
    }
    assert drafts.bridges == [
        BridgeDraft(
            at="site",
            far=far,
            name="up",
            kind="bridge",
            where=Where(FILE, 6),
            patterns=("a/#",),
            direction="both",
            qos=2,
            local="l/",
            remote="r/",
            choice="next",
            private=True,
            lines=lines,
        ),
        BridgeDraft(
            at="site",
            far=far,
            name="up",
            kind="bridge",
            where=Where(FILE, 7),
            patterns=("b",),
            choice="next",
            private=True,
            lines=lines,
        ),
    ]
    assert said(drafts, "C020") == [
        f"{FILE}:4: C020 Mosquitto looks for a host with the brackets in its name: "
        "write ::1:PORT without them"
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("topic a/#", ("a/#", "out", 0, "", "")),
        ("topic  a/#   IN", ("a/#", "in", 0, "", "")),
        ("topic a/# both 1", ("a/#", "both", 1, "", "")),
        ("topic a/# out 0 l/", ("a/#", "out", 0, "l/", "")),
        ('topic a/# out 0 "" r/', ("a/#", "out", 0, "", "r/")),
        ('topic a/# out 0 "" ""', ("a/#", "out", 0, "", "")),
        ("topic a/# out # why", ("a/#", "out", 0, "", "")),
        ("topic a/# out 1 # why", ("a/#", "out", 1, "", "")),
        ("topic a/# out 1 l/ # why", ("a/#", "out", 1, "l/", "")),
        ('topic "" in 1 here/temp there/temp', ("temp", "in", 1, "here/", "there/")),
        ('topic "" in 1 here/xtemp there/ytemp', ("temp", "in", 1, "here/x", "there/y")),
        ('topic "a b" out 1', ("a b", "out", 1, "", "")),
        ('topic a out 0 "" "r/"', ("a", "out", 0, "", '"r/"')),
        ("topic a out x", ("a", "out", 0, "", "")),
        ("topic $SYS/# out", ("$SYS/#", "out", 0, "", "")),
    ],
)
def test_every_form_of_a_topic_line(line: str, expected: tuple[object, ...]) -> None:
    (one,) = read(UP + line).bridges
    assert (one.patterns[0], one.direction, one.qos, one.local, one.remote) == expected


@pytest.mark.parametrize(
    ("line", "code", "what"),
    [
        ("topic", "C002", "has no pattern"),
        ("topic a sideways", "C002", "'sideways' is no direction"),
        ("topic a # why", "C002", "a comment cannot follow here"),
        ("topic a out 3", "C005", "no quality of service"),
        ("topic a out -1", "C005", "no quality of service"),
        ("topic a#b out", "C005", "no topic pattern"),
        ("topic #/a out", "C005", "no topic pattern"),
        ('topic # out 0 "" site', "C005", "'site#', so Mosquitto does not start"),
        ("topic a out 0 +/x/", "C005", "a prefix has no wildcards"),
        ('topic "" out 0 here', "C002", "needs both prefixes"),
        ('topic "a out 0', "C002", "not closed"),
        ("address other", "C007", "write all addresses in one line"),
        ("round_robin yes", "C005", "write true or false"),
        ("bridge_protocol_version mqttv3", "C005", "write mqttv31"),
        ("connection up", "C007", "connection 'up' is at"),
        ("connection", "C002", "connection has no name"),
        ("include_dir", "C002", "include_dir has no folder"),
        ("listener x", "C005", "needs a port"),
        ("port <port>", "C006", "needs a port"),
        ("port $PORT", "C006", "a template"),
        ("listener 0", "C002", "path of a socket"),
        ("protocol x", "C005", "does not know this protocol"),
        ("{% for one in sites %}", "C006", "template"),
    ],
)
def test_what_mosquitto_does_not_start_with_is_a_fault(line: str, code: str, what: str) -> None:
    drafts = read(f"{UP}topic ok/#\n{line}\n")
    faults = [one for one in drafts.faults if what in one.message]
    assert [(one.code, one.where.line) for one in faults] == [(code, 4)]


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("mqtt://hub:1883", "without a scheme"),
        ("user:pw@hub:1883", "the user as remote_username"),
        ("a:1,b:2", "no commas"),
        ("fe80::1", "after an IPv6 address"),
        ("hub:0", "has no port"),
        ("hub:<port>", "fills in no variables"),
        ("hub:$PORT", "a template"),
        ("hub:70000", "has no port"),
        (":1883", "write HOST:PORT"),
        ("", "it is empty"),
        ("# none", "a comment stands where"),
    ],
)
def test_an_address_that_is_none_is_a_fault(address: str, what: str) -> None:
    drafts = read(f"connection up\naddress {address}\ntopic a\n")
    assert what in drafts.faults[0].message
    assert drafts.faults[0].where == Where(FILE, 2)
    assert "pw" not in str(drafts.findings)


def test_a_connection_needs_an_address_and_a_topic() -> None:
    messages = [one.message for one in read("connection a\nconnection b\ntopic x\n").faults]
    assert any("'a' has no address" in one for one in messages)
    assert any("'a' has no topic" in one for one in messages)
    assert any("'b' has no address" in one for one in messages)
    assert "stands before any connection" in read("topic a\n").faults[0].message


# --- what lines of one connection do to each other ------------------------------------------


def test_lines_with_prefixes_come_before_lines_without() -> None:
    assert carried(UP + 'topic a/# in\ntopic a/b in 0 x/ ""\n') == [
        ("in", ">", ("a/#",), ("a/b",)),
        ("in", "x/>", ("a/b",), ()),
    ]


def test_of_lines_with_prefixes_the_first_counts() -> None:
    text = UP + 'topic a/b out 0 "" y/\ntopic a/# out 0 "" x/\n'
    assert carried(text) == [("out", ">y/", ("a/b",), ()), ("out", ">x/", ("a/#",), ("a/b",))]
    drafts = read(UP + 'topic a/# out 0 "" x/\ntopic a/b out 0 "" y/\n')
    assert [one.where.line for one in drafts.bridges] == [3]
    assert "line 3 takes it all first" in said(drafts, "C020")[0]


def test_the_same_line_twice_is_told_and_the_last_qos_counts() -> None:
    drafts = read(UP + "topic a/# out 0\ntopic a/# out 2\n")
    assert [one.qos for one in drafts.bridges] == [2]
    assert "line 3 does not: remove it" in said(drafts, "C020")[0]


def test_both_is_split_where_its_ways_differ() -> None:
    assert carried(UP + "topic a/b out\ntopic a/# both\n") == [
        ("out", ">", ("a/b",), ()),
        ("out", ">", ("a/#",), ("a/b",)),
        ("in", ">", ("a/#",), ()),
    ]


def test_an_out_line_undoes_an_in_line_before_it() -> None:
    drafts = read(UP + "topic # in\ntopic # out\n")
    assert [one.direction for one in drafts.bridges] == ["out"]
    assert said(drafts, "C020")[0].startswith(f"{FILE}:3: C020 nothing comes in")
    assert [one[0] for one in carried(UP + "topic # out\ntopic # in\n")] == ["out", "in"]
    assert [one[0] for one in carried(UP + "topic # both\ntopic # out\n")] == ["out"]
    kept = UP + "bridge_attempt_unsubscribe false\ntopic # in\ntopic # out\n"
    assert [one[0] for one in carried(kept)] == ["in", "out"]


def test_an_undone_line_still_renames_what_another_brings_in() -> None:
    text = UP + 'topic a/# in 0 x/ ""\ntopic a/# out\ntopic # in\n'
    assert carried(text) == [
        ("in", "x/>", ("a/#",), ()),
        ("out", ">", ("a/#",), ()),
        ("in", ">", ("#",), ("a/#",)),
    ]


def test_lines_that_newer_releases_take_for_doubles_are_told() -> None:
    drafts = read(UP + 'topic a/# out\ntopic a/# out 0 "" y/\n')
    assert any("for a double of line 3" in one for one in said(drafts, "C020"))


@pytest.mark.parametrize(
    ("settings", "echoes"),
    [
        ("", False),
        ("try_private true\n", False),
        ("try_private false\n", True),
        ("try_private 0\nbridge_protocol_version mqttv31\n", True),
        ("try_private false\nbridge_protocol_version mqttv50\n", False),
    ],
)
def test_a_bridge_that_is_not_known_as_one_gets_back_what_it_brought(
    settings: str, echoes: bool
) -> None:
    assert [one.echoes for one in read(UP + settings + "topic # both\n").bridges] == [echoes]
    assert not read(UP + settings + "topic # out\n").bridges[0].echoes
    undone = "topic b out\ntopic a in\ntopic a out\n"
    assert not any(one.echoes for one in read(UP + settings + undone).bridges)


def test_what_several_addresses_do_is_told() -> None:
    two = "connection up\naddress a b\ntopic x\n"
    assert "drops the next one to try it" in said(read(two), "C020")[0]
    assert read(two).bridges[0].choice == "first"
    assert not said(read("listener 1\n" + two + "round_robin true\n"), "C020")
    once = said(read(two + "round_robin true\nstart_type once\n"), "C020")
    assert any("starts once is not tried again" in one for one in once)


def test_what_is_lost_with_a_clean_session_is_told() -> None:
    text = UP + "topic a out 1\ncleansession true\n"
    assert any("are lost" in one for one in said(read(text), "C020"))
    kept = read(text + "local_cleansession false\n")
    assert not any("are lost" in one for one in said(kept, "C020"))
    brought = read(UP + "topic a in 1\ntopic b out 0\ncleansession true\n")
    assert not said(brought, "C020")


# --- listeners, files, lines ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "listens", "secure"),
    [
        ("", (("", 1883),), False),
        (
            "listener 1884 127.0.0.1\nlistener 1885 # all\n",
            (("127.0.0.1", 1884), ("", 1885)),
            False,
        ),
        ("port 1884\nbind_address 10.0.0.1\n", (("10.0.0.1", 1884),), False),
        ("bind_address 10.0.0.1\n", (("10.0.0.1", 1883),), False),
        ("listener 8883\ncertfile x\nkeyfile y\n", (("", 8883),), True),
        ("listener 8883\ncertfile x\nlistener 1883\n", (("", 8883), ("", 1883)), False),
        ("listener 1883\nlistener 9001\nprotocol websockets\n", (("", 1883),), False),
        ("listener 0 /run/m.sock\n", (), False),
        ("certfile x\nport 8883\n", (("", 8883),), True),
        ("protocol mqtt\nlistener 8883\nprotocol mqtt\n", (("", 8883),), False),
        ("max_connections 9\nlistener 8883\n", (("", 1883), ("", 8883)), False),
        ("max_connections -1\nlistener 8883\n", (("", 8883),), False),
        ("use_username_as_clientid false\nlistener 8883\n", (("", 8883),), False),
        ("certfile x\nkeyfile y\nlistener 1884\n", (("", 1883), ("", 1884)), False),
    ],
)
def test_where_it_listens(text: str, listens: object, secure: bool) -> None:
    (broker,) = read(text).brokers
    assert (broker.listens, broker.secure) == (listens, secure)


def test_a_mount_point_is_a_warning() -> None:
    drafts = read("listener 1883\nmount_point x/\n")
    assert [(one.code, one.severity) for one in drafts.findings] == [("C010", "warning")]


def test_a_connection_with_certificates_is_secure() -> None:
    (one,) = read(UP + "topic a\nbridge_capath /etc/ssl/certs\n").bridges
    assert isinstance(one.far, tuple)
    assert one.far[0].secure


def test_included_files_are_read_in_order() -> None:
    parts = {"conf.d": [("conf.d/a.conf", UP + "topic a\n"), ("conf.d/b.conf", "listener 1885\n")]}
    drafts = read("include_dir conf.d\nlistener 1884\n", parts)
    assert drafts.included == {"conf.d/a.conf", "conf.d/b.conf"}
    assert drafts.bridges[0].where == Where("conf.d/a.conf", 3)
    assert drafts.brokers[0].listens == (("", 1885), ("", 1884))


def test_a_connection_goes_on_after_what_is_included() -> None:
    parts = {"conf.d": [("b.conf", "topic b\n")]}
    drafts = read(UP + "include_dir conf.d\ntopic a\n", parts)
    assert [one.where.line for one in drafts.bridges] == [4]
    assert [str(one.where) for one in drafts.faults] == ["b.conf:1"]


def test_a_folder_that_is_not_here_is_a_note() -> None:
    drafts = read("listener 1883\ninclude_dir /etc/mosquitto/conf.d\n")
    assert said(drafts, "C010") == [
        f"{FILE}:2: C010 not modelled: include_dir '/etc/mosquitto/conf.d': "
        "the folder is not here; give it as well"
    ]
    assert not drafts.faults


def test_circles_of_included_files_are_faults() -> None:
    itself = read("include_dir here\n", {"here": [(FILE, "include_dir here\n")]})
    assert [one.code for one in itself.faults] == ["C006"]
    deeper = read("include_dir here\n", {"here": [("b.conf", "include_dir here\n")]})
    assert [(one.code, str(one.where)) for one in deeper.faults] == [("C006", "b.conf:1")]


def test_windows_line_ends_marks_and_tabs() -> None:
    drafts = read("\ufeffconnection up\r\naddress hub\r\n\ttopic\ta/# out\r\n  # why\r\n")
    assert [one.patterns for one in drafts.bridges] == [("a/#",)]
    told = "\n".join(said(drafts, "C020"))
    assert "byte order mark" in told
    assert "a tab is part of the setting's name" in told
    assert f"{FILE}:4: C020 a comment is indented" in told


def test_a_setting_without_a_value_is_told() -> None:
    assert (
        "remote_username has no value" in said(read(UP + "topic a\nremote_username \n"), "C020")[0]
    )


def test_what_prefixes_are_mistaken_for_is_told() -> None:
    for line, what in (
        ("topic a out 0 wb/", "a single prefix is the one of names here"),
        ('topic a out # "" wb/', "begins a comment"),
        ('topic /a out 0 "" wb/', "empty level: 'wb//a'"),
        ('topic a out 0 "" wb', "puts no / between them: the names are 'wba'"),
        ("topic a out 0 l/ r/ more", "passes over what follows"),
        ("topic $share/g/a in", "shared subscriptions"),
        ('topic "" in 0 here/temp there/heat', "a name that ends otherwise"),
    ):
        assert what in "\n".join([*said(read(UP + line), "C020"), *said(read(UP + line), "C010")])


def test_a_very_long_line_is_read() -> None:
    (one,) = read(UP + f"topic {'a/' * 20_000}# out\n").bridges
    assert len(one.patterns[0]) == 40_001


def test_what_is_no_setting_is_told_but_not_repeated() -> None:
    drafts = read("listener 1883\nhunter2\nremote_pasword hunter2\nauth_opt_pass hunter2\n")
    assert [one.where.line for one in drafts.findings] == [2, 3, 4, 4]
    assert "is remote_password meant?" in drafts.findings[1].message
    assert "hunter2" not in str(drafts.findings)


def test_every_setting_is_told_or_modelled() -> None:
    for name in KNOWN - {"connection", "listener", "port", "bind_address", "include_dir"}:
        drafts = read(f"{UP}topic a/b\n{name} 1\n")
        at = {one.where.line for one in drafts.findings}
        lines = {where.line for one in drafts.bridges for where in one.lines.values()}
        assert 4 in at | lines | {one.where.line for one in drafts.bridges}, name


# --- examples and writing -------------------------------------------------------------------


def test_the_examples_have_no_fault() -> None:
    files = sorted(EXAMPLES.glob("*/*/mosquitto.conf"))
    assert len(files) == 11
    for file in files:
        drafts = read(file.read_text())
        assert not [one for one in drafts.findings if one.severity != "note"], file


def _federation(*bridges: Bridge) -> Federation:
    brokers = {
        "site": Broker(make="mosquitto", url="mqtt://127.0.0.1:1884"),
        "hub": Broker(make="mosquitto", url="mqtt://hub.example.net:1883"),
        "spare": Broker(make="mosquitto", url="mqtt://[::1]:1885"),
    }
    return Federation(name="f", brokers=brokers, bridges=bridges)


def test_a_configuration_is_written() -> None:
    bridge = Bridge(
        from_="site",
        to="hub",
        name="up",
        patterns=("a/#", "b"),
        qos=1,
        prefixes=Prefixes(remote="site/"),
        addresses=("spare", "10.0.0.1:1886"),
        reached_at=("hub.example.net:1999",),
        choice="next",
    )
    text, tells = write_mosquitto(_federation(bridge), "site", None)
    assert text == (
        "# site\nlistener 1884 127.0.0.1\n\nconnection up\n"
        "address hub.example.net:1999 ::1:1885 10.0.0.1:1886\nround_robin true\n"
        'topic a/# out 1 "" site/\ntopic b out 1 "" site/\n'
    )
    assert tells == ["who may connect is in no federation: add password_file or allow_anonymous"]


def test_what_a_configuration_cannot_say_is_told() -> None:
    bridges = (
        Bridge(from_="site", to="hub", name="up", except_=("secret/#",), max_hops=2),
        Bridge(from_="site", to="spare", name="up", choice="any", addresses=("hub",)),
        Bridge(from_="site", to="hub", kind="shovel"),
        Bridge(from_="site", to="hub", name="a b", prefixes=Prefixes(local="x y/")),
        Bridge(from_="site", to="hub", name="c", patterns=("#",), prefixes=Prefixes(local="a")),
    )
    _, tells = write_mosquitto(_federation(*bridges), "site", None)
    told = "\n".join(tells)
    for what in (
        "max_hops",
        "the shovel to hub",
        "called up-2",
        "called a-b",
        "in turn",
        "# without secret/#",
        "no spaces",
        "out of c is not carried",
    ):
        assert what in told


def test_the_original_is_kept_but_for_what_the_federation_holds() -> None:
    original = (
        "# mine\r\nlistener 1883\r\nconnection up\r\naddress old\r\n# keep\r\ntopic old\r\n"
        "remote_password s3cret\r\nbridge_cafile ca.crt\r\nlog_type all\r\n"
        "connection gone\r\naddress x\r\ntopic y\r\n"
    )
    bridges = (
        Bridge(from_="site", to="hub", name="up", patterns=("a",)),
        Bridge(from_="site", to="spare", name="new", patterns=("b",), direction="in"),
    )
    text, tells = write_mosquitto(_federation(*bridges), "site", original)
    assert text == (
        "# mine\r\nlistener 1883\r\nconnection up\r\naddress hub.example.net:1883\r\n"
        "topic a out 0\r\nremote_password s3cret\r\nbridge_cafile ca.crt\r\n# keep\r\n"
        "log_type all\r\n\r\nconnection new\r\naddress ::1:1885\r\ntopic b in 0\r\n"
    )
    assert "s3cret" not in str(tells)


def test_echoes_are_written_by_try_private() -> None:
    bridge = Bridge(from_="site", to="hub", name="up", direction="both", echoes=True)
    assert "try_private false" in write_mosquitto(_federation(bridge), "site", None)[0]
    private = UP + "try_private false\ntopic #\nbridge_protocol_version mqttv50\n"
    text, _ = write_mosquitto(_federation(bridge), "site", private)
    assert read(text).bridges[0].echoes


# --- files as they are met ------------------------------------------------------------------


def native(tmp_path: Path, files: Mapping[str, str]) -> Reading:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return read_native([tmp_path])


def test_a_template_is_refused_once_and_for_nothing_else() -> None:
    text = "listener {{ port }}\n# {{ managed }}\nconnection {{ name }}\naddress {{ hub }}\n"
    (one,) = read(text + "round_robin yes\ntopic a\n").findings
    assert (one.code, one.severity, one.where.line) == ("C006", "error", 1)
    assert "a template (also lines 3, 4)" in one.message


def test_a_password_with_braces_is_no_template() -> None:
    assert not read(UP + "topic a\nremote_password a{{b<%c\n").faults


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("topic a/<device>/#", "'a/<device>/#'"),
        ("topic [SITE]/#", "'[SITE]/#'"),
        ("topic $SYS/broker/#", ""),
        ("topic $aws/things/#", ""),
        ("topic homie/+/$state", ""),
    ],
)
def test_a_variable_in_a_topic_is_told(line: str, held: str) -> None:
    told = [one for one in said(read(UP + line), "C020") if "fills in none" in one]
    assert [held in one for one in told] == ([True] if held else [])


@pytest.mark.parametrize(
    "line",
    [
        "address ${HOST}:1883",
        "address {MQTT_BROKER}",
        "address %HOST%",
        "address __HOST__:1883",
        "address $HOST",
        "topic ${ID}/# out",
        "topic $NODE_ID/# out",
        'topic a/# out 0 "" site/$SITE_ID/',
        "topic a/# out 0 %SITE%/",
        "listener $PORT",
        "connection @NAME@",
    ],
)
def test_what_a_tool_fills_in_is_refused_as_a_template(line: str) -> None:
    (fault,) = read(f"listener 1883\n{UP}topic a\n{line}\n").findings
    assert (fault.code, fault.severity, fault.where.line) == ("C006", "error", 5)
    assert fault.message.endswith("fill it in first, and read what comes out")


@pytest.mark.parametrize(
    "line",
    [
        "topic $SYS/broker/# out",
        "topic $aws/things/+/shadow out",
        "topic $share/g/a/# in",
        "topic homie/+/$state out",
        "topic a/# out 0 # for ${HOST}",
        "remote_password ${x}",
    ],
)
def test_a_dollar_of_a_topic_or_a_password_is_no_template(line: str) -> None:
    assert not read(f"listener 1883\n{UP}topic a\n{line}\n").faults


def test_a_listener_at_a_variable_is_told() -> None:
    assert "'<ip>' looks like a variable" in said(read("listener 1883 <ip>\n"), "C020")[0]
    assert "write the port itself" in read("listener <port>\n").faults[0].message


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ('"hub:1883"', "without quotes"),
        ("<host></host>:<port></port>", "fill in"),
    ],
)
def test_what_addresses_are_mistaken_for_is_a_fault(address: str, what: str) -> None:
    (one,) = read(f"connection up\naddress {address}\ntopic a\n").faults
    assert what in one.message


def test_a_port_after_a_space_is_a_host_of_its_own() -> None:
    drafts = read("connection up\naddress hub 1884\ntopic a\n")
    assert drafts.bridges[0].far == (
        Address(host="hub", port=1883, where=Where(FILE, 2), make="mosquitto"),
    )
    assert "write HOST:1884, without a space" in said(drafts, "C020")[0]
    assert not drafts.faults


def test_what_is_to_be_filled_in_is_one_word() -> None:
    text = "connection up\naddress <my host>:1884\ntopic of-<my id>/x both 1\n"
    drafts = read(text)
    (one,) = drafts.bridges
    assert one.far == (
        Address(host="<my-host>", port=1884, where=Where(FILE, 2), make="mosquitto"),
    )
    assert one.patterns == ("of-<my-id>/x",)
    assert [one.partition(" looks")[0] for one in said(drafts, "C020")] == [
        f"{FILE}:2: C020 '<my-host>:1884'",
        f"{FILE}:3: C020 'of-<my-id>/x'",
    ]


def test_brackets_without_an_address_of_ipv6_are_to_be_filled_in() -> None:
    told = said(read("connection up\naddress [HUB]:1883\ntopic a\n"), "C020")
    assert "'[HUB]' looks like a variable" in told[0]
    told = said(read("connection up\naddress [::1]:1883\ntopic a\n"), "C020")
    assert "write ::1:PORT without them" in told[0]


def test_a_start_type_that_is_none_is_a_fault() -> None:
    (one,) = read(UP + "topic a\nstart_type manual\n").faults
    assert (one.code, one.where.line) == ("C005", 4)


def test_a_line_that_keeps_mosquitto_from_starting_is_a_warning() -> None:
    found = read("listener 1883\nCONNECTION up\naddress=hub\nwhat ever\n").findings
    assert [(one.code, one.severity) for one in found] == [("C010", "warning")] * 3
    assert ["meant?" in one.message for one in found] == [True, True, False]


def test_tabs_and_indented_comments_are_told_once() -> None:
    text = "listener 1883\n\tlog_type all\n\t\n\tlog_type all\n # a\n # b\n# c\td\n"
    assert said(read(text), "C020") == [
        f"{FILE}:5: C020 a comment is indented, so Mosquitto does not start "
        "(also line 6): move the # to the line's very beginning",
        f"{FILE}:2: C020 a tab is part of the setting's name, so Mosquitto does not start "
        "(also lines 3, 4): write a space",
    ]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (UP + "topic a\nusername a\nremote_username b\n", 5, "given in line 4 already"),
        ("listener 1\ncertfile a\ncertfile b\n", 3, "given in line 2 already"),
        ("listener 1\npassword_file a\nlistener 2\npassword_file b\n", 4, "given in line 2"),
        ("listener 1\nallow_anonymous yes\n", 2, "write true or false"),
        ("listener 1\nauth_opt_a hunter2\nauth_opt_b c\nauth_plugin p\n", 2, "before any plugin"),
        ("listener 1\nstore_clean_interval 10\n", 2, "from 2.0 on"),
        ("listener 1\nlog_dest /var/log/m.log\n", 2, "does not know this value"),
        ("listener 1\nlog_dest\n", 2, "has no value"),
        ("listener 1\nlog_type warn\n", 2, "does not know this value"),
        ("listener 1\nsocket_domain v4\n", 2, "write ipv4, ipv6"),
        ("listener 1\nmax_qos 3\n", 2, "write at most 2"),
        ("listener 1\nmax_packet_size small\n", 2, "write 20 or more"),
        ("listener 1\nsys_interval 70000\n", 2, "out of range"),
        (
            "listener 1\n" + UP + "topic a\nkeepalive_interval 70000\n",
            5,
            "write at most 65535",
        ),
        ("listener 1\n" + UP + "topic a\nrestart_timeout 30 10\n", 5, "the longest wait second"),
        ("listener 1\n" + UP + "topic a\nrestart_timeout 30 # s\n", 5, "no comment"),
        ("allow_anonymous true\nper_listener_settings true\n", 2, "move it to the beginning"),
        ("bind_address 10.0.0.1\nbind_address 10.0.0.2\n", 2, "given in line 1 already"),
        ("port 1883\nmount_point a/\n", 2, "before any listener"),
        ("listener 1\nmount_point a/+/\n", 2, "no wildcards"),
    ],
)
def test_lines_that_mosquitto_knows_and_does_not_start_with(
    text: str, line: int, what: str
) -> None:
    drafts = read(text)
    (told,) = said(drafts, "C020")
    assert told.startswith(f"{FILE}:{line}: ")
    assert what in told
    assert "hunter2" not in str(drafts.findings)


@pytest.mark.parametrize(
    "text",
    [
        UP
        + "topic a\nremote_username a\n"
        + UP.replace("up", "on")
        + "topic b\nremote_username b\n",
        "port 3\ncertfile a\nlistener 1\ncertfile a\nlistener 2\ncertfile a\n",
        "per_listener_settings true\nlistener 1\npassword_file a\nlistener 2\npassword_file b\n",
        "listener 1\nplugin p\nplugin_opt_a b\nlog_type all\nlog_type error\npersistence 1\n",
        "listener 1\nallow_anonymous true\nper_listener_settings false\n",
        "per_listener_settings true # each\nlistener 1 # all\nallow_anonymous true\n",
        "listener 1\nlog_dest file /m.log\nlog_dest stdout\nlog_type all # now\nmax_qos 2\n",
        "listener 1\n" + UP + "topic a\nrestart_timeout 5 30\nkeepalive_interval 60 # s\n",
    ],
)
def test_settings_of_different_places_are_no_doubles(text: str) -> None:
    assert not said(read(text), "C020")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("local_clientid a\n", "local_clientid a\n"),
        ("remote_clientid a\n", "clientid a\n"),
        ("remote_clientid a\n", "remote_clientid b\nlocal_clientid local.a\n"),
    ],
)
def test_connections_with_one_client_id_at_their_broker_are_told(first: str, second: str) -> None:
    text = f"listener 1\n{UP}topic a\n{first}{UP.replace('up', 'on')}topic b\n{second}"
    (told,) = said(read(text), "C020")
    assert "has the client id of the one in line 5 here" in told
    other = text.replace(first, first + "local_clientid b\n" if "remote" in first else "")
    assert not said(read(other), "C020")


@pytest.mark.parametrize(
    ("text", "clash"),
    [
        ("listener 1883\nlistener 1883\nprotocol websockets\n", True),
        ("port 1883\nlistener 1883 127.0.0.1\n", True),
        ("bind_address 10.0.0.1\nlistener 1883\n", True),
        ("listener 1883 0.0.0.0\nlistener 1883 10.0.0.1\n", True),
        ("listener 1883 0.0.0.0\nlistener 1883 ::1\n", False),
        ("listener 1883 127.0.0.1\nlistener 1883 10.0.0.1\n", False),
        ("listener 1883\nbind_interface a\nlistener 1883\nbind_interface b\n", False),
        ("listener 0 /a\nlistener 0 /b\nlistener 1883\n", False),
    ],
)
def test_two_listeners_at_one_port_are_told(text: str, clash: bool) -> None:
    told = said(read(text), "C020")
    assert ["port 1883 is listened at in line 1 already" in one for one in told] == [True] * clash


def test_a_setting_of_a_listener_before_it_opens_another_port() -> None:
    told = said(read("certfile x\nkeyfile y\nlistener 1884\n"), "C020")
    assert told == [
        f"{FILE}:1: C020 certfile stands before any listener, so port 1883 is open as well: "
        "move it below its listener"
    ]
    assert not said(read("certfile x\nkeyfile y\nport 8883\nlistener 1884\n"), "C020")
    alone = [one.message for one in read("max_connections 9\n").findings]
    assert not any("there is no listener" in one for one in alone)


def test_a_number_is_read_up_to_what_is_none() -> None:
    drafts = read("listener 1884;\n" + UP.replace(":1883", ":1885/mqtt") + "topic a\n")
    assert drafts.brokers[0].listens == (("", 1884),)
    assert str(drafts.bridges[0].far[0]) == "hub:1885"
    told = said(drafts, "C020")
    assert ["is read as" in one for one in told] == [True, True]


@pytest.mark.parametrize(
    ("line", "tab"),
    [
        ("topic a/#\tboth\t0", True),
        ("topic #\tboth", True),
        ("topic a out 0 l/\tr/", True),
        ("address hub:1883\t# why", True),
        ("allow_anonymous true\t", True),
        ("listener 1883\t# all", True),
        ("listener 1883\t", False),
        ("max_connections -1\t# why", False),
        ("topic a out # why\tnot", False),
    ],
)
def test_a_tab_between_words_is_told(line: str, tab: bool) -> None:
    told = [one for one in said(read(line), "C020") if "takes a tab as part of a word" in one]
    assert len(told) == tab


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("persistence_location /data/ # here", True),
        ("log_dest file /m.log # here", True),
        ("include_dir conf.d # here", True),
        ("persistence_location /data/#1", False),
        ("allow_anonymous true # here", False),
        ("log_dest stdout # here", False),
    ],
)
def test_a_comment_after_a_text_is_told(line: str, part: bool) -> None:
    told = [one for one in said(read(line), "C020") if "takes the # and what follows" in one]
    assert len(told) == part


def test_a_file_that_is_included_repeats_what_was_given() -> None:
    text = "pid_file a\nlistener 1\ninclude_dir here\nallow_anonymous true\n"
    drafts = read(text, {"here": [("b.conf", "pid_file b\n")]})
    (told,) = said(drafts, "C020")
    assert told.startswith("b.conf:1: ")
    assert f"given at {FILE}:1 already" in told


def test_a_carriage_return_alone_ends_no_line() -> None:
    assert "save the file with line feeds" in said(read("listener 1\r# a\rport 2\r"), "C020")[0]
    assert not said(read("listener 1\r\n# a\r\n"), "C020")


@pytest.mark.parametrize(
    ("lines", "source", "measured"),
    [
        ("topic t/# out 1|topic t/+ out 1", "a", {("b", "t/x"): 2}),
        ("topic t/# in 1|topic t/+ in 1", "b", {("a", "t/x"): 2}),
        ("topic t/# out 0|topic t/+ out 0|topic +/x out 0", "a", {("b", "t/x"): 3}),
        ('topic # out 1 t/ ""|topic t/+ out 1', "a", {("b", "x"): 2}),
        ('topic # in 1 "" t/|topic t/+ in 1', "b", {("a", "x"): 2}),
        ("topic t/# out 1|topic t/# out 1", "a", {("b", "t/x"): 1}),
        ("topic t/+ in 1|topic t/# in 1|topic t/# out 1", "b", {("a", "t/x"): 1}),
    ],
)
def test_with_mqtt_5_a_message_comes_once_for_each_line(
    tmp_path: Path, lines: str, source: str, measured: dict[tuple[str, str], int]
) -> None:
    """As counted on two real brokers; before MQTT 5 there was one copy each time."""
    (tmp_path / "b.conf").write_text("listener 1883\n")
    for version, most in (("mqttv50", 9), ("mqttv311", 1)):
        text = "\n".join(["connection c", "address b", *lines.split("|")])
        (tmp_path / "a.conf").write_text(
            f"listener 1883\n{text}\nbridge_protocol_version {version}\n"
        )
        found = Floods(read_native([tmp_path]).federation).of(source, "t/x").copies
        there = {place: many for place, many in found.items() if place[0] != source}
        assert there == {place: min(many, most) for place, many in measured.items()}


@pytest.mark.parametrize("value", ["0", "65535"])
def test_bridges_of_mqtt_5_do_not_connect_without_a_bound(value: str) -> None:
    text = f"max_inflight_messages {value}\n{UP}topic a\n"
    (told,) = said(read(f"{text}bridge_protocol_version mqttv50\n"), "C020")
    assert told.startswith(f"{FILE}:1: ")
    assert f"MQTT 5 at {FILE}:5" in told
    assert not said(read(f"{text}bridge_protocol_version mqttv311\n"), "C020")
    usual = text.replace(value, "100")
    assert not said(read(f"{usual}bridge_protocol_version mqttv50\n"), "C020")


def test_a_byte_order_mark_of_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "hub.conf").write_bytes(b"\xef\xbb\xbflistener 1883\n")
    (told,) = [one for one in read_native([tmp_path]).findings if one.code == "C020"]
    assert "byte order mark" in told.message


def test_a_space_after_the_protocol_version_is_told() -> None:
    text = UP + "topic a\nbridge_protocol_version mqttv311"
    assert not said(read(text + "\r\n"), "C020")
    assert "remove what follows the version" in said(read(text + " \r\n"), "C020")[0]


def test_a_comment_after_the_name_of_a_connection_is_none_of_its_words() -> None:
    drafts = read("connection up # to the hub\naddress hub\ntopic a\n")
    assert drafts.bridges[0].name == "up"
    assert not said(drafts, "C020")


def test_quotes_within_a_prefix_are_told() -> None:
    told = said(read(UP + 'topic a out 0 l/"" r/\n'), "C020")
    assert any("takes the quotes as part of the prefix" in one for one in told)


def test_a_part_without_listeners_asks_for_the_file_that_includes_it() -> None:
    told = [one.message for one in read(UP + "topic a\n").findings if "no listener" in one.message]
    assert told[0].endswith("or give the file that includes this one as well")


def test_a_configuration_of_comments_only_is_a_broker(tmp_path: Path) -> None:
    found = native(tmp_path, {"hub/mosquitto.conf": "# listener 1883\n\n#connection up\n"})
    assert list(found.federation.brokers) == ["hub"]
    (tmp_path / "bridge.conf").write_text("# connection up\n")
    with pytest.raises(ConfigurationError, match="sets nothing"):
        read_native([tmp_path / "bridge.conf"])


def test_files_of_access_rights_are_passed_over(tmp_path: Path) -> None:
    rights = "user ann\ntopic readwrite a/#\n\npattern write $SYS/broker/connection/%c/state\n"
    files = {"mosquitto.conf": "listener 1883\nacl_file acl\n", "acl": rights, "acl.conf": rights}
    found = native(tmp_path, {f"hub/{name}": text for name, text in files.items()})
    assert list(found.federation.brokers) == ["hub"]
    assert any("2 files" in one.message for one in found.findings if one.code == "C013")


def test_a_broker_is_not_called_as_the_folder_of_any_configuration(tmp_path: Path) -> None:
    files = {
        "hub/config/mosquitto.conf": "listener 1883\n",
        "edge/config/mosquitto.conf": f"listener 1883\n{UP}topic a\n",
    }
    assert set(native(tmp_path, files).federation.brokers) == {"hub", "edge"}


def test_a_part_is_not_called_as_the_broker_that_it_connects_to(tmp_path: Path) -> None:
    files = {"site/hub.conf": "connection hub\naddress hub.example:1883\ntopic a out\n"}
    assert set(native(tmp_path, files).federation.brokers) == {"site_hub", "hub.example"}


def test_a_whole_configuration_is_called_as_its_file(tmp_path: Path) -> None:
    files = {"site/hub.conf": "listener 1884\nconnection on\naddress hub:1883\ntopic a out\n"}
    assert "hub" in native(tmp_path, files).federation.brokers


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        (
            "edge.tf",
            'resource "file" "c" {\n  content = <<-EOT\nlistener 1883\nEOT\n}\n',
            "a script",
        ),
        ("make.conf", "cat << EOF > mosquitto.conf\nlistener 1883\nEOF\n", "a script"),
        ("about.text", "The Bridge:\n- One\n* Two\nlistener 1883\n", "no configuration"),
        ("emqx.conf", "node.name = a@b\nlistener.tcp.external = 1883\n", "no configuration"),
    ],
)
def test_files_that_hold_lines_of_a_configuration_are_refused(
    tmp_path: Path, name: str, text: str, what: str
) -> None:
    (tmp_path / name).write_text(text)
    assert is_native(tmp_path / name)
    with pytest.raises(ConfigurationError, match=what):
        read_native([tmp_path / name])


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("bridge.conf", "port 8443 # where\nca a.crt\ncert b.crt\nkey b.key\n", "no configuration"),
        ("passwd", "ann:$7$101$c2FsdA==$aGFzaA==\nbob:$6$c2FsdA==$aGFzaA==\n", "a password file"),
        ("user-data", "#cloud-config\nwrite_files:\n- content: listener 1883\n", "for cloud-init"),
        ("api.yaml", "openapi: 3.0.0\ninfo: {}\n", "an OpenAPI document"),
        ("api.json", '{\n  "swagger": "2.0"\n}', "an OpenAPI document"),
    ],
)
def test_files_of_others_are_told_by_what_they_are(
    tmp_path: Path, name: str, text: str, what: str
) -> None:
    (tmp_path / name).write_text(text)
    assert is_native(tmp_path / name)
    with pytest.raises(ConfigurationError, match=f"C001 .*{what}.*: "):
        read_native([tmp_path / name])


def test_a_configuration_with_slips_is_still_one(tmp_path: Path) -> None:
    text = "lisener 1883\nallow_anonimous true\nport 1884\nlog_dst stdout\nhello world\n"
    found = native(tmp_path, {"hub/mosquitto.conf": text})
    assert list(found.federation.brokers) == ["hub"]


def test_a_federation_may_have_any_ending(tmp_path: Path) -> None:
    (tmp_path / "a.fed").write_text("# all\nfederation: a\nbrokers: {a: {}}\n")
    assert not is_native(tmp_path / "a.fed")


def test_templates_and_samples_are_told_by_their_first_ending(tmp_path: Path) -> None:
    for name in ("mosquitto.conf.j2", "mosquitto.conf.example", "bridge.CONF.in"):
        assert is_native(tmp_path / name)
    assert not is_native(tmp_path / "federation.yaml")
    (tmp_path / "bridge.conf.j2").write_text('{% set a = "b" %}\nconnection up\n')
    with pytest.raises(ConfigurationError, match="a template"):
        read_native([tmp_path / "bridge.conf.j2"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\ufefflistener 1883\n", 1),
        ("listener 1883\n # why\n", 2),
        ("listener 1883\n\tlog_type all\n", 2),
        ("listener 1883\nwhat ever\n", 2),
        ("listener 1883\nallow_anonymous\n", 2),
        ("listener 1883\nallow_anonymous yes\n", 2),
        ("listener 1883\nconnection_messages\n", 2),
        ("listener 1883\nlog_timestamp_format\n", 2),
        ("listener 1883\nlog_dest file\n", 2),
        ("listener 1883\nlog_dest nowhere\n", 2),
        ("listener 1883\nmount_point\n", 2),
        ("listener 1883\nmount_point a/#\n", 2),
        ("listener 1883\nmax_qos 3\n", 2),
        ("listener 1883\nstore_clean_interval 1\n", 2),
        ("listener 1883\npersistent_client_expiration 2x\n", 2),
        ("listener 1883\npersistent_client_expiration 2\n", 2),
        ("listener 1883\nlistener 1883\n", 2),
        (f"listener 1\n{UP}topic a\nbridge_protocol_version  mqttv311\n", 5),
        (f"listener 1\n{UP}topic a\nbridge_protocol_version mqttv311 \n", 5),
        (f"listener 1\n{UP}topic a\nbridge_psk 0102\n", 5),
        (f"listener 1\n{UP}topic a\nbridge_identity me\n", 5),
        (f"listener 1\n{UP}topic a\nbridge_psk 01\nbridge_identity me\nbridge_cafile x\n", 7),
    ],
)
def test_every_line_with_which_mosquitto_does_not_start_says_so_alike(text: str, line: int) -> None:
    told = [one for one in read(text).findings if "so Mosquitto does not start" in one.message]
    assert [(one.severity, one.where.line) for one in told] == [("warning", line)]


@pytest.mark.parametrize(
    "text",
    [
        "protocol\n",
        "log_type\n",
        "max_connections\n",
        "persistent_client_expiration\n",
        "persistent_client_expiration 14d # two weeks\n",
        f"{UP}topic a\nbridge_psk 0102\nbridge_identity me\n",
        f"{UP}topic a\nbridge_protocol_version mqttv311\n",
    ],
)
def test_lines_with_which_mosquitto_starts_all_the_same(text: str) -> None:
    drafts = read(f"listener 1883\n{text}")
    assert not drafts.faults
    assert not said(drafts, "C020")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("127.0.0.1 1883", "listener 1883 127.0.0.1"),
        ("::1 1883", "listener 1883 ::1"),
        ("127.0.0.1:1883", "listener 1883 127.0.0.1"),
    ],
)
def test_a_listener_whose_port_does_not_come_first_is_a_fault(value: str, written: str) -> None:
    (fault,) = read(f"listener {value}\n").findings
    assert fault.message.endswith(f"so Mosquitto does not start: write {written}")
    assert not read("listener 1883 127.0.0.1\n").faults


def test_the_advice_on_a_prefix_in_quotes_is_without_them() -> None:
    (fault,) = read(f'{UP}topic # out 2 "data" h/\n').faults
    assert fault.message.endswith("write the prefix 'data/'")


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u200b"])
def test_white_space_that_is_no_space_is_part_of_a_word(space: str) -> None:
    drafts = read(f"{UP}topic # out 0 a/{space}b/\n")
    (bridge,) = drafts.bridges
    assert (bridge.local, bridge.remote) == (f"a/{space}b/", "")
    assert any("white space that is no space" in one for one in said(drafts, "C020"))
    (fault,) = read(f"{UP}topic a/#{space}out 0\n").faults
    assert "no direction" in fault.message
    password = f"listener 1\n{UP}topic a\nremote_username a\nremote_password a{space}b\n"
    assert not said(read(password), "C020")


def _copies(tmp_path: Path, files: Mapping[str, str], source: str) -> dict[tuple[str, str], int]:
    found = native(tmp_path, files)
    return dict(Floods(found.federation).of(source, "msh/x/map").copies)


def test_with_duplicates_allowed_a_message_goes_out_once_for_each_line(tmp_path: Path) -> None:
    """As counted on two real brokers: two copies at the hub."""
    site = "listener 1883\nconnection up\naddress hub\ntopic msh/+/map out 0\ntopic msh/# out 0\n"
    hub = {"hub/mosquitto.conf": "listener 1883\n"}
    for setting, copies in (("true", 2), ("1 # all", 2), ("false", 1)):
        text = f"allow_duplicate_messages {setting}\n{site}"
        found = _copies(tmp_path, {**hub, "site/mosquitto.conf": text}, "site")
        assert found["hub", "msh/x/map"] == copies
    (one, *_) = read(f"{site}allow_duplicate_messages true\n").bridges
    assert one.lines["repeats"] == Where(FILE, 6)
    for text in ("allow_duplicate_messages true\n", f"{site}allow_duplicate_messages false\n"):
        assert len([each for each in said(read(text), "C010") if "duplicate" in each]) == 1


def test_the_parts_of_a_folder_are_not_called_as_its_broker(tmp_path: Path) -> None:
    bridge = "connection up\naddress cloud:1883\ntopic a out\n"
    files = {"gw/mosquitto.conf": "listener 1883\n", "gw/bridge.conf": bridge}
    found = native(tmp_path, files)
    names = {one.file.rpartition("/")[2]: one.server for one in found.natives}
    assert names == {"mosquitto.conf": "gw", "bridge.conf": "gw_bridge"}


def test_files_of_one_conf_d_are_one_broker(tmp_path: Path) -> None:
    one, other = (f"connection {x}\naddress {x}:1883\ntopic {x}/# out\n" for x in "ab")
    files = {"gw/conf.d/a.conf": "listener 1883\n" + one, "gw/conf.d/b.conf": other}
    found = native(tmp_path, files)
    assert {(each.from_, each.to) for each in found.federation.bridges} == {
        ("gw", "a"),
        ("gw", "b"),
    }
    assert [each.written["entry"].rpartition("/")[2] for each in found.federation.bridges] == [
        "a.conf:4",
        "b.conf:3",
    ]
    assert any("read as one broker: 2 files" in each.message for each in found.findings)


@pytest.mark.parametrize(
    ("main", "written"),
    [
        ("etc/mosquitto.conf", "etc/conf.d"),
        ("etc/mosquitto.conf", "C:\\Program Files\\mosquitto\\conf.d"),
        ("etc/mosquitto.conf", "/etc/mosquitto/conf.d"),
    ],
)
def test_a_folder_is_included_wherever_its_path_begins(
    tmp_path: Path, main: str, written: str
) -> None:
    files = {
        main: f"listener 1883\ninclude_dir {written}\n",
        "etc/conf.d/up.conf": "connection up\naddress hub:1883\ntopic a out\n",
    }
    found = native(tmp_path, files)
    assert len(found.natives) == 1
    assert [one.to for one in found.federation.bridges] == ["hub"]


def test_folders_of_one_name_are_told_apart_by_those_above(tmp_path: Path) -> None:
    files = {f"{where}/edge/mosquitto.conf": "listener 1883\n" for where in ("eu", "us")}
    found = native(tmp_path, {**files, "hub/mosquitto.conf": "listener 1883\n"})
    assert set(found.federation.brokers) == {"eu_edge", "us_edge", "hub"}


def test_toml_beside_brokers_is_nobodys(tmp_path: Path) -> None:
    telegraf = '[agent]\n  interval = "10s"\n[[outputs.nats]]\n  servers = ["nats://hub:4222"]\n'
    files = {"hub/mosquitto.conf": "listener 1883\n", "hub/telegraf.conf": telegraf}
    assert set(native(tmp_path, files).federation.brokers) == {"hub"}


@pytest.mark.parametrize(
    ("text", "make"),
    [("port 4222\nhttp_port 8222\n", "nats"), ("port 1883\nallow_anonymous true\n", "mosquitto")],
)
def test_nats_may_have_spaces_after_its_settings(tmp_path: Path, text: str, make: str) -> None:
    (broker,) = native(tmp_path, {"hub.conf": text}).federation.brokers.values()
    assert broker.make == make
