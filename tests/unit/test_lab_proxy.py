"""The fault proxy: what passes, what is held, what is reset."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from ropewalk.agent.lab.group import Group
from ropewalk.agent.lab.ports import HOST, Ports
from ropewalk.agent.lab.proxy import Link, Proxy, proxy_command
from ropewalk.agent.lab.wire import Answers, ask, ask_later
from ropewalk.errors import LabError

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
SOON_S = 10
NOTHING_S = 0.15


class Far:
    """A server behind the link; `streams` are the connections that reached it."""

    def __init__(self) -> None:
        self.streams: asyncio.Queue[Streams] = asyncio.Queue()
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        await self.streams.put((reader, writer))


class World:
    def __init__(self, link: Link, port: int, far: Far) -> None:
        self.link, self.port, self.far = link, port, far
        self.opened: list[asyncio.StreamWriter] = []

    async def connect(self) -> Streams:
        streams = await asyncio.open_connection(HOST, self.port)
        self.opened.append(streams[1])
        return streams

    async def pair(self) -> tuple[Streams, Streams]:
        near = await self.connect()
        return near, await self.far.streams.get()


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    with Ports() as ports:
        far, port, target = Far(), ports.take(), ports.take()
        server = await asyncio.start_server(far.serve, HOST, target)
        link = Link({port: target})
        await link.open()
        made = World(link, port, far)
        try:
            async with asyncio.timeout(SOON_S):
                yield made
        finally:
            link.close()
            server.close()
            for writer in (*made.opened, *far.writers):
                writer.close()
            await asyncio.sleep(0.01)


def in_a_world(test: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        async with world() as one:
            await test(one)

    asyncio.run(run())


async def silent(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(NOTHING_S):
            await reader.read(1)
            return False
    except TimeoutError:
        return True


def test_a_healthy_link_passes_bytes_both_ways_and_the_end_behind_them() -> None:
    async def test(one: World) -> None:
        (reader, writer), (far_reader, far_writer) = await one.pair()
        sent = bytes(range(256)) * 40_000
        writer.write(sent)
        writer.write_eof()
        assert await far_reader.read() == sent
        far_writer.write(b"back")
        far_writer.close()
        assert await reader.read() == b"back"
        assert one.link.status()["connections"] <= 1

    in_a_world(test)


def test_a_cut_resets_connections_and_refuses_new_ones_until_it_is_healed() -> None:
    async def test(one: World) -> None:
        (reader, _), (far_reader, _) = await one.pair()
        await one.link.suffer("cut")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        with pytest.raises(ConnectionResetError):
            await far_reader.read()
        with pytest.raises(ConnectionRefusedError):
            await one.connect()
        await one.link.suffer("")
        (_, writer), (far_reader, _) = await one.pair()
        writer.write(b"again")
        assert await far_reader.readexactly(5) == b"again"

    in_a_world(test)


def test_a_blackhole_holds_bytes_and_delivers_them_when_healed() -> None:
    async def test(one: World) -> None:
        (reader, writer), (far_reader, far_writer) = await one.pair()
        writer.write(b"before,")
        assert await far_reader.readexactly(7) == b"before,"  # the control: it does pass
        await one.link.suffer("blackhole")
        writer.write(b"held")
        far_writer.write(b"held too")
        assert await silent(far_reader)
        assert await silent(reader)
        await one.link.suffer("")
        assert await far_reader.readexactly(4) == b"held"
        assert await reader.readexactly(8) == b"held too"

    in_a_world(test)


def test_a_blackhole_takes_new_connections_and_shows_nobody_that_one_has_closed() -> None:
    async def test(one: World) -> None:
        (_, old), (far_reader, _) = await one.pair()
        await one.link.suffer("blackhole")
        old.transport.abort()
        reader, writer = await one.connect()
        writer.write(b"hello")
        assert await silent(reader)
        assert await silent(far_reader)
        assert one.far.streams.empty()
        await one.link.suffer("")
        new_reader, _ = await one.far.streams.get()
        assert await new_reader.readexactly(5) == b"hello"
        with suppress(ConnectionResetError):
            assert await far_reader.read() == b""

    in_a_world(test)


def test_a_slow_link_delays_every_piece_keeps_order_and_ends_after_the_last() -> None:
    async def test(one: World) -> None:
        (_, writer), (far_reader, _) = await one.pair()
        await one.link.suffer("slow", delay_ms=80)
        loop = asyncio.get_running_loop()
        start = loop.time()
        for piece in (b"a", b"b", b"c"):
            writer.write(piece)
            await asyncio.sleep(0.005)
        writer.write_eof()
        assert await far_reader.readexactly(1) == b"a"
        assert loop.time() - start >= 0.08
        assert await far_reader.read() == b"bc"

    in_a_world(test)


def test_a_rate_spreads_bytes_over_time_and_healing_lets_the_rest_go_at_once() -> None:
    async def test(one: World) -> None:
        (_, writer), (far_reader, _) = await one.pair()
        await one.link.suffer("slow", delay_ms=1, rate_kb_s=1)
        writer.write(b"x" * 60_000)  # a minute at that rate
        assert await silent(far_reader)
        await one.link.suffer("")
        assert len(await far_reader.readexactly(60_000)) == 60_000

    in_a_world(test)


def test_a_reader_that_stops_makes_the_sender_wait() -> None:
    async def test(one: World) -> None:
        (_, writer), (far_reader, _) = await one.pair()
        far_reader._transport.pause_reading()  # type: ignore[attr-defined]
        piece, sent, most = b"x" * 1_000_000, 0, 64_000_000
        while sent < most:
            writer.write(piece)
            sent += len(piece)
            try:
                async with asyncio.timeout(NOTHING_S):
                    await writer.drain()
            except TimeoutError:
                break
        assert sent < most
        far_reader._transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await far_reader.readexactly(sent)) == sent

    in_a_world(test)


def test_a_connection_to_a_dead_broker_is_reset() -> None:
    async def run() -> None:
        with Ports() as ports:
            port = ports.take()
            link = Link({port: ports.take()})
            await link.open()
            reader, writer = await asyncio.open_connection(HOST, port)
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()
            link.close()

    asyncio.run(run())


def test_the_proxy_process_opens_faults_and_tells_its_links(tmp_path: Path) -> None:
    async def run() -> None:
        far, path = Far(), tmp_path / "proxy.sock"
        with Ports() as ports, Group() as group, (tmp_path / "log").open("wb") as log:
            port, target = ports.take(), ports.take()
            server = await asyncio.start_server(far.serve, HOST, target)
            process = group.start(proxy_command(path), log=log, folder=tmp_path)
            async with asyncio.timeout(SOON_S):
                while not path.exists():
                    await asyncio.sleep(0.01)
                await ask_later(path, {"do": "open", "link": "a--b", "ways": {port: target}})
                reader, writer = await asyncio.open_connection(HOST, port)
                writer.write(b"x")
                far_reader, far_writer = await far.streams.get()
                assert await far_reader.readexactly(1) == b"x"
                await ask_later(path, {"do": "fault", "link": "a--b", "what": "cut"})
                with pytest.raises(ConnectionResetError):
                    await reader.read()
                told = await ask_later(path, {"do": "status"})
                assert told == {"links": {"a--b": {"fault": "cut", "connections": 0}}}
            writer.close()
            far_writer.close()
            server.close()
            process.terminate()
            assert process.wait(SOON_S) == 0

    asyncio.run(run())


def test_questions_that_make_no_sense_get_a_reason_and_the_server_goes_on(tmp_path: Path) -> None:
    async def run() -> None:
        folder = tmp_path / ("long" * 30)  # longer than the path of a unix socket can be
        folder.mkdir()
        path = folder / "a.sock"
        answers = Answers(path, Proxy().answer)
        await answers.start()
        assert path.stat().st_mode & 0o777 == 0o600
        for wrong in ({"do": "dance"}, {"do": "fault", "link": "x", "what": "cut"}):
            with pytest.raises(LabError, match=r"does not understand|has no link x"):
                await ask_later(path, wrong)
        assert await ask_later(path, {"do": "status"}) == {"links": {}}
        await answers.close()
        with pytest.raises(OSError, match="No such file"):
            ask(path, {})

    asyncio.run(run())
