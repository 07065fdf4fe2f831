"""Laws of NATS configurations: the server's verdict on syntax is ours; nothing raises; no secrets."""

import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropewalk.export.nats import write_nats
from ropewalk.export.nats_text import dump
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.joining import join
from ropewalk.federation.readers.nats import parse_nats, read_nats
from ropewalk.federation.readers.nats.refused import is_size, is_subject, is_url, seconds_of
from ropewalk.findings import Where

SERVER = Path(sys.executable).parent / "nats-server"
EXAMPLES = sorted(Path("examples/native/nats").rglob("*.conf"))
TEXTS = [one.read_text() for one in EXAMPLES]
SEEDS = range(40)
SYNTAX = re.compile(
    r"Parse error|config is invalid|variable reference|[Ii]nteger '|panic|has no values"
)
BASES = [
    'port: 4222\nserver_name = "a b\\tc"\ncluster { name: c, routes: [ nats://a:1, "nats://b:2"\n nats://c:3 ] }\n',
    '{"port": 4222, "cluster": {"name": "x", "routes": ["nats://a:1"]}}\n',
    "A: 5k\nport $A // x\n# c\nleafnodes {\n remotes [ { urls: ['nats://a:1', nats://b:2]; account: $B }\n"
    " {url: 1.2.3.4:5} ]\n}\nlame_duck_duration: 2m\nx (\nabc\n)\ny 2024-01-02T03:04:05Z\nz -5.5 k 7.25\n w 2a$11$x\n",
]
TOKENS = [
    *"{}[]:=,;#/\"'\\()$- \n\t0159.kmbTx\0\r\x85",
    *("include ", "//", "\n)\n", "true", "5kb", "$A", '"}'),
]


def mutated(text: Any, rnd: random.Random, tokens: Any = TOKENS) -> Any:
    for _ in range(rnd.randint(1, 5)):
        at = rnd.randrange(len(text) + 1)
        way = rnd.random()
        if way < 0.5:
            text = text[:at] + rnd.choice(tokens) + text[at:]
        elif way < 0.8:
            text = text[:at] + text[at + rnd.randint(1, 3) :]
        else:
            other = rnd.randrange(len(text) + 1)
            text = text[:at] + text[min(at, other) : max(at, other)] + text[at:]
    return text


@pytest.mark.parametrize("seed", SEEDS)
def test_the_server_and_we_agree_on_syntax(seed: int, tmp_path: Path) -> None:
    rnd = random.Random(seed)
    path = tmp_path / "nats.conf"
    for _ in range(50):
        text = mutated(rnd.choice(BASES), rnd)
        path.write_text(text, encoding="utf-8", newline="")
        ours = parse_nats(text, "nats.conf", include=lambda _: None)
        if not ours.complete:
            continue
        done = subprocess.run(
            [SERVER, "-t", "-c", path], capture_output=True, text=True, timeout=20
        )
        if "include file" in done.stderr:
            continue
        assert ours.broken == bool(SYNTAX.search(done.stderr)), (seed, text, done.stderr)


PIECES = {
    "url": ["nats", "://", "h", ":", "1", "foo", "@", "{A}", "$", " ", "[", "::1", "]", "/", "<", "%", "%41", "?", "#"],
    "time": ["1", ".", "5", "s", "m", "ms", "h", "-", " ", "0"],
    "size": ["1", "0", "G", "K", "T", "B", ".", "-", " ", "P"],
    "subject": ["a", ".", "*", ">", " ", "b", "$X"],
}  # fmt: skip
WITHIN = {
    "url": ("leafnodes {{ remotes: [{{url: {}}}] }}", is_url),
    "time": ("write_deadline: {}", lambda text: seconds_of(text) is not None),
    "size": ("jetstream {{ max_mem: {} }}", is_size),
    "subject": ("leafnodes {{ remotes: [{{url: nats://h, deny_imports: {}}}] }}", is_subject),
}


@pytest.mark.parametrize("kind", PIECES)
@pytest.mark.parametrize("seed", range(5))
def test_the_server_and_we_agree_on_values(kind: str, seed: int, tmp_path: Path) -> None:
    rnd = random.Random(f"{kind} {seed}")
    setting, good = WITHIN[kind]
    path = tmp_path / "nats.conf"
    for _ in range(20):
        value = "".join(rnd.choices(PIECES[kind], k=rnd.randint(1, 7)))
        path.write_text(setting.format(f"'{value}'"))
        done = subprocess.run([SERVER, "-t", "-c", path], capture_output=True, timeout=20)
        assert good(value) == (done.returncode == 0), (seed, value, done.stderr)


def check(text: Any, files: Any) -> Any:
    drafts = Drafts()
    read_nats(text, "a.conf", "a", drafts, include=files.get)
    names = {one.name for one in drafts.brokers}
    assert len(names) == len(drafts.brokers)
    for one in drafts.bridges:
        assert one.at in names
        assert not isinstance(one.far, str) or one.far in names
    for told in drafts.findings:
        assert told.where.file
        whole = "empty" in told.message or "passed over" in told.message or not text.strip()
        assert told.where.line > 0 or whole
        assert "\n" not in told.message
    assert not drafts.faults or all(one.code[0] == "C" for one in drafts.faults)
    return drafts


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_raises(seed: int) -> None:
    rnd = random.Random(seed)
    lines = [line for text in TEXTS for line in text.splitlines()]
    words = [word for text in TEXTS for word in text.split()]
    for _ in range(60):
        text = rnd.choice(TEXTS)
        way = rnd.random()
        if way < 0.4:
            text = mutated(text, rnd)
        elif way < 0.7:
            text = mutated(text, rnd, words)
        else:
            mixed = text.splitlines()
            for _ in range(rnd.randint(1, 6)):
                mixed.insert(rnd.randrange(len(mixed) + 1), rnd.choice(lines))
                del mixed[rnd.randrange(len(mixed))]
            text = "\n".join(mixed)
        drafts = check(text, {"./passwords.conf": rnd.choice(TEXTS)})
        if not drafts.faults:
            federation = join("f", drafts).federation
            written, _ = write_nats(federation, "a", rnd.choice([None, text]))
            assert not parse_nats(written, "w", include=lambda _: None).broken


@pytest.mark.parametrize("seed", SEEDS)
def test_secrets_stay_where_they_are(seed: int) -> None:
    """Whatever is around it: a user, password or token is in no draft and in no finding."""
    rnd = random.Random(seed)
    secret = "GeHeIm"
    places = [
        f"authorization {{ user: {secret}, password: {secret} }}",
        f"authorization {{ token: '{secret}' }}",
        f"cluster {{ name: c, port: 1, routes: [nats://{secret}:{secret}@h:1] }}",
        f"leafnodes {{ remotes: [{{url: 'nats://{secret}:{secret}@h:1'}}] }}",
        f"leafnodes {{ remotes: [{{urls: ['nats://{secret}@h:99999', '{secret}@h']}}] }}",
        f"accounts {{ A {{ users: [{{nkey: {secret}}}, {{user: {secret}, pass: {secret}}}] }} }}",
    ]
    for _ in range(20):
        text = "\n".join(rnd.sample(places, rnd.randint(1, 4)))
        drafts = check(
            mutated(text, rnd, ["\n", "{", "}", "5", ","]) if rnd.random() < 0.3 else text, {}
        )
        told = [one for one in drafts.findings if secret in one.message]
        assert all("no setting of" in one.message or "stands at" in one.message for one in told), (
            told
        )
        assert secret not in repr(drafts.bridges)


def plain(drafts: Any) -> Any:
    nowhere = Where("")
    brokers = [replace(one, where=nowhere) for one in drafts.brokers]
    bridges = [
        replace(
            one,
            where=nowhere,
            lines={},
            far=one.far
            if isinstance(one.far, str)
            else tuple(replace(far, where=nowhere) for far in one.far),
        )
        for one in drafts.bridges
    ]
    return sorted(map(repr, brokers)), sorted(map(repr, bridges))


def subject(rnd: random.Random) -> Any:
    levels = [rnd.choice(["a", "b", "c", "*"]) for _ in range(rnd.randint(1, 3))]
    return ".".join([*levels, ">"] if rnd.random() < 0.4 else levels)


def server(rnd: random.Random) -> Any:
    """A configuration that the server accepts."""
    made: dict[str, Any] = {"port": 4222, "server_name": "a"}
    if rnd.random() < 0.6:
        made["cluster"] = {"name": "c", "port": 6222}
        made["cluster"]["routes"] = [f"nats://u:p@r{i}.net:6222" for i in range(rnd.randint(0, 3))]
    if rnd.random() < 0.5:
        made["gateway"] = {
            "name": "c",
            "port": 7222,
            "gateways": [
                {"name": f"g{i}", "urls": [f"nats://g{i}.net:7222"]}
                for i in range(rnd.randint(0, 3))
            ],
        }
    accounts: dict[str, Any] = {}
    if rnd.random() < 0.6:
        for name in ("A", "B"):
            accounts[name] = {"users": [{"user": name, "password": "p"}]}
        exports = [subject(rnd) for _ in range(rnd.randint(1, 3))]
        accounts["A"]["exports"] = [{"stream": one} for one in dict.fromkeys(exports)]
        accounts["B"]["imports"] = [
            {"stream": {"account": "A", "subject": one}, "prefix": f"p{i}"}
            for i, one in enumerate(dict.fromkeys(exports))
        ]
        made["accounts"] = accounts
    remotes = []
    for i in range(rnd.randint(0, 3)):
        remote: dict[str, Any] = {
            "urls": [f"nats://u:p@h{i}-{k}.net:7422" for k in range(rnd.randint(1, 3))]
        }
        if accounts and rnd.random() < 0.7:
            remote["account"] = rnd.choice(["A", "B"])
        if rnd.random() < 0.5:
            remote["no_randomize"] = True
        for deny in ("deny_imports", "deny_exports"):
            if rnd.random() < 0.4:
                remote[deny] = [subject(rnd) for _ in range(rnd.randint(1, 2))]
        remotes.append(remote)
    if remotes:
        made["leafnodes"] = {"remotes": remotes}
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_written_says_what_was_read(seed: int, tmp_path: Path) -> None:
    rnd = random.Random(seed)
    for i in range(10):
        text = dump(server(rnd))
        first = check(text, {})
        assert not first.faults, first.faults
        written, _ = write_nats(join("f", first).federation, "a", text)
        again = check(written, {})
        assert plain(again) == plain(first), text
        if i < 2:
            path = tmp_path / "nats.conf"
            path.write_text(written)
            done = subprocess.run(
                [SERVER, "-t", "-c", path], capture_output=True, text=True, timeout=20
            )
            assert done.returncode == 0, (done.stderr, written)
