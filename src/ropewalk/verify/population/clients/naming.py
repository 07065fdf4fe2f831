"""Places and rules of the net in the model's names."""

from collections.abc import Iterable

from ropewalk.verify.population.clients.facts import ALONE, Population, Step
from ropewalk.verify.population.clients.flattening import Act
from ropewalk.verify.population.clients.places import (
    Cell,
    Client,
    Gate,
    Held,
    Key,
    Notice,
    Phase,
    Seen,
    Waiting,
    Way,
    bits,
)


class Naming:
    """Names for what a population was made into."""

    def __init__(self, population: Population) -> None:
        self._brokers, self._topics = population.brokers, tuple(population.topics)
        self._messages, self._kinds = population.messages, tuple(population.kinds.values())

    def place(self, key: Key) -> str:
        """What a place holds."""
        match key:
            case Client():
                return self._client(key)
            case Phase(notice, part):
                who = "who fails" if part == "fail" else "whom it reaches"
                return f"choosing {who}: {self._notice(notice)}"
            case Held(notice, client):
                who = f": {self._client(client)}" if client is not None else ""
                return f"publishing {self._notice(notice)}{who}"
            case Cell(at, topic, kept):
                what = self._some(kept, self._messages) or "nothing asked for"
                return f"retained on {self._topics[topic]}{self._at(at)}: {what}"
            case Way(source, target, topic, message):
                ends = f"{self._brokers[source]} to {self._brokers[target]}"
                return f"{ends}: {self._messages[message]} on {self._topics[topic]}"
            case Gate(name):
                return {"free": "open to all", "placing": "before all else"}.get(name, name)
            case Waiting(kind):
                return f"{self._kinds[kind].name} without a broker"
            case Seen(need):
                return f"found for need {need + 1}"

    def rule(self, act: Act) -> str:
        """What a rule stands for."""
        about = f" {self._notice(act.notice)}" if act.notice is not None else ""
        who = self._client(act.source) if isinstance(act.source, Client) else ""
        if act.step is not None:
            return f"{who}: {said(act.step)}"
        if act.way is not None:
            return f"{self.place(act.way)}: arrives"
        return f"{who}: {act.what}{about}" if who else f"{act.what}{about}"

    def _client(self, one: Client) -> str:
        kind = self._kinds[one.kind]
        pairs = [divmod(bit, len(self._messages)) for bit in bits(one.due)]
        due = [f"{self._messages[message]} on {self._topics[topic]}" for topic, message in pairs]
        parts = [
            f"{kind.name} in {kind.states[one.state]}{self._at(one.at)}",
            "" if one.on else "disconnected",
            _with("on ", self._some(one.topics, self._topics)),
            _with("has ", self._some(one.got, self._messages)),
            _with("awaits ", " and ".join(due)),
            _with("missed ", self._some(one.missed, self._messages)),
        ]
        return ", ".join(part for part in parts if part)

    def _notice(self, one: Notice) -> str:
        return f"{self._messages[one.message]} on {self._topics[one.topic]}{self._at(one.at)}"

    def _at(self, broker: int) -> str:
        return "" if self._brokers[broker] == ALONE else f" at {self._brokers[broker]}"

    def _some(self, number: int, names: tuple[str, ...]) -> str:
        return _and(names[i] for i in bits(number))


def said(step: Step) -> str:
    """A step in short."""
    does = ""
    if step.publish:
        does = f", publishes {step.publish} on {step.on}"
    elif step.subscribe:
        does = f", subscribes to {_and(sorted(step.subscribe))}"
    elif step.unsubscribe:
        does = f", unsubscribes from {_and(sorted(step.unsubscribe))}"
    return f"{step.source} -> {step.target}{does}"


def _and(some: Iterable[str]) -> str:
    return "+".join(some)


def _with(word: str, what: str) -> str:
    return word + what if what else ""
