"""Shovels: clients inside a broker that take messages from one place and publish them elsewhere."""

from dataclasses import dataclass, replace
from typing import Any

from ropewalk.federation.readers.drafts import Address, BridgeDraft, Direction
from ropewalk.federation.readers.rabbitmq.contents import DEFAULT, Cluster, Space, read_ends
from ropewalk.federation.readers.rabbitmq.federated import quality
from ropewalk.federation.readers.rabbitmq.leftovers import tell_rest
from ropewalk.federation.readers.rabbitmq.naming import VARIABLE, queue_prefix, safe
from ropewalk.federation.readers.rabbitmq.refused import refused
from ropewalk.federation.readers.rabbitmq.shovel_ends import (
    PROTOCOLS,
    Part,
    ShovelEnd,
    brought,
    from_address,
    taken,
)
from ropewalk.federation.readers.view import View
from ropewalk.federation.showing import label
from ropewalk.findings import Where

MODELLED = """
    src-uri dest-uri src-queue src-exchange src-exchange-key dest-queue dest-exchange
    dest-exchange-key src-protocol dest-protocol src-address dest-address ack-mode delete-after
    src-delete-after src-delete-after-duration
"""
KNOWN = """
    prefetch-count src-prefetch-count reconnect-delay add-forward-headers dest-add-forward-headers
    add-timestamp-header dest-add-timestamp-header publish-properties dest-publish-properties
    dest-properties dest-application-properties dest-message-annotations src-consumer-args
    src-queue-args dest-queue-args src-predeclared dest-predeclared predeclared consumer-args
    add-timestamp-header internal internal_owner
    src-consumer-name dest-jitter dest-timeout dest-backoff dest-max-retries
"""
Far = tuple[Address, ...] | Space | None


@dataclass(frozen=True, slots=True)
class Shovel:
    """A shovel, dynamic or static."""

    name: str
    vhost: str
    where: Where
    source: ShovelEnd
    dest: ShovelEnd
    qos: int = 1
    ends: bool = False
    """Whether it removes itself, when it has moved what was there or after a time."""

    def __str__(self) -> str:
        return f"shovel {label(self.name)}"


def read_shovel(cluster: Cluster, vhost: str, name: str, entry: View) -> Shovel | None:
    """A shovel parameter; None if it cannot be one."""
    value, drafts = entry.map("value"), cluster.drafts
    what = f"shovel {label(name)}"
    if refused(value, f"{MODELLED} {KNOWN}", what, drafts):
        return None
    tell_rest(value, MODELLED, KNOWN, what, drafts, "how it connects and what it adds to messages")
    source, dest = _end(cluster, value, "src", what), _end(cluster, value, "dest", what)
    if source is None or dest is None:
        return None
    mode = value.text("ack-mode", "on-confirm")
    after = ("src-delete-after", "delete-after", "src-delete-after-duration")
    return Shovel(
        name=name,
        vhost=vhost,
        where=entry.where,
        source=source,
        dest=dest,
        qos=quality(cluster, mode, value.place("ack-mode")),
        ends=any(ends_after(value.take(key)) for key in after),
    )


def ends_after(value: Any) -> bool:
    """Whether a shovel removes itself: after so many messages, or what was there at first."""
    return isinstance(value, int | float) or value == "queue-length"


def _end(cluster: Cluster, value: View, side: str, what: str) -> ShovelEnd | None:
    protocol = value.text(f"{side}-protocol", PROTOCOLS[0])
    if protocol not in PROTOCOLS:
        message = f"{side}-protocol is none of {', '.join(PROTOCOLS)}: write one of them"
        cluster.drafts.fault(value.place(f"{side}-protocol"), "C005", message)
    uris = tuple(value.texts(f"{side}-uri"))
    if not uris and protocol == "local":
        uris = (("amqp://", value.where),)
    elif not uris:
        message = f"{what} has no {side}-uri: write one, such as amqp:///%2f for this cluster"
        cluster.drafts.fault(value.where, "C005", message)
        return None
    end = ShovelEnd(
        uris=uris,
        protocol=protocol,
        queue=value.text(f"{side}-queue"),
        exchange=value.text(f"{side}-exchange"),
        key=value.text(f"{side}-exchange-key") if value.has(f"{side}-exchange-key") else None,
    )
    if not _addressed(cluster, value, side, what, protocol):
        return None
    if protocol == "amqp10":
        end = from_address(end, value.text(f"{side}-address"))
    elif side == "dest" and value.take("dest-exchange") == "" and end.key:
        end = ShovelEnd(uris, protocol, queue=end.key)  # by the default exchange
    if any(VARIABLE.search(one) for one in (end.queue, end.exchange, end.key or "")):
        message = f"a variable stands for the {side} end of {what}: fill it in"
        cluster.drafts.fault(value.where, "C006", message)
    if end.queue and end.exchange:
        message = f"{side}-queue and {side}-exchange in one shovel: keep one of them"
        cluster.drafts.fault(value.place(f"{side}-exchange"), "C007", message)
    if side == "src" and not end.queue and not end.exchange:
        message = f"{what} takes from nowhere: write src-queue or src-exchange"
        cluster.drafts.fault(value.where, "C005", message)
        return None
    return end.guarded()


def _addressed(cluster: Cluster, value: View, side: str, what: str, protocol: str) -> bool:
    """Whether an end has an AMQP 1.0 address if it is to have one, and only then."""
    key = f"{side}-address"
    if protocol == "amqp10" and not value.text(key):
        message = f"{what} has no {key}, and with AMQP 1.0 nothing else counts: write /queues/NAME"
        cluster.drafts.fault(value.where, "C005", message)
        return False
    if protocol != "amqp10" and value.has(key):
        message = f"{key} is for AMQP 1.0 only: write {side}-protocol amqp10, or {side}-queue"
        cluster.drafts.fault(value.place(key), "C005", message)
        return False
    return True


def mark(cluster: Cluster, shovels: list[Shovel]) -> list[tuple[Shovel, Far, Far]]:
    """Find where all shovels lead, so that each knows which queues others fill."""
    found = []
    for one in shovels:
        if one.ends:
            why = "it removes itself when it has moved what was there, or its time is over"
            cluster.drafts.aside(one.where, str(one), why)
            continue
        source, dest = _far(cluster, one, "source"), _far(cluster, one, "dest")
        if isinstance(source, Space) and one.source.queue:
            source.drained.add(one.source.queue)
        if isinstance(dest, Space) and one.dest.queue:
            dest.filled.add(one.dest.queue)
        found.append((one, source, dest))
    return found


def _far(cluster: Cluster, shovel: Shovel, side: str) -> Far:
    """Where an end is.

    An address without a virtual host means the default one, whoever holds the shovel; only the
    local protocol takes the shovel's own.
    """
    end: ShovelEnd = getattr(shovel, side)
    amqp10, local = end.protocol == "amqp10", end.protocol == "local"
    vhost, what = shovel.vhost if local else DEFAULT, f"the {side} address of {shovel}"
    far, _ = read_ends(cluster, list(end.uris), what, vhost, amqp10=amqp10, local=local)
    return far


def shovel(cluster: Cluster, one: Shovel, source: Far, dest: Far) -> None:
    """Make the bridges of one shovel."""
    if source is None or dest is None:
        return
    here = source if isinstance(source, Space) else None
    there = dest if isinstance(dest, Space) else None
    if here is None and there is None:
        why = (
            "both ends are other brokers by their addresses: if one is this cluster, write "
            "amqp:///VHOST for it, or call the broker of this file like its host in --map (names:)"
        )
        cluster.drafts.aside(one.where, str(one), why)
        return
    parts = taken(one.source, here)
    if parts is None:
        message = (
            f"{one} binds with an empty or unreadable key, which lets no topic through: write # "
            "as its key (src-exchange-key, or routing_key of a static shovel)"
        )
        cluster.drafts.warn(one.where, "C020", message)
        return
    if one.source.exchange and not one.source.key and here and not here.knows(one.source.exchange):
        why = f"the type of exchange {label(one.source.exchange)} is not in this file: all is taken"
        cluster.drafts.aside(one.where, f"the source of {one}", why)
    if one.source.exchange:
        kind = here.exchange(one.source.exchange).kind if here else "topic"
        cluster.tell_wider(kind, one.source.key or "", one.where)
    if here is None and one.source.queue:
        why = "what its queue is bound for is not in this file: all of queue/ is taken"
        cluster.drafts.aside(one.where, f"the source of {one}", why)
    for part in parts:
        _bridge(cluster, one, part, source, dest)


def _bridge(cluster: Cluster, one: Shovel, part: Part, source: Far, dest: Far) -> None:
    here = source if isinstance(source, Space) else None
    there = dest if isinstance(dest, Space) else None
    part, prefix, exact = brought(one.dest, part, there)
    if not exact:
        why = "it gives all messages one routing key: they are taken to be below that name"
        cluster.drafts.aside(one.where, f"the destination of {one}", why)
    out = BridgeDraft(
        at="",
        far="",
        name=safe(one.name),
        kind="shovel",
        where=one.where,
        patterns=part.patterns,
        direction="out",
        qos=one.qos,
        local=part.prefix,
        remote=prefix,
        choice="any",
        lines={"addresses": (one.dest if here else one.source).uris[0][1]},
    )
    if here:
        made = replace(out, at=here.draft, far=_end_of(dest))
    elif there:
        made = replace(
            out,
            at=there.draft,
            far=_end_of(source),
            direction=_IN,
            local=out.remote,
            remote=out.local,
        )
    else:
        return
    cluster.drafts.bridges.append(made)
    _activate(cluster, one, part, here, there, made)


_IN: Direction = "in"


def _end_of(far: Far) -> str | tuple[Address, ...]:
    return far.draft if isinstance(far, Space) else far or ()


def _activate(
    cluster: Cluster,
    one: Shovel,
    part: Part,
    here: Space | None,
    there: Space | None,
    made: BridgeDraft,
) -> None:
    """Topics at both ends: somebody publishes at the source, somebody is served at the other."""
    if here and part.exchange:
        here.active.setdefault(part.exchange)
    elif here:
        name = f"{queue_prefix(one.source.queue)}#"
        cluster.topic(name, one.where, [(here.draft, None)])
    elif not isinstance(made.far, str):
        for pattern in made.patterns:
            cluster.topic(made.remote + pattern, one.where, [(made.far[0], None)])
    if there and one.dest.exchange:
        there.active.setdefault(one.dest.exchange)
    elif there and not one.dest.queue and part.exchange:
        there.active.setdefault(part.exchange)
    elif not there and not isinstance(made.far, str):
        for pattern in made.patterns:
            cluster.topic(made.remote + pattern, one.where, (), [(made.far[0], None)])
