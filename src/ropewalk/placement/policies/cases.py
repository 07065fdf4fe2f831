"""The case base: policies by the state of the system, and the nearest where none fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from json import dumps
from typing import Any

import numpy as np

from ropewalk.errors import UsageError
from ropewalk.placement.performance import Reals
from ropewalk.placement.policies.failures import Policy
from ropewalk.placement.problems import Ints, Problem
from ropewalk.placement.risk import margins

FORMAT = "ropewalk policies 1"


@dataclass(frozen=True, slots=True)
class Case:
    """A state of the system and what to do in it: which items go where."""

    period: str
    """`peak`, `quiet` or another name of a time with rates of its own."""
    down: frozenset[str]
    moves: Mapping[str, str]
    least_margin: float
    room: Mapping[str, float]
    """Mean load that each survivor could still take afterwards."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        failed = "+".join(sorted(self.down)) if self.down else "initial"
        return failed if self.period == "peak" else f"{self.period}: {failed}"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do in a state: from the case itself, or from the nearest, made to fit."""

    case: str
    exact: bool
    moves: Mapping[str, str]
    improvised: tuple[str, ...]
    """Items that no case has an answer for: they go where room is."""


@dataclass(frozen=True, slots=True)
class CaseBase:
    """All cases of a placement, to be handed to agents."""

    items: Mapping[str, tuple[str, float]]
    """Of each item: its broker, and its mean load there."""
    brokers: tuple[str, ...]
    cases: tuple[Case, ...]

    @property
    def version(self) -> str:
        """Of the content: two that say the same have the same."""
        text = dumps({**self.as_dict(), "version": ""}, sort_keys=True)
        return blake2b(text.encode(), digest_size=8).hexdigest()

    def advice(self, down: Sequence[str], period: str = "peak") -> Advice:
        """What to do when these brokers are down.

        Where no case is for exactly that, the nearest counts: the one that shares most failed
        brokers and has fewest others; then the one with the larger margin. Its moves count as far
        as they make sense, then those of other cases for the same broker, the nearest first; what
        is left goes where most room is.
        """
        failed = frozenset(down)
        if unknown := failed - set(self.brokers):
            raise UsageError(f"there is no broker {sorted(unknown)[0]!r} in these policies")
        if not set(self.brokers) - failed:
            raise UsageError("all brokers are down: there is nowhere to go")
        ranked = sorted(self.cases, key=lambda case: _distance(case, failed, period))
        if not ranked:
            return self._improvised(failed, "", {}, {})
        nearest = ranked[0]
        if nearest.down == failed and nearest.period == period:
            return Advice(nearest.name, True, nearest.moves, ())
        moves: dict[str, str] = {}
        for case in ranked:
            for item, to in case.moves.items():
                if self.items[item][0] in failed and to not in failed:
                    moves.setdefault(item, to)
        return self._improvised(failed, nearest.name, moves, nearest.room)

    def _improvised(
        self,
        failed: frozenset[str],
        name: str,
        moves: dict[str, str],
        room: Mapping[str, float],
    ) -> Advice:
        left = {broker: room.get(broker, 0.0) for broker in self.brokers if broker not in failed}
        missing = [
            item for item, (at, _) in self.items.items() if at in failed and item not in moves
        ]
        for item in sorted(missing, key=lambda one: -self.items[one][1]):
            to = max(left, key=lambda broker: left[broker])
            left[to] -= self.items[item][1]
            moves[item] = to
        return Advice(name, False, moves, tuple(missing))

    def as_dict(self) -> dict[str, Any]:
        """Plain data: brokers and items by number, a case a line."""
        broker = {name: b for b, name in enumerate(self.brokers)}
        item = {name: i for i, name in enumerate(self.items)}
        return {
            "format": FORMAT,
            "version": "",
            "brokers": list(self.brokers),
            "items": [
                [name, broker[at], round(load, 9)] for name, (at, load) in self.items.items()
            ],
            "cases": [
                {
                    "period": case.period,
                    "down": sorted(broker[name] for name in case.down),
                    "items": [item[name] for name in case.moves],
                    "to": [broker[to] for to in case.moves.values()],
                    "least_margin": round(case.least_margin, 4),
                    "room": [
                        round(case.room[name], 6) if name in case.room else None
                        for name in self.brokers
                    ],
                }
                for case in self.cases
            ],
        }

    def text(self) -> str:
        """JSON, a case a line."""
        found = self.as_dict()
        cases = ",\n".join(dumps(case, separators=(",", ":")) for case in found["cases"])
        head = {**found, "version": self.version}
        del head["cases"]
        opened = dumps(head, separators=(",", ":"), ensure_ascii=False)[:-1]
        return f'{opened},"cases":[\n{cases}\n]}}\n'

    @classmethod
    def of(cls, found: Any) -> "CaseBase":
        """From plain data; raises UsageError for what is no case base, or not whole."""
        try:
            if found["format"] != FORMAT:
                raise UsageError(f"policies of another format, {found['format']!r}: make them anew")
            brokers = tuple(found["brokers"])
            names = [row[0] for row in found["items"]]
            made = cls(
                {name: (brokers[b], float(load)) for name, b, load in found["items"]},
                brokers,
                tuple(_case(one, names, brokers) for one in found["cases"]),
            )
            whole = made.version == found["version"]
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise UsageError(f"no policies, or damaged: {error!r}: make them anew") from None
        if not whole:
            raise UsageError("policies were changed by hand, or are damaged: make them anew")
        return made


def case_base(
    problem: Problem,
    place: Ints,
    found: Sequence[Policy],
    periods: Mapping[str, Policy] | None = None,
) -> CaseBase:
    """The initial case, one per policy, and one per other period."""
    load = problem.load[place, np.arange(len(place))]
    items = {
        name: (problem.brokers[b], round(float(one), 9))
        for name, b, one in zip(problem.items, place, load, strict=True)
    }
    used = np.bincount(place, load, len(problem.brokers))
    least = round(float(margins(problem, place).min()), 4)
    first = Case("peak", frozenset(), {}, least, _room(problem, problem.limit - used))
    cases = [_case_of(problem, one, "peak") for one in found]
    cases += [_case_of(problem, one, name) for name, one in (periods or {}).items()]
    return CaseBase(items, problem.brokers, (first, *cases))


def _case_of(problem: Problem, one: Policy, period: str) -> Case:
    return Case(
        period,
        frozenset(problem.brokers[b] for b in one.down),
        {problem.items[i]: problem.brokers[b] for i, b in zip(one.items, one.to, strict=True)},
        round(one.least_margin, 4),
        _room(problem, one.room),
    )


def _room(problem: Problem, room: Reals) -> dict[str, float]:
    return {
        name: round(float(one), 6)
        for name, one in zip(problem.brokers, room, strict=True)
        if np.isfinite(one)
    }


def _case(one: Any, names: Sequence[str], brokers: Sequence[str]) -> Case:
    return Case(
        str(one["period"]),
        frozenset(brokers[b] for b in one["down"]),
        {names[i]: brokers[b] for i, b in zip(one["items"], one["to"], strict=True)},
        float(one["least_margin"]),
        {
            name: float(room)
            for name, room in zip(brokers, one["room"], strict=True)
            if room is not None
        },
    )


def _distance(case: Case, failed: frozenset[str], period: str) -> tuple[Any, ...]:
    return (
        case.period != period,
        len(failed ^ case.down),
        len(case.down - failed),
        -case.least_margin,
        sorted(case.down),
    )
