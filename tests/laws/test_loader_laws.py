import contextlib
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ropewalk.errors import FederationError
from ropewalk.federation import Federation, load, loads, save
from ropewalk.federation.dump import dump
from ropewalk.federation.items import brokers_for, items_of, place_of
from ropewalk.federation.limits import Placement
from tests.laws.strategies import federations
from tests.unit.test_federation_file import TRADE_NET


@given(federations())
def test_what_is_written_reads_back_the_same(federation: Federation) -> None:
    assert loads(dump(federation)) == federation


@given(federations())
@settings(max_examples=25)
def test_the_large_form_reads_back_the_same(federation: Federation) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save(federation, Path(folder) / "f.parquet")
        assert load(Path(folder) / "f.parquet") == federation


@given(federations())
def test_every_topic_is_in_one_item_and_places_are_brokers(federation: Federation) -> None:
    items = items_of(federation)
    assert sorted(topic for topics in items.values() for topic in topics) == sorted(
        federation.topics
    )
    for item in items:
        rooms = brokers_for(federation, item)
        assert set(rooms) <= set(federation.brokers)
        assert item not in federation.placement.at or place_of(federation, item) in rooms


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A good file after a few slips: characters and lines lost, doubled, swapped or inserted."""
    text = draw(st.one_of(st.just(TRADE_NET), federations().map(dump)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        until = min(len(text), at + draw(st.integers(0, 30)))
        inserted = draw(
            st.one_of(
                st.sampled_from(
                    [":", "{", "}", "[", "]", "\n", "  ", "- ", "&a ", "*a", "<<: ", "!x "]
                ),
                st.sampled_from(["null", "-1", "1e999", "8ms", "yes", "[[", "\t", "#", '"', "'"]),
                st.text(max_size=3).filter(lambda t: t.isprintable()),
                st.just(text[at:until]),
            )
        )
        text = text[:at] + inserted + text[draw(st.sampled_from([at, until])) :]
    return text


@given(mutated())
@settings(max_examples=600)
def test_a_mutated_file_gives_a_federation_or_findings_with_lines(text: str) -> None:
    try:
        federation = loads(text, file="f.yaml")
    except FederationError as error:
        lines = text.count("\n") + 2
        assert error.findings
        assert all(1 <= one.where.line <= lines and one.message for one in error.findings)
    else:
        assert federation.graph.brokers == len(federation.brokers)
        assert federation.topic_table.topics == len(federation.topics)


@given(st.binary(max_size=200))
def test_any_bytes_at_all_give_a_federation_or_findings(content: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(content)
        file.flush()
        with contextlib.suppress(FederationError):
            load(file.name)


# A fault to plant on a line of its own: section, entry, code.
PLANTED = [
    ("links", "- {between: [%s, nowhere]}", "F020"),
    ("links", "- {between: [%s, %s]}", "F021"),
    ("links", "- {between: [%s], cost: 3}", "F010"),
    ("links", "- {between: [%s, nowhere], latency_ms: -1}", "F020 F013"),
    ("topics", "planted: {}", "F024"),
    ("topics", "planted: {publishers: [%s], scope: local}", "F015"),
    ("topics", "planted/#/x: {publishers: [%s]}", "F025"),
    ("brokers", "planted: {takeover: [planted]}", "F031"),
    ("brokers", "planted: {fails: often}", "F012"),
    ("sites", "planted: {xyz: [1, 2]}", "F011"),
    ("placement", "limits: {risk: 1, planted: 2}", "F013 F011"),
    ("placement", "apart: [[planted]]", "F020 F039"),
]


@given(federations(), st.sampled_from(PLANTED))
@settings(max_examples=200)
def test_a_planted_fault_is_found_alone_at_its_line(
    federation: Federation, planted: tuple[str, str, str]
) -> None:
    section, entry, codes = planted
    lines = dump(federation).splitlines()
    if f"{section}:" not in lines:
        lines.append(f"{section}:")
    if section == "placement":  # its parts are not names that a new one could stand beside
        lines = [*dump(replace(federation, placement=Placement())).splitlines(), "placement:"]
    at = lines.index(f"{section}:") + 1
    name = f'"{next(iter(federation.brokers))}"'
    lines.insert(at, "  " + entry.replace("%s", name))
    try:
        loads("\n".join(lines))
    except FederationError as error:
        found = error.findings
    assert {one.where.line for one in found} == {at + 1}
    assert sorted(one.code for one in found) == sorted(codes.split())
