"""Upstreams and sets of them: where federated exchanges and queues may fetch from."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ropewalk.federation.readers.rabbitmq.contents import Cluster
from ropewalk.federation.readers.rabbitmq.leftovers import tell_rest
from ropewalk.federation.readers.rabbitmq.policies import (
    UPSTREAM,
    UPSTREAM_PATTERN,
    UPSTREAM_SET,
    Policy,
    compiled,
)
from ropewalk.federation.readers.rabbitmq.refused import refused
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label
from ropewalk.findings import Where

MODELLED = "upstream uri exchange max-hops ack-mode"
KNOWN = """
    queue prefetch-count reconnect-delay expires message-ttl trust-user-id ha-policy queue-type
    bind-nowait channel-use-mode resource-cleanup-mode consumer-tag
"""
ACK_MODES = ("on-confirm", "on-publish", "no-ack")


@dataclass(slots=True)
class Upstream:
    """A federation-upstream parameter; in a set, what is said there goes before."""

    name: str
    where: Where
    value: View
    refused: bool = False
    used: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """An upstream that a policy chooses, with what a set says of it."""

    upstream: Upstream
    over: View | None

    def view(self, key: str) -> View:
        """Which of the two says something of a key."""
        return self.over if self.over is not None and self.over.has(key) else self.upstream.value


@dataclass(slots=True)
class Upstreams:
    """All upstreams and sets, by virtual host and name."""

    cluster: Cluster
    unread: bool = False
    """Whether there are more of them, or more policies, than can be read here."""
    single: dict[tuple[str, str], Upstream] = field(default_factory=dict)
    sets: dict[tuple[str, str], list[View]] = field(default_factory=dict)
    refused_sets: set[tuple[str, str]] = field(default_factory=set)
    _missing: set[tuple[str, str]] = field(default_factory=set)

    def add(self, vhost: str, name: str, entry: View) -> None:
        """Take an upstream in."""
        value = entry.map("value")
        if (vhost, name) in self.single:
            first = self.single[vhost, name].where.line
            message = f"upstream {label(name)} is written twice (line {first}): the later one holds"
            self.cluster.drafts.warn(entry.where, "C020", message)
        why = "how it connects and what it keeps; of queues, not of exchanges"
        what = f"upstream {label(name)}"
        no = refused(value, f"{MODELLED} {KNOWN}", what, self.cluster.drafts)
        self.single[vhost, name] = Upstream(name, entry.where, value, refused=no)
        if not no:
            tell_rest(value, MODELLED, KNOWN, what, self.cluster.drafts, why)

    def add_set(self, vhost: str, name: str, entry: View) -> None:
        """Take a set in."""
        self.sets[vhost, name] = members = entry.maps("value")
        what, why = f"set {label(name)}", "how it connects and what it keeps"
        for one in members:
            if refused(one, f"{MODELLED} {KNOWN}", what, self.cluster.drafts):
                self.refused_sets.add((vhost, name))
            else:
                tell_rest(one, MODELLED, KNOWN, what, self.cluster.drafts, why)

    def chosen(self, policy: Policy) -> list[Chosen]:
        """What a policy asks for; what is not there is told once."""
        key, name = policy.wants or ("", "")
        if key == UPSTREAM:
            single = self.single.get((policy.vhost, name))
            if single is None:
                self._miss(policy, f"upstream {label(name)} that is not there")
            return self._use([Chosen(single, None)] if single else [])
        if key == UPSTREAM_SET and name != "all":
            found = self._use(self._members(policy, name))
            return found if (policy.vhost, name) not in self.refused_sets else []
        every = [one for (vhost, _), one in self.single.items() if vhost == policy.vhost]
        if key == UPSTREAM_PATTERN:
            pattern = compiled(name)
            if pattern is None:
                what, why = f"{UPSTREAM_PATTERN} of {policy}", "it cannot be read here"
                self.cluster.drafts.aside(policy.where, what, why)
                self._use([Chosen(one, None) for one in every])
                return []
            every = [one for one in every if pattern.search(one.name)]
        if not every:
            self._miss(policy, "upstreams, and none of them is there")
        return self._use([Chosen(one, None) for one in every])

    def _use(self, chosen: list[Chosen]) -> list[Chosen]:
        for one in chosen:
            one.upstream.used = True
        return [one for one in chosen if not one.upstream.refused]

    def _members(self, policy: Policy, name: str) -> list[Chosen]:
        members = self.sets.get((policy.vhost, name), [])
        if (policy.vhost, name) not in self.sets:
            single = (policy.vhost, name) in self.single
            what = f"set {label(name)} that is not there"
            self._miss(policy, f"{what} (an upstream is: {UPSTREAM})" if single else what)
        found = []
        for one in members:
            upstream = self.single.get((policy.vhost, one.text("upstream")))
            if upstream:
                found.append(Chosen(upstream, one))
            else:
                self._miss_member(policy, one)
        return found

    def _miss(self, policy: Policy, what: str) -> None:
        if (policy.vhost, policy.name) not in self._missing and not self.unread:
            self._missing.add((policy.vhost, policy.name))
            message = f"{policy} names {what}: nothing is federated: add it to parameters"
            self.cluster.drafts.warn(policy.where, "C020", message)

    def _miss_member(self, policy: Policy, member: View) -> None:
        place = member.place("upstream")
        if (str(place), "") not in self._missing and not self.unread:
            self._missing.add((str(place), ""))
            message = (
                f"upstream {label(member.text('upstream'))} of this set is not there, so {policy} "
                f"(line {policy.where.line}) does not use it: add it to parameters"
            )
            self.cluster.drafts.warn(place, "C020", message)

    def tell_idle(self, policies: Iterable[Policy]) -> None:
        """Upstreams that no policy uses, of files that could be read.

        A policy whose pattern is not known may use what it names.
        """
        for policy in policies:
            if policy.wants and policy.pattern is None:
                self.chosen(policy)
        broken = self.cluster.drafts.broken
        for one in self.single.values():
            if not one.used and not self.unread and one.where.file not in broken:
                message = (
                    f"upstream {label(one.name)} is used by no policy that holds for anything: "
                    "nothing is fetched from it: add a policy that names it, or remove it"
                )
                self.cluster.drafts.warn(one.where, "C020", message)
