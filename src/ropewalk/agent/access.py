"""How to reach a broker: its URL and its secret, as the federation file names them.

A secret is one line `user:password`, or lines `user=`, `password=`, `ca=PATH`, `certificate=PATH`,
`key=PATH`, `server_name=`; empty lines and lines that begin with `#` say nothing. Paths are seen
from the folder of the secret's file. No message repeats anything that may be a password.
"""

import os
import ssl
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from ropewalk.agent.brokers.contract import Access
from ropewalk.errors import UsageError
from ropewalk.federation.facts import Broker, Federation

PORTS = {"nats": 4222, "tls": 4222, "mqtt": 1883, "mqtts": 8883, "amqp": 5672, "amqps": 5671}
SCHEMES = {
    "nats": ("nats", "tls"),
    "mosquitto": ("mqtt", "mqtts"),
    "rabbitmq": ("amqp", "amqps"),
}
"""What an agent speaks with each make: plain, and by TLS."""
_TLS_KEYS = ("ca", "certificate", "key", "server_name")
_KEYS = ("user", "password", *_TLS_KEYS)


def over_tls(federation: Federation, broker: str) -> bool:
    r"""Whether a broker's agent reaches it, or one of its neighbours, over TLS.

    >>> from ropewalk import loads
    >>> two = loads("federation: f\nbrokers: {a: {url: 'tls://h:4222'}, b: {}}")
    >>> over_tls(two, "a"), over_tls(two, "b")
    (True, False)
    """
    secure = {by_tls for _, by_tls in SCHEMES.values()}
    near = {
        broker,
        *(to for link in federation.links if broker in link.between for to in link.between),
    }
    urls = (facts.url or "" for name, facts in federation.brokers.items() if name in near)
    return any(url.partition("://")[0] in secure for url in urls)


def access_of(federation: Federation, broker: str, *, reach: str | None = None) -> Access:
    """How to reach a broker; `reach` is a HOST:PORT to go to instead of its own.

    The scheme, and the name that its certificate must say, stay those of the federation file.
    Raises UsageError if the URL or the secret cannot be used.
    """
    where = f"{federation.source.file}: broker {broker}"
    facts = federation.brokers.get(broker)
    if facts is None:
        known = ", ".join(list(federation.brokers)[:10])
        raise UsageError(f"{where} is not there: name one of {known}")
    url = _url(facts, where)
    secret, folder = _secret(facts.credentials, where)
    at = _split(f"//{reach}") if reach is not None else url
    host, port = _host(at), _port(at)
    if reach is not None and not (host and port):
        raise UsageError(f"{reach!r} is no place to reach {broker} at: write HOST:PORT")
    tls = _tls(url, secret, folder, where)
    return Access(
        name=broker,
        host=host,
        port=port or PORTS[url.scheme],
        tls=tls,
        server_name=secret.get("server_name", _host(url)) if tls else "",
        user=secret.get("user", ""),
        password=secret.get("password", ""),
        watch=facts.watch or "",
    )


def login_of(credentials: str, what: str) -> tuple[str, str]:
    """User and password, from `env:NAME` or `file:PATH`; raises UsageError."""
    if not credentials.startswith(("env:", "file:")):
        raise UsageError(f"{what} {credentials!r}: write env:NAME or file:PATH")
    secret, _ = _secret(credentials, what)
    if "user" not in secret:
        raise UsageError(f"{what} {credentials}: it names no user: write user:password")
    return secret["user"], secret.get("password", "")


def _url(facts: Broker, where: str) -> SplitResult:
    plain, by_tls = SCHEMES[facts.make]
    forms = f"{plain}://HOST:PORT or {by_tls}://HOST:PORT"
    if facts.url is None:
        raise UsageError(f"{where} has no url: an agent needs one; write {forms}")
    url = _split(facts.url)
    if url.scheme not in SCHEMES[facts.make] or not _host(url) or _port(url) == 0:
        raise UsageError(f"{where}: an agent reaches a {facts.make} broker by {forms}")
    if url.path not in ("", "/"):
        raise UsageError(f"{where}: its url goes on behind the port: write {forms}")
    return url


def _split(url: str) -> SplitResult:
    """A URL's parts; all empty if it cannot be one."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _host(url: SplitResult) -> str:
    return url.hostname or ""


def _port(url: SplitResult) -> int | None:
    """None if there is none; 0 if it is none."""
    try:
        return url.port
    except ValueError:
        return 0


# --- the secret -------------------------------------------------------------------------------


def _secret(credentials: str | None, where: str) -> tuple[dict[str, str], Path]:
    """What it says, and the folder that its paths are seen from."""
    if credentials is None:
        return {}, Path()
    kind, _, place = credentials.partition(":")
    where = f"{where}: credentials {credentials}"
    if kind == "env":
        text = os.environ.get(place)
        if text is None:
            raise UsageError(f"{where}: the variable is not set: `export {place}=user:password`")
        return _parsed(text, where), Path()
    path = Path(place)
    try:
        return _parsed(path.read_text(encoding="utf-8"), where), path.parent
    except OSError as error:
        raise UsageError(
            f"{where}: the file cannot be read ({error.strerror}): write user:password into it, "
            "readable by the agent"
        ) from error
    except UnicodeDecodeError:
        raise UsageError(f"{where}: the file is no UTF-8 text: write user:password") from None


def _parsed(text: str, where: str) -> dict[str, str]:
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise UsageError(f"{where}: nothing is in it: write user:password")
    if len(lines) == 1 and ":" in lines[0][1].partition("=")[0]:
        user, _, password = lines[0][1].partition(":")
        return {"user": user, "password": password}
    return _by_key(lines, where)


def _by_key(lines: list[tuple[int, str]], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in lines:
        key, mark, value = line.partition("=")
        if not mark or key not in _KEYS:
            known = " ".join(f"{key}=" for key in _KEYS)
            raise UsageError(
                f"{where}, line {number}: it begins with none of {known}(or write one line "
                "user:password)"
            )
        if key in found:
            raise UsageError(f"{where}, line {number}: {key}= is there twice: keep one")
        found[key] = value
    if "password" in found and "user" not in found:
        raise UsageError(f"{where}: a password without a user: add user=")
    return found


# --- TLS --------------------------------------------------------------------------------------


def _tls(
    url: SplitResult, secret: dict[str, str], folder: Path, where: str
) -> ssl.SSLContext | None:
    given = [key for key in _TLS_KEYS if key in secret]
    by_tls = dict(SCHEMES.values()).get(url.scheme)
    if by_tls is not None and given:
        raise UsageError(
            f"{where}: {given[0]}= is of no use with {url.scheme}://: "
            f"write {by_tls}:// in its url, or leave it out"
        )
    if by_tls is not None:
        return None
    context = _trusting(secret, folder, where)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _add_certificate(context, secret, folder, where)
    return context


def _trusting(secret: dict[str, str], folder: Path, where: str) -> ssl.SSLContext:
    if "ca" not in secret:
        return ssl.create_default_context()
    path = folder / secret["ca"]
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError:
        raise UsageError(
            f"{where}: ca={path} is no certificate: name the authority's, as a PEM file"
        ) from None
    except OSError as error:
        raise UsageError(f"{where}: ca={path} cannot be read ({error.strerror})") from None


def _add_certificate(
    context: ssl.SSLContext, secret: dict[str, str], folder: Path, where: str
) -> None:
    if "certificate" not in secret:
        if "key" in secret:
            raise UsageError(f"{where}: key= without certificate=: add the certificate")
        return
    certificate = folder / secret["certificate"]
    key = folder / secret["key"] if "key" in secret else None
    named = f"certificate={certificate}" + (f" key={key}" if key else "")
    try:
        # Without a password to try, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError:
        raise UsageError(
            f"{where}: {named} are no certificate and its key: name PEM files that belong "
            "together, the key without a passphrase"
        ) from None
    except OSError as error:
        raise UsageError(f"{where}: {named} cannot be read ({error.strerror})") from None
