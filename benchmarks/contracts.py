"""Contracts: all rules on 10,000 brokers, and on a composition, each against a named rival."""

import resource
from dataclasses import replace
from random import Random
from time import process_time
from typing import Any

from _measure import cpu_seconds, interleaved, report
from contenders.plain_styles import broken as plainly_broken
from contenders.plain_styles import sets_of
from ropewalk.federation.facts import (
    Client,
    Contract,
    Federation,
    Link,
    Requirements,
    Survive,
    Topic,
)
from ropewalk.federation.generators import generate
from ropewalk.findings import Finding
from ropewalk.verify.contracts import RULES, Style, check, compose, smallest, style_of
from ropewalk.verify.contracts.findings import contracts_of
from ropewalk.verify.contracts.promised import Promised
from ropewalk.verify.contracts.total import total_orders
from ropewalk.verify.contracts.union import unite

SITES, LINES = 100, 40
CONTRACTS = (
    Contract(),
    Contract(delivery="best-effort", order="none"),
    Contract(delivery="exactly-once", order="fifo", idempotent=True),
    Contract(delivery="at-least-once", order="total"),
)


def plant(brokers: int, topics: int, *, part: str = "", seed: int = 1) -> Federation:
    """Machines of lines of sites publish; clients read them one by one, or whole sites.

    Every fifth client has a name. With `part` all have one, and most topics are of that part: two
    parts share brokers, and every tenth site is read as a whole.
    """
    base = generate("waxman", brokers=brokers, m=2, seed=1)
    draw, names = Random(seed), tuple(base.brokers)
    made: dict[str, Topic] = {}
    for i in range(topics):
        area = "shared" if part and i % 50 == 0 else part or "all"
        name = f"s{draw.randrange(SITES)}/{area}/l{draw.randrange(LINES)}/m{i}"
        readers = {_client(draw, names, part, f"r{i}-{n}") for n in range(draw.randint(1, 8))}
        made[name] = Topic(
            publishers=(_client(draw, names, part, f"p{i}"),),
            subscribers=tuple(sorted(readers, key=str)),
            contract=draw.choice(CONTRACTS),
        )
    for site in range(SITES):
        wide = {_client(draw, names, part, f"w{site}-{n}") for n in range(5)}
        made[f"s{site}/{part}/#" if part and site % 10 else f"s{site}/#"] = Topic(
            publishers=(_client(draw, names, part, f"q{site}"),),
            subscribers=tuple(sorted(wide, key=str)),
        )
    return replace(base, topics=made)


def _client(draw: Random, names: tuple[str, ...], part: str, name: str) -> str | Client:
    broker = draw.choice(names)
    named = part or draw.random() < 0.2
    return Client(broker=broker, client=f"{part}{name}") if named else broker


def sizes(style: Style) -> dict[str, int]:
    return {
        "dispatchers": len(style.dispatchers),
        "links": len(style.links) // 2,
        "components": int((style.producer | style.consumer).sum()),
        "topics": len(style.topics),
        "subscriptions": len(style.subscriptions),
        "advertisements": len(style.advertisements),
        "table_entries": len(style.sub_table) + len(style.adv_table),
    }


def by_rule(style: Style) -> dict[str, float]:
    """CPU milliseconds of each rule, the slowest first."""
    taken = {code: cpu_seconds(lambda c=code: check(style, [c])) for code in RULES}  # type: ignore[misc]
    order = sorted(taken, key=lambda code: -taken[code])
    return {code: round(1000 * taken[code], 1) for code in order[:6]}


def against_sets(brokers: int, topics: int) -> dict[str, Any]:
    """All rules on a style, against comprehensions over sets and networkx, with the same answer."""
    style = style_of(plant(brokers, topics))
    sets = sets_of(style)
    ours, theirs = check(style).broken, plainly_broken(sets)
    assert {code: one.count for code, one in ours.items()} == {k: len(v) for k, v in theirs.items()}
    taken = interleaved(
        3, sets_and_networkx=lambda: plainly_broken(sets), ours=lambda: check(_fresh(style))
    )
    return {
        **sizes(style),
        "broken": {code: one.count for code, one in ours.items()},
        "cpu_s": taken,
        "sets_over_ours": round(taken["sets_and_networkx"] / taken["ours"], 1),
    }


def _fresh(style: Style) -> Style:
    """The same, with nothing looked up before."""
    return replace(style)


def large(brokers: int, topics: int) -> dict[str, Any]:
    federation = plant(brokers, topics)
    _ = federation.graph, federation.topic_table
    start = process_time()
    style = style_of(federation)
    derived = process_time()
    checked = check(_fresh(style))
    done = process_time()
    all_of_it = cpu_seconds(lambda: contracts_of(federation))
    return {
        **sizes(style),
        "broken": {code: one.count for code, one in checked.broken.items()},
        "derive_cpu_s": round(derived - start, 2),
        "check_cpu_s": round(done - derived, 2),
        "slowest_rules_ms": by_rule(style),
        "all_findings_cpu_s": round(all_of_it, 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def total_orders_behind_single_links(brokers: int, topics: int) -> dict[str, Any]:
    """Every link of a star is a cut: what total orders cost that must survive each of them."""
    base = plant(brokers, 0)
    draw, (home, *others) = Random(1), tuple(base.brokers)
    contract = Contract(order="total", home=home)
    made = {}
    for i in range(topics):
        publisher, *readers = draw.sample(others, 7)
        made[f"t{i}"] = Topic(
            publishers=(publisher,), subscribers=tuple(readers), contract=contract
        )
    star = replace(
        base,
        links=tuple(Link(between=(home, one)) for one in others),
        topics=made,
        requirements=Requirements(survive=Survive(links=1)),
    )
    _ = star.graph, star.topic_table
    found: list[Finding] = []
    taken = cpu_seconds(lambda: found.extend(total_orders(Promised(star))))
    return {"topics": topics, "cuts": brokers - 1, "cpu_s": round(taken, 2), "found": len(found)}


def composed(brokers: int, topics: int) -> dict[str, Any]:
    """Two styles over the same brokers: what composition looks at, against a check anew."""
    one = check(style_of(plant(brokers, topics, part="one", seed=1)))
    other = check(style_of(plant(brokers, topics, part="other", seed=2)))
    whole = compose(one, other)
    anew = check(unite(one.style, other.style).style)
    assert whole.checked.broken.keys() == anew.broken.keys()
    taken = interleaved(
        3,
        union_alone=lambda: unite(one.style, other.style),
        union_and_check_anew=lambda: check(unite(one.style, other.style).style),
        composition=lambda: compose(one, other),
    )
    union = taken["union_alone"]
    return {
        **sizes(whole.checked.style),
        "broken": {code: found.count for code, found in anew.broken.items()},
        "looked_at": dict(whole.looked_at),
        "inherited": len(whole.inherited),
        "cpu_s": taken,
        "anew_over_composition": round(taken["union_and_check_anew"] / taken["composition"], 1),
        "without_the_union": round(
            (taken["union_and_check_anew"] - union) / max(taken["composition"] - union, 1e-3), 1
        ),
    }


def initial() -> dict[str, Any]:
    """The smallest style that lives: how many it takes to look at, to know that none is smaller."""
    living = smallest(most=12)
    return {"facts": len(living.facts or ()), "looked_at": living.looked_at}


def main() -> None:
    check(style_of(plant(50, 100)))  # kernels are compiled, or loaded
    report(
        "contracts",
        large=large(10_000, 20_000),
        cuts=total_orders_behind_single_links(10_000, 5_000),
        against_sets=against_sets(1_000, 2_000),
        composition=composed(5_000, 10_000),
        initial=initial(),
    )


if __name__ == "__main__":
    main()
