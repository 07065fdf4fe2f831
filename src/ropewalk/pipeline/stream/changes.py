"""What differs between two audits, when only some buckets were judged again."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ropewalk.pipeline.audit import found as to

OF_CONTROL, OF_CONVERSATIONS = -1, -2
"""Who proves what no bucket proves alone."""
CONTROL_CODES = (to.name(to.LOST_SUBSCRIPTION), to.name(to.LOST_ADVERTISEMENT))
FOUND, WITHDRAWN = "found", "withdrawn"


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """All violations as they stand now, and what was withdrawn and found since."""

    violations: pa.Table
    withdrawn: list[dict[str, Any]]
    found: list[dict[str, Any]]

    def lines(self, names: Mapping[int, str]) -> list[dict[str, Any]]:
        """For the log: what was withdrawn before what was found in its place."""
        told = [(WITHDRAWN, one) for one in self.withdrawn] + [(FOUND, one) for one in self.found]
        return [{"op": op, **one, "topic_name": names.get(one["topic"])} for op, one in told]


def differences(
    before: pa.Table, judged: pa.Table, owners: Collection[int], buckets: int
) -> Differences:
    """Violations of before, with those of these owners replaced by what was judged now."""
    again = np.isin(owners_of(before, buckets), list(owners))
    now = judged.filter(pa.array(np.isin(owners_of(judged, buckets), list(owners))))
    old = {_key(one): one for one in before.filter(pa.array(again)).to_pylist()}
    new = {_key(one): one for one in now.to_pylist()}
    return Differences(
        in_order(pa.concat_tables([before.filter(pa.array(~again)), now])),
        [one for key, one in old.items() if key not in new],
        [one for key, one in new.items() if key not in old],
    )


def owners_of(table: pa.Table, buckets: int) -> npt.NDArray[np.int64]:
    """Of violations, or of what was not checked, the bucket that says so, or OF_..."""
    topic = pc.fill_null(table["topic"], 0).to_numpy()
    control = pc.is_in(table["code"], pa.array(CONTROL_CODES)).to_numpy(zero_copy_only=False)
    talk = pc.equal(table["code"], to.name(to.PROTOCOL)).to_numpy(zero_copy_only=False)
    owner: npt.NDArray[np.int64] = np.where(topic == 0, OF_CONTROL, topic & (buckets - 1))
    return np.where(control, OF_CONTROL, np.where(talk, OF_CONVERSATIONS, owner))


def in_order(table: pa.Table) -> pa.Table:
    """In the order that an audit has."""
    return table.sort_by([(name, "ascending") for name in table.column_names if name != "evidence"])


def _key(violation: Mapping[str, Any]) -> tuple[Any, ...]:
    """The whole of it: one whose amount or evidence differs is told anew."""
    evidence = tuple(tuple(one.values()) for one in violation["evidence"])
    return (*(one for name, one in violation.items() if name != "evidence"), evidence)
