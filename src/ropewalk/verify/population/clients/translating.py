"""A run of the net as choices of single clients: tokens get faces."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ropewalk.errors import StoryError
from ropewalk.verify.population.clients.facts import Population
from ropewalk.verify.population.clients.flattening import Act
from ropewalk.verify.population.clients.places import Client, Held, Key, Waiting
from ropewalk.verify.population.clients.replaying import Choice
from ropewalk.verify.population.net import LOST, Net
from ropewalk.verify.population.run import Run


def choices_of(
    population: Population, net: Net, keys: Sequence[Key], acts: Sequence[Act], run: Run
) -> tuple[list[tuple[str, str]], list[Choice]]:
    """The clients of a run with their brokers, and what they choose."""
    faces = Faces(population, net, keys, acts, run)
    for rule, times in run.flat():
        for _ in range(times):
            faces.follow(rule)
    return faces.end()


class Faces:
    """Which clients are in which places while a run goes on."""

    def __init__(
        self,
        population: Population,
        net: Net,
        keys: Sequence[Key],
        acts: Sequence[Act],
        run: Run,
    ) -> None:
        self._population, self._net, self._acts = population, net, acts
        self._kinds = tuple(population.kinds.values())
        self._number = {key: i for i, key in enumerate(keys)}
        self._homes: list[list[int]] = [[] for _ in keys]
        self._begun: list[tuple[str, str]] = []
        self._choices: list[Choice] = []
        self._divided: Choice | None = None
        for place, count in run.start.items():
            key = keys[place]
            if isinstance(key, Client | Waiting):
                self._enter(place, key, count)
        self._rest()

    def _enter(self, place: int, key: Client | Waiting, count: int) -> None:
        kind = self._kinds[key.kind]
        at = self._population.brokers[key.at] if isinstance(key, Client) else kind.at[0]
        for _ in range(count):
            self._homes[place].append(len(self._begun))
            self._begun.append((kind.name, at))

    def _rest(self) -> None:
        """Clients that have to be there and cannot matter."""
        for kind in self._kinds:
            there = sum(name == kind.name for name, _ in self._begun)
            self._begun += [(kind.name, kind.at[0])] * (kind.least - there)

    def follow(self, rule: int) -> None:
        """One step of the run."""
        act = self._acts[rule]
        client = self._leave(act)
        self._transfer(rule)
        if client is not None and act.target is not None and not _nobody(act.target):
            self._homes[self._number[act.target]].append(client)
        self._choose(act, -1 if client is None else client)

    def end(self) -> tuple[list[tuple[str, str]], list[Choice]]:
        """What was found; a division of subscribers that was not ended has reached who it has."""
        if self._divided is not None:
            self._choices.append(self._divided)
            self._divided = None
        return self._begun, self._choices

    def _leave(self, act: Act) -> int | None:
        """Who does it: the one who came there last, so that a client's doings stand together."""
        if act.source is None or _nobody(act.source):
            return None
        home = self._homes[self._number[act.source]]
        if not home:
            raise StoryError(f"{act.what}: the run has no client there", [])
        return home.pop()

    def _transfer(self, rule: int) -> None:
        moves = self._net.rules[rule].moves
        leaving = [self._homes[place] for place, _ in moves]
        for place, _ in moves:
            self._homes[place] = []
        for some, (_, to) in zip(leaving, moves, strict=True):
            if to != LOST:
                self._homes[to] += some

    def _choose(self, act: Act, client: int) -> None:
        topic, message = "", ""
        if act.notice is not None:
            topic = tuple(self._population.topics)[act.notice.topic]
            message = self._population.messages[act.notice.message]
        match act.what:
            case "place" if isinstance(act.target, Client):
                kind, _ = self._begun[client]
                self._begun[client] = kind, self._population.brokers[act.target.at]
            case "step":
                self._say(Choice("step", client, act.step), topic)
            case "arrive" if act.way is not None:
                brokers = self._population.brokers
                way = brokers[act.way.source], brokers[act.way.target]
                self._say(Choice("arrive", topic=topic, message=message, way=way), topic)
            case "cut" | "back" | "deliver" | "drop" | "fail":
                self._choices.append(Choice(act.what, client, None, topic, message))
            case "failing" | "echo failed":
                self._divide(fail=[client])
            case "reaching" | "echoed":
                self._divide(reach=[client])
        if act.what in ("done", "echoed", "echo failed"):
            self.end()

    def _say(self, choice: Choice, topic: str) -> None:
        if topic and self._population.topics[topic].splits:
            self._divided = choice
        else:
            self._choices.append(choice)

    def _divide(self, *, reach: Iterable[int] = (), fail: Iterable[int] = ()) -> None:
        if self._divided is None:
            raise StoryError("the run divides subscribers of no publication", [])
        self._divided = replace(
            self._divided,
            reach=self._divided.reach | frozenset(reach),
            fail=self._divided.fail | frozenset(fail),
        )


def _nobody(key: Key) -> bool:
    return isinstance(key, Held) and key.client is None
