"""Tables on disk: a folder with `network.json` and one small file per broker.

An agent maps its file into memory and reads it as it lies there. Every file has a version, the
print of the network that it was computed for, and a checksum; whatever does not fit is refused.
"""

import json
import struct
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np

from ropewalk.errors import InputError, UsageError
from ropewalk.federation.arrays import Graph, adjacency
from ropewalk.federation.names import link_name
from ropewalk.federation.saving import put_folder, write_bytes
from ropewalk.findings import Finding, Where
from ropewalk.routing.ahead.broker_table import ARRAYS, BrokerTable
from ropewalk.routing.ahead.colours import Colours
from ropewalk.routing.ahead.network import Ahead, Network
from ropewalk.routing.ahead.tables import Tables

MAGIC, VERSION = b"ropewalk", 1
NETWORK = "network.json"
SUFFIX = ".table"
HEADER = struct.Struct("<8sIIII16s")
"""Magic, version, which broker, brokers, links, print of the network; then for each array the
bytes of a number and how many there are; then the arrays; last the checksum of all before."""
SHAPE = struct.Struct("<IQ")
CHECKSUM = 16


def write_tables(tables: Tables, folder: str | Path) -> None:
    """Write all tables to a folder, whole or not at all.

    Raises UsageError if there is something else in the folder, or if it cannot be written.
    """
    folder = Path(folder)
    ours = {NETWORK, *(file_name(tables.network, one.at) for one in tables.brokers)}
    if folder.is_dir() and not (folder / NETWORK).is_file() and any(folder.iterdir()):
        raise UsageError(f"{folder}: the folder holds something else: name another")
    if not folder.parent.is_dir():
        raise UsageError(f"{folder}: there is no folder {folder.parent}: make it, or name another")
    if len(ours) <= len(tables.brokers):
        raise UsageError(f"{folder}: two brokers would share a file: rename one of them")
    try:
        with tempfile.TemporaryDirectory(prefix=".ropewalk-", dir=folder.parent) as scratch:
            made = Path(scratch) / "new"
            made.mkdir()
            for one in tables.brokers:
                path = made / file_name(tables.network, one.at)
                path.write_bytes(_packed(tables.network, one))
            text = json.dumps(_described(tables.network), ensure_ascii=False, indent=0)
            (made / NETWORK).write_text(text, encoding="utf-8")
            put_folder(made, folder, Path(scratch) / "old")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None


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
    parts = [HEADER.pack(MAGIC, VERSION, table.at, graph.brokers, graph.links, network.print)]
    parts += [SHAPE.pack(one.itemsize, len(one)) for one in arrays]
    start = sum(map(len, parts))
    for one in arrays:
        parts += [bytes(-start % 8), one.astype(one.dtype.newbyteorder("<")).tobytes()]
        start += -start % 8 + one.nbytes
    body = b"".join(parts)
    return body + blake2b(body, digest_size=CHECKSUM).digest()


def _described(network: Network) -> dict[str, Any]:
    graph, ahead = network.graph, network.ahead
    return {
        "format": f"ropewalk tables {VERSION}",
        "print": network.print.hex(),
        "failures": ahead.texts(),
        "ahead": {"links": ahead.links, "brokers": ahead.brokers, "any": ahead.any},
        "chosen": [[list(things), name] for things, name in ahead.chosen.items()],
        "brokers": list(graph.names),
        "transit": graph.transit.astype(int).tolist(),
        "links": np.column_stack((graph.ends, graph.cost)).tolist(),
    }


def read_network(folder: str | Path) -> Network:
    """What all tables of a folder have in common; InputError if it is not such a folder."""
    path = Path(folder) / NETWORK
    if not path.is_file():
        told = f"`ropewalk route FILE -o {folder}` writes them"
        raise UsageError(f"{folder}: there are no tables: {told}")
    try:
        told = json.loads(path.read_text("utf-8"))
        network = _network(told)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise _unreadable(path, f"it cannot be read ({type(error).__name__})") from None
    if told.get("format") != f"ropewalk tables {VERSION}":
        raise _unreadable(path, f"it is of another version: {told.get('format')!r}")
    if network.print.hex() != told["print"]:
        raise _unreadable(path, "it was changed after it was written")
    return network


def _network(told: dict[str, Any]) -> Network:
    names = tuple(map(str, told["brokers"]))
    ends = np.array([one[:2] for one in told["links"]], np.int32).reshape(-1, 2)
    if len(ends) and not 0 <= ends.min() <= ends.max() < len(names):
        raise ValueError("a link ends nowhere")
    first, neighbour, link = adjacency(ends, len(names))
    zeros = np.zeros(len(ends))
    graph = Graph(
        names=names,
        ends=ends,
        cost=np.array([one[2] for one in told["links"]], np.int32),
        latency_ms=zeros,
        loss=zeros,
        first=first,
        neighbour=neighbour,
        link=link,
        domain=np.arange(len(names), dtype=np.int32),
        transit=np.array(told["transit"], np.bool_),
    )
    colours = Colours(names, [link_name(names[a], names[b]) for a, b in ends.tolist()], ends)
    chosen = {tuple(map(int, things)): str(name) for things, name in told["chosen"]}
    return Network(graph, colours, Ahead(**told["ahead"], chosen=chosen))


def read_broker(folder: str | Path, name: str, network: Network | None = None) -> BrokerTable:
    """One broker's tables, mapped into memory; InputError with a finding if they are not whole."""
    network = network or read_network(folder)
    if name not in network.graph.names:
        raise UsageError(f"{folder}: there is no broker {name!r} in these tables")
    at = network.graph.names.index(name)
    path = Path(folder) / file_name(network, at)
    try:
        with path.open("rb") as file:
            data = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
    except (OSError, ValueError) as error:
        empty = isinstance(error, ValueError)
        raise _unreadable(path, "it is empty" if empty else "it cannot be opened") from None
    return _unpacked(path, data, network, at)


def read_tables(folder: str | Path) -> Tables:
    """All tables of a folder; InputError with a finding for every file that is not whole."""
    network = read_network(folder)
    brokers, faults = [], list[Finding]()
    for name in network.graph.names:
        try:
            brokers.append(read_broker(folder, name, network))
        except InputError as error:
            faults += error.findings
    if faults:
        raise InputError(faults)
    return Tables(network, brokers)


def _unpacked(path: Path, data: memoryview, network: Network, at: int) -> BrokerTable:
    start = HEADER.size + len(ARRAYS) * SHAPE.size
    if data[: len(MAGIC)] != MAGIC:
        raise _unreadable(path, "it is no table of ropewalk")
    if len(data) < start + CHECKSUM:
        raise _unreadable(path, "it is cut short")
    _, version, own, brokers, links, print_ = HEADER.unpack_from(data)
    if version != VERSION:
        raise _unreadable(path, f"it is of version {version}, this is {VERSION}")
    if blake2b(data[:-CHECKSUM], digest_size=CHECKSUM).digest() != data[-CHECKSUM:]:
        raise _unreadable(path, "its checksum is wrong: it is cut short, or was changed")
    graph = network.graph
    if (own, brokers, links, print_) != (at, graph.brokers, graph.links, network.print):
        where = Where(str(path))
        raise InputError([Finding("T006", "it belongs to other tables than its folder", where)])
    arrays = dict(zip(ARRAYS, _arrays(data), strict=True))
    chosen = {things: i for i, things in enumerate(network.ahead.chosen)}
    return BrokerTable(at=at, links=links, chosen=chosen, **arrays)


def _arrays(data: memoryview) -> Iterator[Any]:
    start = HEADER.size + len(ARRAYS) * SHAPE.size
    for i in range(len(ARRAYS)):
        size, length = SHAPE.unpack_from(data, HEADER.size + i * SHAPE.size)
        start += -start % 8
        yield np.frombuffer(data, f"<u{size}", length, start)
        start += size * length


def _unreadable(path: Path, why: str) -> InputError:
    told = f"{why}: let `ropewalk route` write it again"
    return InputError([Finding("T005", told, Where(str(path)))])
