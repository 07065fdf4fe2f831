"""Scripts that set up federation: what each of their commands changes, and at which server.

`docker exec rabbit-north rabbitmqctl ...`, `rabbitmqctl -n rabbit@north`, `ssh north rabbitmqctl`,
`rabbitmqadmin -H north` and requests to `http://north:15672/api` all name their server; a command
that names none is for the server that the script belongs to.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import Change
from ropewalk.federation.readers.rabbitmq.commands import CHANGES, LOADS, Teller
from ropewalk.federation.readers.shell import Command, Shell, Word
from ropewalk.federation.showing import label
from ropewalk.findings import Where

OWN = ""
"""The server that a script belongs to."""
DEPTH = 4
"""Scripts within scripts: `ssh north "docker exec rabbit bash -c '...'"`."""
_TOOL = re.compile(
    r"(?:.*[/\\])?(rabbitmqctl|rabbitmqadmin|rabbitmqadmin-ng)(\.bat|\.py|-[\d.]+)?\Z"
)
_LOOKS = re.compile(
    r"^(?!\s*#).*\b(?:rabbitmqctl|rabbitmqadmin)(?:\.\w+)?['\"]?\s+\S"
    r"|^(?!\s*#).*\bset_(?:parameter|policy)\s+\S"
    r"|^(?!\s*#).*/api/(?:parameters|policies|definitions|exchanges)\b",
    re.MULTILINE,
)
_LOCAL = ("", "localhost", "127.0.0.1")
_LOGINS = re.compile(r"user|permission|password|credential|auth")
_EXEC = ("docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "lxc", "incus")
_EXEC_WITH_VALUE = {
    *("-u", "--user", "-e", "--env", "-w", "--workdir", "-n", "--namespace", "-c", "--container"),
    *("--index", "-f", "--file", "-p", "--project-name", "--context", "--env-file", "--kubeconfig"),
}
_SSH_WITH_VALUE = {"-i", "-p", "-l", "-o", "-F", "-J", "-L", "-R"}


def is_script(text: str) -> bool:
    r"""Whether a text is a script that has something to say to RabbitMQ.

    >>> is_script("docker exec r1 rabbitmqctl set_policy a . '{}'"), is_script("echo rabbit")
    (True, False)
    """
    return _LOOKS.search(text) is not None


@dataclass(slots=True)
class Script:
    """What a script changes at each server, and which nodes it joins to one cluster."""

    changes: dict[str, list[Change]] = field(default_factory=dict)
    joined: dict[str, str] = field(default_factory=dict)


def read_script(text: str, file: str, drafts: Drafts) -> Script:
    """Follow a script; what of it changes nothing that is modelled is told."""
    follower = _Follower(file, drafts, Teller(file, drafts))
    shell = Shell()
    for command in shell.commands(text):
        follower.follow(command, shell, OWN, 0)
    for line in shell.odd[:5]:
        drafts.aside(Where(file, line), "what stands here", "it is no shell that can be followed")
    follower.tell()
    return follower.script


@dataclass(slots=True)
class _Follower:
    file: str
    drafts: Drafts
    teller: Teller
    script: Script = field(default_factory=Script)
    _others: dict[str, tuple[int, dict[str, None]]] = field(default_factory=dict)

    def follow(self, command: Command, shell: Shell, server: str, depth: int) -> None:
        words = command.words
        at = next((i for i, one in enumerate(words) if _TOOL.match(one.text)), None)
        outer = _target(words if at is None else words[:at]) or server
        if at is not None:
            self._tool(words[at], words[at + 1 :], outer, command.stdin)
        elif words[0].text.startswith("$") and any(one.text in CHANGES for one in words[1:]):
            self._tool(Word("rabbitmqctl", words[0].line), words[1:], outer, None)
        elif request := self._request(words):
            host, made = request
            self._make(host or server, made)
        else:
            self._within(command, shell, outer, depth)

    def _within(self, command: Command, shell: Shell, server: str, depth: int) -> None:
        """Commands in a word (`sh -c "..."`) or a here-document that a shell elsewhere is given."""
        texts = [one for one in command.words[1:] if " " in one.text]
        texts += [command.stdin] if command.stdin is not None else []
        for one in texts if depth < DEPTH and command.words[0].text not in _SPEAKERS else ():
            if is_script(one.text):
                for inner in shell.commands(one.text, one.line):
                    self.follow(inner, shell, server, depth + 1)

    def _request(self, words: Sequence[Word]) -> tuple[str, Iterator[Change]] | None:
        if not any(one.text.rpartition("/")[2] == "curl" for one in words):
            return None
        return self.teller.http(words)

    def _tool(self, tool: Word, words: Sequence[Word], server: str, stdin: Word | None) -> None:
        if "admin" in tool.text:
            named, verb, made = self.teller.admin(words)
        else:
            node, verb, made = self.teller.ctl(words)
            named = _host_of(node)
        server = named or server
        self._make(server, made)
        if verb == "join_cluster":
            self._join(server, words)
        elif verb in LOADS:
            self._loads(server, words[-1], stdin)
        elif verb and verb not in (*CHANGES, "declare", "delete"):
            kind = "who may log in" if _LOGINS.search(verb) else _RUN
            self._others.setdefault(kind, (tool.line, {}))[1][label(verb)] = None

    def _make(self, server: str, changes: Iterator[Change]) -> None:
        made = list(changes)
        if made:
            self.script.changes.setdefault(server, []).extend(made)

    def _join(self, server: str, words: Sequence[Word]) -> None:
        other = next((_host_of(one.text) for one in words if "@" in one.text), "")
        if other and other != server and "$" not in other:
            self.script.joined[server] = other

    def _loads(self, server: str, name: Word, stdin: Word | None) -> None:
        if stdin is not None:
            self._make(server, self.teller.loaded(stdin))
        else:
            what = f"definitions of {label(name.text)}"
            why = "they are another file: read it as well"
            self.drafts.aside(Where(self.file, name.line), what, why)

    def tell(self) -> None:
        """What the commands do besides, in one note for each reason."""
        for why, (line, verbs) in self._others.items():
            self.drafts.aside(Where(self.file, line), ", ".join(list(verbs)[:12]), why)


_RUN = "it changes nothing of where messages go"
_SPEAKERS = ("echo", "printf", "cat", "log", "info", "read", "grep", "sed", "awk")
"""Commands whose words are for people, or for files."""


def _target(words: Sequence[Word]) -> str:
    """The machine or container that a command is sent to; the innermost of several."""
    found = ""
    for i, one in enumerate(words):
        name = one.text.rpartition("/")[2]
        rest = [each.text for each in words[i + 1 :]]
        if name in _EXEC and "exec" in rest:
            found = _first(rest[rest.index("exec") + 1 :], _EXEC_WITH_VALUE) or found
        elif name == "ssh" and (i == 0 or words[i - 1].text != "vagrant"):
            found = _first(rest, _SSH_WITH_VALUE).rpartition("@")[2] or found
        elif name == "vagrant" and rest[:1] == ["ssh"]:
            found = _first(rest[1:], set()) or found
    return found.partition("/")[2] if found.startswith(("pod/", "deploy/", "sts/")) else found


def _first(words: Sequence[str], with_value: set[str]) -> str:
    """The first word that is neither an option nor the value of one."""
    left = iter(words)
    for one in left:
        if one in with_value:
            next(left, None)
        elif not one.startswith("-"):
            return one
    return ""


def _host_of(node: str) -> str:
    """A node's machine: `rabbit@north` runs on north; on this machine nodes have their own names.

    >>> _host_of("rabbit@north.example.net"), _host_of("hare"), _host_of("hare@localhost")
    ('north.example.net', 'hare', 'hare')
    """
    name, _, host = node.partition("@")
    if host in _LOCAL:
        return "" if name == "rabbit" else name
    return host
