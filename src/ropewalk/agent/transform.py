"""Message mediation: payloads and headers of some topics are changed before they are carried.

    ropewalk agent F --broker B --transform 'meters/+=site.units:to_kelvin'

A transform is a function `(payload: bytes, headers: dict[str, str]) -> (bytes, dict[str, str])`; it
returns None to have the message dropped. Of several headers of one name it sees the last. It runs
once for each message at the agent where it is published, before custody: what is acknowledged, kept
and traced is the result. It runs on the agent's own thread, so it must be quick and do no I/O. If
it fails, the message is carried as it is: nothing is ever lost by a transform, except what it says
to drop. All of it is told.

Clients of the same broker get from it what was published: agents are not asked there.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

from msgspec.structs import replace

from ropewalk.agent.brokers.contract import Headers, Incoming
from ropewalk.errors import UsageError
from ropewalk.overlay.rules import matches

Transform = Callable[[bytes, dict[str, str]], tuple[bytes, Mapping[str, str]] | None]
SLOW_S = 0.005
"""Above this a transform holds up heartbeats, and that is told."""
KNOWN = 65_536


def transforms_of(given: Sequence[str]) -> dict[str, Transform]:
    """By pattern, from texts `TOPIC=package.module:function`; raises UsageError.

    >>> list(transforms_of(["a/+=builtins:print"]))
    ['a/+']
    """
    found: dict[str, Transform] = {}
    for one in given:
        pattern, equals, path = one.rpartition("=")
        if not equals or not pattern:
            raise UsageError(f"--transform {one!r}: write TOPIC=package.module:function")
        if pattern in found:
            raise UsageError(f"--transform {one!r}: {pattern} has one already: keep one")
        found[pattern] = _function(path)
    return found


def _function(path: str) -> Transform:
    module, colon, name = path.partition(":")
    if not colon:
        raise UsageError(f"--transform {path!r}: write package.module:function")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"--transform {path}: cannot be imported ({error}): check the name and PYTHONPATH"
        ) from error
    if not callable(found):
        raise UsageError(f"--transform {path}: it is no function")
    function: Transform = found
    return function


class Mediation:
    """Applies transforms to what clients publish."""

    def __init__(
        self,
        transforms: Mapping[str, Transform],
        *,
        drop: Callable[[Sequence[Any]], None],
        tell: Callable[[str, tuple[Any, ...]], None],
    ) -> None:
        """`drop` is told the tickets of messages that are not carried: publishers are answered."""
        self._transforms, self._drop, self._tell = dict(transforms), drop, tell
        self._of: dict[str, Transform | None] = {}
        self.counts: dict[str, Counter[str]] = {}
        """By topic: how many were changed, dropped, and carried as they were for a fault."""

    def apply(self, messages: Sequence[Incoming]) -> Sequence[Incoming]:
        """What is carried of messages that clients have published."""
        kept: list[Incoming] = []
        dropped: list[Any] = []
        for one in messages:
            function = self._function(one.topic)
            result = one if function is None else self._changed(one, function)
            if result is not None:
                kept.append(result)
            elif one.ticket is not None:
                dropped.append(one.ticket)
        if dropped:
            self._drop(dropped)
        return kept

    def _function(self, topic: str) -> Transform | None:
        """The first whose pattern fits."""
        if topic not in self._of:
            if len(self._of) >= KNOWN:
                self._of.clear()
            fitting = (one for pattern, one in self._transforms.items() if matches(pattern, topic))
            self._of[topic] = next(fitting, None)
        return self._of[topic]

    def _changed(self, message: Incoming, function: Transform) -> Incoming | None:
        """A message as it is carried; None if it is not."""
        began_s = perf_counter()
        try:
            result = function(message.payload, dict(message.headers))
            if result is None:
                self._count(message.topic, "dropped", "its transform says so")
                return None
            payload, headers = _checked(*result)
        except Exception as error:  # whatever it raises: it is somebody else's code
            why = f"{type(error).__name__}: {error}"
            self._count(message.topic, "failed", f"carried as it is ({why})")
            return message
        took_s = perf_counter() - began_s
        self._count(message.topic, "changed", "")
        if took_s > SLOW_S:
            self._tell("transform is slow", (message.topic, f"above {SLOW_S * 1e3:g} ms"))
        return replace(message, payload=payload, headers=headers)

    def _count(self, topic: str, what: str, why: str) -> None:
        self.counts.setdefault(topic, Counter())[what] += 1
        if why:
            self._tell(f"transform {what}", (topic, why))


def _checked(payload: Any, headers: Any) -> tuple[bytes, Headers]:
    """What a transform returned; raises TypeError if it is something else."""
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise TypeError(f"a payload of bytes is needed, not {type(payload).__name__}")
    if not isinstance(headers, Mapping):
        raise TypeError(f"headers by name are needed, not {type(headers).__name__}")
    named = tuple((name, value) for name, value in headers.items())
    if not all(isinstance(text, str) for pair in named for text in pair):
        raise TypeError("names and values of headers have to be texts")
    return bytes(payload), named
