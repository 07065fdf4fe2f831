import json
from collections.abc import Mapping as Files
from pathlib import Path
from typing import Any

import pytest

from ropewalk.errors import ConfigurationError
from ropewalk.federation.facts import Client, Site
from ropewalk.federation.readers.asyncapi import read_asyncapi
from ropewalk.federation.readers.drafts import Address, Drafts, TopicDraft
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.mapping import Mapping, read_mapping
from ropewalk.federation.readers.reading import read_native
from ropewalk.federation.yaml_text import parse
from ropewalk.findings import Where
from ropewalk.verify import verify

EXAMPLES = Path(__file__).parents[2] / "examples/native"

HEAD = """asyncapi: 3.0.0
info: {title: Lamp Post, version: 1.0.0}
"""
MQTT = """servers:
  town: {host: mqtt.town.example, protocol: mqtt}
"""
MQTT_2 = "{town: {url: h, protocol: mqtt}}"
OPERATIONS = """
operations:
  tell: {action: send, channel: {$ref: '#/channels/c'}}
"""


def read(text: str, files: Files[str, str] | None = None, file: str = "a.yaml") -> Drafts:
    drafts = Drafts()
    known = {name: parse(one, with_lines=True) for name, one in (files or {}).items()}
    parsed = parse(text, with_lines=True)
    assert not parsed.faults, parsed.faults
    read_asyncapi(parsed, file, "lamp", drafts, resolve_file=known.get)
    return drafts


def names(drafts: Drafts) -> list[str]:
    return [one.name for one in drafts.topics]


def told(drafts: Drafts, code: str = "C010") -> list[str]:
    return [
        f"{one.where.line}: {one.message.removeprefix('not modelled: ')}"
        for one in drafts.findings
        if one.code == code
    ]


def errors(drafts: Drafts) -> list[str]:
    return [str(one) for one in drafts.faults]


def ends(drafts: Drafts) -> set[str]:
    return {str(end) for one in drafts.topics for end, _ in (*one.publishers, *one.subscribers)}


def town(line: int) -> Address:
    return Address(
        host="mqtt.town.example",
        port=1883,
        where=Where("a.yaml", line),
        make="mosquitto",
        server="town",
    )


def amqp(channel: str, server: str = "{host: rabbit, protocol: amqp}") -> Drafts:
    return read(f"{HEAD}servers: {{r: {server}}}\nchannels:\n  c: {channel}{OPERATIONS}")


def mqtt(address: str, parameters: str = "{}") -> Drafts:
    channel = f"  c: {{address: '{address}', parameters: {parameters}}}"
    return read(f"{HEAD}{MQTT}channels:\n{channel}{OPERATIONS}")


# --- who sends and receives ---------------------------------------------------------------


def test_an_operation_that_sends_is_a_publisher_and_one_that_receives_a_subscriber() -> None:
    text = f"""{HEAD}{MQTT}channels:
  lit:
    address: lamps/{{lamp}}/lit
    parameters: {{lamp: {{}}}}
  switch: {{address: lamps/switch}}
operations:
  tell: {{action: send, channel: {{$ref: '#/channels/lit'}}}}
  obey: {{action: receive, channel: {{$ref: '#/channels/switch'}}}}
"""
    end = (town(4), "Lamp_Post")
    drafts = read(text)
    assert drafts.topics == [
        TopicDraft(name="lamps/+/lit", where=Where("a.yaml", 7), publishers=(end,)),
        TopicDraft(name="lamps/switch", where=Where("a.yaml", 9), subscribers=(end,)),
    ]
    assert not drafts.brokers
    assert not drafts.bridges
    assert not drafts.faults


def test_version_2_says_what_others_do_so_that_publish_is_received() -> None:
    text = """asyncapi: 2.6.0
info: {title: T, version: '1'}
servers:
  town: {url: 'mqtt://mqtt.town.example', protocol: mqtt}
channels:
  lamps/{lamp}/switch:
    parameters: {lamp: {schema: {enum: [a, b]}}}
    publish: {message: {payload: {}}}
  lamps/lit:
    subscribe:
"""
    drafts = read(text)
    end = (town(4), "T")
    assert drafts.topics == [
        TopicDraft(name="lamps/a/switch", where=Where("a.yaml", 6), subscribers=(end,)),
        TopicDraft(name="lamps/b/switch", where=Where("a.yaml", 6), subscribers=(end,)),
        TopicDraft(name="lamps/lit", where=Where("a.yaml", 9), publishers=(end,)),
    ]
    assert told(drafts, "C020")[0].startswith("8: publish and subscribe of version 2 are")


def test_version_2_channels_name_their_servers() -> None:
    text = """asyncapi: 2.2.0
servers:
  a: {url: 'mqtts://ua:pw@a.example/', protocol: mqtt}
  b: {url: 'b.example:{port}', protocol: mqtt, variables: {port: {default: 1999}}}
channels:
  x: {servers: [b], publish: {}}
  y: {servers: [nobody], publish: {}}
  z: {servers: [a], publish: {}}
"""
    drafts = read(text)
    found = {one.name: [str(end) for end, _ in one.subscribers] for one in drafts.topics}
    assert found == {"x": ["b.example:1999"], "z": ["a.example:8883"]}
    assert errors(drafts) == [
        "a.yaml:7: C005 'nobody' is no server of this document: write one that stands in servers"
    ]
    assert not any("pw" in one.message for one in drafts.findings)
    assert "3: user and password of an address: they do not say which broker it is" in told(drafts)


def test_a_reply_goes_the_other_way() -> None:
    text = f"""{HEAD}{MQTT}channels:
  ask: {{address: ask}}
  answer: {{address: answer}}
operations:
  serve:
    action: receive
    channel: {{$ref: '#/channels/ask'}}
    reply:
      channel: {{$ref: '#/channels/answer'}}
      address: {{location: $message.header#/replyTo}}
"""
    drafts = read(text)
    assert [(one.name, len(one.publishers), len(one.subscribers)) for one in drafts.topics] == [
        ("ask", 0, 1),
        ("answer", 1, 0),
    ]
    why = "each message says where its answer goes: nothing here does"
    assert f"14: the address of a reply: {why}" in told(drafts)


def test_the_last_will_of_a_server_is_published_by_its_application() -> None:
    server = "{host: h, protocol: mqtt, bindings: {mqtt: {lastWill: {topic: gone, qos: 1}}}}"
    drafts = read(f"{HEAD}servers: {{town: {server}}}\n")
    assert [(one.name, len(one.publishers)) for one in drafts.topics] == [("gone", 1)]


def test_parameters_of_a_last_will_are_levels() -> None:
    server = "{host: h, protocol: mqtt, bindings: {mqtt: {lastWill: {topic: 'of/{id}/gone'}}}}"
    drafts = read(f"{HEAD}servers: {{town: {server}}}\n")
    assert names(drafts) == ["of/+/gone"]


QOS = """channels:
  c: {address: a, servers: [{$ref: '#/servers/s'}]}
operations:
  tell: {action: send, channel: {$ref: '#/channels/c'}, bindings: {mqtt: {qos: 1}}}
  hear:
    action: receive
    channel: {$ref: '#/channels/c'}
    traits: [{bindings: {mqtt: {qos: 2}}}]
"""


@pytest.mark.parametrize(
    ("protocol", "sent", "received"), [("mqtt", 1, 2), ("nats", None, None), ("amqp", None, None)]
)
def test_qualities_of_service_are_those_of_mqtt(
    protocol: str, sent: int | None, received: int | None
) -> None:
    drafts = read(f"{HEAD}servers: {{s: {{host: h, protocol: {protocol}}}}}\n{QOS}")
    (topic,) = drafts.topics
    assert (topic.sent_qos, topic.received_qos) == (sent, received)
    assert not any("qos" in one for one in told(drafts))


def test_a_quality_of_service_that_mqtt_has_not_is_refused() -> None:
    wrong = QOS.replace("qos: 1", "qos: 3")
    assert errors(read(f"{HEAD}servers: {{s: {{host: h, protocol: mqtt}}}}\n{wrong}")) == [
        "a.yaml:7: C005 bindings.mqtt.qos '3': write 0, 1 or 2"
    ]


def test_a_channel_that_nobody_uses_is_told() -> None:
    drafts = read(f"{HEAD}{MQTT}channels:\n  idle: {{address: a}}\n")
    assert drafts.topics == []
    why = "nobody sends or receives there: write an operation that does"
    assert f"6: channel idle: {why}" in told(drafts)


def test_a_channel_whose_address_is_made_at_run_time_is_told() -> None:
    drafts = read(f"{HEAD}{MQTT}channels:\n  c: {{address: null}}{OPERATIONS}")
    assert drafts.topics == []
    assert any("a channel without an address" in one for one in told(drafts))


@pytest.mark.parametrize("protocol", ["mqtt", "amqp", "nats"])
def test_a_channel_that_leaves_its_address_out_is_told_to_write_one(protocol: str) -> None:
    drafts = amqp("{title: C}", f"{{host: h, protocol: {protocol}}}")
    assert names(drafts) == []
    assert any("the name of a channel is none in version 3" in one for one in told(drafts))


def test_a_document_without_servers_is_told_what_to_say() -> None:
    drafts = read(f"{HEAD}channels:\n  c: {{address: a}}{OPERATIONS}", file="docs/a.yaml")
    assert drafts.topics == []
    why = "it names no servers: say in --map which broker they are at: brokers: {a.yaml: BROKER}"
    assert any(f"{why}, or write servers" in one for one in told(drafts))


def test_without_a_title_the_client_is_called_like_its_file() -> None:
    drafts = read(f"asyncapi: 3.0.0\n{MQTT}channels:\n  c: {{address: a}}{OPERATIONS}")
    assert drafts.topics[0].publishers[0][1] == "lamp"


# --- addresses ----------------------------------------------------------------------------


def test_parameters_become_levels() -> None:
    assert names(mqtt("a/{x}/b", "{x: {}}")) == ["a/+/b"]
    assert names(mqtt("/a/{x}", "{x: {enum: [u, v]}}")) == ["/a/u", "/a/v"]
    wide = mqtt("a/lamp-{x}", "{x: {}}")
    assert names(wide) == ["a/+"]
    assert any("only a part of its level" in one for one in told(wide))
    spare = mqtt("a", "{x: {}}")
    assert any("parameter x: the address has no {x} in it" in one for one in told(spare))


@pytest.mark.parametrize(("count", "topics"), [(10, 10), (64, 64), (65, 1)])
def test_listed_values_are_written_out_or_their_widening_is_told(count: int, topics: int) -> None:
    drafts = mqtt("sites/{site}/#", f"{{site: {{enum: {list(range(count))}}}}}")
    assert len(names(drafts)) == topics
    told_of = [one for one in told(drafts) if "values of parameter site" in one]
    assert told_of == [
        "6: the 65 values of parameter site: with them the address is more than 64 topics: "
        "read as any value"
    ] * (count > 64)


def test_of_several_parameters_the_longest_list_is_widened_first() -> None:
    drafts = mqtt("{a}/{b}", f"{{a: {{enum: {list(range(30))}}}, b: {{enum: [x, y, z]}}}}")
    assert names(drafts) == ["+/x", "+/y", "+/z"]


def test_addresses_that_are_no_topics_are_refused() -> None:
    assert errors(mqtt("a/#/b")) == [
        "a.yaml:6: C005 address 'a/#/b' is no topic: '#' must be the last level"
    ]


def test_a_shared_subscription_is_its_topic() -> None:
    drafts = mqtt("$share/group/a/b")
    assert names(drafts) == ["a/b"]
    assert any("a shared subscription's group" in one for one in told(drafts))


@pytest.mark.parametrize(
    ("channel", "topics"),
    [
        ("{address: a.b}", ["a/b"]),
        ("{address: 'a.{x}', parameters: {x: {}}}", ["a/+"]),
        ("{address: a.b, bindings: {amqp: {exchange: {name: amq.topic}}}}", ["a/b"]),
        ("{address: a.b, bindings: {amqp: {exchange: {name: x, type: topic}}}}", ["x/a/b"]),
        ("{address: s, bindings: {amqp: {name: 'a.#', exchange: {name: x}}}}", ["x/a/#"]),
        ("{address: a.b, bindings: {amqp: {exchange: {name: x, type: direct}}}}", ["x/a/b"]),
        ("{address: a.b, bindings: {amqp: {exchange: {name: x, type: fanout}}}}", ["x/#"]),
        ("{address: a.b, bindings: {amqp: {exchange: {name: x, type: headers}}}}", []),
        ("{address: q, bindings: {amqp: {exchange: {type: default}}}}", ["queue/q/#"]),
        ("{address: q, bindings: {amqp: {is: queue, queue: {name: work}}}}", ["queue/work/#"]),
        ("{address: '{q}', bindings: {amqp: {is: queue}}}", []),
    ],
)
def test_amqp_channels_are_exchanges_with_keys_or_queues(channel: str, topics: list[str]) -> None:
    drafts = amqp(channel)
    assert names(drafts) == topics
    assert not drafts.faults


@pytest.mark.parametrize(
    ("address", "topics"),
    [
        ("/exchanges/my%2Fx/a.b", ["my/x/a/b"]),
        ("/exchanges/amq.topic/a.b", ["a/b"]),
        ("/queues/work", ["queue/work/#"]),
        ("/topic/a.b", ["a/b"]),
        ("/exchange/x/a", ["x/a"]),
        ("work", []),
    ],
)
def test_amqp_1_addresses_are_those_of_rabbitmq(address: str, topics: list[str]) -> None:
    for server in (
        "{host: r, protocol: amqp1}",
        "{host: r, protocol: amqp, protocolVersion: '1.0'}",
    ):
        drafts = amqp(f"{{address: '{address}'}}", server)
        assert names(drafts) == topics
        assert not drafts.faults


def test_a_routing_key_with_slashes_is_one_word_and_that_is_told() -> None:
    drafts = amqp("{address: order/created}")
    assert names(drafts) == ["order.created"]
    assert told(drafts, "C020")[0].startswith("5: address 'order/created' is one word")


@pytest.mark.parametrize("protocol", ["amqp", "nats"])
def test_a_parameter_in_a_word_with_slashes_does_not_become_any_word(protocol: str) -> None:
    drafts = amqp("{address: 'a/{x}/b', parameters: {x: {}}}", f"{{host: h, protocol: {protocol}}}")
    assert names(drafts) == []
    assert any("address 'a/{x}/b'" in one and "write dots for its /" in one for one in told(drafts))


@pytest.mark.parametrize(
    "channel",
    [
        "{address: '#any', bindings: {amqp: {exchange: {name: x, type: direct}}}}",
        "{address: '#', bindings: {amqp: {exchange: {name: x, type: direct}}}}",
        "{address: '#any', bindings: {amqp: {exchange: {name: x, type: topic}}}}",
    ],
)
def test_names_that_only_rabbitmq_has_are_no_faults(channel: str) -> None:
    drafts = amqp(channel)
    assert names(drafts) == []
    assert not drafts.faults
    assert any("no topic of a federation is spelled like this" in one for one in told(drafts))


def test_an_address_that_begins_with_its_exchange_is_told() -> None:
    for address, count in (("log/a.b", 1), ("a.b", 0)):
        drafts = amqp(f"{{address: {address}, bindings: {{amqp: {{exchange: {{name: log}}}}}}}}")
        assert len(told(drafts, "C020")) == count


def test_what_a_binding_says_of_the_other_end_is_told_with_its_reason() -> None:
    both = "queue: {name: q}, exchange: {name: x}"
    for kind, left, why in (
        ("queue", "exchange", "the channel is a queue"),
        ("routingKey", "queue", "the channel is a routing key"),
    ):
        drafts = amqp(f"{{address: a, bindings: {{amqp: {{is: {kind}, {both}}}}}}}")
        assert any(f"amqp binding {left}: {why}" in one for one in told(drafts))


def test_nats_subjects_are_levels() -> None:
    drafts = amqp("{address: 'a.{x}.>', parameters: {x: {}}}", "{host: n, protocol: nats}")
    assert names(drafts) == ["a/+/+/#"]
    assert ends(drafts) == {"n:4222"}
    slashes = amqp("{address: a/b}", "{host: n, protocol: nats}")
    assert names(slashes) == []
    assert any("write dots for its /" in one for one in told(slashes))


def test_virtual_hosts_are_the_servers_path_or_the_channels() -> None:
    channel = "{address: a, bindings: {amqp: {exchange: {name: x, vhost: v}}}}"
    bare = "{address: a}"
    assert ends(amqp(bare, "{host: r, pathname: /v, protocol: amqps}")) == {"r:5671 (v)"}
    assert ends(amqp(bare, "{host: r, pathname: /, protocol: amqp}")) == {"r:5672"}
    assert ends(amqp(bare, "{host: r, pathname: '/%2Fv', protocol: amqp}")) == {"r:5672 (/v)"}
    assert ends(amqp(channel)) == {"rabbit:5672 (v)"}
    both = amqp(channel, "{host: r, pathname: /w, protocol: amqp}")
    assert ends(both) == {"r:5672 (w)"}
    assert len(told(both, "C020")) == 1


@pytest.mark.parametrize(("written", "count"), [("v", 0), ("/v", 0), ("/", 0), ("w", 1)])
def test_virtual_hosts_as_generators_write_them_are_no_contradiction(
    written: str, count: int
) -> None:
    channel = f"{{address: a, bindings: {{amqp: {{exchange: {{name: x, vhost: {written}}}}}}}}}"
    drafts = amqp(channel, "{host: r, pathname: /v, protocol: amqp}")
    assert ends(drafts) == {"r:5672 (v)"}
    assert len(told(drafts, "C020")) == count
    assert any("virtual host / of a channel" in one for one in told(drafts)) == (written == "/")


# --- servers ------------------------------------------------------------------------------


def with_server(server: str) -> Drafts:
    return read(f"{HEAD}servers: {{s: {server}}}\nchannels:\n  c: {{address: a}}{OPERATIONS}")


@pytest.mark.parametrize(
    ("server", "addresses"),
    [
        ("{host: 'h:99', protocol: mqtt}", {"h:99"}),
        ("{host: h, protocol: secure-mqtt}", {"h:8883"}),
        ("{host: '[::1]:99', protocol: MQTT5}", {"[::1]:99"}),
        (
            "{host: '{r}.h', protocol: mqtt, variables: {r: {enum: [a, b]}}}",
            {"a.h:1883", "b.h:1883"},
        ),
        (
            "{host: 'h:{p}', protocol: mqtt, variables: {p: {default: 8, enum: ['7', '8']}}}",
            {"h:8"},
        ),
        ("{host: '{r}.h', protocol: mqtt}", set()),
        ("{host: h, protocol: kafka}", set()),
    ],
)
def test_servers_are_addresses(server: str, addresses: set[str]) -> None:
    drafts = with_server(server)
    assert ends(drafts) == addresses
    assert not drafts.faults
    assert addresses or told(drafts)


@pytest.mark.parametrize(
    ("url", "protocol", "end"),
    [
        ("ssl://h", "mqtt", "h:8883"),
        ("mqtt://h", "mqtts", "h:8883"),
        ("tcp://h", "mqtt", "h:1883"),
        ("tls://h", "nats", "h:4222"),
        ("h", "rabbitmq", "h:5672"),
    ],
)
def test_ports_are_those_of_the_protocol_with_or_without_tls(
    url: str, protocol: str, end: str
) -> None:
    text = f"asyncapi: 2.6.0\nservers: {{s: {{url: '{url}', protocol: {protocol}}}}}\n"
    assert ends(read(f"{text}channels: {{a: {{publish: {{}}}}}}\n")) == {end}


def test_a_fault_of_an_address_is_told_once_for_all_values_of_its_variables() -> None:
    drafts = with_server(
        "{host: 'a b:{p}', protocol: mqtt, variables: {p: {enum: ['1', '2', '3']}}}"
    )
    assert len(drafts.faults) == 1


def test_no_part_of_a_password_is_shown() -> None:
    drafts = with_server("{host: 'guest:half/rest@h', protocol: amqp}")
    (error,) = errors(drafts)
    assert "%2F for a / in a password" in error
    assert not any("half" in one.message or "rest" in one.message for one in drafts.findings)


@pytest.mark.parametrize("host", ["${HOST}:1883", "{{ .Values.host }}"])
def test_addresses_that_something_else_fills_in_are_told(host: str) -> None:
    drafts = with_server(f"{{host: '{host}', protocol: mqtt}}")
    assert ends(drafts) == set()
    assert any("something else fills it in" in one for one in told(drafts))


def test_protocols_that_are_not_known_are_named() -> None:
    why = "server s is left out: only MQTT, AMQP and NATS are known here"
    drafts = with_server("{host: h, protocol: googlepubsub}")
    assert f"3: protocol 'googlepubsub': {why}" in told(drafts)
    assert any("channels of servers that are left out" in one for one in told(drafts))


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ("{host: 'h:x', protocol: mqtt}", "'x' is no port: write a number from 1 to 65535"),
        ("{host: 'h:70000', protocol: mqtt}", "'70000' is no port: write a number from 1 to 65535"),
        (
            "{host: '/h', protocol: mqtt}",
            "host '/h' has no host that can be read: write HOST or HOST:PORT",
        ),
        ("{protocol: mqtt}", "a server without host: write host: HOST or HOST:PORT"),
        ("{host: h}", "server s has no protocol: write mqtt, amqp or nats"),
        ("{host: [h], protocol: mqtt}", "host is ['h']: write a text, in quotes"),
    ],
)
def test_wrong_servers_are_refused(server: str, message: str) -> None:
    assert errors(with_server(server)) == [f"a.yaml:3: C005 {message}"]


def test_a_channel_lists_its_servers() -> None:
    text = f"""{HEAD}servers:
  m: {{host: m, protocol: mqtt}}
  n: {{host: n, protocol: nats}}
  k: {{host: k, protocol: kafka}}
channels:
  c: {{address: a.b, servers: [{{$ref: '#/servers/n'}}, {{$ref: '#/servers/k'}}]}}
  d: {{address: a.b}}
operations:
  c: {{action: send, channel: {{$ref: '#/channels/c'}}}}
  d: {{action: send, channel: {{$ref: '#/channels/d'}}}}
"""
    found = [(one.name, [str(end) for end, _ in one.publishers]) for one in read(text).topics]
    assert found == [("a/b", ["n:4222"]), ("a.b", ["m:1883"]), ("a/b", ["n:4222"])]


# --- references ---------------------------------------------------------------------------


def test_references_lead_through_others_and_other_files() -> None:
    text = f"""{HEAD}servers:
  town: {{$ref: 'common/servers.yaml#/town~1hall'}}
channels:
  c: {{$ref: '#/components/channels/lit'}}
operations:
  tell: {{$ref: '#/components/operations/tell'}}
components:
  channels: {{$ref: 'common/channels.yaml'}}
  operations:
    tell: {{action: send, channel: {{$ref: '#/channels/c'}}}}
    spare: {{action: send}}
"""
    files = {
        "common/servers.yaml": "town/hall: {$ref: 'other.yaml#/list/0'}\n",
        "common/other.yaml": "list:\n- {host: h, protocol: mqtt}\n",
        "common/channels.yaml": "lit: {address: '{a}', parameters: {a: {$ref: '#/any'}}}\nany: {}\n",
    }
    drafts = read(text, files, "docs/a.yaml")
    assert not drafts.faults
    assert names(drafts) == ["+"]
    assert ends(drafts) == {"h:1883"}
    assert drafts.topics[0].where == Where("docs/common/channels.yaml", 1)
    assert drafts.included == {f"docs/{one}" for one in files}
    assert "13: components that nothing refers to: they take effect only where a $ref leads" in [
        one.removesuffix(" to them") for one in told(drafts)
    ]


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("'#/channels/d'", "'#/channels/d': nothing stands there"),
        ("'#channels'", "'#channels' has no / after its #"),
        ("3", "is not a text"),
        ("'#/operations/tell/channel'", "leads back to itself"),
    ],
)
def test_references_to_nothing_are_refused(ref: str, message: str) -> None:
    text = f"{HEAD}{MQTT}operations:\n  tell: {{action: send, channel: {{$ref: {ref}}}}}\n"
    (fault,) = read(text).faults
    assert message in fault.message
    assert fault.where.line == 6


def test_a_pointer_without_ref_is_told_how_to_write_it() -> None:
    text = f"{HEAD}{MQTT}operations:\n  tell: {{action: send, channel: '#/channels/c'}}\n"
    assert errors(read(text)) == ["a.yaml:6: C005 channel is a text: write {$ref: '#/channels/c'}"]


@pytest.mark.parametrize("ref", ["http://x.example/a.yaml#/c", "gone.yaml#/c"])
def test_references_that_are_not_followed_are_told(ref: str) -> None:
    text = f"{HEAD}{MQTT}operations:\n  tell: {{action: send, channel: {{$ref: '{ref}'}}}}\n"
    drafts = read(text)
    assert not drafts.faults
    assert not drafts.topics
    assert any(one.startswith("6: a $ref to") for one in told(drafts))


def test_what_stands_beside_a_reference_is_told() -> None:
    text = f"{HEAD}{MQTT}channels:\n  d: {{address: a}}\n  c: {{$ref: '#/channels/d', address: b}}"
    drafts = read(text + OPERATIONS)
    assert names(drafts) == ["a"]
    assert told(drafts, "C020")[0].startswith("7: address stands beside a $ref")


def test_what_decides_nothing_beside_a_reference_is_no_warning() -> None:
    text = f"{HEAD}{MQTT}channels:\n  d: {{address: a}}\n  c: {{$ref: '#/channels/d', summary: s}}"
    drafts = read(text + OPERATIONS)
    assert names(drafts) == ["a"]
    assert told(drafts, "C020") == []
    assert "7: summary beside a $ref: such fields are ignored" in told(drafts)


def test_faults_of_another_file_are_its_own() -> None:
    text = f"{HEAD}servers: {{s: {{$ref: 's.yaml#/s'}}}}\n"
    (fault,) = read(text, {"s.yaml": "s: {host: h, protocol: mqtt}\ns: {}\n"}, "d/a.yaml").faults
    assert fault.where == Where("d/s.yaml", 2)
    assert fault.code == "C004"


# --- what is left out ---------------------------------------------------------------------


def test_what_does_not_decide_where_messages_go_is_told_once_per_kind() -> None:
    text = f"""{HEAD}{MQTT}channels:
  c:
    address: a
    title: C
    x-one: 1
    messages: {{m: {{$ref: '#/components/messages/m'}}, n: {{}}}}
operations:
  tell:
    action: send
    channel: {{$ref: '#/channels/c'}}
    summary: s
    x-two: 2
    bindings: {{mqtt: {{qos: 1, retain: true}}}}
    traits: [{{bindings: {{mqtt: {{qos: 2}}}}}}]
components: {{messages: {{m: {{}}}}, securitySchemes: {{p: {{}}}}}}
x-three: {{}}
"""
    drafts = read(text)
    short = [one.rpartition(":")[0] for one in told(drafts)]
    assert short == [
        "2: documentation (3)",
        "20: extensions (x-...) (3)",
        "10: messages and schemas (3)",
        "17: mqtt binding retain",
        "19: security",
    ]


def test_unknown_keys_are_told_with_their_lines() -> None:
    text = f"""{HEAD}{MQTT}channels:
  c:
    adress: a
operations: {{}}
chanels: {{}}
"""
    why = "it is not known here: correct its name, or call it x-..."
    found = told(read(text))
    assert f"7: adress: {why}" in found
    assert f"9: chanels: {why}" in found


def test_keys_of_the_other_version_are_told_with_what_to_write() -> None:
    new = read(f"""{HEAD}servers:
  s: {{url: mqtt://h, host: h, port: 1883, protocol: mqtt}}
channels:
  c: {{address: a, publish: {{}}}}
""")
    old = read("""asyncapi: 2.6.0
servers:
  s: {url: mqtt://h, host: h, scheme: mqtt, protocol: mqtt}
channels:
  c: {address: a, publish: {}}
operations: {}
""")
    assert names(old) == ["c"]
    for one in ("4: url: it is version 2's", "4: port: write it behind", "6: publish: it is vers"):
        assert any(line.startswith(one) for line in told(new)), one
    for one in ("3: host: it is version 3's", "5: address: it is", "6: operations: it is version"):
        assert any(line.startswith(one) for line in told(old)), one
    assert "3: scheme: write protocol" in told(old)


def test_sides_of_version_2_are_told_only_where_they_count() -> None:
    for server, count in (("", 0), ("{k: {url: k, protocol: kafka}}", 0), (MQTT_2, 1)):
        text = f"asyncapi: 2.6.0\nservers: {server}\nchannels: {{a: {{publish: {{}}}}}}\n"
        assert len(told(read(text), "C020")) == count


def test_a_document_in_quotes_is_told_from_none() -> None:
    (error,) = errors(read('"asyncapi: 3.0.0\\ninfo: {}\\n"\n'))
    assert error.startswith("a.yaml:1: C005 the document is one text in quotes")


@pytest.mark.parametrize("version", ["1.2.0", "4.0.0", "null", "[3]", "true"])
def test_other_versions_are_refused(version: str) -> None:
    (error,) = errors(read(f"asyncapi: {version}\n"))
    assert error.startswith("a.yaml:1: C005 asyncapi ")
    assert "3.0.0 or 2.6.0" in error


def test_operations_without_action_or_channel_are_refused() -> None:
    text = f"{HEAD}operations:\n  a: {{}}\n  b: {{action: send}}\n  c: 3\n"
    assert errors(read(text)) == [
        "a.yaml:4: C005 operation a has action empty: write send or receive",
        "a.yaml:5: C005 operation b has no channel: write channel: {$ref: '#/channels/...'}",
        "a.yaml:6: C005 c is not a map: write its fields below it",
    ]


# --- what generators write ----------------------------------------------------------------


def keyed(action: str, cc: str, channel: str) -> Drafts:
    operation = f"{{action: {action}, channel: {{$ref: '#/channels/c'}}, bindings: {{amqp: {cc}}}}}"
    text = f"{HEAD}servers: {{r: {{host: r, protocol: amqp}}}}\nchannels:\n  c: {channel}\n"
    return read(f"{text}operations:\n  o: {operation}\n")


LOG = "bindings: {amqp: {exchange: {name: log, type: topic}}}"


@pytest.mark.parametrize(
    ("action", "cc", "channel", "topics"),
    [
        ("send", "{cc: [b.c], bcc: [d]}", f"{{address: a, {LOG}}}", ["log/a", "log/b/c", "log/d"]),
        ("receive", "{cc: [b.c]}", f"{{address: a, {LOG}}}", ["log/b/c"]),
        ("receive", "{cc: [b.c]}", f"{{{LOG}}}", ["log/b/c"]),
        ("receive", "{cc: b.*}", f"{{address: 'q:log:Handle', {LOG}}}", ["log/b/+"]),
        ("send", "{cc: [b]}", f"{{address: 'b:log:Publisher', {LOG}}}", ["log/b"]),
        ("send", "{cc: [b]}", "{address: a}", ["a", "b"]),
        (
            "receive",
            "{cc: [work]}",
            "{address: 'work:_:Do', bindings: {amqp: {queue: {name: work}, "
            "exchange: {type: default}}}}",
            ["queue/work/#"],
        ),
        (
            "send",
            "{cc: [more]}",
            "{address: work, bindings: {amqp: {exchange: {type: default}}}}",
            ["queue/work/#", "queue/more/#"],
        ),
    ],
)
def test_an_operations_routing_keys_are_where_its_messages_go(
    action: str, cc: str, channel: str, topics: list[str]
) -> None:
    drafts = keyed(action, cc, channel)
    assert names(drafts) == topics
    assert not drafts.faults
    assert not any("amqp binding" in one or "without an address" in one for one in told(drafts))


def test_routing_keys_that_do_not_count_are_told() -> None:
    fanout = "{address: a, bindings: {amqp: {exchange: {name: x, type: fanout}}}}"
    queue = "{address: q, bindings: {amqp: {is: queue}}}"
    for channel, topic in ((fanout, "x/#"), (queue, "queue/q/#")):
        drafts = keyed("send", "{cc: [b]}", channel)
        assert names(drafts) == [topic]
        assert any("routing keys of an operation (cc, bcc)" in one for one in told(drafts))


def test_of_an_operation_and_its_traits_one_says_the_keys() -> None:
    for version, topic in (("3", "log/b"), ("2", "log/d")):
        operation = "bindings: {amqp: {cc: [b]}}, traits: [{bindings: {amqp: {cc: [d]}}}]"
        text = f"asyncapi: {version}.0.0\ninfo: {{title: T}}\nservers: "
        if version == "3":
            text += f"{{r: {{host: r, protocol: amqp}}}}\nchannels: {{c: {{{LOG}}}}}\noperations: "
            text += f"{{o: {{action: receive, channel: {{$ref: '#/channels/c'}}, {operation}}}}}"
        else:
            text += "{r: {url: r, protocol: amqp}}\nchannels: "
            text += f"{{c: {{{LOG}, publish: {{{operation}}}}}}}"
        assert names(read(text)) == [topic]


@pytest.mark.parametrize(
    ("server", "bindings", "topic"),
    [
        ("{host: n, protocol: nats}", "{nats: {subject: a.>}}", "a/+/#"),
        ("{host: m, protocol: mqtt}", "{mqtt: {topic: a/+}}", "a/+"),
    ],
)
def test_a_topic_in_the_bindings_counts_before_the_address(
    server: str, bindings: str, topic: str
) -> None:
    drafts = amqp(f"{{address: 'a:Handle', bindings: {bindings}}}", server)
    assert names(drafts) == [topic]
    assert not any("binding" in one for one in told(drafts))


def test_an_empty_topic_in_the_bindings_is_not_the_handlers_name() -> None:
    drafts = amqp(
        "{address: ':Handle', bindings: {nats: {subject: ''}}}", "{host: n, protocol: nats}"
    )
    assert names(drafts) == []
    assert any("made at run time or empty" in one for one in told(drafts))


def test_what_faststream_calls_publish_is_sent() -> None:
    text = """asyncapi: 2.6.0
info: {title: T, version: '1'}
servers:
  s: {url: 'nats://n', protocol: nats}
channels:
  in:Handle: {bindings: {nats: {subject: in}}, subscribe: {}}
  out:Publisher: {bindings: {nats: {subject: out}}, publish: {}}
  late:Handle: {bindings: {nats: {subject: late}}, publish: {}}
  plain: {publish: {}}
"""
    drafts = read(text)
    found = [(one.name, bool(one.publishers), bool(one.subscribers)) for one in drafts.topics]
    assert found == [
        ("in", False, True),
        ("out", True, False),
        ("late", False, True),
        ("plain", False, True),
    ]
    notes = told(drafts, "C020")
    assert [one.partition(" ")[0] for one in notes] == ["6:", "8:"]
    assert "FastStream" in notes[0]


def test_a_parsers_output_is_told_from_a_document() -> None:
    text = f"""{HEAD}{MQTT}channels:
  c: {{address: a, servers: ['$ref:$.servers.town']}}
operations:
  o: {{action: send, channel: '$ref:$.channels.c'}}
"""
    assert [one.where.line for one in read(text).faults] == [6, 8]
    assert all("a parser's output" in one.message for one in read(text).faults)


# --- examples -----------------------------------------------------------------------------


def example(name: str) -> Drafts:
    drafts = Drafts()
    text = (EXAMPLES / name).read_text()
    parsed = parse_json(text) if name.endswith(".json") else parse(text, with_lines=True)
    read_asyncapi(parsed, name, "x", drafts, resolve_file=lambda _: None)
    assert not drafts.faults
    return drafts


def test_the_examples_read() -> None:
    assert names(example("asyncapi/orders.yaml")) == [
        "shop/order/placed/+",
        "packing/begin",
        "packing/cancel",
        "stock/+/level",
    ]
    assert names(example("asyncapi/telemetry.json")) == [
        "pumps/gateway/lost",
        "pumps/+/pressure",
        "pumps/+/valve/open",
        "pumps/+/valve/close",
    ]
    mixed = example("mixed/asyncapi.yaml")
    assert names(mixed) == ["sensors/+/temperature"] * 2
    json.loads((EXAMPLES / "mixed/hub/definitions.json").read_text())


def test_servers_where_nothing_happens_are_told() -> None:
    drafts = read(f"{HEAD}{MQTT}")
    assert told(drafts)[0] == "4: server town: nothing is sent to or received from there"


def test_websockets_have_ports_of_their_own() -> None:
    for url, end in (("wss://h/mqtt", "h:443"), ("ws://h", "h:80"), ("ws://h:9001", "h:9001")):
        text = f"asyncapi: 2.6.0\nservers: {{s: {{url: '{url}', protocol: mqtt}}}}\n"
        assert ends(read(f"{text}channels: {{a: {{publish: {{}}}}}}\n")) == {end}


def test_bindings_of_other_protocols_are_told_once_for_each() -> None:
    bindings = "{kafka: {topic: x, partitions: 3}, sns: {topic: {name: y}}, mercure: z}"
    drafts = mqtt("a", f"{{}}, bindings: {bindings}")
    found = [one.partition(":")[2] for one in told(drafts) if "bindings" in one]
    why = "only servers of MQTT, AMQP and NATS are read, and what these say is of another protocol"
    assert found == [
        f" kafka bindings (2): {why}",
        f" sns bindings: {why}",
        f" mercure bindings: {why}",
    ]


# --- several documents --------------------------------------------------------------------


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_a_part_of_a_document_is_not_taken_for_a_brokers_configuration(tmp_path: Path) -> None:
    whole = f"""{HEAD}servers: {{s: {{$ref: './parts.yaml#/servers/s'}}}}
channels: {{c: {{address: 'a/{{x}}', parameters: {{x: {{$ref: "parts.yaml#/parameters/x"}}}}}}}}
operations: {{o: {{action: send, channel: {{$ref: '#/channels/c'}}}}}}
"""
    parts = "servers: {s: {host: h, protocol: mqtt}}\nparameters: {x: {enum: [p]}}\n"
    assert list(read_native([written(tmp_path, a=whole, parts=parts)]).federation.topics) == ["a/p"]


def test_servers_in_use_at_once_may_be_environments(tmp_path: Path) -> None:
    text = f"""{HEAD}servers: {{live: {{host: l, protocol: mqtt}}, test: {{host: t, protocol: mqtt}}}}
channels: {{c: {{address: a}}}}
operations: {{o: {{action: send, channel: {{$ref: '#/channels/c'}}}}}}
"""
    (tmp_path / "map").mkdir()
    folder = written(tmp_path, a=text)
    said = written(tmp_path / "map", map="brokers: {live: hub, test: hub}\n") / "map.yaml"
    found = [one for one in read_native([folder / "a.yaml"]).findings if one.code == "C012"]
    assert [one.where.line for one in found] == [3]
    assert "servers live and test are read as in use at once" in found[0].message
    mapped = read_native([folder / "a.yaml"], mapping=said)
    assert not any(one.code == "C012" for one in mapped.findings)


def test_documents_without_a_known_broker_say_what_they_lack(tmp_path: Path) -> None:
    text = f"{HEAD}servers: {{k: {{host: k, protocol: kafka}}}}\nchannels: {{c: {{address: a}}}}\n"
    with pytest.raises(ConfigurationError, match="name its MQTT, AMQP or NATS servers"):
        read_native([written(tmp_path, a=text) / "a.yaml"])


def of_one_topic(action: str, server: str = "") -> str:
    return f"""{HEAD}{server}
channels: {{c: {{address: orders/new}}}}
operations: {{o: {{action: {action}, channel: {{$ref: '#/channels/c'}}}}}}
"""


def test_documents_with_one_title_are_two_clients(tmp_path: Path) -> None:
    for name in ("a", "b"):
        server = f"servers: {{s: {{host: {name}.example, protocol: mqtt}}}}"
        written(tmp_path, **{name: of_one_topic("receive", server)})
    federation = read_native([tmp_path]).federation
    subscribers = federation.topics["orders/new"].subscribers
    clients = [one.client for one in subscribers if isinstance(one, Client)]
    assert clients == ["Lamp_Post", "Lamp_Post-b"]
    assert not [one for one in verify(federation).findings if one.code == "S5"]


@pytest.mark.parametrize(
    ("file", "text", "topic"),
    [
        ("mosquitto.conf", "listener 1883\n", "orders/new"),
        ("nats.conf", "port: 4222\nserver_name: hub\n", None),
    ],
)
@pytest.mark.parametrize("key", ["orders.yaml", "docs/orders.yaml"])
def test_the_user_may_say_at_which_broker_a_document_is(
    tmp_path: Path, file: str, text: str, topic: str | None, key: str
) -> None:
    for folder in ("docs", "hub", "map"):
        (tmp_path / folder).mkdir()
    written(tmp_path / "docs", orders=of_one_topic("send"))
    (tmp_path / "hub" / file).write_text(text)
    said = written(tmp_path / "map", map=f"brokers: {{{key}: hub}}\n") / "map.yaml"
    reading = read_native([tmp_path / "docs", tmp_path / "hub"], mapping=said)
    found = {name: one for name, one in reading.federation.topics.items() if not one.assumed}
    assert list(found) == ([topic] if topic else [])
    for one in found.values():
        assert [end.broker for end in one.publishers if not isinstance(end, str)] == ["hub"]
    words = [one.message for one in reading.findings]
    assert any("write dots for its /" in one for one in words) == (topic is None)
    assert not any("names no servers" in one for one in words)
    assert not [one for one in reading.findings if one.code in ("C005", "C011")]


def test_what_the_user_says_of_a_document_counts_only_without_servers(tmp_path: Path) -> None:
    (tmp_path / "map").mkdir()
    (tmp_path / "hub.conf").write_text("listener 1883\n")
    server = "servers: {s: {host: far, protocol: mqtt}}"
    folder = written(tmp_path, orders=of_one_topic("send", server))
    said = written(tmp_path / "map", map="brokers: {orders.yaml: hub, order.yaml: hub}\n")
    reading = read_native([folder / "orders.yaml", folder / "hub.conf"], mapping=said / "map.yaml")
    assert "far" in reading.federation.brokers
    assert any(
        "the servers that the document names count" in one.message for one in reading.findings
    )
    assert [one.message for one in reading.findings if one.code == "C005"] == [
        "order.yaml is none of these files: correct it, or remove the entry"
    ]


def test_a_document_at_a_broker_of_no_file_is_told_what_lacks(tmp_path: Path) -> None:
    (tmp_path / "map").mkdir()
    (tmp_path / "hub.conf").write_text("listener 1883\n")
    folder = written(tmp_path, orders=of_one_topic("send"))
    said = written(tmp_path / "map", map="brokers: {orders.yaml: far}\n") / "map.yaml"
    findings = read_native([folder / "orders.yaml", folder / "hub.conf"], mapping=said).findings
    assert any("no file describes far, where --map says" in one.message for one in findings)


# --- the mapping file ---------------------------------------------------------------------


def mapping(text: str) -> tuple[Mapping, list[str]]:
    drafts = Drafts()
    return read_mapping(parse(text, with_lines=True), "map.yaml", drafts), errors(drafts)


def test_a_mapping_says_what_addresses_and_files_mean() -> None:
    found, wrong = mapping((EXAMPLES / "mixed/map.yaml").read_text())
    assert wrong == []
    assert found.broker_of("HUB.example.net", 1883) == "hub"
    assert found.broker_of("hub.example.net", 1884) is None
    assert found.broker_of("rabbit.acme.example", 5672, "production") == "hub"
    assert found.broker_of("archive.example.net", 5672) == "archive"
    assert found.name_of("examples/native/mixed/site-a/mosquitto.conf") == "athens"
    assert found.name_of("site-a/other.conf") is None
    assert found.sites["athens"] == Site(at=(37.98, 23.73))
    assert found.lines["brokers", "production"] == Where("map.yaml", 4)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[]", "1: C005 this is no map: write brokers, names, sites, each with its entries below"),
        ("broker: {}", "1: C005 broker is not known here: write brokers, names, sites"),
        ("brokers: []", "1: C005 brokers is not a map: write one entry per line below it"),
        (
            "brokers:\n  mqtt://h: hub",
            "2: C005 a text that is not shown here is no address: "
            "write HOST, HOST:PORT or a server's name",
        ),
        (
            "brokers:\n  h: a--b",
            "2: C005 h is 'a--b': write a broker's name, of letters, digits, _ . - @",
        ),
        (
            "brokers:\n  h:1: a\n  H:1: b",
            "3: C007 H:1 is another broker in line 2: keep one of the two",
        ),
        (
            "names:\n  a/b: x\n  ./a/b: y",
            "3: C007 ./a/b is another broker in line 2: keep one of the two",
        ),
        (
            "sites:\n  a: {at: [91, 0]}",
            "2: C005 a has no place: write {at: [LATITUDE, LONGITUDE]} or {xy: [KM, KM]}",
        ),
    ],
)
def test_wrong_mappings_are_refused(text: str, wrong: str) -> None:
    assert mapping(text)[1] == [f"map.yaml:{wrong}"]


def test_an_empty_mapping_says_nothing() -> None:
    found, wrong = mapping("")
    assert wrong == []
    assert found == Mapping()


def test_no_type_of_a_value_breaks_a_mapping() -> None:
    values: list[Any] = [None, 1, 1.5, True, "x", [1], {"a": 1}, {"at": [1e400, 1]}, {"at": [1]}]
    for section in ("brokers", "names", "sites"):
        for value in values:
            mapping(json.dumps({section: value}))
            mapping(json.dumps({section: {"k": value}}))
