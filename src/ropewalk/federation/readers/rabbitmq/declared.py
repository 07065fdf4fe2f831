"""What a static shovel declares before it begins: a queue, exchanges, and what is bound to what."""

from dataclasses import dataclass, replace

from ropewalk.federation.readers.rabbitmq.contents import Binding, Cluster, Exchange
from ropewalk.federation.readers.rabbitmq.naming import safe
from ropewalk.federation.readers.rabbitmq.terms import Term, pairs
from ropewalk.federation.showing import label
from ropewalk.findings import Where


@dataclass(frozen=True, slots=True)
class Declared:
    """The queue that is declared last, exchanges, and bindings; a queue may have no name."""

    queue: str = ""
    exchanges: tuple[Exchange, ...] = ()
    bindings: tuple[Binding, ...] = ()

    def named(self, queue: str) -> "Declared":
        """With a name for the queue that has none."""
        bound = (replace(one, destination=one.destination or queue) for one in self.bindings)
        return replace(self, bindings=tuple(bound))


def declared(cluster: Cluster, term: Term | None) -> Declared:
    """Read a list of AMQP methods."""
    queue = ""
    exchanges: list[Exchange] = []
    bindings: list[Binding] = []
    for one in term.items if term else []:
        method, where = one.items[0].text if one.items else one.text, Where(cluster.file, one.line)
        fields = {name: safe(value) for name, value in _fields(one).items()}
        if method == "queue.declare":
            queue = fields.get("queue", "")
        elif method == "exchange.declare":
            name, kind = fields.get("exchange", ""), fields.get("type", "direct")
            exchanges.append(Exchange(name, kind, where))
        elif method == "queue.bind" and fields.get("exchange"):
            to, key = fields.get("queue") or queue, fields.get("routing_key", "")
            bindings.append(Binding(fields["exchange"], to, False, key, where))
        else:
            why = "a static shovel sends it once, when it begins"
            cluster.drafts.aside(where, f"{label(method)} among declarations", why)
    return Declared(queue, tuple(exchanges), tuple(bindings))


def _fields(term: Term) -> dict[str, str]:
    """The fields of a method: in a list, or one by one."""
    found: dict[str, str] = {}
    for one in term.items[1:]:
        inner = one if one.kind == "list" else Term("list", one.line, items=[one])
        found.update((name, value.text) for name, value in pairs(inner).items())
    return found
