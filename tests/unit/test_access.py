"""Access to brokers: what the federation file and its secrets say, and what is wrong with them."""

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
import trustme

from ropewalk.agent.access import access_of
from ropewalk.agent.brokers.contract import Access
from ropewalk.errors import UsageError
from ropewalk.federation.facts import Broker, Federation, Make


def reached(
    url: str | None = "nats://broker.test",
    *,
    secret: str | None = None,
    make: Make = "nats",
    reach: str | None = None,
    watch: str | None = None,
) -> Access:
    broker = Broker(make=make, url=url, credentials=secret, watch=watch)
    return access_of(Federation(name="f", brokers={"b": broker}), "b", reach=reach)


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> "Secret":
    return Secret(monkeypatch)


class Secret:
    """Puts a text where `env:RW_SECRET` finds it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, text: str) -> str:
        self._monkeypatch.setenv("RW_SECRET", text)
        return "env:RW_SECRET"


@pytest.mark.parametrize(
    ("make", "url", "host", "port", "tls"),
    [
        ("nats", "nats://h", "h", 4222, False),
        ("nats", "tls://h:1", "h", 1, True),
        ("mosquitto", "mqtt://h", "h", 1883, False),
        ("mosquitto", "mqtts://[::1]/", "::1", 8883, True),
        ("rabbitmq", "amqp://h", "h", 5672, False),
        ("rabbitmq", "amqps://h", "h", 5671, True),
    ],
)
def test_a_url_tells_host_port_and_tls(
    make: Make, url: str, host: str, port: int, tls: bool
) -> None:
    access = reached(url, make=make)
    assert (access.name, access.host, access.port, access.tls is not None) == ("b", host, port, tls)
    assert access.server_name == (host if tls else "")


def test_reach_changes_host_and_port_only(secret: Secret) -> None:
    access = reached(
        "tls://broker.test:4222",
        secret=secret("u:p"),
        reach="127.0.0.1:9000",
        watch="leaf://broker.test:7422",
    )
    assert (access.host, access.port) == ("127.0.0.1", 9000)
    assert access.tls is not None
    assert (access.server_name, access.user) == ("broker.test", "u")
    assert access.watch == "leaf://broker.test:7422"


@pytest.mark.parametrize(
    ("text", "user", "password"),
    [
        ("bob:secret", "bob", "secret"),
        ("bob:se=cr:et \n", "bob", "se=cr:et "),
        ("user=bob\npassword=a:b=c\n", "bob", "a:b=c"),
        ("# for the agent\n\nuser=bob", "bob", ""),
    ],
)
def test_a_secret_is_one_line_or_keys(secret: Secret, text: str, user: str, password: str) -> None:
    access = reached(secret=secret(text))
    assert (access.user, access.password) == (user, password)
    assert password not in repr(access) or not password


# --- faults -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "url"),
    [
        ("nats", "mqtt://h"),
        ("mosquitto", "amqps://h"),
        ("rabbitmq", "tls://h"),
        ("nats", "wss://h"),
        ("nats", "nats://:4222"),
        ("nats", "nats://h:0"),
        ("nats", "nats://h:99999"),
        ("nats", "nats://[h"),
        ("rabbitmq", "amqp://h/vhost"),
    ],
)
def test_a_url_that_does_not_fit_the_make_is_refused(make: Make, url: str) -> None:
    with pytest.raises(UsageError, match=r"broker b: .*://HOST:PORT"):
        reached(url, make=make)


def test_a_broker_without_url_or_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="broker b has no url"):
        reached(None)
    federation = Federation(name="f", brokers={"b": Broker()})
    with pytest.raises(UsageError, match="broker c is not there: name one of b"):
        access_of(federation, "c")


@pytest.mark.parametrize("reach", ["", "host", "host:none", ":1", "host:0", "[::1"])
def test_a_reach_that_is_no_place_is_refused(reach: str) -> None:
    with pytest.raises(UsageError, match="write HOST:PORT"):
        reached(reach=reach)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing is in it"),
        ("hunter2", "line 1: it begins with none of user= "),
        ("user=bob\n\npasswort=hunter2", "line 3: it begins with none of"),
        ("user=bob\nhunter2", "line 2: it begins with none of"),
        ("password=hunter2", "a password without a user"),
        ("user=a\npassword=hunter2\nuser=b", "line 3: user= is there twice"),
        ("user=a\npassword=hunter2\nca=x.pem", r"ca= is of no use with nats://: write tls://"),
    ],
)
def test_a_faulty_secret_is_refused_and_never_shown(secret: Secret, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=f"broker b.*{says}") as told:
        reached(secret=secret(text))
    assert "hunter2" not in str(told.value)


def test_a_secret_that_is_not_there_says_where_it_should_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="env:RW_NOT_SET: the variable is not set"):
        reached(secret="env:RW_NOT_SET")
    with pytest.raises(UsageError, match=rf"{tmp_path}/no: the file cannot be read \(No such"):
        reached(secret=f"file:{tmp_path}/no")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="no UTF-8 text"):
        reached(secret=f"file:{tmp_path}/bytes")


# --- TLS --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def certificates(tmp_path: Path, authority: trustme.CA) -> Path:
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    own = authority.issue_cert("agent.test")
    own.private_key_pem.write_to_path(tmp_path / "own.key")
    own.private_key_and_cert_chain_pem.write_to_path(tmp_path / "own.pem")
    return tmp_path


def handshake(access: Access, authority: trustme.CA, name: str) -> str:
    """Shake hands with a server that has a certificate for a name; the client's name as it sees."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(server)
    authority.configure_trust(server)
    server.verify_mode = ssl.CERT_REQUIRED
    seen: list[str] = []

    def serve(end: socket.socket) -> None:
        try:
            with server.wrap_socket(end, server_side=True) as ours:
                certificate: Any = ours.getpeercert()
                seen.extend(value for _, value in certificate["subjectAltName"])
        except ssl.SSLError:
            end.close()

    theirs, ours = socket.socketpair()
    thread = threading.Thread(target=serve, args=(ours,))
    thread.start()
    assert access.tls is not None
    try:
        with theirs, access.tls.wrap_socket(theirs, server_hostname=access.server_name) as done:
            done.recv(1)
    finally:
        thread.join()
        ours.close()
    return seen[0]


def test_tls_proves_both_ends(certificates: Path, authority: trustme.CA) -> None:
    text = "ca=ca.pem\ncertificate=own.pem\nkey=own.key\n"
    (certificates / "secret").write_text(text)
    access = reached("tls://broker.test", secret=f"file:{certificates}/secret", reach="127.0.0.1:1")
    assert access.tls is not None
    assert access.tls.minimum_version == ssl.TLSVersion.TLSv1_2
    assert handshake(access, authority, "broker.test") == "agent.test"
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(access, authority, "other.test")
    (certificates / "secret").write_text(text + "server_name=other.test")
    access = reached("tls://broker.test", secret=f"file:{certificates}/secret")
    assert handshake(access, authority, "other.test") == "agent.test"


def test_an_authority_that_is_not_named_is_not_trusted(authority: trustme.CA) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        handshake(reached("tls://broker.test"), authority, "broker.test")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ca={}/own.key", r"ca=.*own.key is no certificate"),
        ("ca={}/none", r"ca=.*none cannot be read \(No such file"),
        ("certificate={}/ca.pem\nkey={}/own.key", "no certificate and its key"),
        ("certificate={}/none", r"certificate=.*none cannot be read"),
        ("key={}/own.key", "key= without certificate="),
    ],
)
def test_tls_files_that_cannot_be_used_are_named(
    secret: Secret, certificates: Path, text: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        reached("tls://broker.test", secret=secret(text.replace("{}", str(certificates))))
