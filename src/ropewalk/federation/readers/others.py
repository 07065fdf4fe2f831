"""Files that hold or make brokers' configurations and are none themselves: what to do with them."""

import re
from pathlib import Path

from ropewalk.federation.readers.rabbitmq.scripts import is_script

SCRIPTS = (".sh", ".bash", ".ksh", ".zsh")
PROSE = (".md", ".markdown", ".rst", ".adoc")
_YAML = (".yaml", ".yml")
_COMPOSE = re.compile(r"^services:.*?^\s+[\"']?(?:image|build)[\"']?\s*:", re.MULTILINE | re.DOTALL)
_VALUES = re.compile(r"^(?:nats|natsbox|natsBox|rabbitmq|mosquitto|replicaCount)\s*:", re.MULTILINE)
_WRITES = re.compile(
    r"^[^#\n]*\b(?:cat|tee)\b[^\n]*<<|^[^#\n]*=\s*<<[-~]?[A-Z_]+[ \t]*$", re.MULTILINE
)
"""Commands, and settings of tools, that write a text to a file."""
_PLAIN = (".json", ".conf", ".config", ".cfg", *SCRIPTS)
_TOOLS = re.compile(
    r"\brabbitmq_(?:parameter|policy|operator_policy|federation_upstream|shovel|exchange|binding|"
    r"queue|vhost|upstream)s?(?:[\"']?\s*[:\"'{]|\.(?:present|absent)\b)"
    r"|^apiVersion:\s*rabbitmq\.com/",
    re.MULTILINE,
)
"""Ansible, Terraform, Puppet, Salt, and what operators in Kubernetes are given."""
_PROGRAMS = (
    *(".py", ".rb", ".js", ".mjs", ".ts", ".go", ".java", ".kt", ".cs", ".php", ".pl", ".ex"),
    *(".exs", ".erl", ".rs", ".groovy", ".scala", ".clj", ".ps1", ".psm1"),
)
_OURS = re.compile(r"^[\"']?(?:federation|asyncapi)[\"']?\s*:", re.MULTILINE)
_HTTP = re.compile(r"^(?:[\"']?|\{?\s*\"?)(?:openapi|swagger)[\"']?\s*:\s*[\"']?\d", re.MULTILINE)
_PASSWORDS = re.compile(r"\A(?:[^\s:#]+:\$[67]\$\S+\s*)+\Z")
MANIFEST = re.compile(r"(?:(?:#|---|\{\{).*\n|\s)*apiVersion:.*?^kind:", re.MULTILINE | re.DOTALL)
_TEMPLATES = (".j2", ".jinja", ".jinja2", ".tpl", ".tmpl", ".gotmpl", ".erb", ".template")
_LOOKED_INTO = (*_YAML, *_PLAIN, *_PROGRAMS, *_TEMPLATES, ".tf", ".pp", ".txt", "")
_BROKERS = re.compile(
    r"mosquitto|rabbitmq|\bnats\b|leafnodes|amqp|mqtt|remote_clientid|^connection\s",
    re.IGNORECASE | re.MULTILINE,
)
_TOPIC_LINE = re.compile(r"topic\s+\S+\s+(?:in|out|both)\b")
_MOST_BYTES = 1_000_000
_RUN = "run it, and read what `rabbitmqctl export_definitions FILE` writes then"
_EACH = "save each configuration that it shows as a file of its own, and read these"
IN_MANIFEST = (
    "it is a Kubernetes manifest: save each file that it holds below data as one of its own, "
    "and read these"
)


def foreign(path: Path, text: str) -> str | None:
    r"""What a file is that is no configuration, and the next step; None if it may be one.

    >>> foreign(Path("compose.yaml"), "services:\n  a:\n    image: nats\n").partition(":")[0]
    'it is a Compose file'
    """
    suffix = path.suffix.lower()
    if suffix not in _PLAIN and (what := for_rabbitmq(text)) is not None:
        return f"it is a program that sets up RabbitMQ: {_RUN}" if suffix in _PROGRAMS else what
    if suffix in PROSE:
        return f"it is a text for people: {_EACH}"
    if text.startswith("#cloud-config"):
        return f"it is for cloud-init: {_EACH.replace('shows', 'writes')}"
    if _PASSWORDS.match(text):
        return "it is a password file of Mosquitto: read the mosquitto.conf that names it"
    if _HTTP.search(text[:4096]) and not _OURS.search(text):
        what = "it is an OpenAPI document, which describes requests to a server and no messages"
        return f"{what}: read the broker's configuration, or an AsyncAPI document"
    writes = suffix not in (*_YAML, ".json") and _WRITES.search(text)
    if suffix in SCRIPTS or text.startswith("#!") or writes:
        return f"it is a script: {_EACH.replace('shows', 'writes')}"
    if suffix not in _YAML or _OURS.search(text):
        return None
    if _COMPOSE.search(text):
        return "it is a Compose file: read the configurations that it mounts into its containers"
    if _VALUES.search(text):
        return (
            "it is values of a Helm chart: run helm template, and read the configuration it makes"
        )
    return None


def for_rabbitmq(text: str) -> str | None:
    """What a text is that sets up RabbitMQ, and is no script of commands for it.

    >>> for_rabbitmq("kind: Shovel"), for_rabbitmq("rabbitmq_parameter: {}").partition(":")[0]
    (None, 'it is for a tool that sets up RabbitMQ')
    """
    if _TOOLS.search(text):
        return f"it is for a tool that sets up RabbitMQ: {_RUN}"
    if is_script(text):
        return (
            "it has commands for RabbitMQ, and is no shell script: save these in a file that ends "
            "in .sh, and read that"
        )
    return None


def hidden(path: Path) -> str | None:
    """What a file of a folder is that is about brokers and cannot be read as it is; else None."""
    if path.suffix.lower() not in _LOOKED_INTO:
        return None
    try:
        with path.open("rb") as opened:
            content = opened.read(_MOST_BYTES)
    except OSError:
        return None  # why it cannot be read is told where it is read
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        about = _BROKERS.search(content.decode("utf-16", errors="replace"))
        return "it is UTF-16: save the file as UTF-8 text" if about else None
    text = content.decode("utf-8", errors="replace")
    lines = [one.strip() for one in text.splitlines()]
    said = [one for one in lines if one and not one.startswith("#")]
    if said and all(map(_TOPIC_LINE.match, said)):
        what = "it has the topics of a bridge of Mosquitto, and not its connection"
        return f"{what}: write both into one file, or read the one that includes it"
    if not _BROKERS.search(text) and not _BROKERS.search(path.name):
        return None
    if path.suffix.lower() in _TEMPLATES:
        return "it is a template: fill it in first, and read what comes out"
    if MANIFEST.match(text):
        return for_rabbitmq(text) or IN_MANIFEST
    if path.suffix.lower() in _PROGRAMS:
        return for_rabbitmq(text) and f"it is a program that sets up RabbitMQ: {_RUN}"
    return foreign(path, text)
