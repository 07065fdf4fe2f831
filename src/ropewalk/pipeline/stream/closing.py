"""The watermark, and which buckets must be judged again when it moves or rows come.

The verdict on a bucket is made of its rows up to the watermark W and of the due rows of its
topics. Due rows that end at W are open: they move with it. That alone changes a verdict only while
a publication, or the beginning of a due row, is less than a deadline before W; after that the
bucket is settled, and is left alone until rows come or its due rows change otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from ropewalk.pipeline.audit.contracts import NO_PROTOCOL, Contracts
from ropewalk.pipeline.audit.due import FOR_EVER, DueRows
from ropewalk.pipeline.store import Stored

NEVER = -FOR_EVER
"""The watermark before any row."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The due rows of a bucket's topics: what they are, and when the last of them begins."""

    digest: str
    begins_ns: int = NEVER


NO_DUE = Mark("")


def watermark(files: Iterable[Stored], delay_ns: int, before_ns: int = NEVER) -> int:
    """The latest time of all rows less the delay; it never goes back."""
    latest = max((node[4] for one in files for node in one.nodes), default=NEVER)
    return max(before_ns, latest - delay_ns if latest > NEVER else NEVER)


def marks_of(due: DueRows, buckets: int, watermark_ns: int) -> dict[int, Mark]:
    """The marks of buckets that have due rows."""
    bucket = due.topic & (buckets - 1)
    order = np.argsort(bucket, kind="stable")
    ends = np.where(due.b == watermark_ns, FOR_EVER, due.b)
    columns = (due.topic, due.client, due.durable, due.may_from, due.may_until, due.must_from)
    table = np.stack([np.asarray(one, np.int64) for one in (*columns, due.a, ends)], axis=1)[order]
    bounds = np.searchsorted(bucket[order], np.arange(buckets + 1))
    return {
        int(one): _mark(table[bounds[one] : bounds[one + 1]]) for one in np.unique(bucket).tolist()
    }


def _mark(rows: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Mark:
    begins = rows[:, 6]
    real = begins[begins < FOR_EVER]
    digest = blake2b(rows.tobytes(), digest_size=16).hexdigest()
    return Mark(digest, int(real.max()) if len(real) else NEVER)


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """On what buckets were judged: the watermark, their due rows, their latest publications."""

    watermark_ns: int
    marks: Mapping[int, Mark]
    published_ns: Mapping[int, int]


def to_judge(
    before: Judgement, now: Judgement, old: Iterable[Stored], new: Iterable[Stored], grace_ns: int
) -> set[int]:
    """Buckets whose verdict may differ from the one before.

    `old` and `new` are files of events; `grace_ns` is the longest time that a verdict waits for.
    """
    old = list(old)
    chosen = {one.bucket for one in new}
    there = {one.bucket for one in old}
    chosen |= {
        one
        for one in there
        if before.marks.get(one, NO_DUE).digest != now.marks.get(one, NO_DUE).digest
    }
    if now.watermark_ns == before.watermark_ns:
        return chosen
    since = before.watermark_ns
    chosen |= {one.bucket for one in old if any(node[4] > since for node in one.nodes)}
    return chosen | {one for one in there if since < _settles(one, before, grace_ns)}


def _settles(bucket: int, judged: Judgement, grace_ns: int) -> int:
    """From when on the watermark alone changes nothing."""
    begins = judged.marks.get(bucket, NO_DUE).begins_ns
    return max(judged.published_ns.get(bucket, NEVER), begins) + grace_ns


def talking(contracts: Contracts, buckets: int) -> set[int]:
    """Buckets of topics with a protocol: conversations cross them, so they go together."""
    topics = contracts.topic[contracts.protocol != NO_PROTOCOL]
    return set((topics & (buckets - 1)).tolist())
