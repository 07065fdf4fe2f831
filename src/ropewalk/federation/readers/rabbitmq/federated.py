"""Federated exchanges: links that fetch from upstreams what is bound for here.

A link D from U carries a message on if it has crossed fewer links than the link's max-hops, and has
not been at D's cluster and virtual host: that is counted in the header x-received-from.
"""

from ropewalk.federation.readers.drafts import Address, BridgeDraft
from ropewalk.federation.readers.rabbitmq.contents import Cluster, End, Space, read_ends
from ropewalk.federation.readers.rabbitmq.leftovers import names
from ropewalk.federation.readers.rabbitmq.naming import BUILT_IN, exchange_prefix, safe
from ropewalk.federation.readers.rabbitmq.policies import Policy, holding
from ropewalk.federation.readers.rabbitmq.upstreams import ACK_MODES, Chosen, Upstreams
from ropewalk.federation.showing import label
from ropewalk.findings import Where

Target = tuple[str | frozenset[tuple[str, int, str]], str]


def federate(cluster: Cluster, policies: list[Policy], upstreams: Upstreams) -> None:
    """All links of all virtual hosts."""
    for space in list(cluster.spaces.values()):
        ours = [one for one in policies if one.vhost == space.vhost]
        if ours:
            _built_in(cluster, space, ours, upstreams)
            _exchanges(cluster, space, ours, upstreams)
            _queues(cluster, space, ours, upstreams)


def _exchanges(
    cluster: Cluster, space: Space, policies: list[Policy], upstreams: Upstreams
) -> None:
    for exchange in list(space.exchanges.values()):
        if exchange.name == "" or exchange.name in BUILT_IN:
            continue
        policy = holding(policies, "exchanges", exchange.name, cluster.drafts)
        if policy is None or not policy.wants:
            continue
        if exchange.internal:
            message = (
                f"exchange {label(exchange.name)} is internal: RabbitMQ does not federate it, "
                f"whatever {policy} (line {policy.where.line}) says: make it not internal"
            )
            cluster.drafts.warn(exchange.where, "C020", message)
        else:
            _links(cluster, space, exchange.name, policy, upstreams)


def _built_in(cluster: Cluster, space: Space, policies: list[Policy], upstreams: Upstreams) -> None:
    """The exchanges that every virtual host has: policies of `.*` are seldom meant for them."""
    idle: dict[int, tuple[Policy, list[str]]] = {}
    for name in BUILT_IN:
        policy = holding(policies, "exchanges", name, cluster.drafts)
        if policy is None or not policy.wants:
            continue
        bound = any(one.source == name for one in space.bindings)
        if bound or name in space.active or policy.specific:
            _links(cluster, space, name, policy, upstreams)
        else:
            idle.setdefault(id(policy), (policy, []))[1].append(name)
    for policy, found in idle.values():
        why = "the policy federates them too; nothing is bound to them here, so nothing is fetched"
        cluster.drafts.aside(policy.where, names(found), why)


def _queues(cluster: Cluster, space: Space, policies: list[Policy], upstreams: Upstreams) -> None:
    found: dict[int, tuple[Policy, list[str]]] = {}
    for name in space.queues:
        policy = holding(policies, "queues", name, cluster.drafts)
        if policy and policy.wants:
            found.setdefault(id(policy), (policy, []))[1].append(name)
    for policy, queues in found.values():
        for chosen in upstreams.chosen(policy):
            _addresses(cluster, space, chosen)
        why = (
            "a message is moved to where it is consumed and stays one copy, so it neither goes "
            "round nor multiplies"
        )
        what = f"federation of {len(queues)} queues by {policy} ({names(queues)})"
        cluster.drafts.aside(policy.where, what, why)


def _links(
    cluster: Cluster, space: Space, exchange: str, policy: Policy, upstreams: Upstreams
) -> None:
    """The links of one exchange; two to one upstream exchange share its queue there."""
    seen: dict[Target, Chosen] = {}
    for chosen in upstreams.chosen(policy):
        made = _link(cluster, space, exchange, policy, chosen)
        if made is None:
            continue
        bridge, target = made
        if target in seen:
            first = seen[target].upstream
            message = (
                f"upstream {label(chosen.upstream.name)} leads to the same exchange as "
                f"{label(first.name)} (line {first.where.line}): both share one queue there and "
                "bring one copy: keep one of them"
            )
            cluster.drafts.warn(chosen.upstream.where, "C020", message)
            continue
        seen[target] = chosen
        space.active.setdefault(exchange)
        cluster.drafts.bridges.append(bridge)
        _topics(cluster, space, exchange, bridge)


def _link(
    cluster: Cluster, space: Space, exchange: str, policy: Policy, chosen: Chosen
) -> tuple[BridgeDraft, Target] | None:
    name = chosen.upstream.name
    far, lines = _addresses(cluster, space, chosen)
    hops = _max_hops(cluster, chosen)
    if far is None or hops is None:
        return None
    theirs = _their_exchange(cluster, chosen) or exchange
    if far is space and theirs != exchange:
        _within(cluster, exchange, theirs, chosen)
        return None
    if isinstance(far, Space):
        _tell_self(cluster, space, exchange, far, theirs, chosen)
        far.active.setdefault(theirs)
        end: str | tuple[Address, ...] = far.draft
        target: Target = (far.draft, theirs)
    else:
        end = far
        target = (frozenset((one.host, one.port, one.space) for one in far), theirs)
    bridge = BridgeDraft(
        at=space.draft,
        far=end,
        name=safe(name),
        kind="federation",
        where=chosen.upstream.where,
        direction="in",
        qos=_qos(cluster, chosen),
        local=exchange_prefix(exchange),
        remote=exchange_prefix(theirs),
        max_hops=hops,
        choice="any",
        lines={
            "policy": policy.where,
            "max_hops": chosen.view("max-hops").place("max-hops"),
            "addresses": lines[0],
        },
    )
    return bridge, target


def _addresses(
    cluster: Cluster, space: Space, chosen: Chosen
) -> tuple[tuple[Address, ...] | Space | None, list[Where]]:
    """Where an upstream is; one without an address is a fault."""
    name, uris = chosen.upstream.name, chosen.view("uri")
    if uris.value.get("uri") in (None, []):
        message = f"upstream {label(name)} has no address: write its uri"
        cluster.drafts.fault(chosen.upstream.where, "C005", message)
    what = f"the address of upstream {label(name)}"
    return read_ends(cluster, uris.texts("uri"), what, space.vhost)


def _within(cluster: Cluster, exchange: str, theirs: str, chosen: Chosen) -> None:
    # Such a link counts hops and not places: neither a binding nor a bridge between brokers does.
    what = f"upstream {label(chosen.upstream.name)} within one virtual host"
    why = f"it copies {label(theirs)} to {label(exchange)} there, and goes to no other broker"
    cluster.drafts.aside(chosen.upstream.where, what, why)


def _tell_self(
    cluster: Cluster, space: Space, exchange: str, far: Space, theirs: str, chosen: Chosen
) -> None:
    if far is space and theirs == exchange:
        message = (
            f"upstream {label(chosen.upstream.name)} leads to the exchange itself: each message "
            "arrives twice: name another exchange or virtual host"
        )
        cluster.drafts.warn(chosen.upstream.where, "C020", message)


def _max_hops(cluster: Cluster, chosen: Chosen) -> int | None:
    """How many links a message may cross; None if nothing crosses this one."""
    view = chosen.view("max-hops")
    value, where = view.take("max-hops"), view.place("max-hops")
    if value is None:
        return 1
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        cluster.drafts.fault(where, "C005", "max-hops is not a whole number: write one, such as 1")
        return None
    if value < 1:
        message = f"max-hops {value} lets nothing through: write 1 or more"
        cluster.drafts.warn(where, "C020", message)
        return None
    return value


def _their_exchange(cluster: Cluster, chosen: Chosen) -> str:
    view = chosen.view("exchange")
    if view.take("exchange") == "":
        message = "exchange is empty: RabbitMQ does not read that as the same name: leave it out"
        cluster.drafts.warn(view.place("exchange"), "C020", message)
    return safe(view.text("exchange"))


def _qos(cluster: Cluster, chosen: Chosen) -> int:
    view = chosen.view("ack-mode")
    return quality(cluster, view.text("ack-mode", ACK_MODES[0]), view.place("ack-mode"))


def quality(cluster: Cluster, mode: str, where: Where) -> int:
    """What an ack-mode is as MQTT's quality of service."""
    if mode not in ACK_MODES:
        message = f"ack-mode is none of {', '.join(ACK_MODES)}: write one of them"
        cluster.drafts.fault(where, "C005", message)
    return 0 if mode == "no-ack" else 1


def _topics(cluster: Cluster, space: Space, exchange: str, bridge: BridgeDraft) -> None:
    """Somebody may publish at the upstream what is bound for here."""
    end: End = (bridge.far if isinstance(bridge.far, str) else bridge.far[0], None)
    bound = [space.pattern(one) for one in space.bindings if one.source == exchange]
    for pattern in [one for one in bound if one is not None] or ["#"]:
        cluster.topic(bridge.remote + pattern, bridge.where, [end])
