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
from ropewalk.federation.readers.shell import Word
from ropewalk.federation.showing import label
from ropewalk.federation.yaml_text import Parsed
from ropewalk.findings import Where

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
_API = re.compile(r"\A(?:https?://)?(?:[^/@]*@)?([^/]*)/(?:[^?]*?/)?api/([^?]+)")
_SHORT = re.compile(r"-([afgiIjklLnNOqrRsSvVZ#0-6]*)([XdHuowmTE])(.*)", re.DOTALL)
_DATA = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_CURL_WITH_VALUE = {
    *("-u", "--user", "-H", "--header", "-X", "--request", "-o", "--output", "--retry", "-m"),
    *("-w", "--max-time", "--connect-timeout", "--retry-delay", "--cacert", "-E", "--cert"),
    *("--key", "-T"),
    *_DATA,
}


@dataclass(slots=True)
class Said:
    """Options and the other words of a command."""

    words: list[Word] = field(default_factory=list)
    options: dict[str, Word] = field(default_factory=dict)

    def option(self, *names: str) -> str | None:
        """What an option says, under any of its names."""
        found = next((self.options[one] for one in names if one in self.options), None)
        return None if found is None else found.text

    def without_unknown(self) -> "Said":
        """Without `$OPTIONS` before the command that nobody knows here."""
        known = next((i for i, one in enumerate(self.words) if one.text[:1] != "$"), 0)
        return Said(self.words[known:], self.options)

    def text(self, at: int) -> str:
        """A word, or nothing."""
        return self.words[at].text if at < len(self.words) else ""


def said(words: Sequence[Word], with_value: set[str]) -> Said:
    """Options may stand anywhere and say their value in the next word or after `=`."""
    made, left = Said(), iter(words)
    for word in left:
        name, equals, value = word.text.partition("=")
        if word.text == "--":
            made.words += left
        elif word.text.startswith("--") and equals:
            made.options[name] = Word(value, word.line)
        elif word.text in with_value:
            made.options[word.text] = next(left, Word("", word.line))
        elif re.fullmatch(r"-[A-Za-z]|--[a-z][\w-]*", word.text):
            made.options[word.text] = Word("", word.line)
        else:
            made.words.append(word)
    return made


@dataclass(frozen=True, slots=True)
class Teller:
    """Turns commands of one file into changes, and says what of them cannot be read."""

    file: str
    drafts: Drafts

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

    def admin(self, words: Sequence[Word]) -> tuple[str, str, Iterator[Change]]:
        """Of a command of rabbitmqadmin its server, its verb, and what it changes there."""
        given = said(words, _WITH_VALUE | VALUED | {f"--{one}" for one in ENTRY})
        given = given.without_unknown()
        host, port = given.option("-H", "--host") or "", given.option("-P", "--port") or ""
        line = given.words[0].line if given.words else 1
        wanted = asked(given.text(0), given.text(1), given.options, line)
        verb = DECLARE if wanted else spoken(given.text(0), given.text(1))
        made = self._admin(given, wanted, line) if wanted else iter(())
        return _server(host, port), verb, made

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
            if not equals:
                message = "rabbitmqadmin refuses a word without =: write key=value"
                self.drafts.fault(Where(self.file, one.line), "C005", message)
            yield key, Word(value, one.line)
        for key, one in given.options.items():
            if key[2:] in ENTRY and key[2:] not in wanted.value:
                yield key[2:], one

    # --- the management API -------------------------------------------------------------------

    def http(
        self, words: Sequence[Word], stdin: Word | None = None
    ) -> tuple[str, Iterator[Change]] | None:
        """Of a request to the management API its server and what it changes; None if it is none."""
        given = said([part for one in words for part in _apart(one)], _CURL_WITH_VALUE)
        for key in _DATA:
            if stdin is not None and given.option(key) == "@-":
                given.options[key] = stdin
        for word in given.words:
            if found := _API.match(word.text):
                host, _, port = found[1].partition(":")
                return _server(host, port), self._http(given, word.line, found[2])
        return None

    def _http(self, given: Said, line: int, path: str) -> Iterator[Change]:
        data = next((given.options[one] for one in _DATA if one in given.options), None)
        method = given.option("-X", "--request") or ("POST" if data else "GET")
        steps = [unquote(one) for one in path.strip("/").split("/")]
        what, names = steps[0], steps[1:]
        if method not in ("PUT", "POST", "DELETE") or what not in (*_PLACES, "definitions"):
            return
        if data is not None and data.text == "@-":
            where, why = Where(self.file, data.line), "they are not in this file"
            self.drafts.aside(where, "a request with data that another command gives", why)
            return
        if data is not None and data.text.startswith("@"):
            name = label(data.text[1:])
            message = f"a request with data in a file: read {name} as well"
            self.drafts.aside(Where(self.file, data.line), message, "it is another file")
            return
        if what == "definitions":
            yield from self._loaded(data)
            return
        keys = _PLACES[what]
        # More names are what is done with it: /api/queues/VHOST/NAME/get.
        if not len(keys) - ("routing_key" in keys) <= len(names) <= len(keys):
            return
        read = self._json(data) if data is not None and data.text else ({}, {})
        if read is None or not isinstance(read[0], dict):
            return
        entry = {**read[0], **dict(zip(keys, names, strict=False))}
        if "destination_type" in entry:
            entry["destination_type"] = _ENDS.get(str(entry["destination_type"]), "queue")
        entry.pop("at", None)
        gone = method == "DELETE"
        yield Change(what.replace("-", "_"), entry, self.file, line, read[1], gone)

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
_ENDS = {"q": "queue", "e": "exchange"}


_VARIABLE = re.compile(r"\$\w+|\$\{[^}]*\}|\$\([^\"]*?\)|\{\{.*?\}\}|<\w+>")


_LENIENT = re.compile(r'"(?:\\.|[^"\\])*"|\'((?:\\.|[^\'\\])*)\'|,(?=\s*[\]}])', re.DOTALL)


def _stricter(found: re.Match[str]) -> str:
    if found[0] == ",":
        return ""
    return found[0] if found[1] is None else f'"{found[1]}"'


def _broken(text: str) -> bool:
    """Whether a text is no JSON even if its variables are filled in."""
    return bool(parse_json(_VARIABLE.sub("0", text)).faults)


_USUAL = ("", "15672", "15671", "55672")
_WITHOUT_VHOST = ("vhosts", "global_parameters")


def _server(host: str, port: str) -> str:
    """What a server is called by its management interface; nothing for the usual one here."""
    here = host in ("", "localhost", "127.0.0.1", "::1")
    if here:
        return "" if port in _USUAL else f"localhost_{port}"
    return host if port in (*_USUAL, "80", "443") else f"{host}_{port}"  # another server's


def _apart(word: Word) -> list[Word]:
    """Curl takes several short options in one word, and a value after the last: -sXPUT."""
    found = _SHORT.fullmatch(word.text)
    if not found or not (found[1] or found[3]):
        return [word]
    value = [Word(found[3], word.line)] if found[3] else []
    return [Word(f"-{found[2]}", word.line), *value]


def _plain(key: str, value: str) -> Any:
    if key in ("durable", "internal", "auto_delete"):
        return value.lower() == "true"
    if key in ("priority", "max-hops") and re.fullmatch(r"-?\d{1,9}", value):
        return int(value)
    return value
