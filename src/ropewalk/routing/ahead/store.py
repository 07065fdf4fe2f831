"""Tables on disk: a folder with `network.json` and one small file per broker.

An agent maps its file into memory and reads it as it lies there. Every file has a version, the
print of the network that it was computed for, and a checksum; whatever does not fit is refused.
"""

import json
import struct
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from mmap import ACCESS_READ, mmap
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from ropewalk.errors import InputError, UsageError
from ropewalk.federation.saving import put_folder, write_bytes
from ropewalk.findings import Finding, Where
from ropewalk.routing.ahead.broker_table import ARRAYS, BrokerTable, is_sound
from ropewalk.routing.ahead.description import (
    NETWORK,
    described,
    is_described,
    not_whole,
    read_network,
)
from ropewalk.routing.ahead.network import Network
from ropewalk.routing.ahead.tables import Tables

MAGIC, VERSION = b"ropewalk", 1
SUFFIX = ".table"
HEADER = struct.Struct("<8sIIII16s")
"""Magic, version, which broker, brokers, links, print of the network; then for each array the
bytes of a number and how many there are; then the arrays; last the checksum of all before."""
SHAPE = struct.Struct("<IQ")
CHECKSUM = 16
AGAIN, AGAIN_S = 3, 0.02


def write_tables(tables: Tables, folder: str | Path) -> None:
    """Write all tables to a folder, whole or not at all.

    Raises UsageError if there is something else in its place, or if it cannot be written.
    """
    folder = Path(folder).resolve() if Path(folder).is_symlink() else Path(folder)
    ours = {NETWORK, *(file_name(tables.network, one.at) for one in tables.brokers)}
    if not folder.parent.is_dir():
        raise UsageError(f"{folder}: there is no folder {folder.parent}: make it, or name another")
    if len(ours) <= len(tables.brokers):
        raise UsageError(f"{folder}: two brokers would share a file: rename one of them")
    try:
        if folder.exists() and not _is_ours(folder):
            raise UsageError(f"{folder}: something else is there: name another folder")
        with tempfile.TemporaryDirectory(prefix=".ropewalk-", dir=folder.parent) as scratch:
            made = Path(scratch) / "new"
            made.mkdir()
            for one in tables.brokers:
                path = made / file_name(tables.network, one.at)
                path.write_bytes(_packed(tables.network, one))
            text = json.dumps(described(tables.network), ensure_ascii=False, indent=0)
            (made / NETWORK).write_text(text, encoding="utf-8")
            put_folder(made, folder, Path(scratch) / "old")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None


def _is_ours(folder: Path) -> bool:
    """Whether a folder is empty, or holds tables and nothing else, so that it may be replaced."""
    if not folder.is_dir():
        return False
    names = [one.name for one in folder.iterdir()]
    if not all(name == NETWORK or name.endswith(SUFFIX) for name in names):
        return False
    return not names or (NETWORK in names and is_described(folder / NETWORK))


def write_broker(folder: str | Path, network: Network, table: BrokerTable) -> None:
    """Write one broker's tables in place of those that are there, whole or not at all."""
    write_bytes(Path(folder) / file_name(network, table.at), _packed(network, table))


def file_name(network: Network, at: int) -> str:
    """The file of a broker: its name, or its number where the name is too long for a file."""
    name = network.graph.names[at]
    return (name if len(name.encode()) <= 200 else f"@{at}") + SUFFIX


def _packed(network: Network, table: BrokerTable) -> bytes:
    arrays = [np.ascontiguousarray(getattr(table, name)) for name in ARRAYS]
    graph = network.graph
    parts = [HEADER.pack(MAGIC, VERSION, table.at, graph.brokers, graph.links, network.fingerprint)]
    parts += [SHAPE.pack(one.itemsize, len(one)) for one in arrays]
    start = sum(map(len, parts))
    for one in arrays:
        parts += [bytes(-start % 8), one.astype(one.dtype.newbyteorder("<")).tobytes()]
        start += -start % 8 + one.nbytes
    body = b"".join(parts)
    return body + blake2b(body, digest_size=CHECKSUM).digest()


def read_broker(folder: str | Path, name: str, network: Network | None = None) -> BrokerTable:
    """One broker's tables, mapped into memory; InputError with a finding if they are not whole.

    While a folder is replaced a reader may meet parts of both: then it looks again.
    """
    if network is None:
        for _ in range(AGAIN):
            with suppress(UsageError, InputError):
                return read_broker(folder, name, read_network(folder))
            sleep(AGAIN_S)
        network = read_network(folder)
    if name not in network.graph.names:
        raise UsageError(f"{folder}: there is no broker {name!r} in these tables")
    at = network.graph.names.index(name)
    path = Path(folder) / file_name(network, at)
    try:
        with path.open("rb") as file:
            data = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
    except (OSError, ValueError) as error:
        raise _unreadable(path, _why(error)) from None
    return _unpacked(path, data, network, at)


def read_tables(folder: str | Path) -> Tables:
    """All tables of a folder; InputError with a finding for every file that is not whole."""
    network = read_network(folder)
    brokers, faults = [], list[Finding]()
    for at in range(network.graph.brokers):
        path = Path(folder) / file_name(network, at)
        try:
            # Read, not mapped: every mapping holds a file open, and there may be thousands.
            brokers.append(_unpacked(path, memoryview(path.read_bytes()), network, at))
        except InputError as error:
            faults += error.findings
        except OSError as error:
            faults += _unreadable(path, _why(error)).findings
    if faults:
        raise InputError(faults)
    return Tables(network, brokers)


def _why(error: Exception) -> str:
    """Why a file cannot be opened; an empty one cannot be mapped."""
    return str(error.strerror).lower() if isinstance(error, OSError) else "it is empty"


def _unpacked(path: Path, data: memoryview, network: Network, at: int) -> BrokerTable:
    start = HEADER.size + len(ARRAYS) * SHAPE.size
    if data[: len(MAGIC)] != MAGIC:
        raise _unreadable(path, "it is no table of ropewalk")
    if len(data) < start + CHECKSUM:
        raise _unreadable(path, "it is cut short")
    _, version, own, brokers, links, own_print = HEADER.unpack_from(data)
    if version != VERSION:
        raise _unreadable(path, f"it is of version {version}, this is {VERSION}")
    if blake2b(data[:-CHECKSUM], digest_size=CHECKSUM).digest() != data[-CHECKSUM:]:
        raise _unreadable(path, "its checksum is wrong: it is cut short, or was changed")
    graph = network.graph
    if (own, brokers, links, own_print) != (at, graph.brokers, graph.links, network.fingerprint):
        where = Where(str(path))
        raise InputError([Finding("T006", "it belongs to other tables than its folder", where)])
    try:
        arrays = dict(zip(ARRAYS, _arrays(data), strict=True))
    except (ValueError, TypeError, OverflowError):
        raise _unreadable(path, "its arrays do not fit into it") from None
    table = BrokerTable(at=at, links=links, chosen=network.ahead.order, **arrays)
    if not is_sound(table, graph.neighbours(at), len(network.ahead.chosen)):
        raise _unreadable(path, "its numbers make no tables")
    return table


def _arrays(data: memoryview) -> Iterator[Any]:
    start = HEADER.size + len(ARRAYS) * SHAPE.size
    for i in range(len(ARRAYS)):
        size, length = SHAPE.unpack_from(data, HEADER.size + i * SHAPE.size)
        start += -start % 8
        if start + size * length > len(data) - CHECKSUM:
            raise ValueError("longer than the file")
        yield np.frombuffer(data, f"<u{size}", length, start)
        start += size * length


def _unreadable(path: Path, why: str) -> InputError:
    return InputError([not_whole(path, why)])
