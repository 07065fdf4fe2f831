"""What a messenger has to remember over a restart, as plain values that any log can keep."""

from typing import Any

from msgspec import Struct, convert, to_builtins

from ropewalk.protocol.crossing import Rift
from ropewalk.protocol.horizon import Horizon
from ropewalk.protocol.stamps import Stamp
from ropewalk.protocol.strict import Strict

Numbers = tuple[int, ...]


class _Rift(Struct, frozen=True, array_like=True):
    states: Numbers
    speaker: int
    start: int
    words: Numbers
    letter: int


class _Horizon(Struct, frozen=True, array_like=True):
    """All of a `Horizon` but what can be found out again."""

    at: int
    said: int
    unheard: dict[int, tuple[int, int]]
    steps: tuple[int, int, int, int, Numbers, Numbers, Numbers]
    known: int
    theirs: tuple[int, int, int, Numbers]
    letters: dict[int, tuple[int, int, Numbers, int]]
    ahead: tuple[tuple[int, int, int, int, int, Numbers, Numbers], ...]
    open: dict[int, int]
    coming: Numbers
    done: int
    horizon: int
    goal: int
    rift: _Rift | None
    broken: str | None
    waited: bool = False


class _Strict(Struct, frozen=True, array_like=True):
    view: Numbers
    said: dict[int, int]
    done: dict[int, int]
    coming: dict[int, dict[int, int]]
    broken: str | None


def remembered(course: Horizon | Strict) -> Any:
    """A side of a conversation as plain values."""
    if isinstance(course, Strict):
        kept: Struct = _Strict(
            tuple(course.view), course.said, course.done, course.coming, course.broken
        )
    else:
        kept = _of_horizon(course)
    return to_builtins(kept, builtin_types=())


def recall(course: Horizon | Strict, plain: Any) -> None:
    """Bring a new side back to where it was; raises msgspec.ValidationError for nonsense."""
    if isinstance(course, Strict):
        _recall_strict(course, convert(plain, _Strict, strict=False))
    else:
        _recall_horizon(course, convert(plain, _Horizon, strict=False))


def _of_horizon(one: Horizon) -> _Horizon:
    rift = one.rift
    return _Horizon(
        one.at,
        one.said,
        one.unheard,
        one._steps.memory(),
        one.known,
        (one._their_state, one._their_steps, one._their_heard, one._their_early),
        one._known,
        tuple(
            (s.number, s.base, s.first, s.state, s.heard, s.early, s.events)
            for s in one.ahead.values()
        ),
        one.open,
        tuple(one.coming),
        one.done,
        one._horizon,
        one._goal,
        None
        if rift is None
        else _Rift(tuple(rift.states), rift.speaker, rift.start, rift.words, rift.letter),
        one.broken,
        one.waited,
    )


def _recall_horizon(one: Horizon, kept: _Horizon) -> None:
    one.at, one.said, one.unheard = kept.at, kept.said, dict(kept.unheard)
    one.waited = kept.waited
    one._steps.recall(kept.steps)
    one.known, one.open, one.coming = kept.known, dict(kept.open), set(kept.coming)
    one._their_state, one._their_steps, one._their_heard, one._their_early = kept.theirs
    one._known = dict(kept.letters)
    one.ahead = {some[0]: Stamp(*some) for some in kept.ahead}
    one.done, one._horizon, one._goal, one.broken = kept.done, kept.horizon, kept.goal, kept.broken
    rift = kept.rift
    one.rift = None
    if rift is not None:
        one.rift = Rift(frozenset(rift.states), rift.speaker, rift.start, rift.words, rift.letter)


def _recall_strict(one: Strict, kept: _Strict) -> None:
    one.view, one.broken = frozenset(kept.view), kept.broken
    one.said, one.done = dict(kept.said), dict(kept.done)
    one.coming = {sender: dict(some) for sender, some in kept.coming.items()}
