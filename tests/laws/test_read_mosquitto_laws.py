"""Laws of reading and writing mosquitto.conf: nothing raises, nothing is lost, all comes back."""

from collections import Counter
from pathlib import Path

from hypothesis import example, given, note
from hypothesis import strategies as st

from ropewalk.export.mosquitto import write_mosquitto
from ropewalk.federation.bridges import Bridge, Prefixes
from ropewalk.federation.facts import Broker, Federation
from ropewalk.federation.names import topic_fault
from ropewalk.federation.readers.drafts import BridgeDraft, Drafts
from ropewalk.federation.readers.mosquitto import read_mosquitto
from ropewalk.federation.readers.mosquitto.lines import parts
from ropewalk.federation.topics import common

FILE = "mosquitto.conf"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "native" / "mosquitto").rglob("*.conf"))
TEXTS = [file.read_text() for file in EXAMPLES]
SECRET = "s3cretZ"
LINES = [
    *sorted({line for text in TEXTS for line in text.splitlines() if line}),
    *("topic # in", "topic # out", 'topic "" out 0 a/b c/b', 'topic a/+ both 1 "" r/', "topic a/#"),
    *(
        "topic b/# in 2 l/",
        "connection x",
        "connection y z",
        "address h:1 [::1]:2 k",
        "address ::1",
    ),
    *("try_private false", "bridge_protocol_version mqttv50", "bridge_attempt_unsubscribe false"),
    *("listener 1884 ::1", "listener 0 /s", "protocol websockets", "port 1885", "bind_address ::"),
    *("start_type once", "start_type lazy", "cleansession true", "local_cleansession 0", "topic"),
    *(
        "mount_point x/",
        "include_dir there",
        "include_dir here",
        "no_setting at all",
        "\tlistener 1",
    ),
    *(
        "allow_duplicate_messages true",
        "listener ::1 1883",
        "address ${HUB}",
        "protocol",
        "log_dest",
    ),
    *("topic a/#\u00a0out 0", "persistent_client_expiration 2x", "remote_clientid edge"),
    *("  # indented", "\ufefflistener 1883", f"remote_password {SECRET}", f"auth_opt_x {SECRET}"),
    *(f"password {SECRET}", f"bridge_psk {SECRET}", f"{SECRET} password", "{{ x }}", "$share/a/b"),
]
PART = "connection inner\naddress h\ntopic inner/#\nlistener 1886\n"


def read(text: str) -> Drafts:
    drafts = Drafts()
    given_ = {"here": [("part.conf", PART)]}
    read_mosquitto(text, FILE, "it", drafts, include=given_.get)
    return drafts


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """An example with lines, words and characters taken out, doubled and put in."""
    lines = draw(st.sampled_from(TEXTS)).split("\n")
    for _ in range(draw(st.integers(0, 8))):
        at = draw(st.integers(0, max(0, len(lines) - 1)))
        how = draw(st.sampled_from(["insert", "insert", "delete", "double", "word", "character"]))
        if how == "insert":
            lines.insert(at, draw(st.sampled_from(LINES)))
        elif how == "delete" and len(lines) > 1:
            del lines[at]
        elif how == "double":
            lines.insert(at, lines[at])
        elif how == "word":
            words = lines[at].split(" ")
            place = draw(st.integers(0, len(words) - 1))
            new = draw(st.sampled_from(["", '""', "#", "+", "both", "3", "a/#", "x:y", "$A", "/"]))
            lines[at] = " ".join([*words[:place], *([new] if new else []), *words[place + 1 :]])
        elif how == "character":
            place = draw(st.integers(0, len(lines[at])))
            lines[at] = lines[at][:place] + draw(st.characters()) + lines[at][place + 1 :]
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines)


@given(mutated())
def test_reading_never_raises_and_every_fault_has_its_line(text: str) -> None:
    drafts = read(text)
    for one in drafts.findings:
        last = (PART if one.where.file == "part.conf" else text).count("\n") + 1
        assert 1 <= one.where.line <= last, one
        assert "\n" not in one.message
    for bridge in drafts.bridges:
        names = [bridge.local + one for one in bridge.patterns]
        names += [bridge.remote + one for one in bridge.patterns]
        assert all(topic_fault(one) is None for one in (*names, *bridge.patterns, *bridge.excepts))


@given(mutated())
def test_every_line_is_in_a_draft_or_told(text: str) -> None:
    drafts = read(text)
    places = {one.where for one in drafts.findings}
    for bridge in drafts.bridges:
        places |= {bridge.where, *bridge.lines.values()}
    told = {where.line for where in places if where.file == FILE}
    faulty = bool(drafts.faults)
    for number, line in enumerate(text.split("\n"), 1):
        name, value = parts(line) or ("", "")
        if not name or number in told or (name, value) == ("include_dir", "here"):
            continue
        # Where it listens has no place of its own; in a faulty connection nothing is drafted.
        assert name in ("listener", "port", "bind_address", "protocol") or faulty, (number, line)
        if name == "listener" and not faulty:
            port, _, host = value.partition(" ")
            listens = drafts.brokers[0].listens
            assert any(str(one[1]) == port for one in listens) or "protocol" in text, (port, host)


@given(mutated(), st.lists(st.sampled_from([one for one in LINES if SECRET in one]), max_size=5))
def test_no_secret_is_ever_repeated(text: str, secrets: list[str]) -> None:
    drafts = read("\n".join([*secrets, text, *secrets]))
    assert SECRET not in str(drafts)


# --- there and back -------------------------------------------------------------------------

levels = st.sampled_from(["a", "b", "+", "#"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    found = draw(st.lists(levels, min_size=1, max_size=3))
    end = found.index("#") + 1 if "#" in found else len(found)
    return "/".join(found[:end])


topic_lines = st.tuples(
    patterns(),
    st.sampled_from(["out", "in", "both"]),
    st.integers(0, 2),
    st.sampled_from(["", "l/", "a/"]),
    st.sampled_from(["", "r/", "a/"]),
).map(lambda one: f"topic {one[0]} {one[1]} {one[2]} {one[3] or EMPTY} {one[4] or EMPTY}")
EMPTY = '""'


@st.composite
def confs(draw: st.DrawFn) -> str:
    lines = ["listener 1883"]
    for name in draw(st.lists(st.sampled_from(["up", "down", "x"]), max_size=2, unique=True)):
        lines += [
            f"connection {name}",
            draw(st.sampled_from(["address hub", "addresses hub spare:2"])),
        ]
        lines += draw(st.lists(topic_lines, min_size=1, max_size=4))
        lines += draw(
            st.lists(
                st.sampled_from(
                    ["round_robin true", "try_private false", "bridge_attempt_unsubscribe false"]
                ),
                unique=True,
            )
        )
        lines += draw(
            st.lists(st.sampled_from(["keepalive_interval 9", "remote_username u"]), unique=True)
        )
    return "\n".join(lines) + "\n"


def federation(drafts: Drafts) -> Federation:
    """What joining makes of one broker's drafts."""
    bridges = []
    for one in drafts.bridges:
        assert isinstance(one.far, tuple)
        ends = [far.host for far in one.far]
        bridges.append(
            Bridge(
                from_="it",
                to=ends[0],
                name=one.name,
                patterns=one.patterns,
                except_=one.excepts,
                direction=one.direction,
                qos=one.qos,
                prefixes=Prefixes(local=one.local, remote=one.remote),
                addresses=tuple(ends[1:]),
                reached_at=tuple(f"{far.host}:{far.port}" for far in one.far),
                choice=one.choice,
                echoes=one.echoes,
            )
        )
    brokers = {name: Broker(make="mosquitto") for name in ("it", "hub", "spare")}
    return Federation(name="f", brokers=brokers, bridges=tuple(bridges))


def pieces(drafts: Drafts) -> Counter[object]:
    """Each pattern each way, with the exceptions that touch it: without lines and grouping."""
    found: Counter[object] = Counter()
    for one in drafts.bridges:
        for pattern in one.patterns:
            excepts = frozenset(met for e in one.excepts if (met := common(e, pattern)))
            for way in ("out", "in") if one.direction == "both" else (one.direction,):
                far = tuple(str(end) for end in one.far)
                place = (one.name, far, way, one.qos, one.local, one.remote)
                found[*place, one.choice, one.echoes, pattern, excepts] += 1
    return found


@given(confs(), st.booleans())
@example("connection up\naddress hub\ntopic a/# in\ntopic a/# out 0 l/\ntopic # in\n", False)
@example('connection up\naddress hub\ntopic + in\ntopic # in 0 "" a/\ntopic # out 0 "" a/\n', False)
def test_what_is_written_reads_as_what_was_read(text: str, over: bool) -> None:
    first = read(text)
    assert not first.faults
    written, tells = write_mosquitto(federation(first), "it", text if over else None)
    note(written)
    note(str(tells))
    unsaid = [one for one in tells if "cannot be said" in one]
    # A line that is unsubscribed still takes names from others, and it is not written again.
    if not any("unsubscribes it" in one.message for one in first.findings):
        assert not unsaid
    assert unsaid or pieces(read(written)) == pieces(first)


@given(confs())
def test_writing_over_what_was_written_changes_nothing(text: str) -> None:
    drafts = read(text)
    once, _ = write_mosquitto(federation(drafts), "it", text)
    assert write_mosquitto(federation(drafts), "it", once)[0] == once
    kept = [line for line in text.splitlines() if line.startswith(("keepalive", "remote_user"))]
    names = {one.name for one in drafts.bridges}
    if len(names) == text.count("connection "):
        assert [one for one in once.splitlines() if one in kept] == kept


@given(
    st.lists(
        st.builds(
            Bridge,
            from_=st.just("it"),
            to=st.sampled_from(["hub", "spare"]),
            name=st.sampled_from([None, "up", "with space"]),
            kind=st.sampled_from(["bridge", "bridge", "shovel"]),
            patterns=st.lists(patterns(), min_size=1, max_size=2).map(tuple),
            except_=st.lists(patterns(), max_size=2).map(tuple),
            direction=st.sampled_from(["in", "out", "both"]),
            qos=st.integers(0, 2),
            prefixes=st.builds(Prefixes, local=st.sampled_from(["", "l/", "l", "x y/"])),
            max_hops=st.sampled_from([None, 1]),
            choice=st.sampled_from(["first", "next", "any"]),
            echoes=st.booleans(),
        ),
        max_size=4,
    )
)
def test_whatever_is_written_can_be_read_or_is_told(bridges: list[Bridge]) -> None:
    brokers = {name: Broker(make="mosquitto") for name in ("it", "hub", "spare")}
    made = Federation(name="f", brokers=brokers, bridges=tuple(bridges))
    text, tells = write_mosquitto(made, "it", None)
    drafts = read(text)
    wanted = sum(len(one.patterns) for one in bridges if one.kind == "bridge")
    if sum(len(one.patterns) for one in drafts.bridges) < wanted and wanted:
        assert tells
    assert not any("\n" in one for one in tells)


def test_a_draft_is_what_it_says() -> None:
    (one,) = read("connection inner\naddress h\ntopic a\n").bridges
    assert isinstance(one, BridgeDraft)
