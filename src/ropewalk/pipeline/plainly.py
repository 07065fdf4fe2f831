"""What Spark says when something fails, as one line: its own words fill screens."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ropewalk.errors import UsageError

SPARKS = ("pyspark.", "py4j.")
TOLD = re.compile(r"\bUsageError: (.+)")
"""What our own code said inside a task."""
STREAMS = "=== Streaming Query ==="
"""What a failed stream tells of itself comes below this line, and below what went wrong."""


@contextmanager
def plainly() -> Iterator[None]:
    """Failures of Spark as UsageError; with ROPEWALK_DEBUG=1 as they are."""
    try:
        yield
    except Exception as error:
        if os.environ.get("ROPEWALK_DEBUG") or not type(error).__module__.startswith(SPARKS):
            raise
        raise UsageError(in_words(str(error))) from None


def in_words(text: str) -> str:
    r"""The line of Spark's text that tells most: the last that Python or Spark said of it.

    >>> in_words("Job aborted\nTraceback:\n  File x\nOSError: disk is full\n\tat org.apache.X")
    'Spark could not do this: OSError: disk is full (ROPEWALK_DEBUG=1 shows all that it said)'
    """
    if told := TOLD.search(text):
        return told[1].strip()
    said = text.partition(STREAMS)[0]
    _, raised, after = said.rpartition("Traceback (most recent call last):\n")
    lines = [line for line in after.splitlines() if line.strip() and not line[0].isspace()]
    if raised and lines:  # an exception may say nothing, or more than a line
        return f"Spark could not do this: {lines[0]} (ROPEWALK_DEBUG=1 shows all that it said)"
    last = next((line for line in reversed(lines) if ": " in line), said.strip()[:200] or "?")
    return f"Spark could not do this: {last} (ROPEWALK_DEBUG=1 shows all that it said)"
