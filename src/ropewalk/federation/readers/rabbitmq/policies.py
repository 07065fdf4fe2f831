"""Policies: of all that match an exchange or queue only one holds, that of the highest priority."""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.rabbitmq.contents import Cluster
from ropewalk.federation.readers.rabbitmq.leftovers import group, names
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label
from ropewalk.findings import Where

UPSTREAM = "federation-upstream"
UPSTREAM_SET = "federation-upstream-set"
UPSTREAM_PATTERN = "federation-upstream-pattern"
FEDERATION = (UPSTREAM, UPSTREAM_SET, UPSTREAM_PATTERN)
QUEUES = ("queues", "classic_queues", "quorum_queues", "streams")
_POSIX = re.compile(r"\[[^\]]*\[[:.=]")
"""Classes such as `[[:alpha:]]`, which Python takes for other ones."""
_NESTED = re.compile(r"[+*}]\)[+*{]")


@dataclass(slots=True)
class Policy:
    """A policy, and which names it has been found to match."""

    name: str
    vhost: str
    where: Where
    pattern: re.Pattern[str] | None
    applies: str
    priority: int
    wants: tuple[str, str] | None
    """Which of the three federation keys it has, and its value."""
    specific: bool = False
    """Whether its pattern speaks of the exchanges that are built in."""
    matched: int = 0
    beaten: dict["str", "Policy"] = field(default_factory=dict)
    """Names that another policy holds for, and that policy."""

    def to(self, kind: str) -> bool:
        """Whether it applies to `exchanges` or `queues`."""
        if self.applies == "all":
            return True
        return self.applies == kind or (kind == "queues" and self.applies in QUEUES)

    def matches(self, name: str) -> bool:
        """Whether its pattern is found in a name."""
        return self.pattern is not None and self.pattern.search(name[:255]) is not None

    def __str__(self) -> str:
        return f"policy {label(self.name)}"


def compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern as RabbitMQ reads it; None if that is not known, or would take for ever.

    >>> compiled("^orders$") is not None, compiled("[[:alpha:]]+"), compiled("(a+)+$")
    (True, None, None)
    """
    if len(pattern) > 1000 or _NESTED.search(pattern) or _POSIX.search(pattern):
        return None
    found = _as_python_reads_it(pattern)
    return found if isinstance(found, re.Pattern) else None


def _as_python_reads_it(pattern: str) -> re.Pattern[str] | Exception:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return error


_NO_PATTERN = (
    "missing ), unterminated subpattern",
    "unbalanced parenthesis",
    "unterminated character set",
    "nothing to repeat",
)
"""Faults that RabbitMQ's own reader of patterns (PCRE) finds as well, where Python finds them."""


def ill_formed(pattern: str) -> str:
    r"""Why RabbitMQ takes a text for no pattern; nothing if it does, or if that is not known.

    >>> ill_formed("^fed("), ill_formed("*"), ill_formed(r"\z"), ill_formed("[[:alpha:]]")
    ('missing )', 'nothing to repeat', '', '')
    """
    found = _as_python_reads_it(pattern)
    known = isinstance(found, re.error) and found.msg in _NO_PATTERN and "\\Q" not in pattern
    return found.msg.partition(",")[0] if known and isinstance(found, re.error) else ""


def read_policies(document: View, vhost: str, cluster: Cluster) -> list[Policy]:
    """Every policy; what of them is no federation is told."""
    found = []
    others = group("policies", "")
    others.known = _OTHER
    keys = group("policies", "vhost name pattern apply-to definition priority", "apply_to")
    for entry in document.maps("policies"):
        definition = _definition(entry)
        found.append(_policy(entry, definition, vhost, cluster))
        definition.value = {k: v for k, v in definition.value.items() if k not in FEDERATION}
        others.note(definition)
        keys.note(entry)
    others.tell(cluster.drafts)
    keys.tell(cluster.drafts)
    return found


def _definition(entry: View) -> View:
    """A policy's definition; old exports write one that is empty as a list."""
    if entry.take("definition") == []:
        entry.value = {**entry.value, "definition": None}
    return entry.map("definition")


_OTHER = frozenset(
    f"{family}-{one}"
    for family, ones in {
        "ha": "mode params sync-mode sync-batch-size promote-on-shutdown promote-on-failure",
        "message": "ttl deduplication",
        "max": "length length-bytes in-memory-length in-memory-bytes age priority",
        "dead-letter": "exchange routing-key strategy",
        "queue": "mode version master-locator leader-locator",
        "stream": "max-segment-size-bytes filter-size-bytes",
        "delayed-retry": "type min max",
        "cache": "size ttl persistence",
        "alternate": "exchange",
        "delivery": "limit",
        "consumer": "timeout",
        "single-active": "consumer",
        "initial-cluster": "size",
        "target-group": "size",
    }.items()
    for one in ones.split()
) | {"expires", "overflow"}


def _policy(entry: View, definition: View, vhost: str, cluster: Cluster) -> Policy:
    drafts, name = cluster.drafts, entry.text("name")
    wants = [(key, definition.text(key)) for key in FEDERATION if definition.has(key)]
    if len(wants) > 1:
        what = " and ".join(key for key, _ in wants)
        message = f"{what} in one policy: RabbitMQ refuses it: keep one of them"
        drafts.fault(definition.place(wants[1][0]), "C007", message)
    text, where = entry.text("pattern"), entry.place("pattern")
    pattern = compiled(text)
    if _refused(entry, text, drafts):
        pattern = None
    elif pattern is None and wants:
        drafts.aside(where, f"policy {label(name)}", "its pattern cannot be read here")
    applies = entry.text("apply-to") or entry.text("apply_to", "all")
    if applies not in ("all", "exchanges", *QUEUES):
        message = f"apply-to is none that RabbitMQ knows: write all, exchanges or {QUEUES[0]}"
        drafts.fault(entry.place("apply-to"), "C005", message)
    return Policy(
        name=name,
        vhost=entry.text("vhost", vhost),
        where=entry.where,
        pattern=pattern,
        applies=applies,
        priority=entry.number("priority") or 0,
        wants=next((one for one in wants if one[1]), None),
        specific="amq" in text,
    )


def _refused(entry: View, pattern: str, drafts: Drafts) -> bool:
    """Tell why RabbitMQ refuses a policy, and all definitions that have it; whether it does."""
    what = f"RabbitMQ refuses policy {label(entry.text('name'))}, and definitions with it"
    why, priority = ill_formed(pattern), entry.value.get("priority", 0)
    if why:
        message = f"{what}: its pattern is no regular expression ({why}): correct it"
        drafts.warn(entry.place("pattern"), "C020", message)
    if priority is None or (isinstance(priority, str) and priority.isdecimal()):
        message = f"{what}: priority is no number: write a number, without quotes"
        drafts.warn(entry.place("priority"), "C020", message)
        return True
    return bool(why)


def holding(policies: Iterable[Policy], kind: str, name: str, drafts: Drafts) -> Policy | None:
    """The one policy that holds for a name; those it beats keep that in mind."""
    found = [one for one in policies if one.to(kind) and one.matches(name)]
    if not found:
        return None
    found.sort(key=lambda one: -one.priority)
    first, others = found[0], found[1:]
    for one in found:
        one.matched += 1
    for one in others:
        if one.wants:
            one.beaten.setdefault(name, first)
        if one.priority == first.priority and (one.wants or first.wants) and not first.beaten:
            _tie(first, one, name, drafts)
    return first


def _tie(one: Policy, other: Policy, name: str, drafts: Drafts) -> None:
    if one.wants == other.wants:
        return
    message = (
        f"{one} and {other} (line {other.where.line}) both match {label(name)} with the same "
        "priority: RabbitMQ takes any of them: give one a higher priority"
    )
    drafts.warn(one.where, "C020", message)


def tell_idle(policies: Iterable[Policy], drafts: Drafts) -> None:
    """Policies that ask for federation and get none."""
    for one in policies:
        if one.wants and not one.matched and one.pattern is not None:
            message = (
                f"{one} matches nothing in these definitions: nothing is federated by it: "
                "correct its pattern or apply-to, or declare what it is for"
            )
            drafts.warn(one.where, "C020", message)
        by_policy: dict[int, list[str]] = {}
        for name, first in one.beaten.items():
            by_policy.setdefault(id(first), []).append(name)
        for beaten in by_policy.values():
            first = one.beaten[beaten[0]]
            message = (
                f"{one} does nothing for {names(beaten)}: only {first} (line {first.where.line}, "
                f"priority {first.priority}) holds there: join both in one policy"
            )
            drafts.warn(one.where, "C020", message)
