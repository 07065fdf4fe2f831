"""Every kind of note and of record comes back from bytes as what it was."""

import importlib
import pkgutil
from typing import get_args

import msgspec
import pytest

from ropewalk import overlay
from ropewalk.overlay import wire
from ropewalk.overlay.berths import Carried, Emptied, Held, SentOn
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.draining import Mark, Marked
from ropewalk.overlay.wire import decode, decode_records, encode, encode_records
from ropewalk.overlay.words import Frame, Letter, Note, Wire, Word

INSIDE = {
    *("Address", "Down", "Letter", "LinkStates", "Note", "Parcel", "Run"),
    *("Appoint", "Began", "Cases", "Entry", "Opaque", "Over", "Restore", "Switch", "Frontier"),
}
"""Kinds that only come inside of others."""


def kinds() -> set[type]:
    for one in pkgutil.walk_packages(overlay.__path__, "ropewalk.overlay."):
        if ".simulate" not in one.name:
            importlib.import_module(one.name)
    return {one for one in Wire.__subclasses__() if one.__module__.startswith("ropewalk.overlay")}


def test_every_kind_of_word_can_be_read_where_it_is_written() -> None:
    read = {*get_args(wire._notes()), *get_args(wire._record_kinds()), *get_args(Word)}
    assert {one.__name__ for one in kinds() - read} == INSIDE


def test_records_of_items_on_the_move_outlive_a_restart() -> None:
    letter = Letter(2, 7, "t", 1, b"x", headers=(("a", "b"),))
    records = [
        Held("desk", letter, ("c",)),
        Carried("desk", ("c",), Frontier.of([letter.id])),
        Emptied("desk", leaving=True),
        SentOn("desk", 3),
    ]
    assert decode_records(encode_records(records)) == records


def test_notes_of_a_drain_cross_a_link() -> None:
    for body in (Mark(1, 2, ("t",)), Marked(1, ((7, 9),))):
        frame = Frame(1, 1, 1, notes=(Note(0, 1, 2, body),))
        assert decode(encode(frame)) == frame
    with pytest.raises(msgspec.ValidationError):
        decode(encode(Frame(1, 1, 1, notes=(Note(0, 1, 2, Emptied("desk", leaving=True)),))))
