"""Whether what was seen confirms what was said of a federation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ropewalk.agent.replay.cast import Copies, Observed
from ropewalk.errors import UsageError

MANY = 20
"""As many copies at one broker are no chance."""
PER_BROKER = 5
"""More copies than so many for each broker there is are a loop in a small federation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a claim is confirmed, and what was counted."""

    confirmed: bool
    words: str


def judge(
    claim: str, expected: Copies, observed: Observed, *, control: Observed | None = None
) -> Verdict:
    """Judge a claim of kind loop, copies, gap or cut.

    `expected`: the predicted copies by broker and topic; 0 where a gap or cut is, 1 or more where
    the message is said to arrive. `control`: of a cut, what came with nothing down.

    >>> seen = Observed(copies={("b", "t"): 2}, left_out=(), seconds=3, setup_seconds=1)
    >>> judge("copies", {("b", "t"): 2}, seen).words
    'b got 2 copies of t, as predicted'
    """
    if claim == "cut":
        return _cut(expected, observed, control)
    if claim not in _JUDGES:
        raise UsageError(f"no claim is called {claim!r}: there are {', '.join(_JUDGES)}, cut")
    return _JUDGES[claim](expected, observed)


def _loop(expected: Copies, observed: Observed) -> Verdict:
    brokers = {broker for broker, _ in (*expected, *observed.copies)}
    most = max(observed.copies.items(), key=lambda one: one[1], default=None)
    if most is None:
        return Verdict(confirmed=False, words="no copy arrived anywhere: nothing was shown")
    (broker, topic), many = most
    confirmed = many >= MANY or many > PER_BROKER * max(2, len(brokers))
    ended = " before counting was ended" if observed.storm else ""
    words = f"{broker} got {_copies(many)} of {topic} in {observed.seconds:.1f} s{ended}"
    return Verdict(
        confirmed=confirmed,
        words=words if confirmed else f"{words}, the most of all brokers: no loop was seen",
    )


def _several(expected: Copies, observed: Observed) -> Verdict:
    wanted = {where: many for where, many in expected.items() if many > 1}
    seen = _at(observed, wanted)
    confirmed = bool(wanted) and seen == wanted
    words = "; ".join(
        f"{_got(broker, topic, many)}, {_compared(many, wanted[broker, topic])}"
        for (broker, topic), many in seen.items()
    )
    return Verdict(confirmed=confirmed, words=words or "no broker is said to get several copies")


def _gap(expected: Copies, observed: Observed) -> Verdict:
    silent = _at(observed, [where for where, many in expected.items() if not many])
    heard = _at(observed, [where for where, many in expected.items() if many])
    confirmed = bool(silent) and not any(silent.values()) and bool(heard) and all(heard.values())
    words = _all(silent) or "no broker is said to get nothing"
    others = f"; as control, {_all(heard)}" if heard else "; no control: nobody is said to get it"
    return _if_all_were_there(Verdict(confirmed=confirmed, words=words + others), observed)


def _cut(expected: Copies, observed: Observed, control: Observed | None) -> Verdict:
    where = [one for one, many in expected.items() if not many]
    silent = _at(observed, where)
    before = _at(control, where) if control is not None else {}
    confirmed = bool(where) and not any(silent.values()) and bool(before) and all(before.values())
    others = f"with nothing down {_all(before)}" if before else "no run with nothing down"
    found = Verdict(confirmed=confirmed, words=f"{_all(silent)}; as control, {others}")
    return _if_all_were_there(found, observed)


def _if_all_were_there(found: Verdict, observed: Observed) -> Verdict:
    """Silence shows nothing while a connection is missing that the files ask for."""
    if not observed.missing:
        return found
    return Verdict(confirmed=False, words=f"{found.words}; but {', '.join(observed.missing)}")


_JUDGES: Mapping[str, Callable[[Copies, Observed], Verdict]] = {
    "loop": _loop,
    "copies": _several,
    "gap": _gap,
}


def _at(observed: Observed, where: "Copies | list[tuple[str, str]]") -> dict[tuple[str, str], int]:
    return {one: observed.copies.get(one, 0) for one in where}


def _all(copies: Copies) -> str:
    return ", ".join(_got(broker, topic, many) for (broker, topic), many in copies.items())


def _got(broker: str, topic: str, many: int) -> str:
    return f"{broker} got {_copies(many)} of {topic}"


def _compared(seen: int, predicted: int) -> str:
    return "as predicted" if seen == predicted else f"not {predicted} as predicted"


def _copies(many: int) -> str:
    return {0: "no copy", 1: "1 copy"}.get(many, f"{many} copies")
