from dataclasses import fields
from pathlib import Path

import pytest

from ropewalk.errors import FederationError, UsageError
from ropewalk.federation import load, loads, save
from ropewalk.federation.dump import dump
from ropewalk.federation.facts import (
    Broker,
    Client,
    Contract,
    Federation,
    Link,
    Takeover,
    Topic,
)
from ropewalk.federation.large import TABLES
from ropewalk.federation.limits import Limits, Placement, SiteLimits
from ropewalk.findings import Where

TRADE_NET = """
federation: trade-net
sites:
  london: {at: [51.507, -0.128]}
  paris:  {at: [48.857, 2.352]}
domains:
  uk: {gateways: [lon-gw], edges: [lon-e1]}
brokers:
  lon-gw: {site: london, make: nats, url: "nats://127.0.0.1:4222", takeover: [lon-e1]}
  lon-e1: {site: london, capacity: {receive_us: 48.8, filter_us: 0.162, send_us: 16.4}, fails: 0.001}
  par-gw: {site: paris, make: mosquitto, url: "mqtts://127.0.0.1:8883", credentials: env:PAR_GW}
links:
  - {between: [lon-gw, par-gw], latency_ms: 8, cost: 1, loss: 0.0001, risk_groups: [channel-tunnel]}
  - {between: [lon-gw, lon-e1]}
bridges:
  - {from: lon-gw, to: par-gw, patterns: [prices/#], direction: both, qos: 1, max_hops: 2}
underlay:
  nodes: {telehouse: {at: [51.51, 0.0]}, equinix: {at: [48.9, 2.3]}}
  links: [{between: [telehouse, equinix], length_km: 370}]
topics:
  prices/equity:
    publishers: [{broker: lon-e1, client: feed-1}]
    subscribers: [par-gw]
    scope: federation
    contract: {delivery: exactly-once, order: fifo, within_ms: 250, priority: 5, home: lon-gw}
    protocol: order-entry
  orders: {publishers: [par-gw], subscribers: [lon-gw]}
items: {equities: [prices/equity]}
placement:
  at: {equities: lon-gw}
  pinned: [equities]
  only: {orders: [lon-e1, "site:paris"]}
  apart: [[equities, orders]]
  limits: {risk: 0.01, utilisation: 0.8, delay_us: 900, service_us: 300, replication: 50, items: 400, volume_bytes_s: 5.0e+7, moves: 20}
  brokers: {lon-e1: {utilisation: 0.7, items: 40}}
  sites: {london: {items: 400, rate_msgs_s: 5000}}
routes:
  - {at: lon-gw, from: "*", to: par-gw, next: par-gw, colours: [none, lon-e1, lon-gw--lon-e1]}
protocols: {order-entry: protocols/order-entry.yaml}
requirements: {survive: {links: 1, brokers: 1}, regions: {radius_km: 100}}
"""


def test_every_section_of_the_file_becomes_records() -> None:
    federation = loads(TRADE_NET)
    assert federation.name == "trade-net"
    assert federation.brokers["lon-gw"].takeover == Takeover(
        publishers=("lon-e1",), subscribers=("lon-e1",)
    )
    assert federation.topics["prices/equity"].publishers == (
        Client(broker="lon-e1", client="feed-1"),
    )
    assert federation.links[0].latency_ms == 8
    assert federation.requirements.survive.links == 1
    assert federation.bridges[0].from_ == "lon-gw"
    assert federation.placement.limits.moves == 20
    assert federation.placement.apart == (("equities", "orders"),)
    assert federation.placement.sites == {"london": SiteLimits(items=400, rate_msgs_s=5000)}


def test_every_entry_knows_its_line() -> None:
    source = loads(TRADE_NET, file="trade.yaml").source
    lines = TRADE_NET.splitlines()
    for section, index, text in [
        ("brokers", 2, "par-gw:"),
        ("links", 1, "[lon-gw, lon-e1]"),
        ("topics", 0, "prices/equity:"),
        ("routes", 0, "at: lon-gw"),
        ("placement", 1, "pinned:"),
        ("placement.apart", 0, "[equities, orders]"),
        ("placement.brokers", 0, "lon-e1:"),
    ]:
        where = source.where(section, index)
        assert where.file == "trade.yaml"
        assert text in lines[where.line - 1]


def test_a_federation_made_in_memory_has_no_lines() -> None:
    federation = Federation(name="solo", brokers={"a": Broker()})
    assert federation.source.where("brokers", 0) == Where("<memory>", 0)


def test_text_written_and_read_again_is_the_same() -> None:
    federation = loads(TRADE_NET)
    assert loads(dump(federation)) == federation


def test_aliases_and_merges_spare_repetition() -> None:
    federation = loads("""
federation: shared
brokers:
  a: &edge {make: mosquitto, fails: 0.01}
  b: *edge
  c: {<<: *edge, fails: 0.5}
""")
    assert federation.brokers["a"] == federation.brokers["b"]
    assert federation.brokers["c"] == Broker(make="mosquitto", fails=0.5)


def test_merges_of_lists_and_of_maps_written_out() -> None:
    federation = loads("""
federation: shared
brokers:
  <<: {y: {fails: 0.25}}
  a: &a {make: mosquitto}
  b: &b {make: rabbitmq, fails: 0.01}
  c: {<<: [*a, *b]}
  d: {<<: {make: rabbitmq}, fails: 0.5}
""")
    assert federation.brokers["c"] == Broker(make="mosquitto", fails=0.01)
    assert federation.brokers["d"] == Broker(make="rabbitmq", fails=0.5)
    assert federation.brokers["y"] == Broker(fails=0.25)
    assert loads(dump(federation)) == federation


def test_entries_after_an_alias_keep_their_lines() -> None:
    federation = loads("""federation: f
brokers: {a: , b: , c: }
links:
  - &l {between: [a, b]}
  - {between: [b, c]}
routes:
  - &r {at: a, to: b, next: b}
  - *r
  - {at: b, to: c, next: c}
underlay:
  nodes: {n: ,
          m: }
  links:
    - {between: [n, m]}
""")
    lines = federation.source.lines
    assert lines["routes"] == [7, 8, 9]
    assert lines["underlay.nodes"] == [11, 12]
    assert lines["underlay.links"] == [14]


def test_words_of_yaml_1_1_stay_text() -> None:
    federation = loads("{federation: no, brokers: {on: , off: }, links: [{between: [on, off]}]}")
    assert federation.name == "no"
    assert federation.links == (Link(between=("on", "off")),)


def test_an_empty_section_or_entry_is_all_defaults() -> None:
    federation = loads("federation: x\nbrokers:\n  a:\n  b:\nlinks:\ntopics:\n")
    assert federation.brokers == {"a": Broker(), "b": Broker()}


def test_an_empty_part_of_the_placement_is_all_defaults() -> None:
    text = "federation: x\nbrokers: {a: }\nsites: {s: }\nplacement:\n"
    assert loads(text) == loads(text + "  at:\n  only:\n  limits:\n  pinned:\n")
    assert loads(text + "  brokers:\n    a:\n  sites: {s: }\n").placement == Placement(
        brokers={"a": Limits()}, sites={"s": SiteLimits()}
    )


@pytest.mark.parametrize("name", ["f.yaml", "f.yml", "F.YAML", "f.parquet"])
def test_saved_and_loaded_is_the_same_in_either_form(tmp_path: Path, name: str) -> None:
    federation = loads(TRADE_NET)
    for _ in range(2):  # the second time over what is there
        save(federation, tmp_path / name)
        assert load(tmp_path / name) == federation
    assert not [p for p in (tmp_path / name).parent.iterdir() if p.name.startswith(".")]


def test_a_failed_save_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("precious")

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ropewalk.federation.saving.dump", full)
    with pytest.raises(Exception, match="No space left"):
        save(loads(TRADE_NET), file)
    assert file.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("with_federation", [False, True])
def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path, with_federation: bool) -> None:
    mine = tmp_path / "mine.parquet"
    if with_federation:
        save(loads(TRADE_NET), mine)
    mine.mkdir(exist_ok=True)
    (mine / "letter.txt").write_text("precious")
    with pytest.raises(UsageError, match="holds other files"):
        save(loads(TRADE_NET), mine)
    assert (mine / "letter.txt").read_text() == "precious"


def test_a_file_of_the_users_own_is_never_replaced_by_a_folder(tmp_path: Path) -> None:
    mine = tmp_path / "data.parquet"
    mine.write_text("precious")
    with pytest.raises(UsageError, match="a file is there"):
        save(loads(TRADE_NET), mine)
    assert mine.read_text() == "precious"


def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "f.parquet"
    save(loads(TRADE_NET), folder)
    replace = Path.replace

    def fails_for_the_new(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fails_for_the_new)
    with pytest.raises(UsageError, match="Input/output error"):
        save(loads("{federation: other, brokers: {a: }}"), folder)
    assert load(folder).name == "trade-net"


def test_a_folder_that_is_not_there_is_not_invented(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        save(loads(TRADE_NET), tmp_path / "typo" / "f.yaml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("table", ["brokers", "links", "topics"])
def test_a_damaged_large_form_is_refused(tmp_path: Path, table: str) -> None:
    folder = tmp_path / "f.parquet"
    save(loads(TRADE_NET), folder)
    file = folder / f"{table}.parquet"
    whole = file.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"PAR1" + whole[4:-8] + b"\0" * 8):
        file.write_bytes(broken)
        with pytest.raises(FederationError) as caught:
            load(folder)
        assert caught.value.findings[0].code == "F040"
    file.unlink()
    with pytest.raises(FederationError, match=r"F040.*without a federation"):
        load(folder)


def test_a_foreign_table_in_the_large_form_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "f.parquet"
    save(loads(TRADE_NET), folder)
    pq.write_table(pa.table({"name": ["a"]}), folder / "brokers.parquet")
    with pytest.raises(FederationError, match="not written by this version"):
        load(folder)


def test_the_large_form_is_checked_for_sense_too(tmp_path: Path) -> None:
    broken = Federation(name="x", brokers={"a": Broker()}, links=(Link(between=("a", "zz")),))
    save(broken, tmp_path / "f.parquet")
    with pytest.raises(FederationError, match=r"F020 link 1: no broker is called 'zz'"):
        load(tmp_path / "f.parquet")


def test_the_large_form_is_checked_for_shape_in_the_same_words(tmp_path: Path) -> None:
    secret = Broker(credentials="hunter2", fails=7.0)
    save(Federation(name="x", brokers={"a": secret}), tmp_path / "f.parquet")
    with pytest.raises(FederationError) as caught:
        load(tmp_path / "f.parquet")
    assert [one.code for one in caught.value.findings] == ["F017", "F013"]
    assert "broker a: fails is 7.0" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_large_form_knows_where_it_came_from(tmp_path: Path) -> None:
    save(loads(TRADE_NET), tmp_path / "f.parquet")
    assert load(tmp_path / "f.parquet").source.file == str(tmp_path / "f.parquet")


def test_the_large_form_has_a_column_for_every_field() -> None:
    """A field without one would be lost in silence."""
    brokers, links, topics = (TABLES[name] for name in ("brokers", "links", "topics"))
    assert set(brokers.names) == {"name", *(one.name for one in fields(Broker))}
    assert set(links.names) == {one.name for one in fields(Link)}
    assert set(topics.names) - {"name", "publisher_clients", "subscriber_clients"} == {
        one.name for one in fields(Topic)
    }
    contract = topics.field("contract").type
    assert {one.name for one in contract} == {one.name for one in fields(Contract)}
