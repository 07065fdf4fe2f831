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
    ("F004", "sites: {x: \x07}\n", 6, "not allowed"),
    ("F004", "---\nfederation: g\n", 6, "second document"),
    ("F004", "sites: {[a]: {}}\n", 6, "must be a text"),
    ("F004", "sites: {? {a: b} : {}}\n", 6, "must be a text"),
    ("F004", "x: &x 1\nsites: {*x : {}}\n", 7, "not an alias"),
    ("F004", "sites: " + "[" * 40 + "]" * 40 + "\n", 6, "levels deep"),
    ("F005", "sites:\n  x: {}\n  x: {}\n", 8, "'x' is written twice"),
    ("F004", "sites:\n  x: {{ place }}\n", 7, "a template's: fill it in first"),
    ("F004", "{% if sites %}\nsites: {}\n{% endif %}\n", 6, "a template's: fill it in first"),
    ("F006", "sites: !hunter2 {x: {}}\n", 6, "tags are not known"),
    ("F006", "sites: {x: *hunter2}\n", 6, "goes in quotes"),
    ("F006", "sites: {x: {<<: 3}}\n", 6, "<<"),
    ("F010", "links:\n  - {cost: 1}\n", 7, "write between: [BROKER, BROKER]"),
    (
        "F045",
        "links:\n  - {between: [a, b], histogram: {edges_ms: [0, 1], counts: [1, 1]}}\n",
        7,
        "write 3 edges_ms",
    ),
    ("F010", "links:\n  - {between: [a]}\n", 7, "write between: [BROKER, BROKER]"),
    ("F010", "sites: {s: {at: [1]}}\n", 6, "write at: [LATITUDE, LONGITUDE]"),
    ("F010", "links: [{between: [a, b]}]\nroutes: [{to: a, next: b}]\n", 7, "write at: BROKER"),
    ("F011", "links:\n  - {between: [a, b], latency: 3}\n", 7, "did you mean 'latency_ms'?"),
    ("F011", "topix: {}\n", 6, "did you mean 'topics'?"),
    ("F011", "topicz:\n", 6, "did you mean 'topics'?"),
    ("F011", "links: [{betwen: [a, b]}]\nroutes: [{at: a, to: b, next: b}]\n", 6, "'between'?"),
    ("F011", "links: [{between: [a, b], fails: 0,5}]\n", 6, "with a point, not a comma"),
    ("F011", "links: [{between: [a, b], cost:5}]\n", 6, "a space after the colon"),
    ("F011", "links: [{between: [a, b], credentials:hunter2}]\n", 6, "a space after the colon"),
    ("F011", "sites: {s: {lat: 5}}\n", 6, "write at: [LATITUDE, LONGITUDE]"),
    ("F012", "links:\n  - {between: [a, b], cost: many}\n", 7, "write a whole number"),
    ("F012", "links: {a: b}\n", 6, "write [{between: [BROKER, BROKER]}]"),
    ("F012", "links: [[a, b]]\n", 6, "link 1: it is ['a', 'b']: write {between: [BROKER, BROKER]}"),
    ("F012", "sites: [london]\n", 6, "write {NAME: {at: [LATITUDE, LONGITUDE]}}"),
    ("F012", "topics: {t: {publishers: [5]}}\n", 6, 'in quotes: "5"'),
    ("F012", "topics: {t: {publishers: [true]}}\n", 6, 'in quotes: "true"'),
    ("F012", "topics: {t: {publishers: a}}\n", 6, "write [BROKER]"),
    ("F012", "risk_groups: {duct: 0.001}\n", 6, "write {fails: 0.001}"),
    ("F012", "requirements: {survive: 1}\n", 6, "write {links: 1}"),
    ("F013", "links:\n  - {between: [a, b], latency_ms: -3}\n", 7, "at least 0"),
    ("F013", "links:\n  - {between: [a, b], cost: 99999999}\n", 7, "at most 16,777,215"),
    ("F013", "links:\n  - {between: [a, b], loss: 1.5}\n", 7, "a number from 0 to 1"),
    ("F013", "links:\n  - {between: [a, b], latency_ms: .inf}\n", 7, "finite"),
    ("F013", "links:\n  - {between: [a, b, c]}\n", 7, "at most 2 entries"),
    ("F013", "domains: {d: {gateways: []}}\n", 6, "at least 1 entry"),
    (
        "F014",
        "links:\n  - {between: [a, b], latency_ms: 8ms}\n",
        7,
        "write 8, a plain number of milli",
    ),
    ("F014", "links:\n  - {between: [a, b], latency_ms: 1.5 s}\n", 7, "write 1500, a plain number"),
    ("F014", "links:\n  - {between: [a, b], loss: 5%}\n", 7, "write 0.05, a plain number"),
    ("F014", "links:\n  - {between: [a, b], latency_ms: 8 parsecs}\n", 7, "without the unit"),
    (
        "F014",
        "requirements: {regions: {radius_km: 100 km}}\n",
        6,
        "write 100, a plain number of kilo",
    ),
    ("F015", "topics: {t: {publishers: [a], scope: locl}}\n", 6, "federation or domain"),
    ("F016", "sites: {two--dashes: {}}\n", 6, "without --"),
    ("F016", "sites: {'': {}}\n", 6, "is no name"),
    ("F016", "sites: {'a\\n': {}}\n", 6, "is no name"),
    ("F016", "sites: {none: {}}\n", 6, "is no name"),
    ("F016", "sites: {_x: {}}\n", 6, "starting with a letter or digit"),
    ("F016", "links: [{between: [a, b], risk_groups: ['x + y']}]\n", 6, "is no name"),
    ("F017", "links: [{between: [a, b], password: hunter2}]\n", 6, "env:NAME"),
    ("F017", "bridges: [{from: a, to: b, addresses: ['mqtt://u:hunter2@h:1']}]\n", 6, "env:NAME"),
    (
        "F020",
        "links:\n  - {between: [a, zz]}\n",
        7,
        "link 1: no broker is called 'zz': write it under",
    ),
    ("F020", "links:\n  - {between: [a, 'nats://u:hunter2@h']}\n", 7, "not shown here"),
    (
        "F020",
        "topics: {prices: {publishers: [a]}}\nitems: {i: [price]}\n",
        7,
        "did you mean 'prices'?",
    ),
    ("F020", "domains: {d: {gateways: [zz]}}\n", 6, "domain d: no broker is called 'zz'"),
    ("F020", "topics: {t: {publishers: [a], subscribers:\n  [zz]}}\n", 7, "topic t: no broker"),
    ("F020", "topics: {t: {publishers: [zz], subscribers: [a], scope: domain}}\n", 6, "'zz'"),
    ("F020", "topics: {t: {publishers: [a], contract: {home: zz}}}\n", 6, "'zz'"),
    ("F020", "topics: {t: {publishers: [a], protocol: zz}}\n", 6, "no protocol"),
    ("F020", "items: {i: [nothing]}\n", 6, "no topic is called"),
    ("F020", "bridges: [{from: a, to: zz}]\n", 6, "bridge 1: no broker"),
    ("F020", "bridges: [{from: a, to: b, addresses: [zz]}]\n", 6, "'zz'"),
    ("F020", "underlay: {nodes: {n: {}}, links: [{between: [n, m]}]}\n", 6, "underlay link 1: no"),
    ("F020", "links: [{between: [a, b], via: [n]}]\n", 6, "no underlay node"),
    (
        "F020",
        "risk_groups: {duct: {}}\nlinks: [{between: [a, b], risk_groups: [dukt]}]\n",
        7,
        "duct",
    ),
    ("F020", "links: [{between: [a, b]}]\nroutes: [{at: a, to: b, next: zz}]\n", 7, "'zz'"),
    ("F021", "links:\n  - {between: [a, a]}\n", 7, "to itself"),
    ("F021", "bridges: [{from: a, to: a}]\n", 6, "to itself"),
    ("F021", "underlay: {nodes: {n: }, links: [{between: [n, n]}]}\n", 6, "to itself"),
    ("F022", "links:\n  - {between: [a, b]}\n  - {between: [b, a]}\n", 8, "a--b is link 1 already"),
    ("F023", "domains:\n  d: {gateways: [a]}\n  e: {gateways: [b], edges: [a]}\n", 8, "domain 'd'"),
    ("F024", "topics:\n  t: {subscribers: [a]}\n", 7, "topic t: it has no publisher"),
    ("F025", "topics: {a/#/b: {publishers: [a]}}\n", 6, "last level"),
    ("F025", "topics: {prices.>: {publishers: [a]}}\n", 6, "+ for one level and #"),
    ("F025", "topics: {prices/*: {publishers: [a]}}\n", 6, "+ for one level and #"),
    ("F025", "topics: {'': {publishers: [a]}}\n", 6, "control characters"),
    ("F025", "bridges: [{from: a, to: b, patterns: [x+]}]\n", 6, "stands alone"),
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
    *(
        (
            "F033",
            f"links: [{{between: [a, b]}}]\nroutes: [{{at: a, to: b, next: b, colours: ['{colour}']}}]\n",
            7,
            "BROKER--BROKER",
        )
        for colour in ("b--c", "site:nowhere", "none + a", "a +", "group: x")
    ),
    ("F034", "topics: {t: {publishers: [a], subscribers: [b, b]}}\n", 6, "twice"),
]

# The same for the placement, which starts on line 13.
PLACED = (
    HEAD
    + """sites: {s: {}, empty: {}}
domains: {d: {gateways: [a, b]}}
topics:
  t: {publishers: [a]}
  u: {publishers: [a, b]}
  v: {publishers: [a], scope: domain}
items: {prices: [t]}
placement:
"""
)
PLACEMENT = [
    ("F020", "  at: {prices: zz}\n", 14, "placement of prices: no broker is called 'zz'"),
    (
        "F020",
        "  at: {price: a}\n",
        14,
        "no item or topic is called 'price': did you mean 'prices'?",
    ),
    ("F020", "  pinned:\n    - prices\n    - x\n", 16, "write it under items or topics"),
    ("F020", "  only:\n    u:\n      - a\n      - bb\n", 17, "placement of u: no broker is called"),
    (
        "F020",
        "  only: {u: [a, 'site:emty']}\n",
        14,
        "no site is called 'emty': did you mean 'empty'?",
    ),
    ("F020", "  only: {x: [a]}\n", 14, "no item or topic"),
    ("F020", "  apart: [[u,\n    x]]\n", 15, "apart group 1: no item or topic is called 'x'"),
    ("F020", "  brokers: {zz: {items: 3}}\n", 14, "limits of broker zz: no broker"),
    ("F020", "  sites: {zz: {items: 3}}\n", 14, "limits of site zz: no site"),
    ("F020", "  {at: {u: zz}, pinned: [u], only: {u: [a]}}\n", 14, "'zz'"),
    ("F020", "  {at: {u: b}, only: {u: [a, zz]}}\n", 14, "'zz'"),
    ("F036", "  pinned:\n    - prices\n    - u\n", 16, "'u' is: it may be 'a' or 'b': write its"),
    ("F037", "  at: {prices: b}\n  only: {prices: [a, c]}\n", 14, "'prices' is at 'b', which"),
    (
        "F037",
        "  pinned: [prices]\n  only: {prices: [c]}\n",
        14,
        "pinned item 1: 'prices' is at 'a'",
    ),
    ("F037", "  at: {v: c}\n", 14, "outside the domain that its topics never leave"),
    ("F037", "  only: {v: [c]}\n", 14, "none of these brokers is in the domain"),
    ("F038", "  only: {u: ['site:empty']}\n", 14, "site 'empty' has no broker"),
    ("F038", "  only: {u: ['site:empty']}\n  at: {u: b}\n", 14, "site 'empty' has no broker"),
    ("F039", "  apart: [[prices, u], []]\n", 14, "apart group 2: it has fewer than two items"),
    ("F039", "  apart:\n    - [u]\n", 15, "fewer than two"),
    ("F039", "  apart: [[u, prices,\n    u]]\n", 15, "'u' is listed twice: keep one"),
    ("F042", "  {pinned: [prices, v], apart: [[prices, u, v]]}\n", 14, "are both pinned at 'a'"),
    (
        "F042",
        "  at: {u: a}\n  pinned: [u, prices]\n  apart: [[u, prices]]\n",
        16,
        "'u' and 'prices'",
    ),
    (
        "F043",
        "  pinned: [t]\n",
        14,
        "topic 't' is moved with item 'prices': write 'prices' instead",
    ),
    ("F043", "  apart: [[u,\n    t]]\n", 15, "write 'prices' instead"),
    # Shape, and what only follows from a cut is not told.
    ("F011", "  pined: [u]\n", 14, "did you mean 'pinned'?"),
    ("F011", "  brokers: {a: {moves: 3}}\n", 14, "limits of broker a: there is no field 'moves'"),
    ("F012", "  limits: 5\n", 14, "write {utilisation: 0.8}"),
    ("F012", "  only: {u: a}\n", 14, "write [BROKER]"),
    ("F012", "  apart: [u]\n", 14, "write [ITEM, ITEM]"),
    ("F012", "  at: {u: [a]}\n  pinned: [u]\n", 14, "write BROKER"),
    ("F012", "  at: {u: b}\n  only: {u: [a, 5]}\n", 15, 'in quotes: "5"'),
    ("F012", "  apart: [[u, 5]]\n", 14, 'in quotes: "5"'),
    ("F012", "  limits: {items: many}\n", 14, "write a whole number"),
    ("F013", "  limits: {risk: 1}\n", 14, "it must be less than 1"),
    ("F013", "  limits: {risk: 0}\n", 14, "it must be more than 0"),
    ("F013", "  limits: {utilisation: 1.2}\n", 14, "it must be at most 1"),
    ("F013", "  only: {u: []}\n", 14, "at least 1 entry"),
    ("F013", "  brokers: {a: {items: -1}}\n", 14, "limits of broker a: items is -1"),
    ("F014", "  limits: {volume_bytes_s: 50 MB}\n", 14, "write 50000000, a plain number of bytes"),
    ("F014", "  limits: {delay_us: 2ms}\n", 14, "write 2000, a plain number of microseconds"),
]

# The same for faults inside the brokers themselves: the whole text.
BROKER = "federation: f\nbrokers:\n  a: "  # on line 3
WHOLE = [
    ("F002", "", 1, "ropewalk new"),
    ("F002", "# nothing but a comment\n", 1, "ropewalk new"),
    ("F012", "listener 1883\nallow_anonymous true\n", 1, "no federation file"),
    ("F012", "- a\n- b\n", 1, "starts with `federation: NAME`"),
    ("F010", "federation: f\n", 1, "write brokers: {NAME: {}}"),
    ("F010", "brokers: {a: {}}\n", 1, "write federation: NAME"),
    ("F013", "federation: f\nbrokers: {}\n", 2, "at least 1 entry"),
    ("F012", "federation: f\nbrokers: [a, b]\nlinks: [{between: [a, b]}]\n", 2, "{NAME: {}}"),
    ("F015", BROKER + "{make: nat}\n", 3, "did you mean 'nats'?"),
    ("F015", BROKER + "{make: NATS}\n", 3, "did you mean 'nats'?"),
    ("F015", BROKER + "{make: mqtt, url: 'mqtt://h:1'}\n", 3, "did you mean 'mosquitto'?"),
    ("F016", BROKER + "\n  'site:x': {}\n", 4, "is no name"),
    *(("F017", BROKER + f"{{{text}}}\n", 3, "env:NAME") for text in (
        "credentials: hunter2",
        "credentials: {pw: hunter2}",
        "password: hunter2",
        "url: 'nats://u:hunter2@h:1'",
        "url: 'nats://hunter2@h:1'",
        "url: 'u:hunter2@h:1'",
        "url: 'nats://h:1?password=hunter2'",
    )),
    ("F012", BROKER + "hunter2\n", 3, "it is a text: write {site: SITE}"),
    ("F012", BROKER + "{url: ['nats://hunter2.example']}\n", 3, "url is a list"),
    ("F018", BROKER + "{url: 'mqtt://h:1'}\n", 3, "write nats://HOST:PORT"),
    ("F018", BROKER + "{url: 'nats://h:port'}\n", 3, "no address of a nats broker"),
    ("F018", BROKER + "{url: 'nats://h h:1'}\n", 3, "no address of a nats broker"),
    ("F020", BROKER + "{site: nowhere}\n", 3, "no site"),
    ("F020", BROKER + "{node: nowhere}\n", 3, "no underlay node"),
    ("F020", BROKER + "{takeover: [zz]}\n", 3, "'zz'"),
    ("F012", BROKER + "{takeover: b}\n  b: {}\n", 3, "write [BROKER]"),
    ("F031", BROKER + "{takeover: [a]}\n", 3, "its own clients"),
    ("F029", BROKER + "\n  x1: \n  x2: \nroutes: [{at: a, to: x1, next: x*}]\n", 6, "stands for 2 brokers"),
    ("F035", BROKER + "{address: x}\n  b: {address: x}\n", 4, "another broker's"),
    ("F035", BROKER + "{address: b}\n  b: {}\n", 3, "another broker's"),
    *(("F030", f"federation: f\nunderlay: {{nodes: {{{nodes}}}, links: [{{between: [n, m]}}]}}\n"
     f"brokers: {{a: {{{a}}}, b: {{{b}}}}}\nlinks: [{{between: [a, b], via: [{via}]}}]\n", 4, words)
      for nodes, a, b, via, words in (
        ("n: , m: ", "node: n", "node: n", "n, m", "'b' is attached to 'n'"),
        ("n: {xy: [0, 0]}, m: {xy: [9, 9]}", "xy: [0, 1]", "xy: [1, 0]", "n, m", "attached to 'n'"),
        ("n: , m: ", "node: n", "node: n", "n, m, n, m, n", "twice"),
    )),
    ("F017", BROKER + "{password:hunter2}\n", 3, "env:NAME"),
    ("F012", "federation: f\nbrokers:\n  - name: a\n    credentials: hunter2\n", 2, "{NAME: {}}"),
    ("F016", BROKER + "\n  'nats://u:hunter2@h:1': {}\n", 4, "is no name"),
    ("F016", BROKER + "\n  b-: {}\n", 4, "is no name"),
    ("F010", "federation: f\nbrokers:\na: {}\nb: {site: x}\n", 2, "indent the brokers' names"),
    # What was cut because of one fault is not missed a second time.
    ("F011", BROKER + "{site: s}\nsite: {s: {}}\n", 4, "did you mean 'sites'?"),
    ("F011", BROKER + "\n  b:\nlink: [{between: [a, b]}]\nroutes: [{at: a, to: b, next: b}]\n", 5, "'links'?"),
    ("F011", BROKER + "{mak: mosquitto, url: 'mqtt://h:1'}\n", 3, "did you mean 'make'?"),
    ("F011", BROKER + "{type: mosquitto, url: 'mqtt://h:1'}\n", 3, "write make: MAKE"),
    ("F005", BROKER + "\nbrokers: {b: }\nlinks: [{between: [a, b]}]\n", 4, "written twice"),
    ("F012", BROKER + "\n  '101':\n  c:\ndomains: {d: {gateways: ['101', c]}}\n"
     "topics: {t: {publishers: [a, 101], subscribers: [c], scope: domain}}\n", 7, '"101"'),
    ("F012", BROKER + "{site: s}\nsites: {s: 5}\n", 4, "site s: it is 5"),
    ("F012", BROKER + "{site: s}\nsites: [s]\n", 4, "sites is ['s']"),
    ("F012", BROKER + "{node: n}\nunderlay: {nodes: {n: 5}}\n", 4, "underlay node n"),
    ("F012", BROKER + "\ntopics: {t: 5}\nitems: {i: [t]}\n", 4, "topic t: it is 5"),
    ("F012", BROKER + "\nitems: {i: [[t]]}\n", 4, "item i"),
    ("F012", BROKER + "\nprotocols: {p: 5}\ntopics: {t: {publishers: [a], protocol: p}}\n", 4, "protocol p"),
    ("F012", BROKER + "\n  b:\ndomains: {d: {gateways: 5}}\n"
     "topics: {t: {publishers: [a], subscribers: [b], scope: domain}}\n", 5, "write [BROKER]"),
    ("F012", BROKER + "{address: 5}\n  b:\nlinks: [{between: [a, b]}]\n"
     "routes: [{at: '5', to: b, next: b}]\n", 3, 'in quotes: "5"'),
    ("F020", BROKER + "\n  b:\ndomains: {d: {gateways: [a], edges: [a b]}}\n"
     "topics: {t: {publishers: [a], subscribers: [b], scope: domain}}\n", 5, "'a b'"),
]  # fmt: skip

WHOLE += [
    ("F036", BROKER + "\n  b:\nbridges: [{from: a, to: b}]\ntopics: {t: {subscribers: [a]}}\n"
     "placement: {pinned: [t]}\n", 7, "it has neither home nor publisher"),
    ("F024", BROKER + "\ntopics: {t: {}}\nplacement: {pinned: [t]}\n", 4, "no publisher"),
    ("F020", BROKER + "\ntopics: {t: {publishers: [a, zz]}}\nplacement: {pinned: [t]}\n", 4, "'zz'"),
    ("F020", BROKER + "\n  b:\ntopics: {t: {publishers: [zz], scope: domain}}\n"
     "placement: {at: {t: b}, only: {t: [b]}}\n", 5, "'zz'"),
    ("F020", BROKER + "\n  b:\ndomains: {d: {gateways: [a, zz]}}\n"
     "topics: {t: {publishers: [a], scope: domain}}\nplacement: {at: {t: b}}\n", 5, "'zz'"),
    ("F041", BROKER + "\ntopics: {t: {publishers: [a]}, u: {publishers: [a]}}\nplacement:\n"
     "  apart: [[t, u]]\n", 6, "apart group 1: it has 2 items, more than there are brokers: name 1 at most"),
    ("F044", BROKER + "\ntopics: {t: {publishers: [a]}, u: {publishers: [a]}}\n"
     "items: {t: [u]}\n", 5, "item t: a topic in no item has its name"),
    ("F012", BROKER + "\ntopics: {t: {publishers: [a]}}\nitems: {i: 5}\n"
     "placement: {pinned: [i]}\n", 5, "item i: it is 5"),
    ("F012", BROKER + "\ntopics: {t: {publishers: a}}\nplacement: {pinned: [t]}\n", 4, "[BROKER]"),
    ("F012", BROKER + "\ntopics: [t]\nplacement: {pinned: [t]}\n", 4, "topics is ['t']"),
    ("F012", BROKER + "{site: 5}\nsites: {'5': }\ntopics: {t: {publishers: [a]}}\n"
     "placement: {only: {t: ['site:5']}}\n", 3, 'in quotes: "5"'),
]  # fmt: skip

# Slips that break YAML itself: the whole text, the line where the slip is, not where it shows.
SLIPS = [
    ("federation: f\nbrokers:\n\ta: {}\n", 3, "a tab: use spaces"),
    ("federation: f\nbrokers:\n  a: {}\n b: {}\n", 4, "indentation"),
    ("federation:acme\nbrokers: {a: }\n", 1, "no space after the colon"),
    (HEAD + "topics\n  t: {publishers: [a]}\n", 6, "a colon is missing"),
    (HEAD + "links:\n  - between: [a, b]\n    cost 8\n    loss: 0\n", 8, "a colon is missing"),
    (HEAD + "sites: {x: {at: [1, 2]}\nlinks: []\n", 6, "the { that starts here is never closed"),
    (HEAD + "sites: {x: {at: [1, 2}}\nlinks: []\n", 6, "the [ that starts here is never closed"),
    (HEAD + "links: [\n", 6, "never closed"),
    (HEAD + 'sites:\n  x: "abc\n  y: {}\n', 7, "never closed"),
    (HEAD + "<<<<<<< HEAD\nlinks: []\n=======\n", 6, "merge conflict"),
    ("federation:\u00a0f\nbrokers: {a: }\n", 1, "no-break space"),
    (HEAD + "links:\n  -{between: [a, b]}\n", 7, "no space after the dash"),
    (HEAD + "routes:\n - {at: a, to: b, next: *}\n", 7, "goes in quotes"),
    (HEAD + "topics:\n  t: a: b\n", 7, "a second colon"),
    (HEAD + "topics: @x\n", 6, "not YAML (column 9)"),
    (HEAD + 'sites: {x: "C:\\Users"}\n', 6, "starts an escape"),
    (HEAD + "bridges:\n  - from: a\n    addresses:\n    - h:4222\n    - [x\n", 10, "never closed"),
    ("# é é é\n" * 10 + "federation: \x01f\n" + "# x\n" * 9, 11, "remove the character"),
]


def faults(text: str) -> list[Finding]:
    with pytest.raises(FederationError) as caught:
        loads(text, file="f.yaml")
    return list(caught.value.findings)


@pytest.mark.parametrize(
    ("code", "text", "line", "words"),
    [
        *((code, HEAD + text, line, words) for code, text, line, words in CASES),
        *((code, PLACED + text, line, words) for code, text, line, words in PLACEMENT),
        *WHOLE,
        *(("F004", *slip) for slip in SLIPS),
    ],
)
def test_a_fault_is_told_once_with_its_line(code: str, text: str, line: int, words: str) -> None:
    found = faults(text)
    assert [(one.code, one.where.line) for one in found] == [(code, line)], found
    assert words in found[0].message
    assert "hunter2" not in str(found)


def test_every_rule_of_the_file_has_a_case() -> None:
    tested = {code for code, *_ in CASES + PLACEMENT + WHOLE} | {
        "F001",
        "F003",
        "F040",
    }  # those need files
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


def test_lines_stay_true_after_parts_that_are_not_kept() -> None:
    """Of a name written twice one map is dropped, and of a merge the map that was merged."""
    twice = "".join(f"  x: {{at: [{i}, 0]}}\n" for i in range(50))
    merged = "".join(f"  m{i}: {{<<: {{at: [{i}, 0]}}}}\n" for i in range(50))
    found = faults(HEAD + "sites:\n" + twice + merged + "  z: {at: north}\n")
    assert [one.where.line for one in found if one.code == "F012"] == [6 + 50 + 50 + 1]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("topics:\n  a+b:\n    contract: {priority: 99}\n", ["F024", "F025", "F013"]),
        ("links:\n  - {between: [a, b]}\n  - {between: [b, a], latency_ms: -1}\n", ["F022", "F013"]),
        ("sites: {a--b: {at: north}}\n", ["F016", "F012"]),
        ("bridges: [{from: a, to: a, qos: 7}]\n", ["F021", "F013"]),
        ("topics: {t: {publishers: [a], subscribers: [a, a, 6]}}\n", ["F034", "F012"]),
        ("zzzzz: 1\nlinks: [{between: [a, a]}]\ntopics: {t: {}}\n", ["F011", "F021", "F024"]),
        ("topics: {t: {publishers: [a]}}\nplacement: {at: {t: zz, u: a}, pinned: [t, v],\n"
         "  limits: {risk: 2}, apart: [[t]]}\n", ["F013", "F020", "F020", "F020", "F039"]),
        ("links: [{between: [a, b]}, {betwen: [b, c]}]\n"
         "routes: [{at: a, to: b, next: b, colours: [zz]}]\n", ["F011", "F033"]),
    ],
)  # fmt: skip
def test_one_fault_hides_no_other_in_the_same_entry(text: str, codes: list[str]) -> None:
    assert sorted(one.code for one in faults(HEAD + text)) == sorted(codes)


def test_brokers_beside_their_section_hide_no_other_slip() -> None:
    found = faults("federation: f\nbrokers:\na: {}\nb: {site: x}\ntopicz: {}\nnonsense: 5\n")
    assert [(one.code, one.where.line) for one in found] == [("F010", 2), ("F011", 5), ("F011", 6)]


def test_aliases_that_pile_up_depth_are_refused() -> None:
    rows = ["q0: &q0 x"]
    rows += [f"q{i}: &q{i} " + "[" * 9 + f"*q{i - 1}" + "]" * 9 for i in range(1, 200)]
    assert [one.code for one in faults("\n".join(rows))] == ["F004"]


def test_names_and_topics_of_the_world_are_taken() -> None:
    text = """
federation: "12:30"
brokers: {"2024-01-01": , é.ü@x: {url: "nats://[::1]:4222"}, "007": }
links: [{between: ["2024-01-01", 007]}]
topics: {/a//b c: {publishers: [007]}, "na\u200cme": {publishers: [007]}, on/off: {publishers: [007]}}
underlay: {nodes: {n: {risk_groups: [duct]}}}
routes: [{at: 007, to: "2024-01-01", next: "*", colours: ["group:duct", 007--2024-01-01]}]
""".replace('"12:30"', "f")
    federation = loads("\ufeff".removeprefix("\ufeff") + text.replace("\n", "\r\n"))
    assert len(federation.topics) == 3
    assert federation.links[0].between == ("2024-01-01", "007")


def test_a_name_cannot_drive_the_terminal() -> None:
    found = faults(HEAD + 'topics: {"t\\n\\e[31m": {}}\n')
    assert all(one.message.isprintable() for one in found)


def test_a_missing_file_or_folder_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "nope.yaml", tmp_path / "f.yaml" / "deeper.yaml"):
        (tmp_path / "f.yaml").write_text("x")
        with pytest.raises(FederationError, match="F001 cannot be read"):
            load(path)


def test_bytes_that_are_not_utf8_are_told_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"federation: f\nbrokers: {caf\xe9: {}}\n")
    with pytest.raises(FederationError, match=r"f.yaml:2: F001 it is not UTF-8 \(byte 0xe9\)"):
        load(file)
    file.write_text("federation: f\nbrokers: {a: }\n", "utf-16")
    with pytest.raises(FederationError, match="F001 it is UTF-16: save"):
        load(file)
    file.write_bytes(b"\x7fELF\xff\0\0")
    with pytest.raises(FederationError, match="F001 it is a binary file"):
        load(file)


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    with file.open("wb") as out:
        out.truncate(100_000_000)
    for endless in (file, Path("/dev/zero")):
        with pytest.raises(
            FederationError, match=f"F003 more than {MAX_YAML_MB} MB.*ropewalk read"
        ):
            load(endless)


@pytest.mark.parametrize("path", ["a" * 5000, "a\0b", "/proc/self/mem"])
def test_a_path_that_no_file_can_have_is_told(path: str) -> None:
    with pytest.raises(FederationError, match="F001 cannot be read"):
        load(path)


def test_half_characters_are_told() -> None:
    assert [one.code for one in faults("federation: \ud800\n")] == ["F001"]


def test_a_hint_is_not_cut_at_a_colon_in_a_name() -> None:
    found = faults(HEAD + "topics: {'x: yz': {publishers: [a]}}\nitems: {i: ['x: yy']}\n")
    assert found[0].message == "item i: no topic is called 'x: yy': did you mean 'x: yz'?"


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
