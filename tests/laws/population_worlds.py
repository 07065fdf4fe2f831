"""Populations by chance, small enough for every configuration to be looked at."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement, product
from random import Random

from ropewalk.verify.population.clients import Reduced
from ropewalk.verify.population.clients.places import Client, Waiting

MESSAGES, TOPICS, BROKERS = ("m", "n"), ("s", "t"), ("east", "west", "hub")


def random_model(seed: int, semantics: str, *, brokers: int = 1) -> str:
    """A population as a file's text; the same for the same seed and semantics."""
    return _Maker(Random(f"{semantics} {seed} {brokers}"), semantics, brokers).text()


class _Maker:
    def __init__(self, rng: Random, semantics: str, brokers: int) -> None:
        self.rng, self.semantics = rng, semantics
        self.brokers = BROKERS[:brokers] if brokers > 1 else ()
        self.messages = MESSAGES[: rng.choice((1, 2, 2))]
        self.topics = TOPICS[: rng.choice((1, 1, 2))]
        self.kinds: dict[str, list[str]] = {}

    def text(self) -> str:
        rng = self.rng
        lines = ["population: random", f"semantics: {self.semantics}"]
        if rng.random() < 0.3:
            lines.append("notification: asynchronous")
        lines.append(f"messages: [{', '.join(self.messages)}]")
        lines.append("topics:")
        for topic in self.topics:
            said = [f"echo: {rng.choice(('true', 'false'))}"]
            if self.semantics == "retained":
                said.append(f"retain: {rng.choice(('last', 'all'))}")
            lines.append(f"  {topic}: {{{', '.join(said)}}}")
        lines += self._federation()
        lines.append("clients:")
        for name in ("a", "b")[: rng.choice((1, 1, 2))]:
            lines += self._kind(name)
        lines += ["bad:", *self._bad()]
        return "\n".join(lines) + "\n"

    def _federation(self) -> list[str]:
        if not self.brokers:
            return []
        first, *rest = self.brokers
        links = [f"{first} -- {other}" for other in rest]
        if len(rest) == 2 and self.rng.random() < 0.3:
            links.append(f"{{between: [{rest[0]}, {rest[1]}], topics: [{self.topics[0]}]}}")
        return [f"brokers: [{', '.join(self.brokers)}]", f"links: [{', '.join(links)}]"]

    def _kind(self, name: str) -> list[str]:
        rng = self.rng
        states = [f"{name}{i}" for i in range(rng.randint(2, 4))]
        self.kinds[name] = states
        lines = [f"  {name}:", f"    start: {states[0]}"]
        lines.append(f"    count: {rng.choice(('any', 'any', 'any', '2+', '1', '2'))}")
        connection = rng.choice(("stable", "stable", "breaks", *["reconnects"] * 3))
        lines.append(f"    connection: {connection}")
        if connection == "reconnects":
            lines.append(f"    session: {rng.choice(('kept', 'kept', 'clean', 'queued'))}")
            if rng.random() < 0.6:
                lines.append(f"    returns: {rng.choice(states)}")
        if rng.random() < 0.6:
            lines.append(f"    subscribed: {self._some(self.topics)}")
        if self.brokers and rng.random() < 0.5:
            lines.append(f"    at: {self._some(self.brokers)}")
        lines.append("    steps:")
        # A path through all states first: none may be out of reach.
        pairs = [(states[rng.randrange(i + 1)], one) for i, one in enumerate(states[1:])]
        pairs += [(rng.choice(states), rng.choice(states)) for _ in range(rng.randint(1, 3))]
        return lines + [f"      - {one} -> {other}{self._does()}" for one, other in pairs]

    def _does(self) -> str:
        rng, said = self.rng, list[str]()
        match rng.randrange(8):
            case 0 | 1:
                said.append(f"subscribe: {self._some(self.topics)}")
            case 2:
                said.append(f"unsubscribe: {self._some(self.topics)}")
            case 3 | 4 | 5:
                said.append(f"publish: {rng.choice(self.messages)}, on: {rng.choice(self.topics)}")
        if rng.random() < 0.45:
            word = rng.choice(("received", "received", "not_received"))
            said.append(f"when: {{{word}: {rng.choice(self.messages)}}}")
        if rng.random() < 0.2:
            said.append(f"forget: {rng.choice(self.messages)}")
        return f": {{{', '.join(said)}}}" if said else ""

    def _bad(self) -> list[str]:
        rng = self.rng
        needs = [self._need() for _ in range(rng.choice((1, 1, 2)))]
        return ["  pattern:", *(f"    - {{{one}}}" for one in needs)]

    def _need(self) -> str:
        rng = self.rng
        kind = rng.choice(list(self.kinds))
        said = [f"in: {rng.choice(self.kinds[kind][1:])}"]
        if rng.random() < 0.3:
            said.append(f"at_least: {rng.randint(1, 2)}")
        if rng.random() < 0.3:
            said.append(f"connected: {rng.choice(('true', 'true', 'false'))}")
        if rng.random() < 0.3:
            said.append(
                f"{rng.choice(('subscribed', 'not_subscribed'))}: {rng.choice(self.topics)}"
            )
        if rng.random() < 0.5:
            word = rng.choice(("received", "received", "not_received"))
            said.append(f"{word}: {self._some(self.messages)}")
        if rng.random() < 0.35:
            said.append(f"missed: {rng.choice(self.messages)}")
        if self.brokers and rng.random() < 0.3:
            said.append(f"at: {rng.choice(self.brokers)}")
        return ", ".join(said)

    def _some(self, names: tuple[str, ...]) -> str:
        return f"[{', '.join(self.rng.sample(names, self.rng.randint(1, len(names))))}]"


def markings(reduced: Reduced, numbers: Mapping[str, int]) -> Iterator[dict[int, int]]:
    """All markings in which a net may start with so many clients of each kind."""
    fixed, ways = dict[int, int](), list[list[dict[int, int]]]()
    for place, key in enumerate(reduced.keys):
        if reduced.net.start[place] and not isinstance(key, Client | Waiting):
            fixed[place] = reduced.net.start[place]
    for i, kind in enumerate(reduced.population.kinds):
        places = [
            place
            for place, key in enumerate(reduced.keys)
            if isinstance(key, Client | Waiting)
            and key.kind == i
            and (reduced.net.start[place] or place in reduced.net.open)
        ]
        shares = combinations_with_replacement(places, numbers.get(kind, 0) if places else 0)
        ways.append([dict(Counter(share)) for share in shares])
    for some in product(*ways):
        yield {place: count for part in (fixed, *some) for place, count in part.items()}
