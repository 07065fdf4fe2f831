"""Every kind of note and of record comes back from bytes as what it was."""

import importlib
import pkgutil
from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from ropewalk import overlay
from ropewalk.overlay import wire
from ropewalk.overlay.berths import Carried, Emptied, Held, SentOn
from ropewalk.overlay.council.handover import Frontier
from ropewalk.overlay.draining import Mark, Marked
from ropewalk.overlay.lane import KeptRun
from ropewalk.overlay.wire import decode, decode_records, encode, encode_records
from ropewalk.overlay.words import (
    MOST_IN_RUN,
    Address,
    Frame,
    Letter,
    Note,
    Parcel,
    Run,
    Wire,
    Word,
)

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


PLACE = Address(2, 0, 4, 1, 3, 0, 1, 0, 1)
RUN = Run(Letter(0, 1, "t", 4, b"", 9), PLACE, True, (b"1", b"2"), ("k", ""), 1)


def test_a_run_comes_back_with_its_record() -> None:
    frame = Frame(1, 1, 1, (RUN, Parcel(Letter(0, 1, "t", 6, b"3"), (PLACE,))))
    assert decode(encode(frame)) == frame
    assert decode_records(encode_records([KeptRun(RUN, "fifo")])) == [KeptRun(RUN, "fifo")]


@pytest.mark.parametrize(
    "run",
    [
        replace(RUN, keys=("k",)),
        replace(RUN, payloads=()),
        replace(RUN, payloads=(b"",) * (MOST_IN_RUN + 1), keys=()),
        replace(RUN, to=replace(PLACE, number=2**64 - 1)),
        replace(RUN, letter=replace(RUN.letter, number=2**64 - 1)),
        replace(RUN, letter=replace(RUN.letter, headers=(("a", "b"),))),
        replace(RUN, letter=replace(RUN.letter, retain=True)),
        replace(RUN, letter=replace(RUN.letter, order=(1, 1))),
        replace(RUN, letter=replace(RUN.letter, domain=0)),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(run: Run) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(encode(Frame(1, 1, 1, (run,))))
