"""A path through a federation's model in words: what fails, who moves, where the message goes."""

from collections.abc import Callable, Iterator

from ropewalk.verify.logic.asking import LOST, NOWHERE
from ropewalk.verify.logic.colours import COLOUR
from ropewalk.verify.logic.model import Model, State
from ropewalk.verify.logic.world import World

CLIENT, KNOWS, PLACE = "at.", "knows.", "loc"


def told(world: World, model: Model) -> Callable[[State | None, State], str]:
    """A function that tells what a step does; without a state before, how things are."""
    scenarios = world.scenarios
    number = {scenarios.name(k): k for k in range(len(scenarios))}
    messages = [name for name in model.domains if name.partition(".")[0] in (PLACE, "loc")]

    def tell(before: State | None, state: State) -> str:
        parts = list(_colour(world, number, before, state))
        parts += _clients(before, state)
        for name in messages:
            parts += _message(world, number, name, len(messages) > 1, before, state)
        parts += _news(before, state)
        return "; ".join(parts) or "nothing happens"

    return tell


def _colour(
    world: World, number: dict[str, int], before: State | None, state: State
) -> Iterator[str]:
    if COLOUR not in state:
        if before is None:
            yield "nothing can fail"
        return
    now = number[str(state[COLOUR])]
    if before is None:
        yield "nothing has failed" if now == 0 else f"{state[COLOUR]} has failed"
        return
    was = number[str(before[COLOUR])]
    down = [_down(world, k) for k in (was, now)]
    recovered, failed = sorted(down[0] - down[1]), sorted(down[1] - down[0])
    if recovered:
        yield f"{_and(recovered)} {'recovers' if len(recovered) == 1 else 'recover'}"
    if failed:
        yield f"{_and(failed)} {'fails' if len(failed) == 1 else 'fail'}"


def _down(world: World, k: int) -> set[str]:
    down = world.scenarios.down(k)
    return {world.names[b] for b in down.brokers} | {
        world.scenarios.link_names[e] for e in down.links
    }


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _clients(before: State | None, state: State) -> Iterator[str]:
    for name, value in state.items():
        if not name.startswith(CLIENT) or (before is not None and before[name] == value):
            continue
        client = _client(name.removeprefix(CLIENT))
        if before is None:
            yield f"{client} is at {value}"
        else:
            yield f"{client} has no broker" if value == NOWHERE else f"{client} moves to {value}"


def _client(name: str) -> str:
    role, colon, broker = name.partition(":")
    return f"the {role} of {broker}" if colon else name


def _message(
    world: World,
    number: dict[str, int],
    name: str,
    several: bool,
    before: State | None,
    state: State,
) -> Iterator[str]:
    ending = name.removeprefix(PLACE)
    the = f"message {ending.removeprefix('.') or '1'}" if several else "the message"
    place = state[name]
    if before is None:
        to = f" for {state['dest']}" if "dest" in state else ""
        yield f"{the}{to} is at {place}"
    elif before[name] != place:
        yield f"{the} {_move(world, number, before, state, name)}"
    done = f"done{ending}"
    if before is not None and state.get(done) and not before.get(done):
        yield f"{the} is delivered"


def _move(world: World, number: dict[str, int], before: State, state: State, name: str) -> str:
    place, left = state[name], before[name]
    if place == LOST:
        return "is dropped"
    down = _down(world, number[str(before.get(COLOUR, "none"))])
    if left in down:
        return f"is sent again from {place}"
    came = before.get(name.replace(PLACE, "came", 1))
    return f"goes back to {place}" if came == place else f"goes to {place}"


def _news(before: State | None, state: State) -> Iterator[str]:
    if before is None:
        return
    heard: dict[object, list[str]] = {}
    for name, value in state.items():
        if name.startswith(KNOWS) and before[name] != value:
            heard.setdefault(value, []).append(name.removeprefix(KNOWS))
    for colour, names in heard.items():
        what = "that all works" if colour == "none" else f"of {colour}"
        yield f"{_and(names)} {'hears' if len(names) == 1 else 'hear'} {what}"
