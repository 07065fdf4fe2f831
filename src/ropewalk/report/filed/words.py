"""Figures for people: counts, times, sizes and whatever else a document may hold."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

LONGEST = 400
"""Letters of a value that is shown whole."""


def count(value: Any) -> str:
    """A whole number.

    >>> count(12345), count(None)
    ('12,345', '-')
    """
    return "-" if value is None else f"{int(value):,}"


def number(value: Any) -> float | None:
    """A number from a document, or from a file that was read without types; None if it is none.

    >>> number("4e-05"), number("endless"), number(None)
    (4e-05, None, None)
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if isfinite(found) else None


def figure(value: Any, digits: int = 4) -> str:
    """A number with so many digits that tell.

    >>> figure(1234.5678), figure(0.000012345), figure(3), figure("endless"), figure(12345.6)
    ('1,235', '1.234e-05', '3', 'endless', '12,346')
    """
    found = number(value)
    if found is None:
        return "-" if value is None else str(value)
    if found == int(found) and abs(found) < 1e15:
        return f"{int(found):,}"
    return f"{found:,.0f}" if abs(found) >= 10 ** (digits - 1) else f"{found:.{digits}g}"


def ms(value: Any) -> str:
    """A time in milliseconds.

    >>> ms(0.1234), ms(402.069), ms(None)
    ('0.12 ms', '402 ms', '-')
    """
    found = number(value)
    if found is None:
        return "-"
    return f"{found:,.0f} ms" if found >= 100 else f"{found:.2g} ms"


def size(value: int) -> str:
    """Bytes.

    >>> size(999), size(12_345_678)
    ('999 B', '12.3 MB')
    """
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= least:
            return f"{value / least:.1f} {unit}"
    return f"{value} B"


def spoken(key: str) -> str:
    """A key of a document as words.

    >>> spoken("bytes_per_broker_max")
    'bytes per broker max'
    """
    return key.replace("_", " ")


def plain(value: Any) -> str:
    """Any value of a document in a line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return figure(value)
    if isinstance(value, Mapping):
        parts = [f"{spoken(str(key))}: {plain(one)}" for key, one in value.items()]
        return shortened("; ".join(parts))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return shortened(", ".join(map(plain, value)) or "none")
    return shortened(str(value))


def shortened(text: str) -> str:
    """A text of bearable length."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... (all of it is in the JSON)"
