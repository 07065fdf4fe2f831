"""Lost subscriptions and lost advertisements: what control rows alone prove."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ropewalk.federation.topics import common, is_pattern
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.due import FOR_EVER, Control, Stretch, Window, always
from ropewalk.trace.columns import KIND

ADVERTISE, UNADVERTISE, SUBSCRIBED = KIND["advertise"], KIND["unadvertise"], KIND["subscribed"]


def lost_subscriptions(
    windows: Sequence[Window],
    stretches: Mapping[int, Sequence[Stretch]],
    horizon: int,
    deadline: int,
) -> list[to.Proved]:
    """Violations A011: asked for, never confirmed, and the client waited long enough."""
    proved: dict[tuple[int, int, int | None], to.Proved] = {}
    for one in windows:
        row = one.asked
        if row is None or one.must_from != FOR_EVER or one.must_until != FOR_EVER:
            continue
        since = row.ts + row.err
        online = stretches.get(one.client, always(horizon))
        if any(each.start <= since and since + deadline <= each.end for each in online):
            proved[one.client, one.pattern, one.subscription] = to.Proved(
                to.LOST_SUBSCRIPTION,
                one.pattern,
                consumer=one.client,
                other=one.subscription,
                evidence=(row.key,),
            )
    return list(proved.values())


def lost_advertisements(
    control: Sequence[Control],
    windows: Sequence[Window],
    stretches: Mapping[int, Sequence[Stretch]],
    horizon: int,
    deadline: int,
    names: Mapping[int, str],
) -> list[to.Proved]:
    """Violations A012: a node with an interested client never heard of an advertisement."""
    heard = {(row.topic, row.producer, row.node) for row in control if row.kind == ADVERTISE}
    ended: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for row in control:
        if row.kind == UNADVERTISE:
            ended[row.topic, row.producer, row.node].append(row.ts)
    interested = _Interested(windows, names)
    proved: dict[tuple[int, int, int], to.Proved] = {}
    for row in control:
        if row.kind != ADVERTISE or row.hop != 0:
            continue
        low, high = row.ts - row.err, row.ts + row.err + deadline
        if any(row.ts <= at <= high for at in ended[row.topic, row.producer, row.node]):
            continue
        for one, confirmed in interested.in_topic(row.topic):
            node = confirmed.node
            if node == row.node or (row.topic, row.producer, node) in heard:
                continue
            if any(
                max(each.start, one.must_from) <= low and high <= min(each.end, one.must_until)
                for each in stretches.get(one.client, always(horizon))
            ):
                proved[row.topic, row.producer, node] = to.Proved(
                    to.LOST_ADVERTISEMENT,
                    row.topic,
                    row.producer,
                    other=node,
                    evidence=(row.key, confirmed.key),
                )
    return list(proved.values())


class _Interested:
    """Confirmed windows by their pattern: which of them cover all of a topic?"""

    def __init__(self, windows: Sequence[Window], names: Mapping[int, str]) -> None:
        self.names = names
        self.by_pattern: dict[int, list[tuple[Window, Control]]] = defaultdict(list)
        for one in windows:
            if one.confirmed is not None:
                self.by_pattern[one.pattern].append((one, one.confirmed))
        self.wild = [pattern for pattern in self.by_pattern if is_pattern(names[pattern])]

    def in_topic(self, topic: int) -> Iterator[tuple[Window, Control]]:
        """Windows that cover a topic, or all of a pattern."""
        if topic not in self.wild:
            yield from self.by_pattern.get(topic, ())
        name = self.names[topic]
        for pattern in self.wild:
            if common(self.names[pattern], name) == name:
                yield from self.by_pattern[pattern]


def unchecked(control: Sequence[Control]) -> dict[str, str]:
    """Which of the two cannot be checked on this trace, and why."""
    reasons = {}
    if not any(row.kind == SUBSCRIBED for row in control):
        reasons[to.name(to.LOST_SUBSCRIPTION)] = "no `subscribed` rows"
    if not any(row.kind == ADVERTISE and row.hop > 0 for row in control):
        reasons[to.name(to.LOST_ADVERTISEMENT)] = "no `advertise` rows with hop 1 or more"
    return reasons
