"""Random problems of placement, and what is true of them by going through everything."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from ropewalk.placement.judge import rejections
from ropewalk.placement.performance import Reals
from ropewalk.placement.problems import Ints, Problem, Rules, Spread, problem
from ropewalk.placement.solve.scores import FAR, Objective

KINDS = ("dense", "factors", "mixed", "singular", "flat")


def spread_of(rng: np.random.Generator, count: int, kind: str, size: float = 1.0) -> Spread:
    """Covariances; `singular` ones leave nothing to items of their own, `flat` some no variance."""
    loadings = rng.normal(0, size, (count, 2))
    own = rng.uniform(0.1, 1, count) * size**2
    if kind == "flat":
        keep = rng.random(count) < 0.6
        loadings, own = loadings * keep[:, None], own * keep
    if kind == "factors":
        return Spread.factors(loadings, own)
    matrix = loadings @ loadings.T
    if kind == "singular":
        return Spread.dense(matrix)
    dense = Spread.dense(matrix + np.diag(own))
    if kind == "mixed":
        return Spread(dense.matrix, rng.normal(0, size / 2, (count, 1)), own)
    return dense


def world(
    seed: int,
    count: int,
    width: int,
    *,
    kind: str = "dense",
    tight: float = 0.8,
    work: str = "same",
    equal: bool = True,
    size: float = 3.0,
) -> Problem:
    """A problem with loads of about `tight` of the limits."""
    rng = np.random.default_rng(seed)
    rate = rng.uniform(2, 20, count)
    speed = np.ones(width) if work == "same" else rng.uniform(0.5, 2, width)
    cost = np.ones(count) if work == "same" else rng.uniform(0.5, 2, count)
    works = np.outer(speed, cost)
    if work == "any":
        works = works * rng.uniform(0.7, 1.4, (width, count))
    share = np.full(width, 1 / width) if equal else rng.dirichlet(np.full(width, 5.0))
    limit = (works @ rate) * share / tight
    return problem(
        rate,
        spread_of(rng, count, kind, size),
        limit,
        work_s=works,
        replication=rng.uniform(1, 5, count),
        bytes_each=rng.uniform(10, 500, count),
    )


def ruled(one: Problem, seed: int, *names: str) -> Problem:
    """With rules that bite, but are met by some placement that is drawn at random."""
    rng = np.random.default_rng([seed, 7])
    width, count = one.work_s.shape
    met: Ints = np.array(rng.integers(0, width, count))
    rules: dict[str, Any] = {}
    if "delay" in names:  # the limit is then part of a second
        scale = 0.9 / one.load[met, np.arange(count)].sum()
        one = replace(one, work_s=one.work_s * scale, limit=one.limit * scale)
    rate = np.bincount(met, one.rate_msgs_s, width)
    some = np.where(rate > 0, rate, 1.0)
    load = np.bincount(met, one.load[met, np.arange(count)], width)
    if "allowed" in names:
        allowed = rng.random((width, count)) < 0.6
        allowed[met, np.arange(count)] = True
        rules["allowed"] = allowed
    if "apart" in names:
        first = [int(np.flatnonzero(met == b)[0]) for b in np.unique(met)]
        rules["apart"] = (tuple(first),) if len(first) > 1 else ()
    if "moves" in names:
        today = np.where(rng.random(count) < 0.5, met, rng.integers(0, width, count))
        today[rng.random(count) < 0.1] = -1
        rules["today"], rules["most_moves"] = today, int(((today >= 0) & (today != met)).sum())
    if "floors" in names:
        rules["least_margin"] = np.full(width, margins_of(one, met).min() - 1e-6)
    if "items" in names:
        rules["most_items"] = np.bincount(met, minlength=width).astype(float)
    if "replication" in names:
        copies = np.bincount(met, one.rate_msgs_s * one.replication, width)
        rules["most_replication"] = np.full(width, (copies / some).max() * (1 + 1e-6))
    if "service" in names:
        rules["most_service_s"] = np.full(width, (load / some).max() * (1 + 1e-6))
    if "delay" in names:
        rules["most_delay_s"] = np.full(width, (load / some / (1 - load)).max() * (1 + 1e-6))
    if "volume" in names:
        volume = np.bincount(met, one.rate_msgs_s * one.bytes_each, width)
        rules["most_bytes_s"] = np.full(width, volume.max() * (1 + 1e-6))
    if "sites" in names:
        site = np.arange(width) % 2
        at = site[met]
        rules["site"], rules["sites"] = site, ("s0", "s1")
        rules["most_items_at"] = np.array([float((at == s).sum()) for s in (0, 1)])
        rules["most_rate_at"] = np.array(
            [one.rate_msgs_s[at == s].sum() * (1 + 1e-6) for s in (0, 1)]
        )
        rules["most_rate_at"] = np.maximum(rules["most_rate_at"], 1e-3)
    return replace(one, rules=replace(one.rules, **rules).filled())


RULES = (
    "allowed",
    "apart",
    "moves",
    "floors",
    "items",
    "replication",
    "service",
    "delay",
    "volume",
    "sites",
)


def all_places(count: int, width: int) -> Ints:
    return np.array(list(product(range(width), repeat=count)), np.int64)


def margins_of(one: Problem, place: Ints) -> Reals:
    """Margins of one placement under the normal model."""
    _, _, z, codes = tables(one, place[None, :])
    found: Reals = z[codes[0], np.arange(len(one.brokers))]
    return found


def least_margins(one: Problem, places: Ints) -> Reals:
    return values_of(one, places, Objective.MARGIN)


def tables(one: Problem, places: Ints) -> tuple[Reals, Reals, Reals, Ints]:
    """Load, variance and margin (normal) of every set of items x broker; and the sets of places."""
    count, width = len(one.items), len(one.brokers)
    bits = 1 << np.arange(count)
    codes = np.stack([(places == b) @ bits for b in range(width)], 1)
    used = np.arange(2**count)
    member = ((used[:, None] & bits) > 0).astype(float)
    load, variance = np.zeros((2, len(used), width))
    whole = one.spread.whole()
    for b in range(width):
        work = member * one.work_s[b]
        load[:, b], variance[:, b] = work @ one.rate_msgs_s, ((work @ whole) * work).sum(1)
    flat = variance <= 1e-18 * one.limit**2
    z = (one.limit - load) / np.sqrt(np.where(flat, 1.0, variance))
    z = np.where(flat, np.where(load <= one.limit, FAR, -FAR), z)
    return load, np.maximum(variance, 0), np.clip(z, -FAR, FAR), codes


def values_of(one: Problem, places: Ints, objective: Objective) -> Reals:
    """The objective of placements, without the constant part, by numpy alone."""
    load, variance, z, codes = tables(one, places)
    if objective is Objective.MARGIN:
        score = z
    elif objective is Objective.PRODUCT:
        score = log_ndtr(z)
    else:
        risk = ndtr(-z)
        if objective is Objective.EXCESS:
            density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
            over = np.sqrt(variance) * (density - z * risk)
            risk = np.where(z <= -FAR, load - one.limit, over) / one.limit
        rate = load_of_messages(one, codes, places)
        score = -rate * risk
    each = score[codes, np.arange(len(one.brokers))]
    found: Reals = each.min(1) if objective is Objective.MARGIN else each.sum(1)
    return found


def load_of_messages(one: Problem, codes: Ints, places: Ints) -> Reals:
    """Messages per second of every set, in the order of `tables`."""
    rate = np.zeros((2 ** len(one.items), len(one.brokers)))
    for b in range(len(one.brokers)):
        rate[codes[:, b], b] = (places == b) @ one.rate_msgs_s
    return rate


def best_value(one: Problem, objective: Objective) -> float | None:
    """The best of all placements that break no rule; None if each does."""
    places = all_places(len(one.items), len(one.brokers))
    places = places[one.rules.allowed[places, np.arange(len(one.items))].all(1)]
    values = values_of(one, places, objective)
    for at in np.argsort(-values, kind="stable"):
        if not rejections(one, places[at]):
            return float(values[at])
    return None


seeds = st.integers(0, 10**6)
kinds = st.sampled_from(KINDS)
works = st.sampled_from(["same", "speeds", "any"])
objectives = st.sampled_from(list(Objective))
rule_sets = st.one_of(
    st.just(()), st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True).map(tuple)
)


def no_rules(one: Problem) -> Problem:
    return replace(one, rules=Rules.none(len(one.brokers), len(one.items)))
