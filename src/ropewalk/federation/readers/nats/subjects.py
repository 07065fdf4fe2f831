"""NATS subjects as topics: what is denied, and how an import renames."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ropewalk.federation.spelling import from_nats, pattern_from_nats

_NUMBERED = re.compile(r"\$(\d+)|\{\{\s*wildcard\(\s*(\d+)\s*\)\s*\}\}", re.IGNORECASE)


def denied(subject: str) -> str | None:
    """The topics that a denied subject stands for; a queue's name after it says nothing more."""
    return pattern_from_nats(subject.split()[0]) if subject.split() else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Renaming:
    """What topics are called here and there: a beginning of each, and the rest in common."""

    local: str
    remote: str
    pattern: str


def prefixed(subject: str, prefix: str) -> Renaming | None:
    """A subject that gets a prefix here.

    >>> prefixed("orders.>", "acme")
    Renaming(local='acme/', remote='', pattern='orders/+/#')
    """
    before, pattern = from_nats(prefix.rstrip(".")), pattern_from_nats(subject)
    if not before or pattern is None:
        return None
    return Renaming(local=f"{before}/", remote="", pattern=pattern)


def renamed(here: str, there: str) -> Renaming | None:
    """A subject that is called otherwise here; None if beginnings cannot say how.

    >>> renamed("ours.a.>", "a.>")
    Renaming(local='ours/', remote='', pattern='a/+/#')
    >>> renamed("x.$1", "y.*"), renamed("a.b", "c.d")
    (Renaming(local='x/', remote='y/', pattern='+'), None)
    """
    wanted = _in_order(here)
    if wanted is None:
        return None
    ours, theirs = wanted.split("."), there.split(".")
    common = 0
    while common < min(len(ours), len(theirs)) and ours[-1 - common] == theirs[-1 - common]:
        common += 1
    if not common:
        return None
    rest = ".".join(theirs[len(theirs) - common :])
    pattern = "+/#" if rest == ">" else pattern_from_nats(rest)
    begins = [_beginning(ours[: len(ours) - common]), _beginning(theirs[: len(theirs) - common])]
    if pattern is None or None in begins:
        return None
    if not begins[0] and not begins[1]:
        pattern = pattern_from_nats(there) or pattern
    return Renaming(local=begins[0] or "", remote=begins[1] or "", pattern=pattern)


def _in_order(subject: str) -> str | None:
    """A subject with `*` for $1, $2, ... where they come in this order."""
    numbers = [int(one[1] or one[2]) for one in _NUMBERED.finditer(subject)]
    if numbers != list(range(1, len(numbers) + 1)):
        return None
    if numbers and "*" in subject.split("."):
        return None
    return _NUMBERED.sub("*", subject)


def _beginning(levels: Sequence[str]) -> str | None:
    if not levels:
        return ""
    if {"*", ">"} & set(levels):
        return None
    name = from_nats(".".join(levels))
    return None if name is None else f"{name}/"


def within(subject: str, wide: str) -> bool:
    """Whether all that one subject matches is matched by another.

    >>> within("a.b", "a.*"), within("a.>", "a.*"), within("a", "a.>")
    (True, False, False)
    """
    inner, outer = subject.split("."), wide.split(".")
    for i, one in enumerate(outer):
        if one == ">":
            return len(inner) > i
        if i >= len(inner) or inner[i] == ">" or (one not in ("*", inner[i])):
            return False
    return len(inner) == len(outer)


def collide(one: str, other: str) -> bool:
    """Whether a subject can be matched by both.

    >>> collide("a.*", "*.b"), collide("a.>", "a.b.c"), collide("a.b", "a.c")
    (True, True, False)
    """
    ours, theirs = one.split("."), other.split(".")
    for mine, yours in zip(ours, theirs, strict=False):
        if ">" in (mine, yours):
            return True
        if mine != yours and "*" not in (mine, yours):
            return False
    return len(ours) == len(theirs)
