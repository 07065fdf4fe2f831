"""What the federation is required to survive, against what its graph and take-overs allow."""

from collections.abc import Iterator

from ropewalk.findings import Finding, Where
from ropewalk.routing.trees import Longs
from ropewalk.verify.check import Check
from ropewalk.verify.verdicts import Verdict

MOST = 50
"""Failures that are told one by one; the rest only by number."""


def kept_promises(check: Check, fates: Longs) -> list[Finding]:
    """A finding for every required failure that no routing could survive."""
    return list(_broken(check, fates))[:MOST]


def _broken(check: Check, fates: Longs) -> Iterator[Finding]:
    survive = check.federation.requirements.survive
    where = Where(check.federation.source.file)
    lost = fates[:, Verdict.CUT]
    for k in lost.nonzero()[0].tolist():
        down = check.scenarios.down(k)
        required = (
            (not down.brokers and len(down.links) <= survive.links)
            or (not down.links and len(down.brokers) <= survive.brokers)
        ) and (down.links or down.brokers)
        if not required:
            continue
        failure, stranded = check.scenarios.name(k), int(check.moves.stranded[k])
        cut = int(lost[k]) - stranded
        witness = {"failure": failure, "pairs": int(lost[k]), "stranded": stranded}
        if cut:
            told = f"{failure} must be survived, but without it {_pairs(cut)} no path is left"
            yield Finding("V007", f"{told}: add a link around it", where, "error", witness)
        if stranded:
            told = f"{failure} must be survived, but {_pairs(stranded)} a client has no broker left"
            yield Finding("V008", f"{told}: name a takeover for it", where, "error", witness)


def _pairs(count: int) -> str:
    return f"for {count:,} pair{'s' if count > 1 else ''} of publisher and subscriber"
