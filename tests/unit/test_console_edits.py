"""Entries that forms change: one line, the rest as it was, and always what was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk import FederationError, load, loads
from ropewalk.federation.dump import dump
from ropewalk.federation.plain import plain
from ropewalk.web.desk import Desk
from ropewalk.web.entries import Section, entry_of, with_entry
from ropewalk.web.forms import FORMS, Field, put, shown
from tests.laws.strategies import federations

TEXT = """\
federation: f   # ours
brokers:
  a: {make: nats}
  # the old one
  b:
    make: rabbitmq
    fails: 0.5
  c: {}

links:
  - {between: [a, b]}   # leased
  - between: [b, c]
    cost: 3
topics:
  t: {publishers: [a], subscribers: [c]}
"""


def test_an_entry_over_several_lines_becomes_one_and_nothing_else_changes() -> None:
    made = with_entry(TEXT, loads(TEXT), "brokers", "b", {"make": "mosquitto"})
    old = "  b:\n    make: rabbitmq\n    fails: 0.5\n"
    assert made == TEXT.replace(old, "  b: {make: mosquitto}\n")


def test_a_link_is_changed_by_its_number() -> None:
    made = with_entry(TEXT, loads(TEXT), "links", 1, {"between": ["b", "c"], "cost": 9})
    old = "  - between: [b, c]\n    cost: 3\n"
    assert made == TEXT.replace(old, "  - {between: [b, c], cost: 9}\n")


def test_what_is_new_comes_after_the_last_of_its_kind() -> None:
    made = with_entry(TEXT, loads(TEXT), "brokers", "d", {})
    assert made == TEXT.replace("  c: {}\n", "  c: {}\n  d: {}\n")
    made = with_entry(TEXT, loads(TEXT), "links", 2, {"between": ["a", "c"]})
    assert made == TEXT.replace("    cost: 3\n", "    cost: 3\n  - {between: [a, c]}\n")


def test_what_is_removed_takes_its_lines_with_it() -> None:
    made = with_entry(TEXT, loads(TEXT), "links", 1, None)
    assert made == TEXT.replace("  - between: [b, c]\n    cost: 3\n", "")


def test_removing_what_others_name_is_told_and_loses_nothing() -> None:
    desk = Desk.of(text=TEXT, file="f.yaml")
    typed = desk.typed(with_entry(TEXT, desk.federation, "brokers", "c", None))
    assert not typed.loaded
    assert {one.code for one in typed.faults} == {"F020"}
    assert "# the old one" in typed.text
    assert typed.federation is desk.federation


@pytest.mark.parametrize(
    "text",
    [
        "{federation: f, brokers: {a: , b: }, links: [{between: [a, b]}]}",
        "federation: f\nbrokers: {a: {fails: 0.1}, b: {}}\nlinks: [{between: [a, b]}]\n",
        "federation: f\nbrokers:\n  a: &x {fails: 0.1}\n  b: *x\nlinks:\n  - {between: [a, b]}\n",
        "federation: f\r\nbrokers:\r\n  a: {}\r\n  b: {}\r\nlinks:\r\n  - {between: [a, b]}",
    ],
)
def test_in_other_layouts_what_comes_out_is_still_what_was_meant(text: str) -> None:
    made = loads(with_entry(text, loads(text), "brokers", "a", {"make": "rabbitmq"}))
    assert made.brokers["a"].make == "rabbitmq"
    assert made.brokers["b"] == loads(text).brokers["b"]
    assert made.links == loads(text).links


@given(federations(), st.sampled_from(["brokers", "links", "topics"]), st.data())
def test_writing_an_entry_as_it_is_changes_nothing(
    federation: object, section: Section, data: st.DataObject
) -> None:
    text = dump(federation)  # type: ignore[arg-type]
    read = loads(text)
    entries = getattr(read, section)
    keys = list(range(len(entries))) if section == "links" else list(entries)
    if not keys:
        return
    key = data.draw(st.sampled_from(keys))
    assert plain(
        loads(with_entry(text, read, section, key, entry_of(read, section, key)))
    ) == plain(read)


@given(federations(), st.data())
def test_a_form_that_is_filled_with_what_it_shows_changes_nothing(
    federation: object, data: st.DataObject
) -> None:
    read = loads(dump(federation))  # type: ignore[arg-type]
    section: Section = data.draw(st.sampled_from(["brokers", "links", "topics"]))
    entries = getattr(read, section)
    keys = list(range(len(entries))) if section == "links" else list(entries)
    for key in keys[:3]:
        entry = entry_of(read, section, key)
        filled = entry
        for field in FORMS[section]:
            if not (field.label == "takeover" and isinstance(entry.get("takeover"), dict)):
                filled = put(filled, field, shown(entry, field))
        meant = with_entry(dump(read), read, section, key, filled)
        assert plain(loads(meant)) == plain(read)


def test_a_takeover_that_is_told_apart_is_shown_as_it_is() -> None:
    entry = {"takeover": {"publishers": ["a"], "subscribers": ["b", "c"]}}
    field = next(one for one in FORMS["brokers"] if one.label == "takeover")
    assert shown(entry, field) == ["publishers: a", "subscribers: b", "subscribers: c"]


def test_a_text_that_does_not_load_leaves_the_last_that_did() -> None:
    desk = Desk.of(text=TEXT, file="f.yaml")
    typed = desk.typed("federation: [")
    assert (typed.loaded, typed.changed) == (False, True)
    assert typed.federation is desk.federation
    assert desk.typed(TEXT).loaded
    assert not typed.typed(TEXT).changed


def test_a_desk_begins_with_what_loads_only() -> None:
    with pytest.raises(FederationError):
        Desk.of(text="brokers: 1", file="f.yaml")


def test_every_field_of_the_forms_is_one_of_the_file() -> None:
    """A form that offers what the file does not have would be refused only when it is used."""
    example = load("examples/trade-net.yaml")
    for section, fields in FORMS.items():
        for field in fields:
            entry = {"between": ["x", "y"]} if section == "links" else {}
            filled = put(entry, field, sample(field))
            assert filled.keys() - {"between"} == {field.path[0]} - {"between"}
    assert example.brokers


def sample(field: Field) -> object:
    return {
        "number": 0.25,
        "text": "nats://h:1",
        "one": "other",
        "many": ["x"],
        "pair": ["x", "y"],
    }[field.kind]
