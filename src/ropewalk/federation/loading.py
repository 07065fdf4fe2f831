"""The file to a federation: read, parse, check the shape, check the sense; every fault at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ropewalk.errors import FederationError
from ropewalk.federation import large, shape
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
    path = Path(path)
    if path.is_dir():
        with _no_garbage_collection():
            return _checked(large.read(path), str(path))
    return loads(_read(path, max_mb), file=str(path))


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
            federation = shape.adapter().validate_python(without_empty(parsed.value))
        except ValidationError as error:
            raise _all_faults(text, file, error) from None
        if parsed.faults or any(True for _ in check(federation)):
            raise _all_faults(text, file, None)
        return federation.written_in(Source(file, parsed.entry_lines))


def _checked(federation: Federation, file: str) -> Federation:
    told = _in_words(list(check(federation)))
    findings = [Finding(fault.code, words, Where(file)) for fault, words in told]
    if findings:
        raise FederationError(findings)
    return federation


def _read(path: Path, max_mb: float) -> str:
    try:
        size_mb = path.stat().st_size / 1e6
        if size_mb > max_mb:
            raise _error(str(path), [(1, "F003", _too_large(path, size_mb, max_mb))])
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"byte {error.object[error.start]:#04x} is not UTF-8: save the file as UTF-8 text"
        raise _error(str(path), [(line, "F001", message)]) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _error(str(path), [(0, "F001", f"cannot be read: {reason}")]) from None


def _too_large(path: Path, size_mb: float, max_mb: float) -> str:
    once = f"ropewalk read {path} --max-mb {size_mb + 1:.0f} -o DIR.parquet"
    return f"{size_mb:.0f} MB, and YAML is read up to {max_mb:g}: write the large form once: {once}"


def _no_map(value: Any) -> tuple[str, str]:
    if value is None:
        return "F002", "the file is empty: `ropewalk new` writes one to start from"
    return "F012", "a federation file is a map: start it with `federation: NAME`"


def _all_faults(text: str, file: str, error: ValidationError | None) -> FederationError:
    """Faults of text and shape, and those of sense that the well-shaped rest shows."""
    parsed = parse(text, with_lines=True)
    faults: list[Fault] = list(shape.explain(error, parsed.value)) if error else []
    rest = well_shaped(parsed.value)
    if rest is not None:
        # What was cut out because of a fault that is told already is not missed once more.
        cut = {fault.path[:n] for fault in faults for n in range(1, len(fault.path) + 1)}
        faults += [fault for fault in rest.faults() if fault.path not in cut]
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
