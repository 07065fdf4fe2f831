"""Exchanges that policies are for and nobody declares in the files: clients declare them later.

A script sets up upstreams and policies and seldom an exchange. Then one of a name that the policy
matches stands for all of these, so that what it carries where can be followed.
"""

from collections.abc import Iterator

from ropewalk.federation.readers.rabbitmq.contents import Cluster, Exchange
from ropewalk.federation.readers.rabbitmq.examples import example
from ropewalk.federation.readers.rabbitmq.naming import BUILT_IN, safe
from ropewalk.federation.readers.rabbitmq.policies import Policy
from ropewalk.federation.readers.rabbitmq.upstreams import Upstreams
from ropewalk.federation.showing import label


def stand_in(
    cluster: Cluster, policies: list[Policy], upstreams: Upstreams
) -> Iterator[tuple[str, str]]:
    """Declare an exchange for each policy that asks for federation and matches none.

    Gives the virtual host and name of each.
    """
    for one in policies:
        if one.wants is None or one.pattern is None:
            continue
        if not one.to("exchanges"):
            _of_queues(cluster, one, upstreams)
            continue
        exchanges = cluster.space(one.vhost, one.where).exchanges
        built_in = BUILT_IN if one.specific else ()
        if any(one.matches(name) for name in (*exchanges, *built_in) if name):
            continue
        what, why = f"which exchanges {one} is for", "none is declared here"
        name = example(one.pattern.pattern)
        if name is None:
            cluster.drafts.aside(one.where, what, f"{why}, and its pattern gives no name away")
            one.matched += 1
            upstreams.chosen(one)
            continue
        exchanges[safe(name)] = Exchange(safe(name), "topic", one.where)
        cluster.drafts.aside(one.where, what, f"{why}: {label(name)} stands for them")
        yield one.vhost, name


def _of_queues(cluster: Cluster, policy: Policy, upstreams: Upstreams) -> None:
    queues = cluster.space(policy.vhost, policy.where).queues
    if not any(policy.matches(name) for name in queues):
        policy.matched += 1
        upstreams.chosen(policy)
        why = "none is declared here; a message is moved to where it is consumed, as one copy"
        cluster.drafts.aside(policy.where, f"which queues {policy} is for", why)
