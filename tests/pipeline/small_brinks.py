"""Rows around one client that stand just where rules turn, or a nanosecond off."""

from random import Random
from typing import Any

Row = dict[str, Any]
DEADLINE_NS = 50
WITHIN_MS = 0.00003


def brink(random: Random) -> list[Row]:
    """A client that is online and subscribed just long enough, or a nanosecond too short."""
    own, far = random.choice((0, 0, 7)), random.choice((0, 0, 4))
    t, within = 500, round(WITHIN_MS * 1_000_000)
    lo, hi = t - far, t + far
    longest = random.choice((DEADLINE_NS, DEADLINE_NS, within))

    def around(when: int) -> int:
        return when + random.choice((-1, 0, 0, 1))

    steps: list[tuple[int, str, Row]] = [
        (random.choice((around(lo), 400)) - own, "connect", {}),
        (random.choice((around(lo), 400)) - own, "subscribed", {"topic": "a/late"}),
        (hi - own, "subscribe", {"topic": "a/x"}),
        (around(hi + longest) + own, random.choice(("disconnect", "connect")), {}),
        (random.choice((1900, around(hi + DEADLINE_NS))), "sample", {"window_ns": 9}),
    ]
    message = {"topic": "a/late", "producer": "brink", "pseq": 1}
    if random.random() < 0.4:
        steps.append((around(hi + within) + own, "deliver", message))
    base = {"node": "near", "clock_err_ns": own, "client": "e"}
    near = [
        {**base, "ts_ns": ts, "li": li, "kind": kind, **more}
        for li, (ts, kind, more) in enumerate(steps)
    ]
    advertisement = {"topic": "a/late", "producer": "brink"}
    away = [
        ("far", "accepted", message),
        ("far", "advertise", {**advertisement, "hop": 0}),
        ("off", "advertise", {**advertisement, "hop": 1}),
    ]
    base = {"ts_ns": t, "clock_err_ns": far}
    return [
        *near,
        *(
            {**base, "node": at, "li": li, "kind": kind, **more}
            for li, (at, kind, more) in enumerate(away)
        ),
        *_two_clocks(random, {"near": own, "far": far}),
    ]


def _two_clocks(random: Random, errors: dict[str, int]) -> list[Row]:
    """Two rows at two nodes: one is before the other for certain, or just not."""
    message = {"topic": "a/late", "producer": "brink", "client": "e"}
    pair: tuple[Row, Row] = random.choice(
        [
            ({"kind": "deliver", "pseq": 3}, {"kind": "deliver", "pseq": 2}),
            (
                {"kind": "ack", "topic": "a/once", "pseq": 1},
                {"kind": "deliver", "topic": "a/once", "pseq": 1, "redelivered": True},
            ),
        ]
    )
    times = (600, 600 + sum(errors.values()) + random.choice((0, 1, 2)))
    return [
        {"ts_ns": ts, "node": node, "clock_err_ns": error, "li": 20, **message, **row}
        for ts, (node, error), row in zip(times, errors.items(), pair, strict=True)
    ]
