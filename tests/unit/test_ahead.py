"""Stored tables: whole or refused, edited by hand, checked by verification."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ropewalk import generate
from ropewalk.cli import app
from ropewalk.errors import InputError, UsageError
from ropewalk.federation import Federation, save
from ropewalk.routing.ahead import Lookup, Tables, colours_of, tables_of
from ropewalk.routing.ahead.broker_table import ARRAYS
from ropewalk.routing.ahead.description import described, read_network
from ropewalk.routing.ahead.editing import edited
from ropewalk.routing.ahead.network import ahead_of
from ropewalk.routing.ahead.store import read_broker, read_tables, write_broker, write_tables
from ropewalk.routing.ahead.stored import stored_table
from ropewalk.verify import verify
from tests.laws.oracle import random_federation


@pytest.fixture
def federation() -> Federation:
    return generate("fifty-broker")


@pytest.fixture
def stored(tmp_path: Path, federation: Federation) -> Path:
    write_tables(tables_of(federation, "links=1, brokers=1, b1 + b2 + b3"), tmp_path / "t")
    return tmp_path / "t"


def test_what_is_stored_is_read_back(stored: Path, federation: Federation) -> None:
    made, read = tables_of(federation, "links=1, brokers=1, b1 + b2 + b3"), read_tables(stored)
    assert read.network.fingerprint == made.network.fingerprint
    assert read.network.ahead == made.network.ahead
    for one, other in zip(made.brokers, read.brokers, strict=True):
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)
    assert read.hop("b1", "b2", "b11") == made.hop("b1", "b2", "b11")
    now = Lookup(read.network, read.broker("b1"))
    assert now.switch(read.colours.things_of("b1--b16")) == 3
    assert not read.broker("b1").entry.flags.writeable


@pytest.mark.parametrize("cut", [0, 5, 8, 60, 150, -1])
def test_a_file_that_is_cut_short_is_refused(stored: Path, cut: int) -> None:
    path = stored / "b7.table"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError) as caught:
        read_broker(stored, "b7")
    (finding,) = caught.value.findings
    assert finding.code == "T005"
    assert "b7.table" in str(finding.where)


@pytest.mark.parametrize("place", range(40, 400, 60))
def test_a_changed_byte_is_noticed(stored: Path, place: int) -> None:
    path = stored / "b7.table"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_tables(stored)


def test_every_bad_file_is_told(stored: Path) -> None:
    (stored / "b7.table").write_bytes(b"PNG and so on" * 40)
    (stored / "b9.table").unlink()
    with pytest.raises(InputError) as caught:
        read_tables(stored)
    assert [one.code for one in caught.value.findings] == ["T005", "T005"]


def test_a_table_of_another_broker_or_network_is_refused(stored: Path, tmp_path: Path) -> None:
    (stored / "b7.table").write_bytes((stored / "b8.table").read_bytes())
    with pytest.raises(InputError) as caught:
        read_broker(stored, "b7")
    assert caught.value.findings[0].code == "T006"
    with pytest.raises(InputError) as caught:
        stored_table(tables_of(generate("six-node")), generate("three-broker"), "t")
    assert caught.value.findings[0].code == "T006"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("ropewalk tables 1", "ropewalk tables 2"),
        lambda text: text.replace('"b5"', '"b55"'),
        lambda text: "[]",
        lambda text: "{}",
    ],
)
def test_a_network_file_that_is_not_whole_is_refused(stored: Path, change: object) -> None:
    path = stored / "network.json"
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(InputError) as caught:
        read_network(stored)
    assert caught.value.findings[0].code == "T005"


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, federation: Federation) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="something else"):
        write_tables(tables_of(federation), tmp_path)
    with pytest.raises(UsageError, match="something else"):
        write_tables(tables_of(federation), tmp_path / "mine.txt")
    with pytest.raises(UsageError, match="there is no folder"):
        write_tables(tables_of(federation), tmp_path / "no" / "where")
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]


def test_a_folder_with_its_own_network_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "network.json").write_text('{"name": "mine"}')
    with pytest.raises(UsageError, match="something else"):
        write_tables(tables_of(generate("three-broker")), tmp_path)
    assert "mine" in (tmp_path / "network.json").read_text()


def test_a_link_to_a_folder_stays_a_link(stored: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(stored)
    write_tables(tables_of(generate("three-broker")), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert len(read_tables(stored).brokers) == 3


NONSENSE: dict[str, Callable[[Any], Any]] = {
    "entry": lambda old: np.full(len(old), 2**32 - 1, np.uint32),
    "set_entry": lambda old: np.full_like(old, 255),
    "base": lambda old: old[:1],
    "neighbours": lambda old: old[::-1],
    "first": lambda old: old[::-1],
    "set_first": lambda old: old[:-1],
    "set_key": lambda old: old[::-1],
}


@pytest.mark.parametrize("name", NONSENSE)
def test_numbers_that_make_no_table_are_refused(tmp_path: Path, name: str) -> None:
    """Also with the right checksum: the kernels trust what is in a table."""
    tables = tables_of(generate("six-node"), "any=2")
    write_tables(tables, tmp_path / "t")
    one = tables.broker("b2")
    bad = replace(one, **{name: NONSENSE[name](getattr(one, name))})
    write_broker(tmp_path / "t", tables.network, bad)
    with pytest.raises(InputError) as caught:
        read_broker(tmp_path / "t", "b2")
    assert caught.value.findings[0].code == "T005"


@pytest.mark.parametrize(
    "change",
    [
        {"brokers": ["b1", "b1", "b3"]},
        {"brokers": ["b1", "../b2", "b3"]},
        {"transit": [1]},
        {"links": [[0, 1, 0]]},
        {"links": [[0, 0, 1]]},
        {"links": [[0, 2**40, 1]]},
        {"links": [[0, 1, 2**40]]},
        {"ahead": {"links": "x", "brokers": 0, "any": 0}},
        {"ahead": {}},
        {"chosen": [[[99, 100], "x"]]},
        {"chosen": [[[-1, 2], "x"]]},
    ],
)
def test_a_network_that_makes_no_sense_is_refused(
    tmp_path: Path, change: dict[str, object]
) -> None:
    tables = tables_of(generate("three-broker"))
    write_tables(tables, tmp_path / "t")
    (tmp_path / "t" / "network.json").write_text(json.dumps(described(tables.network) | change))
    with pytest.raises(InputError) as caught:
        read_network(tmp_path / "t")
    assert caught.value.findings[0].code == "T005"


def test_a_named_failure_has_its_table() -> None:
    tables = tables_of(generate("three-broker"), "b1--b2")
    now = Lookup(tables.network, tables.broker("b1"))
    now.switch((0,))
    assert now.hop(1) == 2
    assert tables.hop("b1", "b2", "b1--b2") == "b3"
    for wrong in ((-1,), (99,)):
        with pytest.raises(UsageError):
            now.switch(wrong)
    assert now.hop(1) == 2


def test_tables_are_written_anew_in_their_own_folder(stored: Path) -> None:
    write_tables(tables_of(generate("three-broker")), stored)
    assert sorted(one.name for one in stored.iterdir()) == [
        *("b1.table", "b2.table", "b3.table", "network.json")
    ]


@pytest.mark.parametrize("text", ["links=3", "any=9", "nowhere", "b1--b50", "group:x"])
def test_failures_that_cannot_be_ahead_are_told(federation: Federation, text: str) -> None:
    with pytest.raises(UsageError):
        ahead_of(federation, text)


def test_groups_and_sites_are_chosen_sets() -> None:
    federation = generate("three-broker")
    groups = {"west": ("b1", "b2")}
    links = tuple(
        replace(link, risk_groups=("duct",)) if "b1" in link.between else link
        for link in federation.links
    )
    brokers = {
        name: replace(one, risk_groups=tuple(g for g, of in groups.items() if name in of))
        for name, one in federation.brokers.items()
    }
    tables = tables_of(replace(federation, links=links, brokers=brokers), "groups, links=1")
    assert set(tables.network.ahead.chosen.values()) == {"group:west", "group:duct"}
    assert tables.hop("b2", "b3", "b1--b2 + b1--b3") == "b3"
    assert tables.hop("b1", "b3", "b1--b2 + b1--b3") is None


def rows(tables: Tables) -> dict[tuple[int, tuple[int, ...]], list[int]]:
    sets = [(), *((one,) for one in range(tables.colours.things))]
    sets += combinations(range(tables.colours.things), 2)
    wanted = [one for one in sets if tables.colours.essential(one) == one]
    return {
        (one.at, things): one.row(things).tolist()
        for one in tables.brokers
        for things in [*wanted, *tables.network.ahead.chosen]
    }


@pytest.mark.parametrize("seed", range(24))
def test_an_edit_changes_one_entry_in_one_colour(seed: int) -> None:
    rng = Random(seed)
    federation = random_federation(rng, routes=0)
    colours = colours_of(federation)
    chosen = colours.words(colours.essential((0, 1, colours.things - 1)))
    tables = tables_of(federation, ["any=2", chosen])
    before = rows(tables)
    one = rng.choice([table for table in tables.brokers if len(table.neighbours)])
    to = rng.choice([b for b in range(len(federation.brokers)) if b != one.at])
    hop = int(rng.choice(one.neighbours.tolist()))
    failed = colours.essential(tuple(sorted(rng.sample(range(colours.things), rng.randint(0, 2)))))
    names = list(federation.brokers)
    idle = {one.at, to, hop} & {thing - colours.links for thing in failed}
    idle |= {e for e in failed if e < colours.links and {one.at, hop} == set(colours.ends[e])}
    asked = {"to": names[to], "hop": names[hop], "failure": colours.words(failed)}
    if idle:
        with pytest.raises(UsageError, match="down"):
            edited(tables.network, one, **asked)
        return
    change = edited(tables.network, one, **asked)
    brokers = [*tables.brokers]
    brokers[one.at] = change
    after = rows(replace(tables, brokers=brokers))
    before[one.at, failed][to] = hop
    assert after == before
    back = edited(
        tables.network,
        change,
        to=names[to],
        hop=names[hop],
        failure=None,
    )
    for things in [key for at, key in before if at == one.at]:
        row = back.row(things)
        link_down = any(
            thing < colours.links and {one.at, hop} == set(colours.ends[thing].tolist())
            for thing in things
        )
        dead = {thing - colours.links for thing in things if thing >= colours.links}
        if not link_down and not dead & {one.at, to, hop}:
            assert row[to] == hop


def test_verification_sees_what_is_stored(stored: Path, federation: Federation) -> None:
    asked = ["links=1", "brokers=1", "b1 + b2 + b3"]

    def verified() -> list[str]:
        table = stored_table(read_tables(stored), federation, str(stored))
        result = verify(federation, failures=asked, pairs="all", table=table)
        computed = verify(federation, failures=asked, pairs="all")
        assert result.summary["unavoidable"] == computed.summary["unavoidable"]
        return sorted({one.code for one in result.findings})

    assert verified() == []
    run = CliRunner().invoke
    change = ["route", "set", str(stored), "--broker", "b16", "--to", "b13", "--next", "b1"]
    done = run(app, [*change, "--colour", "b2--b16"])
    assert done.exit_code == 0, done.output
    assert verified() in (["V001"], ["V002"], ["V001", "V002"])


def test_scenarios_that_are_not_stored_are_not_answered(
    stored: Path, federation: Federation
) -> None:
    table = stored_table(read_tables(stored), federation, str(stored))
    with pytest.raises(UsageError, match="no colour for"):
        verify(federation, failures="links=2", table=table)


def test_pairs_and_sets_are_checked_as_stored() -> None:
    federation = generate("six-node")
    table = stored_table(tables_of(federation, "any=2, b1 + b2 + b3"), federation, "t")
    asked = ["any=2", "b1 + b2 + b3"]
    result = verify(federation, failures=asked, pairs="all", table=table)
    assert result.ok
    assert result.fates.tolist() == verify(federation, failures=asked, pairs="all").fates.tolist()


class TestCommands:
    def run(self, *args: object, code: int = 0) -> str:
        done = CliRunner().invoke(app, list(map(str, args)))
        assert done.exit_code == code, done.output
        return done.output

    def test_a_file_becomes_tables_that_are_shown(self, tmp_path: Path) -> None:
        file, out = tmp_path / "f.yaml", tmp_path / "t"
        save(generate("three-broker"), file)
        told = json.loads(self.run("route", file, "--failures", "links=1", "-o", out, "--json"))
        assert told["summary"]["colours"] == 4
        assert told["summary"]["entries"] == 6
        row = self.run("route", "show", out, "--broker", "b1", "--colour", "2", "--json")
        assert json.loads(row)["summary"]["next"] == {"b2": "b3", "b3": "b3"}
        assert "was b2" in self.run("route", "show", out, "--broker", "b1", "--colour", "b1--b2")
        assert "b2--b3" in self.run("route", "show", out, "--view", "colours")
        assert "at most 4 by (6-1)" in self.run(
            *("route", "show", out, "--broker", "b1", "--view", "array")
        )
        assert "3 brokers" in self.run("route", "show", out)
        assert "delivered" in self.run("verify", file, "--routes", out)

    def test_nothing_is_written_without_a_folder(self, tmp_path: Path) -> None:
        save(generate("three-broker"), tmp_path / "f.yaml")
        assert "Nothing is written" in self.run("route", tmp_path / "f.yaml")
        assert [one.name for one in tmp_path.iterdir()] == ["f.yaml"]

    @pytest.mark.parametrize(
        ("args", "code"),
        [
            (["route", "no.yaml"], 2),
            (["route", "{f}", "--failures", "links=3"], 2),
            (["route", "show", "no"], 2),
            (["route", "show", "{t}", "--broker", "b9"], 2),
            (["route", "show", "{t}", "--colour", "2"], 2),
            (["route", "show", "{t}", "--broker", "b1", "--colour", "zzz"], 2),
            (["route", "show", "{t}", "--broker", "b1", "--colour", "0"], 2),
            (["route", "set", "{t}", "--broker", "b1", "--to", "b1", "--next", "b2"], 2),
            (["route", "set", "{t}", "--broker", "b1", "--to", "b2", "--next", "b9"], 2),
            (["verify", "{f}", "--routes", "no"], 2),
            (["verify", "{f}", "--routes", "{t}", "--failures", "links=2"], 2),
            (["verify", "{f}", "--routes", "{t}", "--table", "{f}"], 2),
        ],
    )
    def test_wrong_words_are_refused(self, tmp_path: Path, args: list[str], code: int) -> None:
        file, out = tmp_path / "f.yaml", tmp_path / "t"
        save(generate("three-broker"), file)
        write_tables(tables_of(generate("three-broker")), out)
        self.run(*(one.format(f=file, t=out) for one in args), code=code)
