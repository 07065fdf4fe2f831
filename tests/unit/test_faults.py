"""Bad input: one message per fault, with the line and what to write."""

from pathlib import Path

import pytest

from ropewalk.errors import FederationError
from ropewalk.federation import load, loads
from ropewalk.federation.loading import MAX_YAML_MB
from ropewalk.findings import Finding, rules

HEAD = "federation: f\nbrokers:\n  a: {}\n  b: {}\n  c: {}\n"  # what follows starts on line 6

# code, text after HEAD, line of the fault, part of the message
CASES = [
    ("F004", "links: [\n", 7, "not YAML"),
    ("F004", "links: {a: b: c}\n", 6, "not YAML (column"),
    ("F004", "sites: {x: \x07}\n", 6, "not allowed"),
    ("F004", "---\nfederation: g\n", 6, "second document"),
    ("F004", "sites: {[a]: {}}\n", 6, "must be a text"),
    ("F004", "sites: " + "[" * 40 + "]" * 40 + "\n", 6, "levels deep"),
    ("F005", "sites:\n  x: {}\n  x: {}\n", 8, "'x' is written twice"),
    ("F006", "sites: !set {x: {}}\n", 6, "tag"),
    ("F006", "sites: {x: *nowhere}\n", 6, "nowhere"),
    ("F006", "sites: {x: {<<: 3}}\n", 6, "<<"),
    ("F010", "links:\n  - {cost: 1}\n", 7, "write between: [BROKER, BROKER]"),
    ("F011", "links:\n  - {between: [a, b], latency: 3}\n", 7, "did you mean 'latency_ms'?"),
    ("F011", "topix: {}\n", 6, "did you mean 'topics'?"),
    ("F012", "links:\n  - {between: [a, b], cost: many}\n", 7, "write a whole number"),
    ("F012", "links: {a: b}\n", 6, "write a list"),
    ("F012", "sites: [london]\n", 6, "write a map"),
    ("F012", "topics: {t: {publishers: [5]}}\n", 6, "in quotes"),
    ("F013", "links:\n  - {between: [a, b], latency_ms: -3}\n", 7, "at least 0"),
    ("F013", "links:\n  - {between: [a, b], loss: 1.5}\n", 7, "at most 1"),
    ("F013", "links:\n  - {between: [a, b], latency_ms: .inf}\n", 7, "finite"),
    ("F010", "links:\n  - {between: [a]}\n", 7, "write between: [BROKER, BROKER]"),
    ("F013", "links:\n  - {between: [a, b, c]}\n", 7, "at most 2"),
    ("F013", "domains: {d: {gateways: []}}\n", 6, "at least 1"),
    ("F014", "links:\n  - {between: [a, b], latency_ms: 8ms}\n", 7, "number of milliseconds"),
    ("F014", "requirements: {regions: {radius_km: 100 km}}\n", 6, "number of kilometres"),
    ("F015", "topics: {t: {publishers: [a], scope: locl}}\n", 6, "federation or domain"),
    ("F016", "sites: {two--dashes: {}}\n", 6, "not --"),
    ("F016", "sites: {'': {}}\n", 6, "is no name"),
    ("F020", "links:\n  - {between: [a, zz]}\n", 7, "write it under brokers"),
    (
        "F020",
        "topics: {prices: {publishers: [a]}}\nitems: {i: [price]}\n",
        7,
        "did you mean 'prices'?",
    ),
    ("F020", "domains: {d: {gateways: [zz]}}\n", 6, "no broker is called 'zz'"),
    ("F020", "topics: {t: {publishers: [a], subscribers:\n  [zz]}}\n", 7, "'zz'"),
    ("F020", "topics: {t: {publishers: [a], contract: {home: zz}}}\n", 6, "'zz'"),
    ("F020", "topics: {t: {publishers: [a], protocol: zz}}\n", 6, "no protocol"),
    ("F020", "items: {i: [nothing]}\n", 6, "no topic is called"),
    ("F020", "bridges: [{from: a, to: zz}]\n", 6, "'zz'"),
    ("F020", "bridges: [{from: a, to: b, addresses: [zz]}]\n", 6, "'zz'"),
    ("F020", "underlay: {nodes: {n: {}}, links: [{between: [n, m]}]}\n", 6, "no underlay node"),
    (
        "F020",
        "risk_groups: {duct: {}}\nlinks: [{between: [a, b], risk_groups: [dukt]}]\n",
        7,
        "duct",
    ),
    ("F020", "links: [{between: [a, b]}]\nroutes: [{at: a, to: b, next: zz}]\n", 7, "'zz'"),
    ("F021", "links:\n  - {between: [a, a]}\n", 7, "to itself"),
    ("F021", "bridges: [{from: a, to: a}]\n", 6, "to itself"),
    ("F022", "links:\n  - {between: [a, b]}\n  - {between: [b, a]}\n", 8, "a--b is written twice"),
    ("F023", "domains:\n  d: {gateways: [a]}\n  e: {gateways: [b], edges: [a]}\n", 8, "domain 'd'"),
    ("F024", "topics:\n  t: {subscribers: [a]}\n", 7, "has no publisher"),
    ("F025", "topics: {a/#/b: {publishers: [a]}}\n", 6, "last level"),
    ("F025", "topics: {a//b: {publishers: [a]}}\n", 6, "empty"),
    ("F025", "bridges: [{from: a, to: b, patterns: [x+]}]\n", 6, "stand alone"),
    ("F026", "topics: {t: {publishers: [a], subscribers: [b], scope: domain}}\n", 6, "'b'"),
    ("F027", "sites: {x: {at: [1, 2], xy: [1, 2]}}\n", 6, "both"),
    ("F027", "sites:\n  x: {at: [1, 2]}\n  y: {xy: [1, 2]}\n", 8, "one kind"),
    ("F028", "links: [{between: [a, b]}]\nroutes: [{at: z*, to: b, next: b}]\n", 7, "matches no"),
    (
        "F029",
        "links: [{between: [a, b]}]\nroutes: [{at: a, to: c, next: c}]\n",
        7,
        "no link to 'c'",
    ),
    ("F029", "links: [{between: [a, b]}]\nroutes: [{at: a, to: '*', next: '*'}]\n", 7, "'c'"),
    (
        "F030",
        "underlay: {nodes: {n: {}, m: {}}}\nlinks: [{between: [a, b], via: [n, m]}]\n",
        7,
        "no underlay link joins",
    ),
    ("F032", "topics: {t: {publishers: [a]}}\nitems: {i: [t], j: [t]}\n", 7, "item 'i'"),
    (
        "F033",
        "links: [{between: [a, b]}]\nroutes: [{at: a, to: b, next: b, colours: [b--c]}]\n",
        7,
        "BROKER--BROKER",
    ),
    ("F034", "topics: {t: {publishers: [a], subscribers: [b, b]}}\n", 6, "twice"),
]

# The same for faults inside the brokers themselves: the whole text.
WHOLE = [
    ("F002", "", 1, "ropewalk new"),
    ("F002", "# nothing but a comment\n", 1, "ropewalk new"),
    ("F012", "just words", 1, "start it with `federation: NAME`"),
    ("F012", "- a\n- b\n", 1, "start it with `federation: NAME`"),
    ("F010", "federation: f\n", 1, "write brokers: {NAME: {}}"),
    ("F010", "brokers: {a: {}}\n", 1, "write federation: NAME"),
    ("F013", "federation: f\nbrokers: {}\n", 2, "at least 1"),
    ("F012", "federation: f\nbrokers: [a, b]\nlinks: [{between: [a, b]}]\n", 2, "write a map"),
    ("F015", "federation: f\nbrokers:\n  a: {make: nat}\n", 3, "did you mean 'nats'?"),
    ("F017", "federation: f\nbrokers:\n  a: {credentials: hunter2}\n", 3, "env:NAME"),
    ("F017", "federation: f\nbrokers:\n  a: {credentials: {pw: hunter2}}\n", 3, "env:NAME"),
    ("F017", "federation: f\nbrokers:\n  a: {url: 'nats://u:hunter2@h:1'}\n", 3, "env:NAME"),
    ("F018", "federation: f\nbrokers:\n  a: {url: 'mqtt://h:1'}\n", 3, "write nats://HOST:PORT"),
    ("F018", "federation: f\nbrokers:\n  a: {url: 'nats://h:port'}\n", 3, "not a URL"),
    ("F020", "federation: f\nbrokers:\n  a: {site: nowhere}\n", 3, "no site"),
    ("F020", "federation: f\nbrokers:\n  a: {node: nowhere}\n", 3, "no underlay node"),
    ("F020", "federation: f\nbrokers:\n  a: {takeover: [zz]}\n", 3, "'zz'"),
    ("F030", "federation: f\nunderlay: {nodes: {n: , m: }, links: [{between: [n, m]}]}\n"
     "brokers: {a: {node: n}, b: {node: n}}\nlinks: [{between: [a, b], via: [n, m]}]\n", 4, "must end"),
    ("F031", "federation: f\nbrokers:\n  a: {takeover: [a]}\n", 3, "its own clients"),
]  # fmt: skip


def faults(text: str) -> list[Finding]:
    with pytest.raises(FederationError) as caught:
        loads(text, file="f.yaml")
    return list(caught.value.findings)


@pytest.mark.parametrize(
    ("code", "text", "line", "words"),
    [(code, HEAD + text, line, words) for code, text, line, words in CASES] + WHOLE,
)
def test_a_fault_is_told_once_with_its_line(code: str, text: str, line: int, words: str) -> None:
    found = faults(text)
    assert [(one.code, one.where.line) for one in found] == [(code, line)], found
    assert words in found[0].message
    assert "hunter2" not in str(found)


def test_every_rule_of_the_file_has_a_case() -> None:
    tested = {code for code, *_ in CASES + WHOLE} | {"F001", "F003", "F040"}  # those need files
    assert tested == {code for code in rules() if code.startswith("F")}


def test_all_faults_are_told_at_once_in_line_order() -> None:
    found = faults(
        HEAD.replace("a: {}", "a: {make: natz}") + "links:\n"
        "  - {between: [a, b], latency_ms: -3}\n"
        "  - {between: [b, nowhere]}\n"
        "  - {between: [c, b], latency_ms: 8ms}\n"
        "  - {between: [c]}\n"
        "  - {between: [c, c]}\n"
        "topics:\n"
        "  t: {subscribers: [a]}\n"
        "  u: {publishers: [{broker: a}, gone, 3]}\n"
    )
    assert [(one.code, one.where.line) for one in found] == [
        ("F015", 3),
        ("F013", 7),
        ("F020", 8),
        ("F014", 9),
        ("F010", 10),
        ("F021", 11),
        ("F024", 13),
        ("F010", 14),
        ("F012", 14),
        ("F020", 14),
    ]


def test_a_missing_file_or_folder_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "nope.yaml", tmp_path / "f.yaml" / "deeper.yaml"):
        (tmp_path / "f.yaml").write_text("x")
        with pytest.raises(FederationError, match="F001 cannot be read"):
            load(path)


def test_bytes_that_are_not_utf8_are_told_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"federation: f\nbrokers: {caf\xe9: {}}\n")
    with pytest.raises(FederationError, match=r"f.yaml:2: F001 byte 0xe9 is not UTF-8"):
        load(file)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as out:
        out.truncate(100_000_000)
    with pytest.raises(FederationError, match=f"F003 100 MB.*up to {MAX_YAML_MB}.*ropewalk read"):
        load(file)


def test_nesting_without_end_is_no_crash() -> None:
    # A recursive reader overflows the C stack on this: the process would be gone.
    assert [one.code for one in faults("[" * 1_000_000)] == ["F004"]


def test_aliases_that_multiply_are_refused() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    found = faults("\n".join(rows))
    assert [one.code for one in found] == ["F004"]
    assert "aliases repeat" in found[0].message


def test_an_alias_inside_its_own_anchor_is_refused() -> None:
    assert "F006" in [one.code for one in faults("federation: f\nbrokers: &b {a: *b}\n")]
