"""A bucket judged: every audit of messages over its rows, in one go."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ropewalk.pipeline.audit import contracts as of
from ropewalk.pipeline.audit import found as to
from ropewalk.pipeline.audit.bucket import Bucket, Flags
from ropewalk.pipeline.audit.delivery import judge_deliveries
from ropewalk.pipeline.audit.fifo import judge_fifo
from ropewalk.pipeline.audit.priority import judge_priority
from ropewalk.pipeline.audit.total import judge_orders, judge_ranks

REASONS = {
    to.LOST: "no `publish` or `accepted` rows",
    to.NOT_SUBSCRIBED: "no `publish` or `accepted` rows",
    to.NEVER_PUBLISHED: "no `publish` or `accepted` rows",
    to.LATE: "no `publish` or `accepted` rows",
    to.PRIORITY: "no `enqueue` rows",
    to.RANK: "no `rank`",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """Violations of a bucket, and what could not be checked: pairs of code and topic."""

    violations: pa.Table
    unchecked: list[tuple[int, int]]


def judge(bucket: Bucket, deadline_ns: int) -> Judged:
    """All violations of messages in a bucket but those of protocols."""
    rows, topics, numbers = bucket.rows, bucket.topics, bucket.numbers
    lines, first, published = judge_deliveries(rows, topics, numbers, bucket.due, deadline_ns)
    ranks, settled, ranked = judge_ranks(rows, topics, numbers, first)
    priorities, queued = judge_priority(rows, topics, numbers, first)
    fifo = judge_fifo(rows, topics.runs, topics.order)
    found = np.concatenate((lines, fifo, priorities, ranks))
    proved = judge_orders(bucket, first, settled)
    violations = pa.concat_tables([to.as_table(found, rows), to.as_lines(proved)])
    return Judged(violations, _unchecked(bucket, published, queued, ranked))


def _unchecked(
    bucket: Bucket, published: Flags, queued: Flags, ranked: Flags
) -> list[tuple[int, int]]:
    topics = bucket.topics
    names = bucket.rows.topic[topics.runs[:-1]]
    without = {
        to.LOST: ~published & (topics.promise >= of.AT_LEAST_ONCE),
        to.NOT_SUBSCRIBED: ~published,
        to.NEVER_PUBLISHED: ~published,
        to.LATE: ~published & (topics.within != of.UNBOUNDED),
        to.PRIORITY: ~queued & (topics.order == of.PRIORITY),
        to.RANK: ~ranked & (topics.order == of.TOTAL),
    }
    return [(code, int(topic)) for code, which in without.items() for topic in names[which]]
