"""Scripts that set up federation: what each of their commands changes, and at which server.

`docker exec rabbit-north rabbitmqctl ...`, `rabbitmqctl -n rabbit@north`, `ssh north rabbitmqctl`,
`rabbitmqadmin -H north` and requests to `http://north:15672/api` all name their server; a command
that names none is for the server that the script belongs to.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import Change
from ropewalk.federation.readers.rabbitmq.admin import DECLARE
from ropewalk.federation.readers.rabbitmq.commands import CHANGES, LOADS, Ports, Teller
from ropewalk.federation.readers.rabbitmq.containers import started
from ropewalk.federation.readers.rabbitmq.requests import is_asked, request
from ropewalk.federation.readers.rabbitmq.targets import (
    INSIDE,
    chosen,
    host_of,
    short_names,
    target,
)
from ropewalk.federation.readers.shell import Command, Shell, Word
from ropewalk.federation.readers.shell_text import MOST
from ropewalk.federation.showing import label
from ropewalk.findings import Where

OWN = ""
"""The server that a script belongs to."""
_NODE = "RABBITMQ_NODENAME"
DEPTH = 4
"""Scripts within scripts: `ssh north "docker exec rabbit bash -c '...'"`."""
_TOOL = re.compile(
    r"(?:.*[/\\])?(rabbitmqctl|rabbitmqadmin|rabbitmqadmin-ng)(\.bat|\.py|-[\d.]+)?\Z"
)
_LOOKS = re.compile(
    r"^(?!\s*#).*\b(?:rabbitmqctl|rabbitmqadmin)(?:\.\w+)?['\"]?\s+\S"
    r"|^(?!\s*#).*\bset_(?:parameter|policy)\s+\S"
    r"|^(?!\s*#).*/api/(?:parameters|policies|definitions|exchanges)\b"
    r"|^(?!\s*#).*\bparameters/(?:federation-upstream|shovel)/",
    re.MULTILINE,
)


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
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What else addresses may call a server."""
    unread: bool = False
    """Whether it sets parameters or policies that are not in it."""

    def shortened(self) -> "Script":
        """With the names that servers have in the end."""
        names = short_names([*self.changes, *self.joined])
        changes: dict[str, list[Change]] = {}
        for one, found in self.changes.items():
            changes.setdefault(names[one], []).extend(found)
        joined = {names[one]: other for one, other in self.joined.items()}
        called = {names.get(a, a): b for a, b in self.names.items()}
        return Script(changes, joined, called, self.unread)


def read_script(text: str, file: str, drafts: Drafts) -> Script:
    """Follow a script; what of it changes nothing that is modelled is told."""
    follower = _Follower(file, drafts, Teller(file, drafts))
    shell = Shell()
    for command in shell.commands(text):
        follower.follow(command, shell, OWN, 0)
    for line in shell.odd[:5]:
        drafts.aside(Where(file, line), "what stands here", "it is no shell that can be followed")
    if shell.spent[0] >= MOST:
        why = "so many are not followed: read the exports of its servers"
        drafts.aside(Where(file, 1), f"what comes after {MOST} commands", why)
    for name, line, inner in shell.uncalled():
        if is_script(inner):
            why = "nothing calls it here: add a call with its values to the file"
            drafts.aside(Where(file, line), f"function {label(name)}", why)
    follower.tell()
    follower.script.unread = bool(follower.teller.unread & _USED)
    return follower.script.shortened()


@dataclass(slots=True)
class _Follower:
    file: str
    drafts: Drafts
    teller: Teller
    script: Script = field(default_factory=Script)
    _others: dict[str, tuple[int, dict[str, None]]] = field(default_factory=dict)
    _containers: dict[str, str] = field(default_factory=dict)
    _context: str = ""

    def follow(self, command: Command, shell: Shell, server: str, depth: int) -> None:
        words = command.words
        at = next((i for i, one in enumerate(words) if _TOOL.match(one.text)), None)
        if at and any(one.text.rpartition("/")[2] in _ON_FILES for one in words[:at]):
            return
        self._context = chosen([one.text for one in words]) or self._context
        context = command.variable("KUBECONFIG", shell) or self._context
        outer = target([one.text for one in (words if at is None else words[:at])], server, context)
        if at is not None and depth < DEPTH and _quoted_again(words, at):
            # The shell at the other end of ssh reads the words once more.
            text = " ".join(one.text for one in words[at:])
            for inner in shell.commands(text, words[at].line):
                self.follow(inner, shell, outer, depth + 1)
        elif at is not None and (blank := _blank(words[at:])):
            message = f"a template: {label(blank.text)} stands in it: fill it in first"
            self.drafts.fault(Where(self.file, blank.line), "C006", message)
        elif at is not None:
            self._tool(command, at, shell, outer, inside=outer != server)
        elif words[0].text.startswith("$") and any(one.text in CHANGES for one in words[1:]):
            tool = Word("rabbitmqctl", words[0].line)
            unknown = replace(command, words=(tool, *words[1:]))
            self._tool(unknown, 0, shell, outer, inside=True)
        elif asked := request(words, command.stdin):
            host, made = self.teller.http(asked, shell, self._ports(outer))
            self._make(host or outer, made, command)
        elif container := started(words):
            self._containers.update(dict.fromkeys(container.ports, container.name))
            self.script.names[container.name] = container.names
        else:
            self._within(command, shell, outer, depth)

    def _ports(self, server: str) -> Ports:
        """Ports are those of the machine that the script runs on."""
        return self._containers if server == OWN else {}

    def _within(self, command: Command, shell: Shell, server: str, depth: int) -> None:
        """Commands in a word (`sh -c "..."`) or a here-document that a shell elsewhere is given."""
        if depth >= DEPTH or command.words[0].text in _SPEAKERS:
            return
        texts = [one for one in command.words[1:] if " " in one.text]
        texts += [command.stdin] if command.stdin is not None else []
        if is_asked(command.words):
            what = f"a request by {label(command.words[0].text)}"
            why = "only those of curl, wget and HTTPie are followed"
            self.teller.unread.add("definitions")
            self.drafts.aside(Where(self.file, command.line), what, why)
        for one in texts:
            if is_script(one.text):
                for inner in shell.commands(one.text, one.line):
                    self.follow(inner, shell, server, depth + 1)

    def _tool(self, command: Command, at: int, shell: Shell, server: str, *, inside: bool) -> None:
        tool, words = command.words[at], command.words[at + 1 :]
        if "admin" in tool.text:
            named, verb, made = self.teller.admin(words, self._ports(server))
        else:
            node, verb, made = self.teller.ctl(words)
            # What the script says of its own surroundings does not count in a container.
            here = "" if inside else command.variable(_NODE, shell)
            named = host_of(node) or host_of(here)
        server = named or server
        self._make(server, made, command)
        if verb == "join_cluster":
            self._join(server, words)
        elif verb in LOADS:
            self._loads(server, words[-1], command.stdin or shell.file(words[-1].text), command)
        elif verb and verb not in (*CHANGES, DECLARE):
            kind = next(why for sign, why in _OTHERS if sign.search(verb))
            self._others.setdefault(kind, (tool.line, {}))[1][label(verb)] = None

    def _make(self, server: str, changes: Iterator[Change], command: Command) -> None:
        made = [replace(one, perhaps=command.perhaps) for one in changes]
        for one in made:
            self.teller.check(one)
        if made:
            self.script.changes.setdefault(server, []).extend(made)

    def _join(self, server: str, words: Sequence[Word]) -> None:
        other = next((host_of(one.text) for one in words if "@" in one.text), "")
        if other and other != server and "$" not in other:
            self.script.joined[server] = other

    def _loads(self, server: str, name: Word, stdin: Word | None, command: Command) -> None:
        if stdin is not None:
            self._make(server, self.teller.loaded(stdin), command)
        else:
            what, why = (
                f"definitions of {label(name.text)}",
                "they are another file: read it as well",
            )
            if name.text in ("-", "--stdin"):
                what, why = "definitions that another command gives", "they are not in this file"
            self.teller.unread.add("definitions")
            self.drafts.aside(Where(self.file, name.line), what, why)

    def tell(self) -> None:
        """What the commands do besides, in one note for each reason."""
        for why, (line, verbs) in self._others.items():
            self.drafts.aside(Where(self.file, line), ", ".join(list(verbs)[:12]), why)
        for server, changes in self.script.changes.items():
            if "$" in server:
                what = f"which server {label(server.partition(INSIDE)[2] or server)} is"
                why = "a variable of the script names it, which is taken for one server"
                self.drafts.aside(Where(self.file, changes[0].line), what, why)


_USED = {"parameters", "policies", "definitions"}
_OTHERS = (
    (re.compile(r"user|permission|password|credential|auth"), "who may log in"),
    (
        re.compile(r"^(?:\w*policies|federation|shovels?|parameters) (?!list|get|show|help)"),
        "it changes what is there already, and that is not followed: read an export as well",
    ),
    (re.compile(""), "it changes nothing of where messages go"),
)
"""Why a command is not modelled, by its name."""
_ON_FILES = ("cp", "mv", "ln", "rm", "chmod", "chown", "install", "which", "wget", "scp", "rsync")
"""Commands for which a tool of RabbitMQ is a file."""
_SPEAKERS = ("echo", "printf", "cat", "log", "info", "read", "grep", "sed", "awk")
"""Commands whose words are for people, or for files."""


def _blank(words: Sequence[Word]) -> Word | None:
    """What a template leaves to be filled in: `{{ name }}` is several words of a shell."""
    for i, one in enumerate(words):
        if one.text.startswith("{{") and not one.text.startswith('{{"'):
            rest = [each.text for each in words[i:]]
            end = next((j for j, each in enumerate(rest) if "}}" in each), 0)
            return Word(" ".join(rest[: end + 1]), one.line)
    return None


def _quoted_again(words: Sequence[Word], at: int) -> bool:
    """Whether a word for ssh has quotes within its quotes."""
    over = any(one.text.rpartition("/")[2] == "ssh" for one in words[:at])
    return over and any(re.fullmatch(r"'.*'|\".*\"", one.text, re.DOTALL) for one in words[at:])
