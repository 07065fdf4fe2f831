"""A story of single clients in plain words, and as data; short where many do the same."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from ropewalk.errors import StoryError
from ropewalk.verify.population.clients.facts import Pattern, Population, Step
from ropewalk.verify.population.clients.replaying import Begun, Choice, Happening, Replay

WIDTH = 76
MOST_SHORTENED = 300
"""Longer stories are told as they are: to shorten one takes the square of its length."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Story:
    """A run that ends badly, in the model's names; it has been replayed."""

    bad: str
    clients: Mapping[str, int]
    told: tuple[str, ...]
    witness: list[dict[str, Any]]
    """What happens, step by step, as data."""

    @property
    def lines(self) -> list[str]:
        """The story in lines of at most 76 columns."""
        return [line for one in self.told for line in wrap(one, WIDTH, subsequent_indent="  ")]


def told(
    population: Population, pattern: Pattern, begun: Begun, choices: Sequence[Choice]
) -> Story:
    """The story of these choices, without what it does not need.

    Raises StoryError, if the model does not allow it, or if it does not end badly.
    """
    _replayed(population, pattern, begun, choices)
    begun, choices = _shortened(population, pattern, begun, choices)
    replay, ends = _replayed(population, pattern, begun, choices)
    names = _Names(population, begun)
    lines = [_line(names, some, population) for some in _alike(replay.happened, begun)]
    lines.append(_end(names, replay, pattern, ends))
    clients = dict.fromkeys(population.kinds, 0)
    for kind, _ in begun:
        clients[kind] += 1
    witness = [_data(names, one) for one in replay.happened]
    return Story(pattern.name, clients, tuple(lines), witness)


def _replayed(
    population: Population, pattern: Pattern, begun: Begun, choices: Iterable[Choice]
) -> tuple[Replay, list[int]]:
    _check_numbers(population, begun)
    replay = Replay(population, begun)
    for choice in choices:
        replay.play(choice)
    ends = replay.bad(pattern)
    if ends is None:
        raise StoryError(f"the run does not end in {pattern.name}", [])
    return replay, ends


def _check_numbers(population: Population, begun: Begun) -> None:
    for kind in population.kinds.values():
        there = sum(name == kind.name for name, _ in begun)
        if there < kind.least or (there > kind.least and not kind.open):
            raise StoryError(f"there cannot be {there} clients of {kind.name}", [])


# --- making it shorter ------------------------------------------------------------------------


def _shortened(
    population: Population, pattern: Pattern, begun: Begun, choices: Sequence[Choice]
) -> tuple[Begun, Sequence[Choice]]:
    """Without clients and steps that the end does not need."""
    if max(len(choices), len(begun)) > MOST_SHORTENED:
        return begun, choices
    for i in reversed(range(len(begun))):
        others = [*begun[:i], *begun[i + 1 :]]
        moved = [_without(one, i) for one in choices if one.client != i]
        if _ends_badly(population, pattern, others, moved):
            begun, choices = others, moved
    for i in reversed(range(len(choices))):
        fewer = [*choices[:i], *choices[i + 1 :]]
        if _ends_badly(population, pattern, begun, fewer):
            choices = fewer
    return begun, choices


def _ends_badly(
    population: Population, pattern: Pattern, begun: Begun, choices: Iterable[Choice]
) -> bool:
    try:
        _replayed(population, pattern, begun, choices)
    except StoryError:
        return False
    return True


def _without(choice: Choice, client: int) -> Choice:
    """The same choice when a client is not there."""

    def moved(some: frozenset[int]) -> frozenset[int]:
        return frozenset(one - (one > client) for one in some if one != client)

    return replace(
        choice,
        client=choice.client - (choice.client > client),
        reach=moved(choice.reach),
        fail=moved(choice.fail),
    )


# --- in words ---------------------------------------------------------------------------------


class _Names:
    """Clients are numbered as they are first spoken of."""

    def __init__(self, population: Population, begun: Begun) -> None:
        self._begun, self._names = begun, dict[int, str]()
        self._roaming = {one.name for one in population.kinds.values() if len(one.at) > 1}
        self._met: dict[str, int] = {}
        self._several = {kind for kind, _ in begun if sum(k == kind for k, _ in begun) > 1}

    def __getitem__(self, client: int) -> str:
        if client not in self._names:
            kind, at = self._begun[client]
            self._met[kind] = self._met.get(kind, 0) + 1
            name = f"{kind} {self._met[kind]}" if kind in self._several else kind
            self._names[client] = f"{name} at {at}" if kind in self._roaming else name
        return self._names[client]

    def some(self, clients: Sequence[int]) -> str:
        """Several clients; of many, the first ones and how many more."""
        known = {client: i for i, client in enumerate(self._names)}
        clients = sorted(clients, key=lambda one: known.get(one, len(known)))
        if len(clients) > _NAMED + 1:
            named = [self[one] for one in clients[:_NAMED]]
            named.append(f"{len(clients) - _NAMED:,} more")
        else:
            named = [self[one] for one in clients]
        return _and(named)


def _alike(happened: Sequence[Happening], begun: Begun) -> list[list[Happening]]:
    """Happenings in a row that differ in nothing but who does it."""
    found: list[list[Happening]] = []
    for one in happened:
        if found and _same(found[-1][0], one, begun):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _same(one: Happening, other: Happening, begun: Begun) -> bool:
    first, second = one.choice, other.choice
    alone = (one.received, one.awaiting, one.missed, one.failed)
    others = (other.received, other.awaiting, other.missed, other.failed)
    if first.client == second.client:
        return first == second and alone == others
    if first.client < 0 or second.client < 0 or begun[first.client] != begun[second.client]:
        return False
    if first.what in ("deliver", "drop", "fail"):
        return replace(first, client=second.client) == second
    nobody = not any(alone) and not any(others)
    same = replace(first, client=second.client) == second and one.retained == other.retained
    return same and nobody and not (first.step is not None and first.step.publish)


def _line(names: _Names, some: Sequence[Happening], population: Population) -> str:
    """What happens, in one sentence; `some` are alike."""
    one, choice = some[0], some[0].choice
    clients = list(dict.fromkeys(other.choice.client for other in some))
    times = f", {len(some):,} times" if len(some) > len(clients) == 1 else ""
    if choice.what == "arrive":
        source, target = choice.way
        said = f"{choice.message} on {choice.topic} comes from {source} to {target}"
        return said + _outcome(names, one)
    who, many = names.some(clients), len(clients) > 1
    if choice.step is not None:
        said = f"{who} {_doing(choice.step, many)}{_retained(one)}{times}"
        return said + _outcome(names, one) if choice.step.publish else said
    about = f"{choice.message} on {choice.topic}"
    match choice.what:
        case "cut":
            return f"{who} {'lose their connections' if many else 'loses its connection'}"
        case "back":
            returns = population.kinds[names._begun[clients[0]][0]].returns
            return f"{who} {'come' if many else 'comes'} back{f' in {returns}' if returns else ''}"
        case "deliver":
            return f"{about} reaches {who}"
        case "drop":
            return f"{about} does not reach {who}"
        case _:
            return f"{who} {'fail' if many else 'fails'} while {about} is on its way there"


def _doing(step: Step, many: bool) -> str:
    way = step.source if step.source == step.target else f"{step.source} -> {step.target}"
    ending = "" if many else "s"
    does = ""
    if step.publish:
        does = (
            f" publishe{ending} {step.publish} on {step.on}"
            if not many
            else f" publish {step.publish} on {step.on}"
        )
    elif step.subscribe:
        does = f" subscribe{ending} to {_and(sorted(step.subscribe))}"
    elif step.unsubscribe:
        does = f" unsubscribe{ending} from {_and(sorted(step.unsubscribe))}"
    if step.forget:
        word = f"forget{ending} {_and(sorted(step.forget))}"
        does += f" and {word}" if does else f" {word}"
    return f"({way}){does}"


def _retained(one: Happening) -> str:
    return f" and gets {_and(one.retained)}, retained" if one.retained else ""


def _outcome(names: _Names, one: Happening) -> str:
    parts = []
    for some, (single, several) in (
        (one.received, ("receives it", "receive it")),
        (one.awaiting, ("", "")),
        (one.missed, ("misses it", "miss it")),
        (one.failed, ("fails", "fail")),
    ):
        if some and not single:
            parts.append(f"it is on its way to {names.some(some)}")
        elif some:
            parts.append(f"{names.some(some)} {single if len(some) == 1 else several}")
    arrived = one.choice.what == "arrive"
    nobody = "nobody is subscribed there" if arrived else "nobody else is subscribed"
    return f": {', '.join(parts) or nobody}"


def _end(names: _Names, replay: Replay, pattern: Pattern, ends: Sequence[int]) -> str:
    """What is bad in the end."""
    parts, rest = [], list(ends)
    for need in pattern.needs:
        clients, rest = rest[: need.at_least], rest[need.at_least :]
        is_, has = ("is", "has") if len(clients) == 1 else ("are", "have")
        said = []
        if need.connected is not None:
            said.append(f"{is_} {'connected' if need.connected else 'disconnected'}")
        for word, some in (
            (f"{is_} subscribed to", need.subscribed),
            (f"{is_} not subscribed to", need.not_subscribed),
            (f"{has} received", need.received),
            (f"{has} not received", need.not_received),
            (f"{has} missed", need.missed),
        ):
            if some:
                said.append(f"{word} {_and(sorted(some))}")
        if need.states or not said:
            states = sorted({replay.members[one].state for one in clients})
            said.insert(0, f"{is_} in {' or '.join(states)}")
        parts.append(f"{names.some(clients)} {_and(said)}")
    return f"{pattern.name}: {'; '.join(parts)}"


def _and(some: Sequence[str]) -> str:
    some = list(some)
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"


# --- as data ----------------------------------------------------------------------------------


def _data(names: _Names, one: Happening) -> dict[str, Any]:
    choice, step = one.choice, one.choice.step
    found: dict[str, Any] = {"what": choice.what}
    if choice.client >= 0:
        found["client"] = names[choice.client]
    if step is not None:
        found |= {"from": step.source, "to": step.target, "line": step.line}
        for key, some in (("subscribe", step.subscribe), ("unsubscribe", step.unsubscribe)):
            if some:
                found[key] = sorted(some)
        if step.publish:
            found |= {"publish": step.publish, "on": step.on}
    if choice.topic:
        found |= {"message": choice.message, "on": choice.topic}
    if choice.way != ("", ""):
        found["way"] = list(choice.way)
    for key in ("received", "awaiting", "missed", "failed"):
        if some := getattr(one, key):
            found[key] = [names[i] for i in some]
    if one.retained:
        found["retained"] = one.retained
    return found
