"""The packet network's queues and lines, and the thesis' own scheme on it."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from ropewalk.errors import UsageError
from ropewalk.federation.generators import generate
from ropewalk.federation.generators.build import numbered
from ropewalk.overlay.parts import NEVER
from ropewalk.overlay.simulate.packets import Doing, Line, Log, Noticed, Out, Packet, PacketNetwork
from ropewalk.overlay.simulate.plain_pcrt import Flood, HeartBeat, LinkTest, PcrtRouter
from ropewalk.overlay.simulate.routers import ByTable
from ropewalk.overlay.simulate.scenario_jia import compare, course_of
from ropewalk.report.reconvergence import draw, lines, means, summary
from ropewalk.routing.ahead import tables_of

UNIT = 1_000_000
PAIR = numbered("pair", [(0.0, 0.0)] * 2, [(0, 1)]).graph


class Fixed:
    """A router whose table is one link, whatever happens."""

    wake_us = NEVER

    def __init__(self, me: int) -> None:
        self.me = me

    def start(self, now_us: int) -> Iterable[Doing]:
        return []

    due = start

    def received(self, now_us: int, link: int, packet: Packet) -> Iterable[Doing]:
        return []

    def next_link(self, destination: int) -> int:
        return 0


def pair() -> PacketNetwork:
    return PacketNetwork(PAIR, [ByTable(Fixed(0)), ByTable(Fixed(1))], Line(), [0, 0])


def burst(net: PacketNetwork, count: int, to: int = 1) -> Log:
    for number in range(count):
        net.at(0, net.publish, 0, number, to)
    return net.run(100 * UNIT)


def test_packets_are_served_one_after_the_other_and_the_eleventh_is_dropped() -> None:
    log = burst(pair(), 12)
    assert [log.arrived[number][0] for number in range(10)] == [100_000 * k for k in range(1, 11)]
    line = " > ".join(PAIR.names)
    assert log.losses == {number: [(0, line, "queue full")] for number in (10, 11)}


def test_what_is_on_the_line_when_it_breaks_is_lost_and_nobody_is_told() -> None:
    net = pair()
    net.at(50_000, net.set_link, 0, False)
    net.at(150_000, net.set_link, 0, True)
    log = burst(net, 4)
    assert sorted(log.losses) == [0, 1]  # the second began while the link was down
    assert sorted(log.arrived) == [2, 3]


def test_a_packet_that_goes_round_and_round_ends_at_the_hop_limit() -> None:
    log = burst(pair(), 1, to=7)
    assert [why for _, _, why in log.losses[0]] == ["hop limit"]
    assert len(log.path(0)) == 65


def started(me: int = 1) -> PcrtRouter:
    router = PcrtRouter(tables_of(generate("six-node"), "links=1"), me)
    router.start(0)
    return router


def hear(router: PcrtRouter, at: float, said: object, link: int) -> list[Doing]:
    return list(router.received(round(at * UNIT), link, Packet(0, said)))


def bodies(doings: Iterable[Doing], link: int | None = None) -> list[object]:
    outs = [one for one in doings if isinstance(one, Out)]
    return [one.packet.body for one in outs if link in (None, one.link)]


def quiet(router: PcrtRouter) -> list[Doing]:
    """Only link 1 (2-3) falls silent; returns what is done about it."""
    for link in (0, 2):
        hear(router, 3, HeartBeat(), link)
    return list(router.due(4 * UNIT))


def test_silence_turns_the_colour_at_once_and_floods_even_over_the_failed_link() -> None:
    router = started()
    assert router.next_link(2) == 1
    doings = quiet(router)
    assert Noticed(1, up=False) in doings
    assert [bodies(doings, link)[0] for link in (0, 1, 2)] == [Flood(3, 1, 2)] * 3
    assert (router.colour, router.next_link(2)) == (3, 2)


def test_a_flood_is_repeated_until_its_own_acknowledgement_comes() -> None:
    router = started()
    quiet(router)
    hear(router, 4.1, Flood(3, 1, 2, ack=True), 0)
    hear(router, 4.1, Flood(9, 1, 2, ack=True), 2)  # another colour's
    again = list(router.due(round(4.5 * UNIT)))
    assert (bodies(again, 0), bodies(again, 2)) == ([], [Flood(3, 1, 2)])


def test_news_is_taken_passed_on_and_acknowledged_and_old_news_only_acknowledged() -> None:
    router = started(0)
    told = hear(router, 1, Flood(3, 1, 2), 0)
    assert bodies(told) == [Flood(3, 1, 2, ack=True)]  # broker 1 has no other neighbour
    assert router.colour == 3
    assert bodies(hear(router, 2, Flood(1, 1, 2), 0)) == [Flood(1, 1, 2, ack=True)]
    assert router.colour == 3


def test_a_mended_link_is_tested_before_it_is_used() -> None:
    router = started()
    quiet(router)
    assert bodies(hear(router, 9, HeartBeat(), 1)) == [LinkTest()]
    assert hear(router, 9.1, HeartBeat(), 1) == []  # asked a moment ago
    assert router.colour == 3
    assert Noticed(1, up=True) in hear(router, 9.2, LinkTest(ack=True), 1)
    assert (router.colour, router.next_link(2)) == (1, 1)


def test_the_scenario_asks_for_what_it_needs() -> None:
    with pytest.raises(UsageError, match="no scheme 'rip'"):
        compare(generate("six-node"), rivals=["rip"])
    with pytest.raises(UsageError, match="unit_us is 1"):
        compare(generate("six-node"), unit_us=1)
    with pytest.raises(UsageError, match="two ways"):
        course_of(generate("six-broker"))


def test_the_comparison_is_told_in_words_as_data_and_in_pictures(tmp_path: Path) -> None:
    found = compare(generate("six-node"), rivals=["fast-ospf"], ours=["ropewalk"])
    assert max(map(len, lines(found))) <= 80
    told = json.loads(json.dumps(summary(found)))
    assert [one["scheme"] for one in told["schemes"]] == ["fast-ospf", "ropewalk"]
    assert means([found, found])[0]["lost"] == told["schemes"][0]["lost"]
    assert found.packets().groupby("scheme")["latency"].count().to_dict()["ropewalk"] == 150
    assert all(path.stat().st_size > 10_000 for path in draw(found, tmp_path))
    with pytest.raises(UsageError, match="no such folder"):
        draw(found, tmp_path / "nowhere")
