"""RabbitMQ definitions: what each construct becomes, and what is told of the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from ropewalk.errors import ConfigurationError
from ropewalk.export.rabbitmq import write_rabbitmq
from ropewalk.federation.facts import Bridge, Broker, Federation, Prefixes
from ropewalk.federation.readers.drafts import Address, BridgeDraft, BrokerDraft, Drafts
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.rabbitmq import (
    read_erlang,
    read_rabbitmq,
    read_rabbitmq_conf,
)
from ropewalk.federation.readers.rabbitmq.terms import read_terms
from ropewalk.federation.readers.rabbitmq.uris import BadUri, Uri, read_uri
from ropewalk.federation.readers.reading import is_native, read_native
from ropewalk.federation.readers.recognise import family_of_map, family_of_text
from ropewalk.findings import Where
from tests.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples" / "native" / "rabbitmq"
FILE = "east.json"
UP = {"component": "federation-upstream", "vhost": "/", "name": "north"}


def read(document: Any, host: str = "east") -> Drafts:
    drafts = Drafts()
    text = document if isinstance(document, str) else json.dumps(document, indent=1)
    read_rabbitmq(parse_json(text), FILE, host, drafts)
    return drafts


def exchange(name: str, kind: str = "topic", vhost: str = "/", **more: Any) -> dict[str, Any]:
    return {"name": name, "vhost": vhost, "type": kind, **more}


def upstream(name: str = "north", vhost: str = "/", **value: Any) -> dict[str, Any]:
    value = {"uri": "amqp://u:pw@north.example.net", **value}
    return {"component": "federation-upstream", "vhost": vhost, "name": name, "value": value}


def policy(pattern: str = "^orders$", name: str = "p", priority: int = 0, **definition: Any) -> Any:
    made = {"vhost": "/", "name": name, "pattern": pattern, "apply-to": "exchanges"}
    keys = {key.replace("_", "-"): value for key, value in definition.items()}
    return {**made, "priority": priority, "definition": keys}


def federated(**more: Any) -> dict[str, Any]:
    """One federated exchange; the sections that are given are others."""
    return {
        "vhosts": [{"name": "/"}],
        "exchanges": [exchange("orders")],
        "parameters": [upstream()],
        "policies": [policy(federation_upstream="north")],
        **more,
    }


def shovel(name: str = "s", vhost: str = "/", **value: Any) -> dict[str, Any]:
    keys = {key.replace("_", "-"): one for key, one in value.items()}
    return {"component": "shovel", "vhost": vhost, "name": name, "value": keys}


def said(drafts: Drafts, code: str) -> list[str]:
    return [one.message for one in drafts.findings if one.code == code]


def shape(one: BridgeDraft) -> tuple[Any, ...]:
    far = one.far if isinstance(one.far, str) else [str(a) for a in one.far]
    return one.at, one.direction, far, one.local, one.remote, one.patterns


# --- brokers and links ----------------------------------------------------------------------


def test_a_federated_exchange_is_a_bridge_that_fetches() -> None:
    text = (EXAMPLES / "ring" / "east.json").read_text()
    drafts = Drafts()
    read_rabbitmq(parse_json(text), FILE, "east", drafts)
    assert drafts.brokers == [
        BrokerDraft(
            name="east",
            make="rabbitmq",
            where=Where(FILE, 25),
            host="east",
            aliases=("rabbit@east.example.net", "east.example.net"),
            cluster="rabbit@east.example.net",
        )
    ]
    north = Address(host="north.example.net", port=5672, where=Where(FILE, 59), make="rabbitmq")
    assert drafts.bridges == [
        BridgeDraft(
            at="east",
            far=(north,),
            name="north",
            kind="federation",
            where=Where(FILE, 54),
            direction="in",
            qos=1,
            local="orders/",
            remote="orders/",
            max_hops=2,
            choice="any",
            lines={
                "policy": Where(FILE, 77),
                "max_hops": Where(FILE, 58),
                "addresses": Where(FILE, 59),
            },
        )
    ]
    (topic,) = drafts.topics
    assert (topic.name, topic.assumed) == ("orders/#", True)
    assert topic.publishers == ((north, None), ("east", None))
    assert topic.subscribers == (("east", "east.orders"),)


def test_max_hops_is_one_unless_it_is_written() -> None:
    assert read(federated()).bridges[0].max_hops == 1


@pytest.mark.parametrize(("value", "code"), [(0, "C020"), (1.5, "C005")])
def test_max_hops_that_let_nothing_through(value: Any, code: str) -> None:
    drafts = read(federated(parameters=[upstream(**{"max-hops": value})]))
    assert drafts.bridges == []
    assert any("max-hops" in one for one in said(drafts, code))


def test_no_ack_is_quality_zero() -> None:
    assert read(federated(parameters=[upstream(**{"ack-mode": "no-ack"})])).bridges[0].qos == 0


def test_a_list_of_addresses_is_any_of_them() -> None:
    uris = ["amqp://a", "amqps://b:1234/x%2fy", "amqp://[::1]:7/%2f"]
    (one,) = read(federated(parameters=[upstream(uri=uris)])).bridges
    assert shape(one)[2] == ["a:5672", "b:1234 (x/y)", "[::1]:7"]
    assert one.choice == "any"


def test_without_a_virtual_host_the_upstream_has_the_same_one() -> None:
    document = federated(
        vhosts=[{"name": "shop"}],
        exchanges=[exchange("orders", vhost="shop")],
        parameters=[upstream(vhost="shop")],
        policies=[{**policy(federation_upstream="north"), "vhost": "shop"}],
    )
    drafts = read(document)
    assert [(one.name, one.space) for one in drafts.brokers] == [("shop@east", "shop")]
    assert shape(drafts.bridges[0])[:3] == ("shop@east", "in", ["north.example.net:5672 (shop)"])


def test_an_export_of_one_virtual_host_names_none_in_its_entries() -> None:
    document = federated(original_vhost_name="shop")
    del document["vhosts"]
    text = json.dumps(document).replace('"vhost": "/", ', "")
    assert [one.space for one in read(text).brokers] == ["shop"]


def test_an_empty_virtual_host_is_no_default_one() -> None:
    drafts = read(federated(parameters=[upstream(uri="amqp://north.example.net/")]))
    assert drafts.bridges == []
    assert "empty name" in said(drafts, "C020")[0]


@pytest.mark.parametrize(
    "uri", ["amqp:///%2f", "amqp://localhost", "amqp://u:p@127.0.0.1:5672/%2F"]
)
def test_an_address_of_this_node_is_this_node(uri: str) -> None:
    drafts = read(federated(parameters=[upstream(uri=uri, exchange="other")]))
    assert drafts.bridges == []
    assert "within one virtual host: it copies other to orders" in said(drafts, "C010")[-1]


def test_another_exchange_of_the_upstream() -> None:
    (one,) = read(federated(parameters=[upstream(exchange="amq.topic")])).bridges
    assert (one.local, one.remote) == ("orders/", "")


# --- policies -------------------------------------------------------------------------------


def test_only_the_policy_of_the_highest_priority_holds() -> None:
    policies = [
        policy("^ord", "low", 1, federation_upstream="north"),
        policy("^orders$", "high", 2, ha_mode="all"),
    ]
    drafts = read(federated(policies=policies))
    assert drafts.bridges == []
    message = next(one for one in said(drafts, "C020") if "policy low" in one)
    assert "only policy high (line 35, priority 2) holds" in message


def test_policies_of_equal_priority_are_told() -> None:
    policies = [
        policy("^ord", "one", federation_upstream="north"),
        policy("^orders$", "two", message_ttl=5),
    ]
    assert "RabbitMQ takes any of them" in said(read(federated(policies=policies)), "C020")[0]


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ([policy("^nope$", federation_upstream="north")], "matches nothing"),
        ([policy(federation_upstream="south")], "names upstream south that is not there"),
        ([policy(federation_upstream_set="north")], "(an upstream is: federation-upstream)"),
        ([policy(federation_upstream_set="gone")], "names set gone that is not there"),
        ([], "used by no policy"),
    ],
)
def test_policies_that_federate_nothing(policies: list[Any], words: str) -> None:
    drafts = read(federated(policies=policies))
    assert drafts.bridges == []
    assert any(words in one for one in said(drafts, "C020"))


def test_two_federation_keys_in_one_policy_are_refused() -> None:
    both = policy(federation_upstream="north", federation_upstream_set="all")
    assert said(read(federated(policies=[both])), "C007")


def test_all_upstreams_and_those_of_a_pattern() -> None:
    parameters = [upstream("north"), upstream("south", uri="amqp://south")]
    every = federated(parameters=parameters, policies=[policy(federation_upstream_set="all")])
    assert [one.name for one in read(every).bridges] == ["north", "south"]
    some = federated(parameters=parameters, policies=[policy(federation_upstream_pattern="^s")])
    assert [one.name for one in read(some).bridges] == ["south"]


def test_a_set_goes_before_its_upstreams() -> None:
    members = [{"upstream": "north", "exchange": "x", "max-hops": 4}, {"upstream": "gone"}]
    one_set = {**UP, "component": "federation-upstream-set", "name": "s", "value": members}
    drafts = read(
        federated(
            parameters=[upstream(exchange="y"), one_set],
            policies=[policy(federation_upstream_set="s")],
        )
    )
    assert [(one.remote, one.max_hops) for one in drafts.bridges] == [("x/", 4)]
    assert "upstream gone of this set is not there" in said(drafts, "C020")[0]


def test_two_upstreams_to_one_exchange_bring_one_copy() -> None:
    parameters = [upstream("a"), upstream("b")]
    drafts = read(
        federated(parameters=parameters, policies=[policy(federation_upstream_set="all")])
    )
    assert [one.name for one in drafts.bridges] == ["a"]
    assert "both share one queue" in said(drafts, "C020")[0]


def test_internal_exchanges_are_not_federated() -> None:
    drafts = read(federated(exchanges=[exchange("orders", internal=True)]))
    assert drafts.bridges == []
    assert "is internal" in said(drafts, "C020")[0]


def test_exchanges_that_are_built_in_count_when_something_is_bound() -> None:
    everything = [policy("", federation_upstream="north")]
    drafts = read(federated(policies=everything))
    assert [one.local for one in drafts.bridges] == ["orders/"]
    assert any("amq.topic" in one for one in said(drafts, "C010"))
    bound = {"source": "amq.topic", "vhost": "/", "destination": "q", "routing_key": "a.*"}
    drafts = read(federated(policies=everything, bindings=[bound]))
    assert [(one.local, one.excepts) for one in drafts.bridges] == [
        ("", ("orders/#",)),
        ("orders/", ()),
    ]
    assert next(one.name for one in drafts.topics) == "a/+"


def test_federated_queues_are_told() -> None:
    queues = {**policy(federation_upstream="north"), "apply-to": "queues", "pattern": "^q"}
    drafts = read(federated(queues=[{"name": "q1", "vhost": "/"}], policies=[queues]))
    assert drafts.bridges == []
    assert any("stays one copy" in one for one in said(drafts, "C010"))
    assert not said(drafts, "C020")


# --- what RabbitMQ refuses ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"max_hops": 2}, "does not know max_hops: write max-hops"),
        ({"zzz": 2}, "does not know zzz: remove it"),
        ({"max-hops": None}, "max-hops is null"),
        ({"max-hops": "2"}, "max-hops is no number"),
        ({"trust-user-id": "true"}, "trust-user-id is neither true nor false"),
    ],
)
@pytest.mark.parametrize("in_set", [False, True])
def test_an_upstream_that_rabbitmq_refuses_is_no_link(
    value: dict[str, Any], words: str, in_set: bool
) -> None:
    members = {**UP, "component": "federation-upstream-set", "name": "s"}
    parameters = [upstream(), {**members, "value": [{"upstream": "north", **value}]}]
    chosen = policy(federation_upstream_set="s")
    if not in_set:
        parameters, chosen = [upstream(**value)], policy(federation_upstream="north")
    drafts = read(federated(parameters=parameters, policies=[chosen]))
    assert drafts.bridges == []
    (told,) = said(drafts, "C020")
    assert told.startswith("RabbitMQ refuses set s" if in_set else "RabbitMQ refuses upstream nor")
    assert words in told


def test_a_shovel_that_rabbitmq_refuses_is_no_bridge() -> None:
    ends = {"src_uri": "amqp://", "src_queue": "q", "dest_uri": "amqp://far"}
    drafts = read({"parameters": [shovel(**ends, prefetch_counts=5)]})
    assert (drafts.bridges, len(said(drafts, "C020"))) == ([], 1)
    assert "write prefetch-count" in said(drafts, "C020")[0]


def test_a_variable_for_a_number_is_to_be_filled_in() -> None:
    drafts = read(federated(parameters=[upstream(**{"max-hops": "${HOPS}"})]))
    assert said(drafts, "C006") == ["a variable stands for max-hops: fill it in"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"pattern": "^orders("}, "is no regular expression (missing ))"),
        ({"pattern": "*"}, "is no regular expression (nothing to repeat)"),
        ({"priority": "10"}, "priority is no number"),
        ({"priority": None}, "priority is no number"),
    ],
)
def test_a_policy_that_rabbitmq_refuses_federates_nothing(more: Any, words: str) -> None:
    drafts = read(federated(policies=[{**policy(federation_upstream="north"), **more}]))
    (told,) = said(drafts, "C020")
    assert (drafts.bridges, words in told) == ([], True)
    assert told.startswith("RabbitMQ refuses policy p, and definitions with it")


@pytest.mark.parametrize("pattern", ["[[:alpha:]]+", r"orders\z", r"\Qorders(\E"])
def test_upstreams_of_a_policy_that_cannot_be_read_may_be_used(pattern: str) -> None:
    drafts = read(federated(policies=[policy(pattern, federation_upstream="north")]))
    assert any("its pattern cannot be read here" in one for one in said(drafts, "C010"))
    assert said(drafts, "C020") == []
    of_names = [policy(federation_upstream_pattern=pattern)]
    assert said(read(federated(policies=of_names)), "C020") == []


def test_an_upstream_with_an_empty_list_of_addresses_has_none() -> None:
    drafts = read(federated(parameters=[upstream(uri=[])]))
    assert said(drafts, "C005") == ["upstream north has no address: write its uri"]


# --- bindings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "key", "topic"),
    [
        ("topic", "a.*.#", "orders/a/+/#"),
        ("direct", "a.b", "orders/a/b"),
        ("fanout", "a.b", "orders/#"),
        ("headers", "", "orders/#"),
    ],
)
def test_bindings_say_who_is_served(kind: str, key: str, topic: str) -> None:
    bound = {"source": "orders", "vhost": "/", "destination": "q", "routing_key": key}
    drafts = read(federated(exchanges=[exchange("orders", kind)], bindings=[bound]))
    assert [(one.name, one.subscribers) for one in drafts.topics] == [(topic, (("east", "q"),))]


@pytest.mark.parametrize(
    ("key", "kind", "told"),
    [
        ("a.#.b", "topic", "the key a.#.b: it is taken as a.#, so more is followed"),
        ("#.up", "topic", "the key #.up: it is taken as #,"),
        ("a.#", "topic", None),
        ("a.#.#", "topic", None),
        ("#.up", "fanout", None),
    ],
)
def test_keys_that_topics_do_not_have_are_told_with_their_line(
    key: str, kind: str, told: str | None
) -> None:
    bound = {"source": "orders", "vhost": "/", "destination": "q", "routing_key": key}
    one = shovel(
        src_uri="amqp://", src_exchange="orders", src_exchange_key=key, dest_uri="amqp://f"
    )
    config = f"""[{{rabbitmq_shovel, [{{shovels, [{{s, [
        {{source, [{{uris, ["amqp://"]}}, {{declarations, [
        {{'exchange.declare', [{{exchange, <<"x">>}}, {{type, <<"{kind}">>}}]}},
        {{'queue.declare', [{{queue, <<"q">>}}]}},
        {{'queue.bind', [{{exchange, <<"x">>}}, {{queue, <<"q">>}}, {{routing_key, <<"{key}">>}}]}}
        ]}}, {{queue, <<"q">>}}]}}, {{destination, [{{uris, ["amqp://far"]}}]}}]}}]}}]}}]."""
    declared = {"exchanges": [exchange("orders", kind)]}
    static = Drafts()
    read_erlang(config, FILE, "east", static)
    for drafts, line in (
        (read({**declared, "bindings": [bound]}), 14),
        (read({**declared, "parameters": [one]}), 10),
        (static, 5),
    ):
        found = [one for one in drafts.findings if "it is taken as" in one.message]
        assert [one.where.line for one in found] == ([line] if told else [])
        assert all((told or "") in one.message for one in found)


def test_a_binding_of_exchanges_is_a_bridge_to_itself() -> None:
    bound = {"source": "a", "destination": "b", "destination_type": "exchange"}
    document = {
        "exchanges": [exchange("a"), exchange("b", "fanout")],
        "bindings": [{**bound, "vhost": "/", "routing_key": "x.#"}],
    }
    (one,) = read(document).bridges
    assert (one.kind, shape(one)) == ("binding", ("east", "out", "east", "a/", "b/", ("x/#",)))


# --- shovels --------------------------------------------------------------------------------


def test_a_shovel_takes_what_its_queue_is_bound_for() -> None:
    bound = {"source": "in", "vhost": "/", "destination": "q", "routing_key": "a.#"}
    document = {
        "exchanges": [exchange("in")],
        "bindings": [bound],
        "parameters": [
            shovel(src_uri="amqp://", src_queue="q", dest_uri="amqp://far/v", dest_exchange="x")
        ],
    }
    drafts = read(document)
    (one,) = drafts.bridges
    assert shape(one) == ("east", "out", ["far:5672 (v)"], "in/", "x/", ("a/#",))
    assert (one.kind, one.qos, one.max_hops) == ("shovel", 1, None)
    assert [t.name for t in drafts.topics] == ["x/a/#", "in/a/#"]


def test_a_shovel_without_a_virtual_host_is_at_the_default_one() -> None:
    one = shovel(
        vhost="other", src_uri="amqp://", src_queue="q", dest_uri="amqp:///other", dest_queue="r"
    )
    (made,) = read({"parameters": [one]}).bridges
    assert shape(made) == ("east", "out", "other@east", "queue/q/", "queue/r/", ("#",))


def test_the_local_protocol_connects_to_no_other_node() -> None:
    nodes = ["amqp://node-1:5673/shop", "amqp://node-2:5674/shop"]
    ends: dict[str, Any] = {
        "src_uri": nodes,
        "src_queue": "q",
        "dest_uri": nodes[1],
        "dest_exchange": "x",
        "src_protocol": "local",
        "dest_protocol": "local",
    }
    vhosts = [{"name": "/"}, {"name": "shop"}]
    drafts = read({"vhosts": vhosts, "parameters": [shovel(**ends)]})
    assert [shape(one) for one in drafts.bridges] == [
        ("shop@east", "out", "shop@east", "queue/q/", "x/", ("#",))
    ]
    assert said(drafts, "C010") == []


@pytest.mark.parametrize(
    ("more", "bridges"), [({"src_delete_after_duration": 60}, 0), ({"src_consumer_name": "c"}, 1)]
)
def test_what_shovels_have_had_since_release_4(more: dict[str, Any], bridges: int) -> None:
    one = shovel(src_uri="amqp://", src_queue="q", dest_uri="amqp://far", dest_queue="r", **more)
    drafts = read({"parameters": [one]})
    assert len(drafts.bridges) == bridges
    assert not any("RabbitMQ does not know it" in one for one in said(drafts, "C010"))


def test_a_shovel_that_fetches() -> None:
    one = shovel(
        src_uri="amqp://far", src_exchange="x", src_exchange_key="k.#", dest_uri="amqp:///%2f"
    )
    (made,) = read({"parameters": [one]}).bridges
    assert shape(made) == ("east", "in", ["far:5672"], "x/", "x/", ("k/#",))


def test_a_fixed_routing_key_is_a_renaming_of_one_name() -> None:
    one = shovel(
        src_uri="amqp://",
        src_exchange="x",
        src_exchange_key="done",
        dest_uri="amqp://far",
        dest_exchange="y",
        dest_exchange_key="files.done",
    )
    (made,) = read({"parameters": [one], "exchanges": [exchange("x")]}).bridges
    assert shape(made)[3:] == ("x/", "y/files/", ("done",))


def test_a_fixed_routing_key_counts_behind_a_fanout_exchange_too() -> None:
    """The exchange passes it on, and another one that is bound to it asks for it."""
    ends = {"dest_exchange": "all", "dest_exchange_key": "files.error"}
    one = shovel(src_uri="amqp://", src_queue="q", dest_uri="amqp://", **ends)
    between = {"source": "all", "destination": "some", "destination_type": "exchange"}
    drafts = read(
        {
            "exchanges": [exchange("all", "fanout"), exchange("some")],
            "bindings": [{**between, "vhost": "/", "routing_key": ""}],
            "parameters": [one],
        }
    )
    assert [(one.local, one.remote) for one in drafts.bridges if one.kind == "shovel"] == [
        ("queue/q/", "all/files/error/")
    ]


def test_addresses_of_amqp_1() -> None:
    one = shovel(
        src_protocol="amqp10",
        src_uri="amqp://localhost",
        src_address="/exchanges/x/a.b",
        dest_protocol="amqp10",
        dest_uri="amqp://far",
        dest_address="/queues/q",
    )
    (made,) = read({"parameters": [one]}).bridges
    assert shape(made)[3:] == ("x/", "queue/q/", ("a/b",))


@pytest.mark.parametrize(
    ("value", "code", "words"),
    [
        ({"src_uri": "amqp://a", "dest_uri": "amqp://b", "src_queue": "q"}, "C010", "both ends"),
        ({"src_uri": "amqp://", "dest_uri": "amqp://b"}, "C005", "takes from nowhere"),
        ({"src_queue": "q", "dest_uri": "amqp://b"}, "C005", "no src-uri"),
        (
            {"src_uri": "amqp://", "dest_uri": "amqp://b", "src_exchange": "amq.topic"},
            "C020",
            "lets no topic through",
        ),
        (
            {"src_uri": "amqp://", "dest_uri": "amqp://b", "src_queue": "q", "delete_after": 5},
            "C010",
            "removes itself",
        ),
    ],
)
def test_shovels_that_make_no_bridge(value: dict[str, Any], code: str, words: str) -> None:
    drafts = read({"parameters": [shovel(**value)]})
    assert drafts.bridges == []
    assert any(words in one for one in said(drafts, code))


@pytest.mark.parametrize(
    ("uri", "end", "code"),
    [
        ("amqps://u:pw@bus.example.net:5671/?sasl=plain", ["bus.example.net:5671"], None),
        ("amqp://far?hostname=vhost:a%2Fb", ["far:5672 (a/b)"], None),
        ("amqp://localhost?sasl=anon&hostname=vhost:b", "b@east", None),
        ("amqp://far/b", None, "C020"),
    ],
)
def test_virtual_hosts_of_amqp_1(uri: str, end: Any, code: str | None) -> None:
    ends = {"dest_protocol": "amqp10", "dest_uri": uri, "dest_address": "/queues/q"}
    drafts = read({"parameters": [shovel(src_uri="amqp://", src_queue="s", **ends)]})
    assert [shape(one)[2] for one in drafts.bridges] == ([end] if end else [])
    assert [one.code for one in drafts.findings if one.severity != "note"] == ([code] * bool(code))
    assert not any("hostname" in one for one in said(drafts, "C010"))
    assert "pw" not in repr(drafts)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ({"src_protocol": "amqp10", "src_queue": "/queues/q"}, "has no src-address"),
        ({"src_queue": "q", "src_address": "/queues/q"}, "src-address is for AMQP 1.0 only"),
    ],
)
def test_addresses_are_for_amqp_1_and_queues_are_not(ends: dict[str, Any], words: str) -> None:
    drafts = read({"parameters": [shovel(src_uri="amqp://", dest_uri="amqp://far", **ends)]})
    assert any(words in one for one in said(drafts, "C005"))


def test_an_exchange_of_unknown_type_may_let_all_through() -> None:
    one = shovel(src_uri="amqp://", src_exchange="x", dest_uri="amqp://far")
    drafts = read({"parameters": [one]})
    assert drafts.bridges[0].patterns == ("#",)
    assert any("type of exchange x is not in this file" in one for one in said(drafts, "C010"))


@pytest.mark.parametrize(
    ("ends", "remote"),
    [
        ({"dest_exchange_key": "k"}, "x/k/"),
        ({"dest_exchange": "", "dest_exchange_key": "k"}, "queue/k/"),
    ],
)
def test_a_routing_key_alone_counts_too(ends: dict[str, Any], remote: str) -> None:
    source = {"src_uri": "amqp://", "src_exchange": "x", "src_exchange_key": "#"}
    drafts = read({"parameters": [shovel(dest_uri="amqp://far", **source, **ends)]})
    assert drafts.bridges[0].remote == remote


def test_what_links_of_other_clusters_made_is_no_exchange() -> None:
    inner = "federation: orders -> rabbit@far B"
    kind = {"vhost": "/", "destination_type": "exchange", "routing_key": "a.#"}
    drafts = read(
        {
            "exchanges": [exchange("orders"), exchange(inner, "x-federation-upstream")],
            "queues": [{"name": "federation: orders -> rabbit@far", "vhost": "/"}],
            "bindings": [
                {"source": "orders", "destination": inner, **kind},
                {**kind, "source": inner, "destination": inner[:-2], "destination_type": "queue"},
            ],
        }
    )
    assert (drafts.bridges, drafts.topics) == ([], [])
    assert len([one for one in said(drafts, "C010") if "of federation links" in one]) == 2


# --- addresses and the rest -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("encrypted:abc", "C010"),
        ("CEGA_CONNECTION", "C006"),
        ("amqp://${HOST}:5672", "C006"),
        ("amqp://u:pw@h/${SPACE}", "C006"),
        ("http://h", "C005"),
        ("amqp://u:p@w@h", "C005"),
        ("amqp://h/a/b", "C005"),
        ("amqp://h,g/v", "C005"),
        ("amqp://h/v, amqp://g/v", "C005"),
        ("amqp://h:99999", "C005"),
        ("amqp://h:x", "C005"),
    ],
)
def test_addresses_that_cannot_be_read(text: str, code: str) -> None:
    found = read_uri(text)
    assert isinstance(found, BadUri)
    assert found.code == code


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("${UP_URI:-amqp://h}", "the variable UP_URI stands for the address"),
        ("UP_URI", "the variable UP_URI stands for the address"),
        ("amqp://u:$PW@{{ .Values.host }}:5672", "the variable .Values.host stands for the host"),
        ("amqp://u:pw@h/${SPACE}", "the variable SPACE stands for the virtual host"),
        ("u:$sesame@h", "a variable stands for the address"),
        ("amqp://u:$sesame?x@h", "a variable stands for the host"),
        ("amqp://u:a/$sesame@h", "a variable stands for the virtual host"),
        ("amqp://{{ lookup('env', 'H') }}", "a variable stands for the host"),
    ],
)
def test_variables_in_addresses_are_named_unless_they_may_be_passwords(
    text: str, words: str
) -> None:
    found = read_uri(text)
    assert isinstance(found, BadUri)
    assert (found.code, found.message[: len(words)]) == ("C006", words)


def test_where_something_cannot_be_read_nothing_is_said_of_use() -> None:
    document = federated(policies=[policy(federation_upstream="other")])
    assert any("is used by no policy" in one for one in said(read(document), "C020"))
    document["parameters"] += [upstream("other", uri="${URI}")]
    drafts = read(document)
    assert said(drafts, "C006")
    assert not any("is used by no policy" in one for one in said(drafts, "C020"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("amqp://b b", "white space"),
        ("amqp://u:Sesame#1@b", "write %23 for #"),
        ("amqp://Sesame#1@b", "write %23 for #"),
        ("amqp://u:Sesame?1@b", "write %3f for ?"),
        ("amqp://u:Sesame/1@b", "write %2f for /"),
    ],
)
def test_what_is_wrong_with_an_address_is_told_and_never_a_password(text: str, words: str) -> None:
    found = read_uri(text)
    assert isinstance(found, BadUri)
    assert (found.code, words in found.message, "Sesame" in found.message) == ("C005", True, False)


def test_several_addresses_in_one_text_are_to_be_a_list() -> None:
    found = read_uri("amqp://u:pw@one/v,amqp://u:pw@two")
    assert isinstance(found, BadUri)
    assert "write a list" in found.message


def test_a_variable_for_a_password_does_not_matter() -> None:
    assert read_uri("amqp://u:${PASSWORD}@h/v") == Uri("h", 5672, "v")


def test_variables_stand_for_no_ends_and_keys() -> None:
    one = shovel(src_uri="amqp://", src_queue="${Q}", dest_uri="amqp://far")
    bound = {"source": "x", "vhost": "/", "destination": "q", "routing_key": "{{ key }}.#"}
    drafts = read({"parameters": [one], "bindings": [bound], "exchanges": [exchange("x")]})
    assert len(said(drafts, "C006")) == 2


def test_addresses_keep_no_user() -> None:
    found = read_uri("amqps://user:secret@h/v?heartbeat=5&verify=verify_none")
    assert found == Uri("h", 5671, "v", True, ("heartbeat", "verify"))


@pytest.mark.parametrize(
    ("uri", "code", "words"),
    [("UPSTREAM_URI", "C006", "fill it in"), ("amqp://hub/", "C020", "never connects")],
)
def test_addresses_for_federated_queues_are_read_too(uri: str, code: str, words: str) -> None:
    drafts = read(
        {
            "queues": [{"name": "jobs", "vhost": "/"}],
            "parameters": [upstream(uri=uri)],
            "policies": [{**policy("^jobs$", federation_upstream="north"), "apply-to": "queues"}],
        }
    )
    assert any(words in one for one in said(drafts, code))


def test_a_virtual_host_that_is_not_listed_is_told_once() -> None:
    exchanges = [exchange("a", vhost="shop"), exchange("b", vhost="shop"), exchange("c")]
    drafts = read({"vhosts": [{"name": "main"}], "exchanges": exchanges})
    (told,) = said(drafts, "C020")
    assert "virtual host shop is not listed" in told
    assert said(read({"vhosts": [], "exchanges": exchanges}), "C020") == []


def test_signs_of_patterns_within_names_are_no_patterns() -> None:
    """Libraries call exchanges by nested types, as in `Shop:Order+Paid`."""
    between = {"source": "Shop:Order+Paid", "destination": "c#", "destination_type": "exchange"}
    queue = {"source": "c#", "destination": "q+1", "destination_type": "queue"}
    drafts = read(
        {
            "exchanges": [exchange("Shop:Order+Paid", "fanout"), exchange("c#")],
            "bindings": [
                {**between, "vhost": "/", "routing_key": ""},
                {**queue, "vhost": "/", "routing_key": "a.c++"},
                {**queue, "vhost": "/", "routing_key": "a.#"},
            ],
            "parameters": [
                shovel(src_uri="amqp://", src_queue="c++", dest_uri="amqp://far", dest_queue="r#")
            ],
        }
    )
    assert [(one.local, one.remote, one.patterns) for one in drafts.bridges] == [
        ("Shop:Order%2BPaid/", "c%23/", ("#",)),
        ("queue/c%2B%2B/", "queue/r%23/", ("#",)),
    ]
    assert {one.name for one in drafts.topics} == {
        *("Shop:Order%2BPaid/#", "c%23/a/#", "queue/c%2B%2B/#", "queue/r%23/#")
    }
    assert any("topics cannot have its +" in one for one in said(drafts, "C010"))
    assert drafts.faults == []


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("*", "%2A"), ("a/*", "a/%2A"), ("a*", "a*"), ("t\tab", "t%09ab"), ("\x85", "%85")],
)
def test_names_that_no_topic_may_have_are_written_otherwise(name: str, prefix: str) -> None:
    between = {"source": name, "destination": "x", "destination_type": "exchange", "vhost": "/"}
    keys = ["#", "a.t\tab"]
    bindings = [{**between, "routing_key": key} for key in keys]
    drafts = read({"exchanges": [exchange(name), exchange("x")], "bindings": bindings})
    assert [(one.local, one.patterns) for one in drafts.bridges] == [(f"{prefix}/", ("#",))]


@pytest.mark.parametrize("component", ["federation", "operator_policy", "vhost-limits"])
def test_components_of_parameters_have_reasons_of_their_own(component: str) -> None:
    entry = {"component": component, "vhost": "/", "name": "n", "value": "v"}
    (told,) = said(read({"parameters": [entry]}), "C010")
    assert "neither federation" not in told


def test_sections_are_told_with_a_count_and_no_name() -> None:
    users = [{"name": "anna", "password_hash": "h4sh"}, {"name": "bert", "password_hash": "x"}]
    document = federated(users=users, foo=1, queues=[{"name": "q", "vhost": "/", "bar": 1}])
    messages = said(read(document), "C010")
    assert any("users, 2 entries" in one for one in messages)
    assert any("foo" in one for one in messages)
    assert any("bar of queues" in one for one in messages)
    assert not any("anna" in one or "h4sh" in one for one in messages)


def test_parameters_of_the_cluster_are_told_by_name() -> None:
    drafts = read({"global_parameters": [{"name": "cluster_tags", "value": {"a": "s3cret"}}]})
    (message,) = said(drafts, "C010")
    assert "cluster_tags in global_parameters" in message


@pytest.mark.parametrize("name", ["${VHOST:-/}", "{{ vhost }}", "<%= vhost %>"])
def test_variables_stand_for_no_names(name: str) -> None:
    drafts = read({"vhosts": [{"name": name}], "exchanges": [exchange(name, vhost=name)]})
    assert said(drafts, "C006") == [
        "a variable stands for a virtual host: fill it in, such as /",
        "a variable stands for its name: fill it in",
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"vhosts": [],\n}', 1, "nothing follows this comma"),
        ('{"vhosts": [{},\n]}', 1, "nothing follows this comma"),
        ('{\n// all\n"vhosts": []}', 2, "a comment"),
        ('{"vhosts": [] # all\n}', 1, "a comment"),
        ('{"a": 1,\n{% if x %}\n"b": 2}', 2, "a template's"),
        ('{"a": {{ x }}}', 1, "a template's"),
        ('{"a": [\n{% for u in us %}\n{"b": "{{ u }}"}{% endfor %}]}', 2, "a template's"),
        ('{"a": [{# all #}]}', 1, "a template's"),
    ],
)
def test_what_json_does_not_have(text: str, line: int, words: str) -> None:
    (fault,) = parse_json(text).faults
    assert (fault.line, words in fault.message) == (line, True)


@pytest.mark.parametrize(
    ("document", "family"),
    [
        ({"queues": [{"name": "q", "vhost": "/"}]}, "rabbitmq"),
        ({"exchanges": [{"name": "x"}], "queues": []}, "rabbitmq"),
        ({"queues": ["default", "mail"]}, None),
        ({"parameters": {"place": {"value": "west"}}}, None),
        ({"parameters": [{"name": "id", "in": "query"}]}, None),
    ],
)
def test_other_programs_have_queues_and_parameters(document: Any, family: str | None) -> None:
    assert family_of_map(document) == family


def test_a_document_that_is_no_map() -> None:
    assert said(read("[]"), "C005") == [
        "no definitions: the file has to be a map with vhosts, exchanges and the like"
    ]


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.json")), ids=lambda one: one.stem)
def test_examples_have_no_faults(path: Path) -> None:
    drafts = read(path.read_text(), path.stem)
    assert [str(one) for one in drafts.findings if one.severity != "note"] == []


# --- rabbitmq.conf and Erlang terms ---------------------------------------------------------

STATIC = """%% static shovels, in the new form and in the old one
[{rabbit, [{tcp_listeners, [5672, {"127.0.0.1", 5673}]}, {vm_memory_high_watermark, 0.4}]},
 {rabbitmq_shovel, [{shovels, [
   {new, [{source, [{protocol, amqp091}, {uris, ["amqp://fred:secret@far/v"]},
                    {declarations, [{'queue.declare', [{queue, <<"q">>}, durable]},
                       {'queue.bind', [{exchange, <<"x">>}, {routing_key, <<"a.#">>}]}]},
                    {queue, <<"q">>}]},
          {destination, [{uris, ["amqp://"]}, {publish_fields, [{exchange, <<"y">>}]}]},
          {ack_mode, no_ack}]},
   {old, [{sources, [{broker, "amqp://"}]}, {destinations, [{brokers, ["amqp://a", "amqp://b"]}]},
          {queue, <<"src">>}, {publish_fields, [{exchange, <<>>}, {routing_key, <<"r">>}]}]}
 ]}]}].
"""


def terms(text: str) -> Drafts:
    drafts = Drafts()
    read_erlang(text, "advanced.config", "east", drafts)
    return drafts


def test_static_shovels_in_both_forms() -> None:
    drafts = terms(STATIC)
    assert drafts.brokers[0].listens == (("", 5672), ("127.0.0.1", 5673))
    assert [(one.name, one.qos, *shape(one)) for one in drafts.bridges] == [
        ("new", 0, "east", "in", ["far:5672 (v)"], "y/", "x/", ("a/#",)),
        ("old", 1, "east", "out", ["a:5672", "b:5672"], "queue/src/", "queue/r/", ("#",)),
    ]
    assert "secret" not in repr(drafts)
    assert any("vm_memory_high_watermark" in one for one in said(drafts, "C010"))


@pytest.mark.parametrize(
    "text",
    [
        "[{a, [}].",
        "[{a",
        "[?].",
        "[" * 100,
        "]",
        "[{a, []},\n].",
        "[{a, []} {b, []}].",
        "[]",
        "[,].",
    ],
)
def test_terms_that_are_none(text: str) -> None:
    assert said(terms(text), "C004")


def test_texts_side_by_side_are_one() -> None:
    assert read_terms('[{a, "b" "c"}, #{d => <<"e">>}].')[0].items[0].items[1].text == "bc"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<<"a", "b"/utf8>>', "ab"),
        ("<<109,113>>", "mq"),
        ('<<"x":8/binary, 50:8>>', "x2"),
        ("<<>>", ""),
        ("16#1628", "5672"),
        ("5_672", "5672"),
        ("$a", "$a"),
        ("-1.5e3", "-1.5e3"),
        (r"'it\'s'", "it's"),
    ],
)
def test_binaries_and_numbers_as_erlang_has_them(text: str, said: str) -> None:
    assert read_terms(f"[{{a, {text}}}].")[0].items[0].items[1].text == said


@pytest.mark.parametrize(
    "line",
    [
        "{tcp_listeners, [{{ ports.tcp }}]},",
        "{% if tls %}",
        "{# a remark #}",
        "<% if @tls -%>",
        "{tcp_listeners, [${PORT}]},",
    ],
)
def test_templates_are_no_terms(line: str) -> None:
    drafts = terms(f'%% {{{{ managed }}}}\n[{{rabbit, [\n{line}\n{{a, "${{user}}"}}]}}].')
    assert [(one.code, one.where.line) for one in drafts.faults] == [("C006", 3)]


def static(source: str, dest: str = '{uris, ["amqp://far"]}', more: str = "") -> Drafts:
    made = f"{{s, [{{source, [{source}]}}, {{destination, [{dest}]}}]}}"
    return terms(f"[{{rabbitmq_shovel, [{{shovels, [{made}]}}{more}]}}].")


def test_what_a_static_shovel_declares_is_where_its_address_is() -> None:
    drafts = static(
        """{uris, ["amqp:///shop"]}, {queue, <<>>}, {declarations, [
        {'exchange.declare', [{exchange, <<"all">>}, {type, <<"fanout">>}]},
        {'queue.declare', [{exclusive, true}]}, {'queue.bind', [{exchange, <<"all">>}]},
        {'queue.bind', [{exchange, <<"some">>}, {routing_key, <<"a.*">>}]}]}"""
    )
    assert [shape(one) for one in drafts.bridges] == [
        ("shop@east", "out", ["far:5672"], "all/", "all/", ("#",)),
        ("shop@east", "out", ["far:5672"], "some/", "some/", ("a/+",)),
    ]
    assert {
        end for one in drafts.topics for end, _ in one.subscribers if end == "shop@east"
    } == set()
    assert drafts.faults == []


def test_defaults_of_static_shovels_hold() -> None:
    defaults = ', {defaults, [{ack_mode, no_ack}, {publish_fields, [{exchange, <<"y">>}]}]}'
    drafts = static('{uris, ["amqp://"]}, {queue, <<"q">>}', more=defaults)
    assert [(one.qos, one.remote) for one in drafts.bridges] == [(0, "y/")]
    assert not any("defaults" in one for one in said(drafts, "C010"))


def test_a_static_shovel_that_removes_itself_is_no_bridge() -> None:
    ends = static('{uris, ["amqp://"]}, {queue, <<"q">>}, {delete_after, \'queue-length\'}')
    stays = static('{uris, ["amqp://"]}, {queue, <<"q">>}, {delete_after, never}')
    assert ends.bridges == []
    assert any("removes itself" in one for one in said(ends, "C010"))
    assert len(stays.bridges) == 1
    assert said(stays, "C010") == []


def test_a_static_shovel_of_the_local_protocol_has_fields_of_its_own() -> None:
    drafts = static(
        """{protocol, local}, {uris, ["amqp://node-1:5673/shop"]}, {queue, <<>>}, {declarations, [
        'queue.declare', {'queue.bind', [{exchange, <<"amq.fanout">>}, {queue, <<>>}]}]}""",
        """{protocol, local}, {uris, ["amqp://node-2:5673/%2f"]}, {dest_exchange, <<>>},
        {dest_routing_key, <<"out">>}""",
    )
    assert [shape(one) for one in drafts.bridges] == [
        ("shop@east", "out", "east", "amq.fanout/", "queue/out/", ("#",))
    ]
    assert said(drafts, "C010") == []


def test_fields_of_a_local_destination_do_nothing() -> None:
    dest = '{protocol, local}, {publish_fields, [{exchange, <<"x">>}]}'
    drafts = static('{uris, ["amqp://"]}, {queue, <<"q">>}', dest)
    assert [one.remote for one in drafts.bridges] == ["queue/q/"]
    assert any("write dest_exchange" in one for one in said(drafts, "C020"))


def test_an_exchange_among_properties_keeps_rabbitmq_from_starting() -> None:
    dest = '{uris, ["amqp://far"]}, {publish_properties, [{exchange, <<"x">>}]}'
    drafts = static('{uris, ["amqp://"]}, {queue, <<"q">>}', dest)
    assert any("write publish_fields" in one for one in said(drafts, "C020"))


def test_two_static_shovels_of_one_name_keep_the_plug_in_from_starting() -> None:
    one = """{s, [{source, [{uris, ["amqp://"]}, {queue, <<"q">>}]},
        {destination, [{uris, ["amqp://far"]}]}]}"""
    drafts = Drafts()
    text = f"[{{rabbitmq_shovel, [{{shovels, [\n{one},\n{one}]}}]}}]."
    read_erlang(text, FILE, "east", drafts)
    (told,) = [one for one in drafts.findings if one.code == "C020"]
    assert (told.where.line, "shovel s is there twice (line 2)" in told.message) == (4, True)


def test_advanced_config_alone_is_called_as_its_folder(tmp_path: Path) -> None:
    for here, far in (("north", "south"), ("south", "north")):
        (tmp_path / here).mkdir()
        (tmp_path / here / "advanced.config").write_text(
            f"""[{{rabbitmq_shovel, [{{shovels, [{{s, [
            {{source, [{{uris, ["amqp://"]}}, {{declarations, ['queue.declare',
                {{'queue.bind', [{{exchange, <<"x">>}}, {{routing_key, <<"#">>}}]}}]}}]}},
            {{destination, [{{uris, ["amqp://{far}"]}},
                {{publish_fields, [{{exchange, <<"x">>}}]}}]}}]}}]}}]}}]."""
        )
    federation = read_native([tmp_path]).federation
    assert sorted(federation.brokers) == ["north", "south"]
    assert {(one.from_, one.to) for one in federation.bridges} == {
        ("north", "south"),
        ("south", "north"),
    }


def test_variables_stand_for_no_end_of_a_static_shovel() -> None:
    drafts = static('{uris, ["amqp://"]}, {queue, <<"{{ queue }}">>}')
    assert [one.code for one in drafts.faults] == ["C006"]


def test_erlang_terms_name_the_cluster() -> None:
    drafts = terms('[{rabbit, [{cluster_name, <<"rabbit@hub.example.net">>}]}].')
    assert drafts.brokers[0].cluster == "rabbit@hub.example.net"
    assert said(drafts, "C010") == []


def test_encrypted_addresses_of_static_shovels_are_told() -> None:
    drafts = static('{uris, [{encrypted, <<"abc">>}]}, {queue, <<"q">>}')
    assert drafts.bridges == []
    assert drafts.faults == []
    assert any("is encrypted" in one for one in said(drafts, "C010"))


def test_settings_that_do_more_than_nothing_have_reasons_of_their_own() -> None:
    drafts = terms(
        """[{rabbitmq_management, [{load_definitions, "/x.json"}, {rates_mode, basic}]},
        {rabbitmq_mqtt, [{exchange, <<"m">>}]}, {rabbitmq_federation, [{upstream_sets, []}]}]."""
    )
    reasons = said(drafts, "C010")
    assert any("load_definitions" in one and "read the definitions" in one for one in reasons)
    assert any("rates_mode" in one and "does not change where" in one for one in reasons)
    assert any("amq.topic" in one for one in reasons)
    assert any("RabbitMQ 2.8" in one for one in said(drafts, "C020"))


@pytest.mark.parametrize(
    ("settings", "listens", "secure"),
    [
        ("{ssl_listeners, [5671]}", (("", 5672), ("", 5671)), False),
        ("{tcp_listeners, []}, {ssl_listeners, [5671]}", (("", 5671),), True),
    ],
)
def test_listeners_with_tls_are_listeners_too(settings: str, listens: Any, secure: bool) -> None:
    (one,) = terms(f"[{{rabbit, [{settings}]}}].").brokers
    assert (one.listens, one.secure) == (listens, secure)


def test_rabbitmq_conf_says_where_it_listens() -> None:
    text = """# a comment
listeners.tcp.default = 5673
listeners.ssl.1 = 0.0.0.0:5671
cluster_name = rabbit@east.example.net
default_pass = hunter2
cluster_formation.classic_config.nodes.1 = rabbit@one
listeners.tcp.2 = none
not a setting
"""
    drafts = Drafts()
    read_rabbitmq_conf(text, "rabbitmq.conf", "east", drafts)
    (one,) = drafts.brokers
    assert one.listens == (("", 5673), ("", 5671))
    assert one.aliases == ("rabbit@east.example.net", "east.example.net")
    assert {(one.code, one.where.line) for one in drafts.faults} == {("C005", 7), ("C004", 8)}
    assert "hunter2" not in repr(drafts)
    assert len(said(drafts, "C010")) == 2


def conf(text: str) -> Drafts:
    drafts = Drafts()
    read_rabbitmq_conf(text, "rabbitmq.conf", "east", drafts)
    return drafts


@pytest.mark.parametrize(
    ("text", "listens", "secure"),
    [
        ("listeners.ssl.default = 5671", (("", 5672), ("", 5671)), False),
        ("listeners.tcp = none\r\nlisteners.ssl.1 = 5671", (("", 5671),), True),
        ("listeners.tcp.1 = :::5673", (("", 5673),), False),
    ],
)
def test_tls_stands_beside_the_usual_listener(text: str, listens: Any, secure: bool) -> None:
    (one,) = conf(text).brokers
    assert (one.listens, one.secure) == (listens, secure)


@pytest.mark.parametrize(
    "line", ["listeners.tcp.1 = $(PORT)", "cluster_name = {{ name }}", "{% if tls %}", "<% end -%>"]
)
def test_rabbitmq_conf_with_variables(line: str) -> None:
    assert [one.code for one in conf(f"default_pass = $(PW)\n{line}").faults] == ["C006"]


def test_rabbitmq_conf_has_no_shovels() -> None:
    lines = ["shovel.s.source.queue = q", "shovel.s.destination.uris.1 = amqp://u:hunter2@far"]
    more = ["shovel.s.ack-mode = on-confirm", "shovel.topology.predeclared = true"]
    drafts = conf("\n".join([*lines, *more]))
    (told,) = said(drafts, "C020")
    assert "write static shovels in advanced.config" in told
    (other,) = said(drafts, "C010")
    assert "shovel.topology.predeclared" in other
    assert "hunter2" not in repr(drafts)


def test_settings_of_mqtt_are_not_said_to_change_nothing() -> None:
    (message,) = said(conf("mqtt.exchange = sensors"), "C010")
    assert "amq.topic" in message


def test_a_rabbitmq_conf_without_dots_is_one() -> None:
    assert family_of_text("default_user = u\nloopback_users = none\n") == "rabbitmq-conf"


# --- files of one server --------------------------------------------------------------------------


def test_static_shovels_know_what_the_definitions_bind(tmp_path: Path) -> None:
    document = {
        "vhosts": [{"name": "shop"}],
        "exchanges": [exchange("orders", vhost="shop")],
        "bindings": [
            {"source": "orders", "vhost": "shop", "destination": "up", "routing_key": "a.#"}
        ],
    }
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "definitions.json").write_text(json.dumps(document))
    (tmp_path / "conf.d" / "10-tls.conf").write_text(
        "listeners.tcp = none\nlisteners.ssl.default = 5671\n"
    )
    (tmp_path / "advanced.config").write_text(
        """[{rabbitmq_shovel, [{shovels, [{s, [
        {source, [{uris, ["amqp:///shop"]}, {queue, <<"up">>}]},
        {destination, [{uris, ["amqp://far"]}]}]}]}]}]."""
    )
    federation = read_native([tmp_path], name="x").federation
    (bridge,) = federation.bridges
    assert (bridge.prefixes.local, bridge.patterns) == ("orders/", ("a/#",))
    assert sorted(federation.brokers) == ["far", bridge.from_]
    assert federation.brokers[bridge.from_].url == "amqps://0.0.0.0:5671"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "rabbitmq.conf",
            "cluster_formation.classic_config.nodes.1 = rabbit@one.north.example\n"
            "cluster_formation.classic_config.nodes.2 = rabbit@two.north.example\n"
            "cluster_formation.classic_config.nodes.3 = rabbit@localhost\n",
        ),
        (
            "advanced.config",
            "[{rabbit, [{cluster_nodes, {['rabbit@one.north.example', 'rabbit@two.north.example'],"
            " disc}}]}].",
        ),
    ],
)
def test_nodes_of_a_cluster_are_addresses_of_it(tmp_path: Path, name: str, text: str) -> None:
    uris = ["amqp://one.north.example", "amqp://two.north.example"]
    files = {
        "east/definitions.json": json.dumps(federated(parameters=[upstream(uri=uris)])),
        "north/definitions.json": json.dumps({"vhosts": [{"name": "/"}], "exchanges": []}),
        f"north/{name}": text,
    }
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(content)
    federation = read_native([tmp_path], name="x").federation
    assert sorted(federation.brokers) == ["east", "north"]
    assert [(one.from_, one.to, one.addresses) for one in federation.bridges] == [
        ("east", "north", ("north",))
    ]


def test_a_node_that_is_another_server_here_is_that_server() -> None:
    drafts = Drafts()
    read_rabbitmq(parse_json(json.dumps({"vhosts": [{"name": "/"}]})), FILE, "north", drafts)
    beside = parse_json(json.dumps({"vhosts": [{"name": "/"}]})), "definitions.json"
    text = "cluster_formation.classic_config.nodes.1 = rabbit@north\n"
    read_rabbitmq_conf(text, "rabbitmq.conf", "east", drafts, beside)
    assert drafts.brokers[-1].aliases == ()


def test_kubernetes_manifests_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "rabbit.yaml"
    path.write_text("# c\n---\napiVersion: v1\nkind: ConfigMap\ndata:\n  a.json: |\n    {}\n")
    assert is_native(path)
    with pytest.raises(ConfigurationError, match="a Kubernetes manifest: save each file"):
        read_native([path])


@pytest.mark.parametrize("name", ["rabbit.yaml", "definitions.json.j2"])
def test_definitions_are_known_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"exchanges": [], "vhosts": [{"name": "/"}]}')
    assert is_native(path)
    assert len(read_native([path]).federation.brokers) == 1


def test_of_a_name_that_is_twice_in_one_map_the_last_counts(tmp_path: Path) -> None:
    text = json.dumps(federated(), indent=1).replace(
        '"uri": ', '"uri": "amqp://south.example",\n"uri": '
    )
    (tmp_path / "hub.json").write_text(text)
    (tmp_path / "hub.sh").write_text(
        'rabbitmqctl set_parameter shovel s \'{\n"src-uri": "amqp://",\n"src-queue": "a",\n'
        '"src-queue": "b", "dest-uri": "amqp://far", "dest-queue": "c"}\'\n'
    )
    read = read_native([tmp_path])
    assert {one.to for one in read.federation.bridges} == {"north.example.net", "far"}
    first, second = [one for one in read.findings if "is written twice" in one.message]
    assert (first.where.line, second.where.line, first.code) == (21, 4, "C020")
    assert ("'uri'" in first.message, "(line 20)" in first.message) == (True, True)
    assert "(line 3)" in second.message


def several(folder: Path, **files: Any) -> Path:
    """Files of definitions, by their names without the suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in files.items():
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1))
    return folder


def test_a_folder_of_definitions_is_one_cluster(tmp_path: Path, ropewalk: Run) -> None:
    all_of_it = federated()
    first = {key: all_of_it[key] for key in ("vhosts", "exchanges", "policies")}
    second = {key: all_of_it[key] for key in ("vhosts", "exchanges", "parameters")}
    several(tmp_path / "hub" / "definitions.d", a=first, b={**second, "users": [{"name": "u"}]})
    (tmp_path / "hub" / "rabbitmq.conf").write_text("listeners.tcp.default = 5673\n")
    read = read_native([tmp_path])
    (bridge,) = read.federation.bridges
    assert (bridge.from_, bridge.to, len(read.natives)) == ("hub", "north.example.net", 1)
    assert str(read.federation.where("bridges", 0, "addresses")).rpartition("/")[2][:6] == "b.json"
    assert read.federation.brokers["hub"].url == "amqp://0.0.0.0:5673"
    users = next(one for one in read.findings if "users, 1 entry" in one.message)
    assert users.where.file.endswith("b.json")
    kept = tmp_path / "kept.yaml"
    assert ropewalk("read", str(tmp_path / "hub"), "-o", str(kept)).code == 0
    for path in (tmp_path / "hub", kept):
        shown = ropewalk("export", str(path), "--diff").out
        assert "Nothing changes in the files." in shown
        assert "Read again, the files mean what the federation says." in shown


def test_files_that_are_called_alike_are_one_cluster(tmp_path: Path) -> None:
    orders = {"original_vhost_name": "orders", "exchanges": [{"name": "x", "type": "topic"}]}
    folder = several(tmp_path / "all", a=federated(), b=orders)
    names = "names: {a.json: hub, b.json: hub}\n"
    (tmp_path / "map.yaml").write_text(names)
    read = read_native([folder], mapping=tmp_path / "map.yaml")
    assert {"hub", "orders@hub"} <= set(read.federation.brokers)


def test_what_a_file_uses_of_another_one_is_told_once_with_what_makes_them_one(
    tmp_path: Path,
) -> None:
    bound = {"source": "orders", "vhost": "/", "destination": "q", "routing_key": "#"}
    files = {
        "definitions": {"exchanges": [exchange("orders")], "queues": [{"name": "q", "vhost": "/"}]},
        "bound": {"bindings": [bound, bound], "queues": [{"name": "q", "vhost": "/"}]},
        "fed": {"parameters": [upstream()], "policies": [policy(federation_upstream="north")]},
        "sync": {"parameters": [shovel(src_uri="amqp://", src_queue="q", dest_uri="amqp://far")]},
        "other": {
            "exchanges": [exchange("orders", vhost="v")],
            "parameters": [shovel("t", src_uri="amqp://b", src_queue="q", dest_uri="amqp://far")],
        },
    }
    folder = several(tmp_path / "hub", **files)
    elsewhere = several(tmp_path / "east", fed=files["fed"])
    told = {
        (one.where.file.rpartition("/")[2], one.message.split(":")[0].rpartition("/")[2])
        for one in read_native([folder, elsewhere]).findings
        if "they are taken for two clusters" in one.message
    }
    assert told == {
        ("bound.json", "definitions.json"),
        ("fed.json", "definitions.json"),
        ("sync.json", "definitions.json"),
        ("sync.json", "bound.json"),
    }
    (tmp_path / "map.yaml").write_text(
        f"names: {{{', '.join(f'{one}.json: hub' for one in files)}}}"
    )
    joined = read_native([folder], mapping=tmp_path / "map.yaml")
    assert not any("two clusters" in one.message for one in joined.findings)


def test_a_shovel_between_others_is_followed_if_the_map_names_its_holder(tmp_path: Path) -> None:
    ends = {"src_uri": "amqp://hub", "src_queue": "q", "dest_uri": "amqp://far"}
    folder = several(tmp_path / "a", x={"parameters": [shovel(**ends)]})
    (told,) = [one for one in read_native([folder]).findings if "both ends" in one.message]
    assert "call the broker of this file like its host in --map (names:)" in told.message
    (tmp_path / "map.yaml").write_text("names: {x.json: hub}")
    (bridge,) = read_native([folder], mapping=tmp_path / "map.yaml").federation.bridges
    assert (bridge.from_, bridge.to) == ("hub", "far")


def test_what_two_files_of_a_cluster_say_otherwise_is_a_conflict(tmp_path: Path) -> None:
    other = federated(exchanges=[exchange("orders", durable=True)], parameters=[upstream(max=3)])
    several(tmp_path / "definitions.d", a=federated(), b=other)
    with pytest.raises(ConfigurationError) as error:
        read_native([tmp_path])
    (one,) = error.value.findings
    assert one.code == "C007"
    assert "federation-upstream north is not the same as at" in one.message
    assert (one.where.file[-6:], "a.json:15" in one.message) == ("b.json", True)


def test_what_is_no_list_in_one_of_several_files_is_refused(tmp_path: Path) -> None:
    broken = {"vhosts": [{"name": "/"}], "policies": {}, "exchanges": [1]}
    several(tmp_path / "definitions.d", a=federated(), b=broken)
    with pytest.raises(ConfigurationError) as error:
        read_native([tmp_path])
    assert [one.where.file[-6:] for one in error.value.findings] == ["b.json", "b.json"]


SHOVEL = """{
 "parameters": [{"component": "shovel", "name": "s", "value": {"src-uri": "amqp://"}}],
 "queues": [{"name": "q", "durable": true,}]
}"""


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("definitions.json", SHOVEL, "3: C004 nothing follows this comma"),
        ("advanced.config", "{kernel, [{a, {127,0,0,1}}]}\n", "C004 the full stop"),
        ("rabbitmq.east.config", "# all\n[{rabbit, []}].\n", "1: C004 # begins no comment"),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_files_of_rabbitmq_that_are_broken_are_told_as_such(
    tmp_path: Path, name: str, text: str, words: str, whole: bool
) -> None:
    (tmp_path / name).write_text(text)
    path = tmp_path if whole else tmp_path / name
    assert is_native(path)
    with pytest.raises(ConfigurationError, match=words):
        read_native([path])


def test_a_rabbitmq_conf_of_comments_only_is_a_broker(tmp_path: Path) -> None:
    (tmp_path / "rabbitmq.conf").write_text("# listeners.tcp.default = 5672\n")
    (one,) = read_native([tmp_path / "rabbitmq.conf"]).federation.brokers.values()
    assert one.url == "amqp://0.0.0.0:5672"


# --- writing --------------------------------------------------------------------------------

BROKERS = {
    "a": Broker(make="rabbitmq"),
    "v@a": Broker(make="rabbitmq", server="a", space="v"),
    "b": Broker(make="rabbitmq", url="amqps://b.example.net"),
    "m": Broker(make="mosquitto"),
}


def written(*bridges: Bridge, original: str | None = None) -> tuple[dict[str, Any], list[str]]:
    federation = Federation(name="x", brokers=BROKERS, bridges=bridges)
    text, told = write_rabbitmq(federation, "a", original)
    return json.loads(text), told


def fetched(name: str = "b", hops: int | None = 2, **more: Any) -> Bridge:
    prefixes = Prefixes(local="x.y/", remote=more.pop("remote", "x.y/"))
    kinds: dict[str, Any] = {"kind": "federation", "direction": "in", "qos": 1}
    return Bridge(from_="a", to="b", name=name, prefixes=prefixes, max_hops=hops, **kinds, **more)


def test_a_federated_exchange_is_written_with_all_it_needs() -> None:
    document, told = written(fetched(remote="z/", addresses=("c:5672",)))
    (parameter,) = document["parameters"]
    assert parameter["value"] == {
        "uri": ["amqps://b.example.net:5671/%2F", "amqp://c:5672/%2F"],
        "max-hops": 2,
        "ack-mode": "on-confirm",
        "exchange": "z",
    }
    (one,) = document["policies"]
    assert (one["pattern"], one["definition"]) == ("^x\\.y$", {"federation-upstream": "b"})
    assert [(one["name"], one["type"]) for one in document["exchanges"]] == [("x.y", "topic")]
    assert [one["name"] for one in document["vhosts"]] == ["/", "v"]
    assert [one for one in told if "user and password" in one] == told
    assert len(told) == 2


def test_several_upstreams_make_a_set() -> None:
    document, _ = written(fetched("b"), fetched("c", 3))
    (one,) = [p for p in document["parameters"] if p["component"].endswith("-set")]
    assert [member["upstream"] for member in one["value"]] == ["b", "c"]
    assert document["policies"][0]["definition"] == {"federation-upstream-set": "x.y"}


def test_shovels_and_bindings_are_written() -> None:
    prefixes = Prefixes(local="x/", remote="")
    moved = Bridge(
        from_="a", to="v@a", kind="shovel", name="s", patterns=("k/+",), prefixes=prefixes
    )
    inner = Prefixes(local="x/", remote="n/")
    bound = Bridge(from_="a", to="a", kind="binding", patterns=("a/#", "b"), prefixes=inner)
    document, told = written(moved, bound)
    assert told == []
    value = document["parameters"][0]["value"]
    assert (value["src-uri"], value["src-exchange-key"]) == ("amqp:///%2F", "k.*")
    assert (value["dest-uri"], value["dest-exchange"]) == ("amqp:///v", "amq.topic")
    assert [one["routing_key"] for one in document["bindings"]] == ["a.#", "b"]


def test_signs_that_topics_do_not_have_are_written_as_they_were() -> None:
    prefixes = Prefixes(local="Shop%2BPaid/", remote="queue/all%23%252B/")
    document, told = written(
        Bridge(from_="a", to="v@a", kind="shovel", name="s", qos=1, prefixes=prefixes)
    )
    value = document["parameters"][0]["value"]
    assert (value["src-exchange"], value["dest-queue"], told) == ("Shop+Paid", "all#%2B", [])


def test_static_shovels_stay_in_their_file(tmp_path: Path, ropewalk: Run) -> None:
    (tmp_path / "definitions.json").write_text(json.dumps(federated()))
    (tmp_path / "advanced.config").write_text(
        """[{rabbitmq_shovel, [{shovels, [{s, [
        {source, [{uris, ["amqp://"]}, {queue, <<"up">>}]},
        {destination, [{uris, ["amqp://far"]}, {publish_fields, [{exchange, <<"x">>}]}]}]}]}]}]."""
    )
    kept = tmp_path / "kept.yaml"
    assert ropewalk("read", str(tmp_path), "-o", str(kept), "--name", "hub").code == 0
    shown = ropewalk("export", str(kept), "--diff").out
    assert "Nothing changes in the files." in shown
    assert "Read again, the files mean what the federation says." in shown
    kept.write_text(kept.read_text().replace("remote: x/", "remote: y/"))
    shown = ropewalk("export", str(kept), "--diff").out
    assert "read again" not in shown
    assert '"component": "shovel"' not in shown
    assert f"there: change {tmp_path / 'advanced.config'} by hand" in shown


def test_what_rabbitmq_cannot_do_is_told() -> None:
    out = Bridge(from_="a", to="b", kind="federation", direction="out")
    _, told = written(Bridge(from_="a", to="m"), out, fetched(hops=None))
    assert "make it a federation or a shovel" in told[0]
    assert "an exchange only fetches" in told[1]
    assert "max-hops is 4" in told[2]


def test_what_is_not_modelled_stays_in_the_original() -> None:
    original = json.dumps(
        {
            "users": [{"name": "u", "password_hash": "h"}],
            "exchanges": [exchange("x.y", "fanout")],
            "policies": [policy(".*", "ha", 5, ha_mode="all")],
            "parameters": [upstream("b", uri="amqps://u:pw@b.example.net:5671/%2F?heartbeat=5")],
        }
    )
    document, told = written(fetched("b"), original=original)
    assert told == []
    assert document["users"] == [{"name": "u", "password_hash": "h"}]
    assert document["exchanges"] == [exchange("x.y", "fanout")]
    assert document["policies"][1]["priority"] == 6
    assert document["policies"][1]["definition"] == {
        "ha-mode": "all",
        "federation-upstream-set": "x.y",
    }
    (one,) = [p for p in document["parameters"] if p["component"].endswith("-set")]
    assert one["value"] == [{"upstream": "b", **one["value"][0]}]
    assert "pw" in document["parameters"][0]["value"]["uri"]
