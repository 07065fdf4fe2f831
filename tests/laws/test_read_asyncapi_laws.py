import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ropewalk.federation.names import topic_fault
from ropewalk.federation.readers.asyncapi import read_asyncapi
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.mapping import read_mapping
from ropewalk.federation.yaml_text import parse

EXAMPLES = Path(__file__).parents[2] / "examples/native"
VERSION_2 = {
    "asyncapi": "2.6.0",
    "info": {"title": "T"},
    "servers": {"a": {"url": "mqtt://u:secret@h:{p}/x", "protocol": "mqtt"}},
    "channels": {"c/{x}": {"publish": {"message": {}}, "subscribe": {"traits": [{}]}}},
    "components": {"channels": {}, "schemas": {}},
}
DOCUMENTS = [
    parse((EXAMPLES / "asyncapi/orders.yaml").read_text()).value,
    parse((EXAMPLES / "mixed/asyncapi.yaml").read_text()).value,
    json.loads((EXAMPLES / "asyncapi/telemetry.json").read_text()),
    VERSION_2,
]
KEYS = [
    *("$ref", "bindings", "amqp", "mqtt", "servers", "address", "host", "url", "protocol", "is"),
    *("exchange", "queue", "traits", "reply", "channel", "parameters", "enum", "schema", "x-y"),
    *("variables", "default", "components", "protocolVersion", "asyncapi", "unheard-of", "a\nb"),
]
TEXTS = [
    *("", "#", "#/", "#/channels", "#/servers/shop", "x.yaml#/a", "http://u:secret@h/", "a~1b"),
    *(
        "{",
        "{x}",
        "{a}{b}",
        "a/#/b",
        "a.>.b",
        "$share/g",
        "/exchanges/x/k",
        "amqp",
        "amqp1",
        "nats",
    ),
    *(
        "mqtt",
        "h:1",
        "h:99999",
        "u:secret@h",
        "queue",
        "fanout",
        "direct",
        "\x00",
        "\ud7ff",
        "2.0.0",
    ),
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(TEXTS),
    st.text(max_size=6),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    ),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value, with every key it has."""
    inside = list(value.items() if isinstance(value, dict) else enumerate(value))
    found = [(value, key) for key, _ in inside]
    for _, inner in inside:
        if isinstance(inner, dict | list):
            found += places(inner)
    return found


@st.composite
def mutated(draw: st.DrawFn, documents: list[Any] = DOCUMENTS) -> Any:
    document = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 4))):
        known = places(document)
        if not known:
            break
        container, key = draw(st.sampled_from(known))
        kind = draw(st.sampled_from(["value", "lose", "add", "rename"]))
        if kind == "value":
            container[key] = draw(VALUES)
        elif kind == "lose":
            del container[key]
        elif isinstance(container, list):
            container.append(draw(VALUES))
        elif kind == "add":
            container[draw(st.sampled_from(KEYS))] = draw(VALUES)
        else:
            container[draw(st.sampled_from(KEYS))] = container.pop(key)
    return document


def check(document: Any, drafts: Drafts) -> None:
    for one in drafts.findings:
        assert one.code in ("C004", "C005", "C006", "C007", "C010", "C020")
        assert "\n" not in one.message, one
        assert "secret" not in one.message, one
        assert one.severity != "error" or ":" in one.message, one
    for topic in drafts.topics:
        assert topic_fault(topic.name) is None
        assert topic.publishers or topic.subscribers
        assert "secret" not in repr(topic)


@given(mutated())
def test_a_changed_document_is_read_or_refused_with_a_reason(document: Any) -> None:
    drafts = Drafts()
    parsed = parse_json(json.dumps(document, indent=1))
    other = parse_json(json.dumps(document))
    read_asyncapi(
        parsed, "d/a.json", "a", drafts, resolve_file=lambda path: other if path else None
    )
    check(document, drafts)


@given(st.sampled_from(DOCUMENTS), st.data())
def test_a_key_that_nobody_knows_is_told(document: Any, data: st.DataObject) -> None:
    document = copy.deepcopy(document)
    maps = [document]
    maps += [one for kind in ("servers", "channels") for one in document[kind].values()]
    maps += list(document.get("operations", {}).values())
    data.draw(st.sampled_from(maps))["unheard-of"] = 1
    drafts = Drafts()
    parsed = parse_json(json.dumps(document, indent=1))
    read_asyncapi(parsed, "a.json", "a", drafts, resolve_file=lambda _: None)
    (line,) = [
        i
        for i, one in enumerate(json.dumps(document, indent=1).splitlines(), 1)
        if "unheard" in one
    ]
    assert [one.where.line for one in drafts.findings if "unheard-of" in one.message] == [line]


@given(mutated([parse((EXAMPLES / "mixed/map.yaml").read_text()).value]))
def test_a_changed_mapping_is_read_or_refused_with_a_reason(document: Any) -> None:
    drafts = Drafts()
    said = read_mapping(parse_json(json.dumps(document, indent=1)), "map.yaml", drafts)
    check(document, drafts)
    said.broker_of("h", 1, "x")
    said.name_of("a/b")
