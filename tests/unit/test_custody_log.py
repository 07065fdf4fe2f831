"""The custody log: nothing that was said to be safe is lost, whatever happens to process or disk."""

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

import pytest

from ropewalk.agent import log_writer, segments
from ropewalk.agent.custody_log import CustodyLog, Recovered, next_incarnation, read
from ropewalk.agent.segments import Segment
from ropewalk.errors import UsageError
from ropewalk.overlay.lane import Done, Kept
from ropewalk.overlay.words import INTEREST, Address, Item, Letter


def kept(number: int) -> Kept:
    letter = Letter(1, 5, "plant/temp", number, b"x" * 20)
    return Kept(letter, (Address(2, 0, number + 1, 1),), "fifo")


def numbers(folder: Path) -> list[int]:
    return [one.letter.number for one in read(folder).records]


class Driver:
    """A log, and what it told."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.log = CustodyLog(folder, **options)
        self.safe: list[int] = []
        self.faults: list[str] = []

    def start(self, incarnation: int = 1, records: Iterable[Any] = ()) -> CustodyLog:
        loop = asyncio.get_running_loop()
        self.log.start(loop, incarnation, records, self.safe.append, self.faults.append)
        return self.log


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(20):
            await work

    asyncio.run(limited())


def write(folder: Path, batches: list[list[Any]], *, incarnation: int = 1) -> None:
    """A life that writes these batches, one after the other."""

    async def life() -> None:
        log = Driver(folder).start(incarnation, read(folder).records)
        for batch in batches:
            log.append(batch)
            await log.drained()
        log.close()

    run(life())


@pytest.mark.parametrize("sync", ["batch", "always", "never"])
def test_what_is_written_is_read_again(tmp_path: Path, sync: Any) -> None:
    records = [kept(1), Done(2, 0, 1, 7, (9,)), Item(INTEREST, 3, "a/#", 1, 1, True), kept(2)]

    async def life() -> None:
        driver = Driver(tmp_path, sync=sync)
        log = driver.start(17)
        log.append(records[:1])
        log.append([])
        log.append(records[1:])
        await log.drained()
        assert driver.safe[-1] == log.safe == 4
        assert sorted(driver.safe) == driver.safe
        log.close()
        assert not driver.faults

    run(life())
    assert read(tmp_path) == Recovered(records, 17, 0, [])


def test_a_folder_without_a_log_holds_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "none") == Recovered([], 0, 0, [])


def test_closing_writes_what_is_waiting(tmp_path: Path) -> None:
    async def life() -> None:
        log = Driver(tmp_path).start()
        for number in range(100):
            log.append([kept(number)])
        log.close()
        log.close()

    run(life())
    assert numbers(tmp_path) == list(range(100))


def test_records_gather_while_a_sync_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, sync, syncs = threading.Event(), os.fdatasync, 0

    def slow(descriptor: int) -> None:
        nonlocal syncs
        syncs += 1
        assert go.wait(10)
        sync(descriptor)

    async def life() -> None:
        driver = Driver(tmp_path)
        log = driver.start()
        monkeypatch.setattr(os, "fdatasync", slow)
        log.append([kept(0)])
        while not syncs:
            await asyncio.sleep(0)
        for number in range(1, 50):
            log.append([kept(number)])
        assert driver.safe == [], "nothing is safe before its sync"
        go.set()
        await log.drained()
        assert driver.safe == [1, 50]
        log.close()

    run(life())
    assert syncs == 2


# --- lives ------------------------------------------------------------------------------------


def test_each_life_has_a_higher_incarnation_that_is_durable_before_it_is_used(
    tmp_path: Path,
) -> None:
    wall_ms = 1_000
    for wanted in (1_000, 1_001, 1_002):
        incarnation = next_incarnation(read(tmp_path), wall_ms)
        assert incarnation == wanted

        async def killed(incarnation: int = incarnation) -> None:
            driver = Driver(tmp_path)
            log = driver.start(incarnation)
            assert read(tmp_path).incarnation == incarnation
            log.close()

        run(killed())
        wall_ms -= 500  # The clock is set back.


def test_two_agents_cannot_share_a_folder(tmp_path: Path) -> None:
    first = CustodyLog(tmp_path)
    with pytest.raises(UsageError, match=f"{tmp_path} is in use by another agent"):
        CustodyLog(tmp_path)
    first.close()
    CustodyLog(tmp_path).close()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=rf"{tmp_path}/file/log cannot hold a custody log"):
        CustodyLog(tmp_path / "file" / "log")


def test_a_log_of_another_version_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "VERSION", 3)
    write(tmp_path, [[kept(1)]])
    monkeypatch.undo()
    with pytest.raises(UsageError, match=r"custody-1\.log has format 3, this Ropewalk reads 2"):
        read(tmp_path)


# --- torn and damaged -------------------------------------------------------------------------


def test_a_last_record_that_is_torn_anywhere_is_dropped(tmp_path: Path) -> None:
    write(tmp_path / "log", [[kept(1)], [kept(2)]])
    path = tmp_path / "log" / "custody-1.log"
    before = path.stat().st_size
    write(tmp_path / "longer", [[kept(1)], [kept(2)], [kept(3), kept(4)]])
    whole = (tmp_path / "longer" / "custody-1.log").read_bytes()
    assert whole[:before] == path.read_bytes()
    for end in range(before, len(whole)):
        path.write_bytes(whole[:end])
        found = read(tmp_path / "log")
        assert [one.letter.number for one in found.records] == [1, 2]
        assert found.dropped_bytes == end - before
        assert bool(found.faults) == (end > before)
    path.write_bytes(whole)
    assert numbers(tmp_path / "log") == [1, 2, 3, 4]


def test_a_last_record_with_a_wrong_or_missing_byte_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, [[kept(1)], [kept(2)]])
    path = tmp_path / "custody-1.log"
    whole = path.read_bytes()
    start = whole.rindex(segments._MARK)
    for at in range(start, len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 0x40
        path.write_bytes(changed)
        assert numbers(tmp_path) == [1]
    path.write_bytes(whole[:start] + bytes(4096))  # A block that never reached the disk.
    assert read(tmp_path).dropped_bytes == 4096
    assert not list(tmp_path.glob("*.damaged"))


def test_what_was_torn_is_told_and_gone_after_the_next_start(tmp_path: Path) -> None:
    write(tmp_path, [[kept(1)], [kept(2)]])
    path = tmp_path / "custody-1.log"
    path.write_bytes(path.read_bytes()[:-3])
    (fault,) = read(tmp_path).faults
    assert str(path) in fault
    assert "not written to their end" in fault
    write(tmp_path, [[kept(3)]], incarnation=2)
    assert numbers(tmp_path) == [1, 3]
    assert read(tmp_path).faults == []


def test_damage_in_the_middle_is_told_and_kept_aside(tmp_path: Path) -> None:
    write(tmp_path, [[kept(1)], [kept(2)], [kept(3)]])
    path = tmp_path / "custody-1.log"
    damaged = bytearray(path.read_bytes())
    second = damaged.index(segments._MARK, damaged.index(segments._MARK) + 1)
    for at in (second, second + 5, second + 9, second + 20):  # mark, length, checksum, payload
        bad = bytearray(damaged)
        bad[at] ^= 1
        path.write_bytes(bad)
        found = read(tmp_path)
        assert [one.letter.number for one in found.records] == [1]
        (fault,) = found.faults
        assert f"{path} is damaged at byte {second}" in fault
    assert read(tmp_path) == found, "until a new segment is there, reading again gives the same"
    aside = (tmp_path / "custody-1.log.damaged").read_bytes()
    write(tmp_path, [[kept(4)]], incarnation=2)
    assert numbers(tmp_path) == [1, 4]
    assert (tmp_path / "custody-1.log.damaged").read_bytes() == aside == bytes(bad)


def test_a_segment_without_a_beginning_is_told_and_kept_aside(tmp_path: Path) -> None:
    write(tmp_path, [[kept(1)]], incarnation=7)
    (tmp_path / "custody-2.log").write_bytes(b"RW")
    found = read(tmp_path)
    assert found.incarnation == 7
    assert "custody-2.log has no readable beginning" in found.faults[0]
    assert numbers(tmp_path) == [1]
    write(tmp_path, [[kept(2)]], incarnation=8)
    assert numbers(tmp_path) == [1, 2]


def test_a_record_that_is_not_known_costs_no_other(tmp_path: Path) -> None:
    strange = Letter(1, 1, "a letter is no record", 1, b"")
    write(tmp_path, [[kept(1), strange, kept(2)], [kept(3)]])
    found = read(tmp_path)
    assert [one.letter.number for one in found.records] == [1, 2, 3]
    assert "1 records that this version does not know" in found.faults[0]
    assert (tmp_path / "custody-1.log.damaged").exists()


# --- compaction -------------------------------------------------------------------------------


def test_a_log_is_cut_down_to_a_snapshot_and_goes_on(tmp_path: Path) -> None:
    async def life() -> None:
        driver = Driver(tmp_path, max_bytes=2_000)
        log = driver.start(3)
        log.append([kept(number) for number in range(100)])
        assert not log.wants_compaction
        await log.drained()
        assert log.wants_compaction
        before = log.size
        log.append([kept(100)])
        log.compact(iter([kept(99), kept(100)]))
        log.compact([])  # One is under way: nothing is replaced twice.
        log.append([kept(101)])
        assert not log.wants_compaction
        await log.drained()
        assert driver.safe[-1] == 102
        assert log.size < before
        log.close()

    run(life())
    assert numbers(tmp_path) == [99, 100, 101]
    assert read(tmp_path).incarnation == 3
    assert [path.name for path in tmp_path.glob("custody-*")] == ["custody-2.log"]


def test_what_an_earlier_life_left_is_cut_down_soon(tmp_path: Path) -> None:
    async def life() -> None:
        log = CustodyLog(tmp_path, max_bytes=2_000)
        state = [kept(number) for number in range(100)]
        log.start(asyncio.get_running_loop(), 1, state, lambda _: None, lambda _: None)
        assert log.wants_compaction
        log.compact(state[:1])
        await log.drained()
        assert not log.wants_compaction
        log.close()

    run(life())
    assert numbers(tmp_path) == [0]


def test_a_log_that_is_mostly_needed_is_not_cut_down_again_at_once(tmp_path: Path) -> None:
    async def life() -> None:
        log = Driver(tmp_path, max_bytes=2_000).start()
        state = [kept(number) for number in range(100)]
        log.append(state)
        await log.drained()
        log.compact(state)
        await log.drained()
        assert log.size > 2_000
        assert not log.wants_compaction
        log.append(state * 4)
        await log.drained()
        assert log.wants_compaction
        log.close()

    run(life())


def stepwise(monkeypatch: pytest.MonkeyPatch, at_step: Callable[[], None]) -> None:
    """Call something before and after each step that the writer takes on the disk."""

    def watched(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any) -> Any:
            if threading.current_thread().name != "custody log":
                return step(*arguments)
            at_step()
            done = step(*arguments)
            at_step()
            return done

        return stepping

    for name in ("write", "fsync", "fdatasync"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    for name in ("replace", "unlink"):
        monkeypatch.setattr(Path, name, watched(getattr(Path, name)))


def test_a_crash_at_any_step_of_a_compaction_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "log"
    copies: list[tuple[Path, int]] = []

    async def life() -> None:
        driver = Driver(folder)
        log = driver.start(4)
        log.append([kept(number) for number in range(600)])
        await log.drained()

        def copy() -> None:
            aside = tmp_path / str(len(copies))
            shutil.copytree(folder, aside, ignore=shutil.ignore_patterns("early-*"))
            copies.append((aside, log.safe))

        stepwise(monkeypatch, copy)
        log.compact([kept(number) for number in range(600)])
        log.append([kept(600)])
        await log.drained()
        monkeypatch.undo()
        log.close()

    run(life())
    assert len(copies) > 15
    seen = {tuple(sorted(path.name for path in aside.glob("c*"))) for aside, _ in copies}
    assert seen == {
        ("custody-1.log", "custody-2.log.new"),
        ("custody-1.log", "custody-2.log"),
        ("custody-2.log",),
    }
    for aside, told in copies:
        found = read(aside)
        assert found.incarnation == 4
        assert [one.letter.number for one in found.records] in (
            list(range(600)),
            list(range(601)),
        )
        assert len(found.records) >= told
    half = next(aside for aside, _ in copies if list(aside.glob("*.new")))
    write(half, [[kept(600)]], incarnation=5)
    assert numbers(half) == list(range(601))
    assert not list(half.glob("*.new"))


# --- a disk that refuses ----------------------------------------------------------------------


class Disk:
    """A disk that refuses at will; half of what is written to it arrives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = self.broken = False
        self.write, self.sync, self.make = os.write, os.fdatasync, os.open
        monkeypatch.setattr(log_writer, "RETRY_S", 0.01)
        monkeypatch.setattr(os, "write", self._write)
        monkeypatch.setattr(os, "fdatasync", self._sync)

    def _write(self, descriptor: int, data: memoryview) -> int:
        if not self.full:
            return self.write(descriptor, data)
        if len(data) > 30:
            return self.write(descriptor, data[:30])
        raise OSError(errno.ENOSPC, "No space left on device")

    def _sync(self, descriptor: int) -> None:
        if self.broken:
            raise OSError(errno.EIO, "Input/output error")
        self.sync(descriptor)


@pytest.mark.parametrize("fault", ["full", "broken"])
def test_while_the_disk_refuses_nothing_is_safe_and_then_all_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    disk = Disk(monkeypatch)

    async def life() -> None:
        driver = Driver(tmp_path, every_ms=0)
        log = driver.start()
        log.append([kept(0)])
        await log.drained()
        setattr(disk, fault, True)
        log.append([kept(1), kept(2)])
        while not driver.faults:
            await asyncio.sleep(0.001)
        log.append([kept(3)])
        await asyncio.sleep(0.05)  # Some tries that fail as well.
        assert driver.safe == [1]
        assert log.fault == driver.faults[0]
        setattr(disk, fault, False)
        await log.drained()
        assert driver.safe[-1] == 4
        assert len(driver.faults) == 1, "told once, not at every try"
        assert str(tmp_path) in driver.faults[0]
        assert log.fault == ""
        log.close()

    run(life())
    assert read(tmp_path) == Recovered([kept(n) for n in range(4)], 1, 0, [])


def test_a_snapshot_stands_for_what_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)

    async def life() -> None:
        driver = Driver(tmp_path)
        log = driver.start()
        disk.broken = True
        log.append([kept(1), kept(2)])
        while not driver.faults:
            await asyncio.sleep(0.001)
        log.compact([kept(2)])
        await log.drained()
        assert driver.safe == [2]
        log.close()

    run(life())
    assert numbers(tmp_path) == [2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_writer_that_cannot_go_on_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    async def life() -> None:
        driver = Driver(tmp_path)
        log = driver.start()
        monkeypatch.setattr(Segment, "append", fail)
        log.append([kept(1)])
        while not driver.faults:
            await asyncio.sleep(0.001)
        assert "no longer written (MemoryError())" in log.fault
        assert driver.safe == []
        log.close()

    run(life())


def test_closing_on_a_full_disk_tells_what_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)

    async def life() -> None:
        driver = Driver(tmp_path)
        log = driver.start()
        disk.full = True
        log.append([kept(1), kept(2)])
        log.close()
        await asyncio.sleep(0)
        assert driver.safe == []
        assert any("2 records that nobody was told of" in fault for fault in driver.faults)

    run(life())
    assert numbers(tmp_path) == []


def test_a_compaction_that_fails_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def life() -> None:
        driver = Driver(tmp_path, max_bytes=10)
        log = driver.start()
        log.append([kept(1)])
        log.compact([object()])
        log.append([kept(2)])
        await log.drained()
        assert "is not cut down" in driver.faults[0]
        assert not log.wants_compaction, "not at once again"
        log.close()

    run(life())
    assert numbers(tmp_path) == [1, 2]
    assert [path.name for path in tmp_path.glob("custody-*")] == ["custody-1.log"]


def test_a_new_segment_counts_only_when_its_name_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_writer, "RETRY_S", 0.01)
    works, sync_folder = False, segments.sync_folder

    def failing(folder: Path) -> None:
        if not works:
            raise OSError(errno.EIO, "Input/output error")
        sync_folder(folder)

    async def life() -> None:
        nonlocal works
        driver = Driver(tmp_path)
        log = driver.start()
        monkeypatch.setattr(segments, "sync_folder", failing)
        log.append([kept(1)])
        log.compact([kept(1)])
        log.append([kept(2)])
        while not driver.faults:
            await asyncio.sleep(0.001)
        assert len(segments.segments(tmp_path)) == 2, "the old one stays until then"
        assert driver.safe in ([], [1])
        works = True
        await log.drained()
        assert driver.safe[-1] == 2
        log.close()

    run(life())
    assert numbers(tmp_path) == [1, 2]
    assert len(segments.segments(tmp_path)) == 1


def test_a_start_on_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(monkeypatch).full = True

    async def life() -> None:
        driver = Driver(tmp_path)
        with pytest.raises(UsageError, match=r"No space left on device\): make room"):
            driver.start()
        driver.log.close()

    run(life())
    assert not list(tmp_path.glob("custody-*"))


# --- kill -9 ----------------------------------------------------------------------------------

CHILD = """
import asyncio, os, sys
from pathlib import Path
from ropewalk.agent.custody_log import CustodyLog
from tests.unit.test_custody_log import kept

async def life(folder, sync, kind):
    write = os.write
    log = CustodyLog(folder, sync=sync, every_ms=1, max_bytes=100_000)
    tell = lambda count: write(1, b"%d\\n" % count)
    log.start(asyncio.get_running_loop(), 1, [], tell, print)
    if kind == "forgetful":
        os.write = lambda descriptor, data: len(data)
    state = []
    while True:
        batch = [kept(n) for n in range(len(state), len(state) + 16)]
        state += batch
        log.append(batch)
        if log.wants_compaction:
            log.compact(state)
        await asyncio.sleep(0)

asyncio.run(life(Path(sys.argv[1]), *sys.argv[2:]))
"""


def killed_while_writing(folder: Path, sync: str, kind: str) -> int:
    """Let a child write until it has told enough, kill it, and return what it told last."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), sync, kind],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
    )
    assert child.stdout is not None
    with child, child.stdout as told:
        for line in told:
            if int(line) > 3_000:
                child.send_signal(signal.SIGKILL)
                break
        return int([line, *(one for one in told if one.endswith("\n"))][-1])


def test_what_was_appended_outlives_the_process_before_it_is_synced(tmp_path: Path) -> None:
    async def life() -> None:
        log = Driver(tmp_path / "log", every_ms=60_000).start()
        log.append([kept(0)])
        await log.drained()
        for number in range(1, 50):
            log.append([kept(number)])
        shutil.copytree(tmp_path / "log", tmp_path / "crashed")
        log.close()

    run(life())
    assert numbers(tmp_path / "crashed") == list(range(50))
    for early in (tmp_path / "crashed").glob("early-*"):
        early.unlink()
    assert numbers(tmp_path / "crashed") == [0], "the control: without the early files"
    assert numbers(tmp_path / "log") == list(range(50))


def test_early_files_follow_each_other_and_are_deleted(tmp_path: Path) -> None:
    async def life() -> None:
        driver = Driver(tmp_path / "log", every_ms=0)
        log = driver.start()
        for start in range(0, 40_000, 500):
            log.append([kept(number) for number in range(start, start + 500)])
            await log.drained()
        assert sum(path.stat().st_size for path in (tmp_path / "log").glob("early-*")) < 3 << 20
        shutil.copytree(tmp_path / "log", tmp_path / "crashed")
        log.close()

    run(life())
    assert numbers(tmp_path / "crashed") == list(range(40_000))
    assert not list((tmp_path / "log").glob("early-*")), "all of it is in the log"


@pytest.mark.parametrize("sync", ["batch", "never"])
def test_a_killed_agent_loses_nothing_that_it_said_is_safe(tmp_path: Path, sync: str) -> None:
    told = killed_while_writing(tmp_path, sync, "honest")
    found = numbers(tmp_path)
    assert found == list(range(len(found)))
    assert len(found) >= told > 3_000
    CustodyLog(tmp_path).close()  # The lock went with the process.


def test_the_killing_test_catches_a_log_that_forgets(tmp_path: Path) -> None:
    told = killed_while_writing(tmp_path, "batch", "forgetful")
    assert len(numbers(tmp_path)) < told
