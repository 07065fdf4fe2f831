"""What single commands change in a cluster: rabbitmqctl, rabbitmqadmin, and HTTP requests."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import SECTIONS, Change
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.rabbitmq.admin import DECLARE, ENTRY, VALUED, Asked, asked, spoken
from ropewalk.federation.readers.rabbitmq.options import Said, said
from ropewalk.federation.readers.rabbitmq.refused import FLAGS, NUMBERS
from ropewalk.federation.readers.rabbitmq.requests import API, Request
from ropewalk.federation.readers.shell import Shell, Word
from ropewalk.federation.readers.view import tell_repeated
from ropewalk.federation.readers.whose import is_here
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

Ports = Mapping[str, str]
"""Containers that the script starts, by the port of this machine for their management API."""
CHANGES = {
    *("set_parameter", "clear_parameter", "set_policy", "clear_policy", "set_global_parameter"),
    *("clear_global_parameter", "set_operator_policy", "clear_operator_policy", "add_vhost"),
    *("delete_vhost", "set_cluster_name"),
}
"""Commands of rabbitmqctl that are read."""
LOADS = ("import_definitions", "load_definitions", "import")
_WITH_VALUE = {
    *("-n", "--node", "-p", "--vhost", "-t", "--timeout", "--priority", "--apply-to"),
    *("--formatter", "--erlang-cookie", "--script-name", "--printer", "--description", "--tags"),
    *("--default-queue-type", "-H", "--host", "-P", "--port", "-V", "-u", "--username"),
    *("--password", "-c", "--config", "-N", "-U", "--base-uri", "--path-prefix", "-f", "--format"),
    *("-d", "--depth", "--ssl-ca-cert-file", "--ssl-key-file", "--ssl-cert-file"),
}


@dataclass(frozen=True, slots=True)
class Teller:
    """Turns commands of one file into changes, and says what of them cannot be read."""

    file: str
    drafts: Drafts
    unread: set[str] = field(default_factory=set)
    """What requests set that cannot be read here, as the API calls it."""

    def check(self, change: Change) -> None:
        """A variable in a pattern would match nothing: `$` is the end there."""
        pattern = str(change.value.get("pattern", ""))
        if change.section.endswith("policies") and (left := _IN_PATTERN.search(pattern)):
            name = label(str(change.value.get("name", "")))
            what = f"{label(left[0])} stands in the pattern of policy {name}: fill it in"
            self.drafts.fault(Where(self.file, change.line), "C006", what)

    # --- rabbitmqctl --------------------------------------------------------------------------

    def ctl(self, words: Sequence[Word]) -> tuple[str, str, Iterator[Change]]:
        """Of a command of rabbitmqctl its node, its verb, and what it changes there."""
        given = said(words, _WITH_VALUE).without_unknown()
        return given.option("-n", "--node") or "", given.text(0), self._ctl(given)

    def _ctl(self, given: Said) -> Iterator[Change]:
        if not given.words:
            return
        verb, line = given.text(0), given.words[0].line
        vhost = given.option("-p", "--vhost") or "/"
        at = {"vhost": vhost, "name": given.text(1)}
        where = Where(self.file, line)
        needs = {"set_parameter": 4, "set_policy": 4, "set_global_parameter": 3, "add_vhost": 2}
        if len(given.words) < needs.get(verb, 1):
            message = f"{verb} has too few words: write its name and value"
            self.drafts.fault(where, "C005", message)
        elif verb in ("set_parameter", "clear_parameter"):
            entry = {"vhost": vhost, "component": given.text(1), "name": given.text(2)}
            yield from self._valued("parameters", entry, given, 3, gone=verb[0] == "c")
        elif verb.endswith("global_parameter"):
            entry = {"name": given.text(1)}
            yield from self._valued("global_parameters", entry, given, 2, gone=verb[0] == "c")
        elif verb in ("clear_policy", "clear_operator_policy"):
            section = "policies" if verb == "clear_policy" else "operator_policies"
            yield Change(section, at, self.file, line, gone=True)
        elif verb in ("set_policy", "set_operator_policy"):
            section = "policies" if verb == "set_policy" else "operator_policies"
            yield from self._policy(section, at, given)
        elif verb in ("add_vhost", "delete_vhost"):
            name = {"name": given.text(1)}
            yield Change("vhosts", name, self.file, line, gone=verb[0] == "d")
        elif verb == "set_cluster_name":
            named = {"name": "cluster_name", "value": given.text(1)}
            yield Change("global_parameters", named, self.file, line)

    def _valued(
        self, section: str, entry: dict[str, Any], given: Said, at: int, *, gone: bool
    ) -> Iterator[Change]:
        line = given.words[0].line
        if gone:
            yield Change(section, entry, self.file, line, gone=True)
        elif (read := self._json(given.words[at])) is not None:
            value, inner = read
            yield Change(section, {**entry, "value": value}, self.file, line, inner)

    def _policy(self, section: str, at: dict[str, Any], given: Said) -> Iterator[Change]:
        read = self._json(given.words[3])
        if read is None:
            return
        value, inner = read
        # RabbitMQ before 3.2 had the priority as a last word.
        priority = given.option("--priority") or given.text(4) or "0"
        entry = {**at, "pattern": given.text(2), "definition": value}
        entry["priority"] = _plain("priority", priority)
        entry["apply-to"] = given.option("--apply-to") or "all"
        yield Change(section, entry, self.file, given.words[0].line, inner)

    def _json(self, word: Word) -> tuple[Any, dict[int, dict[str | int, int]]] | None:
        """A value that is written as JSON in a word, with lines of the file."""
        parsed = parse_json(word.text)
        if parsed.faults:
            parsed = self._lenient(word, parsed)
        for fault in parsed.faults[:1]:
            where = Where(self.file, word.line + fault.line - 1)
            message = f"its value is no JSON: {fault.message}"
            if "<<" in word.text:
                message = "its value is an Erlang term, as RabbitMQ took it before 3.0: write JSON"
            elif (left := _VARIABLE.search(word.text)) and not _broken(word.text):
                message = f"its value is no JSON: {label(left[0])} stands in it: fill it in"
            self.drafts.fault(where, "C004", message)
            return None
        shift = word.line - 1
        tell_repeated(parsed, self.file, self.drafts, shift)
        lines = parsed.lines or {}
        inner = {
            key: {step: line + shift for step, line in found.items()}
            for key, found in lines.items()
        }
        return parsed.value, inner

    def _lenient(self, word: Word, parsed: Parsed) -> Parsed:
        """The same as older RabbitMQ took it, with single quotes and commas at the end."""
        again = parse_json(_LENIENT.sub(_stricter, word.text))
        if again.faults:
            return parsed
        fault = parsed.faults[0]
        message = f"its value is no JSON, which newer RabbitMQ refuses: {fault.message}"
        self.drafts.warn(Where(self.file, word.line + fault.line - 1), "C020", message)
        return again

    # --- rabbitmqadmin ------------------------------------------------------------------------

    def admin(self, words: Sequence[Word], ports: Ports) -> tuple[str, str, Iterator[Change]]:
        """Of a command of rabbitmqadmin its server, its verb, and what it changes there."""
        given = said(words, _WITH_VALUE | VALUED | {f"--{one}" for one in ENTRY})
        given = given.without_unknown()
        host, port = _asked_at(given)
        line = given.words[0].line if given.words else 1
        wanted = asked(given.text(0), given.text(1), given.options, line)
        verb = DECLARE if wanted else spoken(given.text(0), given.text(1))
        made = self._admin(given, wanted, line) if wanted else iter(())
        return _server(host, port, ports), verb, made

    def _admin(self, given: Said, wanted: Asked, line: int) -> Iterator[Change]:
        entry: dict[str, Any] = {} if wanted.section in _WITHOUT_VHOST else {"vhost": "/"}
        if vhost := given.option("-V", "--vhost"):
            entry["vhost"] = vhost
        inner: dict[int, dict[str | int, int]] = {}
        if wanted.component:
            entry["component"] = wanted.component
            value = {key: _plain(key, one.text) for key, one in wanted.value.items()}
            entry["value"] = value
            inner[id(value)] = {key: one.line for key, one in wanted.value.items()}
        for key, word in self._pairs(given, wanted):
            name = ENTRY.get(key, key)
            if name in ("value", "definition", "arguments"):
                read = self._json(word)
                if read is None:
                    return
                entry[name] = read[0]
                inner.update(read[1])
            else:
                entry[name] = _plain(name, word.text)
        yield Change(wanted.section, entry, self.file, line, inner, wanted.gone)

    def _pairs(self, given: Said, wanted: Asked) -> Iterator[tuple[str, Word]]:
        """Keys and values, as `key=value` or as options."""
        for one in given.words[2:]:
            key, equals, value = one.text.partition("=")
            if not equals and "--name" in given.options:
                continue  # what an option says that is not known here
            if not equals:
                message = "rabbitmqadmin refuses a word without =: write key=value"
                self.drafts.fault(Where(self.file, one.line), "C005", message)
            yield key, Word(value, one.line)
        for key, one in given.options.items():
            if key[2:] in ENTRY and key[2:] not in wanted.value:
                yield key[2:], one

    # --- the management API -------------------------------------------------------------------

    def http(self, asked: Request, shell: Shell, ports: Ports) -> tuple[str, Iterator[Change]]:
        """Of a request to the management API its server and what it changes."""
        found = API.match(asked.url.text)
        if found is None:
            return "", iter(())
        host, _, port = found[1].partition(":")
        return _server(host, port, ports), self._http(asked, found[2] or found[3], shell)

    def _http(self, asked: Request, path: str, shell: Shell) -> Iterator[Change]:
        steps = [unquote(one) for one in path.strip("/").split("/")]
        what, names = steps[0], steps[1:]
        if asked.method not in ("PUT", "POST", "DELETE") or what not in _READ:
            return
        data = asked.data
        if data is not None and data.text.startswith("@"):
            file = shell.file(data.text[1:])
            if file is None:
                self.unread.add(what)
                self._tell_elsewhere(data, shell)
                return
            data = file
        if what == "definitions":
            yield from self._loaded(data)
            return
        if what == "cluster-name":
            yield from self._named(data)
            return
        keys = _PLACES[what]
        # More names are what is done with it: /api/queues/VHOST/NAME/get.
        if not len(keys) - ("routing_key" in keys) <= len(names) <= len(keys):
            return
        read = self._json(data) if data is not None and data.text else ({}, {})
        if read is None or not isinstance(read[0], dict):
            return
        if asked.method == "PUT" and what.endswith("parameters") and "value" not in read[0]:
            message = 'RabbitMQ refuses it, as it has no value: write {"value": {...}}'
            self.drafts.fault(Where(self.file, (data or asked.url).line), "C005", message)
            return
        entry = {**read[0], **dict(zip(keys, names, strict=False))}
        if "destination_type" in entry:
            entry["destination_type"] = _ENDS.get(str(entry["destination_type"]), "queue")
        entry.pop("at", None)
        gone = asked.method == "DELETE"
        yield Change(what.replace("-", "_"), entry, self.file, asked.url.line, read[1], gone)

    def _tell_elsewhere(self, data: Word, shell: Shell) -> None:
        """Tell that what is sent is not in the script."""
        name = data.text[1:]
        what, why = "a request with data that another command gives", "they are not in this file"
        if name != "-" and shell.makes(name):
            what = f"a request with data in {label(name)}"
            why = "a command whose words are not known writes that file: read what it holds as well"
        elif name != "-":
            what = f"a request with data in a file: read {label(name)} as well"
            why = "it is another file"
        self.drafts.aside(Where(self.file, data.line), what, why)

    def _named(self, data: Word | None) -> Iterator[Change]:
        """The cluster's name, which has a place of its own."""
        read = self._json(data) if data is not None else None
        if data is not None and read is not None and isinstance(read[0], dict):
            entry = {"name": "cluster_name", "value": read[0].get("name")}
            yield Change("global_parameters", entry, self.file, data.line)

    def loaded(self, data: Word) -> Iterator[Change]:
        """Definitions that are written in the script."""
        return self._loaded(data)

    def _loaded(self, data: Word | None) -> Iterator[Change]:
        read = self._json(data) if data is not None else None
        if read is None or not isinstance(read[0], dict):
            return
        document, inner = read
        for section in SECTIONS:
            entries = document.get(section)
            lines: Mapping[str | int, int] = inner.get(id(entries), {})
            for i, entry in enumerate(entries if isinstance(entries, list) else []):
                if isinstance(entry, dict):
                    yield Change(section, entry, self.file, lines.get(i, 1), inner)


_PLACES: Mapping[str, tuple[str, ...]] = {
    "vhosts": ("name",),
    "global-parameters": ("name",),
    "parameters": ("component", "vhost", "name"),
    "policies": ("vhost", "name"),
    "operator-policies": ("vhost", "name"),
    "exchanges": ("vhost", "name"),
    "queues": ("vhost", "name"),
    "bindings": ("vhost", "at", "source", "destination_type", "destination", "routing_key"),
}
"""What the steps of a path of the management API name."""
_READ = (*_PLACES, "definitions", "cluster-name")
_ENDS = {"q": "queue", "e": "exchange"}


_VARIABLE = re.compile(r"\$\w+|\$\{[^}]*\}|\$\([^\"]*?\)|\{\{.*?\}\}|<\w+>")


_IN_PATTERN = re.compile(r"\$\w+|\$\{[^}]*\}|\$\([^)]*\)")


_LENIENT = re.compile(r'"(?:\\.|[^"\\])*"|\'((?:\\.|[^\'\\])*)\'|,(?=\s*[\]}])', re.DOTALL)


def _stricter(found: re.Match[str]) -> str:
    if found[0] == ",":
        return ""
    return found[0] if found[1] is None else f'"{found[1]}"'


def _broken(text: str) -> bool:
    """Whether a text is no JSON even if its variables are filled in."""
    return bool(parse_json(_VARIABLE.sub("0", text)).faults)


_BASE = re.compile(r"(?:\w+://)?(?:[^/@]*@)?([^/:]*)(?::(\d+))?")
"""Host and port of `--base-uri`."""


def _asked_at(given: Said) -> tuple[str, str]:
    """Where rabbitmqadmin asks; a section of its own file (`--node`) is called as the server."""
    base = _BASE.match(given.option("-U", "--base-uri") or "")
    if base is not None and base[1]:
        return base[1], base[2] or ""
    section = given.option("-N", "--node") or ""
    host = given.option("-H", "--host") or ("" if section == "default" else section)
    return host, given.option("-P", "--port") or ""


_USUAL = ("", "15672", "15671", "55672")
_WITHOUT_VHOST = ("vhosts", "global_parameters")


def _server(host: str, port: str, ports: Ports) -> str:
    """What a server is called by its management interface; nothing for the usual one here."""
    here = is_here(host)
    if (here or "$" in host) and (port or _USUAL[1]) in ports:
        return ports[port or _USUAL[1]]
    if here:
        return "" if port in _USUAL else f"localhost_{port}"
    return host if port in (*_USUAL, "80", "443") else f"{host}_{port}"  # another server's


def _plain(key: str, value: str) -> Any:
    if key in ("durable", "internal", "auto_delete") or (key in FLAGS and "$" not in value):
        return value.lower() == "true"
    if (key == "priority" or key in NUMBERS) and re.fullmatch(r"-?\d{1,9}", value):
        return int(value)
    return value
