"""The file to a federation: read, parse, check the shape, check the sense; every fault at once."""

import codecs
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ropewalk.errors import FederationError
from ropewalk.federation import schema, shape
from ropewalk.federation.facts import Federation
from ropewalk.federation.rest import well_shaped, without_empty
from ropewalk.federation.sense import Fault, check
from ropewalk.federation.source import Source
from ropewalk.federation.yaml_text import Parsed, parse
from ropewalk.findings import Finding, Where

MAX_YAML_MB = 64
HINTED = 100
"""So many unknown names are compared with the known ones, to hint at a slip of the pen."""


def load(path: str | Path, *, max_mb: float = MAX_YAML_MB) -> Federation:
    """Load a federation from a YAML file or from a folder in the large (Parquet) form.

    Raises FederationError, which holds every fault of the file with its line.
    """
    try:
        if Path(path).is_dir():
            from ropewalk.federation import large  # pyarrow takes longer than a small file

            with _no_garbage_collection():
                return _checked(large.read(Path(path)), str(path))
        with Path(path).open("rb") as file:
            content = file.read(int(max_mb * 1e6) + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(str(path), [(0, "F001", f"cannot be read: {reason.lower()}")]) from None
    return loads(_decoded(content, str(path), max_mb), file=str(path))


def loads(text: str, *, file: str = "<text>") -> Federation:
    """Load a federation from YAML text.

    >>> loads("{federation: pair, brokers: {a: , b: }, links: [{between: [a, b]}]}").graph.links
    1
    """
    with _no_garbage_collection():
        parsed = parse(text)
        if parsed.broken or not isinstance(parsed.value, dict):
            raise _unusable(parsed, file)
        try:
            federation = schema.adapter().validate_python(without_empty(parsed.value))
        except ValidationError as error:
            raise _all_faults(text, file, error) from None
        if parsed.faults or any(True for _ in check(federation)):
            raise _all_faults(text, file, None)
        return federation.written_in(Source(file, parsed.entry_lines))


def _checked(federation: Federation, file: str) -> Federation:
    told = _in_words(list(check(federation)))
    if faults := [(0, fault.code, words) for fault, words in told]:
        raise _error(file, faults)
    return federation.written_in(Source(file))


def _decoded(content: bytes, file: str, max_mb: float) -> str:
    if len(content) > max_mb * 1e6:
        once = f"ropewalk read {file} --max-mb N -o DIR.parquet"
        message = f"more than {max_mb:g} MB, too much for YAML: write the large form once: {once}"
        raise _error(file, [(1, "F003", message)])
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise _error(file, [(1, "F001", "it is UTF-16: save the file as UTF-8 text")])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        kind = "a binary file" if b"\0" in content else "not UTF-8"
        message = f"it is {kind} (byte {content[error.start]:#04x}): give a UTF-8 text file"
        raise _error(file, [(line, "F001", message)]) from None


def _no_map(value: Any) -> tuple[str, str]:
    if value is None:
        return "F002", "the file is empty: `ropewalk new` writes one to start from"
    what = "this is no federation file, which is a map that starts with `federation: NAME`"
    return "F012", f"{what}: `ropewalk new` writes one to start from"


def _all_faults(text: str, file: str, error: ValidationError | None) -> FederationError:
    """Faults of text and shape, and those of sense that the well-shaped rest shows."""
    parsed = parse(text, with_lines=True)
    faults: list[Fault] = list(shape.explain(error, parsed.value)) if error else []
    rest = well_shaped(parsed.value)
    if rest is not None:
        faults += rest.faults()
    told = [(parsed.line_of(fault.path), fault.code, words) for fault, words in _in_words(faults)]
    return _error(file, told + [(one.line, one.code, one.message) for one in parsed.faults])


def _in_words(faults: list[Fault]) -> Iterator[tuple[Fault, str]]:
    for i, fault in enumerate(faults):
        yield fault, fault.in_words(with_hint=i < HINTED)


def _unusable(parsed: Parsed, file: str) -> FederationError:
    faults = [(fault.line, fault.code, fault.message) for fault in parsed.faults]
    if not parsed.broken:
        faults.append((1, *_no_map(parsed.value)))
    return _error(file, faults)


def _error(file: str, faults: list[tuple[int, str, str]]) -> FederationError:
    unique = dict.fromkeys(sorted(faults, key=lambda fault: fault[0]))
    return FederationError([Finding(code, text, Where(file, line)) for line, code, text in unique])


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Loading makes millions of objects and no cycles; collecting would take most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
