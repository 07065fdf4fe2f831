"""Random styles for the laws: small, some of them nearly whole, some of them a heap of facts."""

from dataclasses import replace
from itertools import combinations, product
from random import Random

import numpy as np

from ropewalk.verify.contracts.facts import SORTS, Fact
from ropewalk.verify.contracts.style import EVERYWHERE, Style

NAMES = {
    "dispatcher": ["a", "b", "c", "d"],
    "component": ["p", "q", "r"],
    "topic": ["t", "u"],
    "event": ["e", "f"],
    "number": ["1", "2"],
}
EVERY: list[Fact] = [
    (kind, *chosen)
    for kind, sorts in SORTS.items()
    for chosen in product(*(NAMES[sort] for sort in sorts))
]
"""All facts over these names."""


def random_facts(rng: Random, *, components: list[str] | None = None) -> list[Fact]:
    """Facts over some of the names; often a style that keeps most rules, and a few more."""
    dispatchers = rng.sample(NAMES["dispatcher"], rng.randint(1, 4))
    some = NAMES["component"] if components is None else components
    clients = rng.sample(some, rng.randint(0, len(some)))
    known = {"dispatcher": dispatchers, "component": clients}
    possible = [fact for fact in EVERY if _over(fact, known)]
    facts = _orderly(rng, dispatchers, clients) if rng.random() < 0.7 else []
    more = rng.sample(possible, min(rng.choice([0, 0, 1, 2, 5, 10]), len(possible)))
    facts = list(dict.fromkeys((*facts, *more)))
    issued = [fact for fact in facts if fact[0] in ("subscribe", "advertise", "produce")]
    return [*facts, rng.choice(issued)] if issued and rng.random() < 0.1 else facts


def scoped(rng: Random, style: Style, scattered: bool) -> Style:
    """The same style; if scattered, some of its topics stay in domains, in whatever order."""
    if not scattered:
        return style
    scope = [rng.randint(EVERYWHERE, 1) for _ in style.topics]
    domains = tuple(rng.sample(["x", "y", "z"], 2))
    return replace(style, scope=np.array(scope, np.int32), domains=domains)


def _over(fact: Fact, known: dict[str, list[str]]) -> bool:
    pairs = zip(SORTS[fact[0]], fact[1:], strict=True)
    return all(name in known.get(sort, NAMES[sort]) for sort, name in pairs)


def _orderly(rng: Random, dispatchers: list[str], clients: list[str]) -> list[Fact]:
    facts: list[Fact] = [("dispatcher", one) for one in dispatchers]
    for a, b in combinations(dispatchers, 2):
        if rng.random() < 0.8:
            facts += [("link", a, b), ("link", b, a)]
    for client in clients:
        at = rng.choice(dispatchers)
        facts += [("consumer", client), ("out", client, at)]
        if rng.random() < 0.6:
            facts += [("subscribe", client, "t"), ("sub-to", at, "t", client)]
        if rng.random() < 0.5:
            facts += [("producer", client), ("in", client, at)]
            facts += [("advertise", client, "t"), ("adv-of", at, "t", client)]
    if rng.random() < 0.5:
        facts += [(kind, a, "t", b) for kind in ("sub-over", "adv-over") for a, b in _both(facts)]
    if rng.random() < 0.3:
        facts.append(("once", "t"))
    return facts


def _both(facts: list[Fact]) -> list[tuple[str, str]]:
    return [(fact[1], fact[2]) for fact in facts if fact[0] == "link"]
