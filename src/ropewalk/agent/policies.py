"""Failure policies that an agent lays before the council: of the plan, or of the federation file.

A plan that `ropewalk place` wrote names its case base. Without one, or while its file is empty, the
brokers' `takeover` lists
say who takes the items of a broker that fails: the first of the list that is alive. An item's home
is then the broker of its first subscriber; items whose home has no list stay where they are.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from ropewalk.agent.rehoming import PlannedMove
from ropewalk.errors import UsageError
from ropewalk.federation.arrays import broker_of
from ropewalk.federation.facts import Federation
from ropewalk.overlay.events import Proposed
from ropewalk.overlay.managing import Managing
from ropewalk.placement.policies.cases import Case, CaseBase

AGAIN_S = 5.0
"""Until policies that were not decided are proposed again."""


def policies_of(federation: Federation, plan: Path | None) -> CaseBase | None:
    """The case base; None if nobody takes over anything. Raises UsageError for a bad plan."""
    if plan is not None and (found := _read(plan)) is not None:
        return _of_plan(plan, found)
    homes = {item: home for item in federation.items if (home := _home(federation, item))}
    if not homes:
        return None
    names = tuple(federation.brokers)
    cases = [Case("peak", frozenset(), {}, 0.0, {})]
    for home in dict.fromkeys(homes.values()):
        cases += _cases(federation, home, [one for one, at in homes.items() if at == home])
    return CaseBase({item: (home, 0.0) for item, home in homes.items()}, names, tuple(cases))


def _home(federation: Federation, item: str) -> str | None:
    """The broker of an item's first subscriber, if somebody takes over its subscribers."""
    for topic in federation.items[item]:
        for one in federation.topics[topic].subscribers if topic in federation.topics else ():
            home = broker_of(one)
            return home if federation.brokers[home].takeover.subscribers else None
    return None


def _cases(federation: Federation, home: str, items: list[str]) -> Iterator[Case]:
    """One for the broker alone, and one for each time that the next in its list is down too."""
    down = {home}
    for to in federation.brokers[home].takeover.subscribers:
        if to not in down:
            yield Case("peak", frozenset(down), dict.fromkeys(items, to), 0.0, {})
            down.add(to)


def moves_of(plan: Path) -> tuple[PlannedMove, ...]:
    """What a plan moves, in its order; nothing while its file is empty.

    Raises UsageError for a bad plan.
    """
    found = _read(plan)
    if found is None:
        return ()
    try:
        rows = found.get("moves") or ()
        return tuple(PlannedMove(one["item"], one["from"], one["to"]) for one in rows)
    except (KeyError, TypeError, AttributeError):
        raise _no_plan(plan) from None


def policies_file(plan: Path) -> Path | None:
    """Where a plan's policies are; None while its file is empty. UsageError for a bad plan."""
    found = _read(plan)
    if found is None:
        return None
    try:
        return plan.with_name(found["policies"]["file"])
    except (KeyError, TypeError, ValueError):
        raise _no_plan(plan) from None


def _read(plan: Path) -> Any:
    """A plan file without types; None while there is nothing in it."""
    try:
        return yaml.load(plan.read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506
    except OSError as error:
        raise UsageError(f"{plan}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise _no_plan(plan) from None


def _no_plan(plan: Path) -> UsageError:
    return UsageError(f"{plan}: no plan: `ropewalk place FILE -o {plan}` writes one")


def _of_plan(plan: Path, found: Any) -> CaseBase:
    try:
        named = found["policies"]
        beside = plan.with_name(named["file"])
        base = CaseBase.of(json.loads(beside.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be read: {error.strerror}") from None
    except (KeyError, TypeError, ValueError):
        raise _no_plan(plan) from None
    if base.version != named.get("version"):
        raise UsageError(f"{beside}: not the policies that {plan} was written with: make it anew")
    return base


class Proposer:
    """Has the policies decided whenever this agent is the master and others hold."""

    def __init__(self, managing: Managing, hand: Callable[[Proposed], None]) -> None:
        self._managing, self._hand = managing, hand
        self._asked_s = -AGAIN_S
        self.base: CaseBase | None = None

    def look(self, now_s: float) -> None:
        """Propose, if it is needed."""
        base, managing = self.base, self._managing
        if base is None or not managing.election.is_master or not managing.log.current:
            return
        known = managing.mirrors.base
        if (known is None or known.version != base.version) and now_s - self._asked_s >= AGAIN_S:
            self._asked_s = now_s
            self._hand(Proposed(base.text(), base.version))
