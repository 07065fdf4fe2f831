"""Requests to the management API as scripts make them: with curl, wget or HTTPie."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ropewalk.federation.readers.rabbitmq.options import Said, said
from ropewalk.federation.readers.shell import Word

API = re.compile(
    r"\A(?:https?://)?(?:[^/@]*@)?([^/]*)(?:/(?:[^?]*?/)?api/([^?]+)"
    r"|/?((?:parameters/(?:federation-upstream|shovel)|policies/[^/?]+)[^?]*))"
)
"""Its host, and what it is for; where a variable holds the address it may hold `/api` as well."""
_SHORT = re.compile(r"-([afgiIjklLnNOqrRsSvVZ#0-6]*)([XdHuowmTEFDA])(.*)", re.DOTALL)
_DATA = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_SENT = ("-T", "--upload-file")
_CURL = {
    *("-u", "--user", "-H", "--header", "-X", "--request", "-o", "--output", "--retry", "-m"),
    *("-w", "--max-time", "--connect-timeout", "--retry-delay", "--cacert", "-E", "--cert"),
    *("--key", "-K", "--config", "-x", "--proxy", "-b", "--cookie", "-A", "--user-agent", "-D"),
    *("--dump-header", "--resolve", "--url", "-F", "--form", "--write-out", "--retry-max-time"),
    *_DATA,
    *_SENT,
}
_WGET = {"--method", "--body-data", "--post-data", "--body-file", "--post-file", "--header", "-O"}
_HTTPIE = {"-a", "--auth", "-A", "--auth-type", "--timeout", "--verify", "--cert", "--raw", "-o"}
_METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS")
_ITEM = re.compile(r"([\w.-]+)(?:\[([\w.-]+)\])?(:?=)(?!=)(@?)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a server; data that are elsewhere begin with `@`."""

    method: str
    url: Word
    data: Word | None = None


def request(words: Sequence[Word], stdin: Word | None) -> Request | None:
    """The request that a command makes; None if it makes none to a management API."""
    for i, one in enumerate(words):
        tool = _TOOLS.get(one.text.rpartition("/")[2])
        found = tool(words[i + 1 :], stdin) if tool is not None else None
        if found is not None:
            return found
    return None


def is_asked(words: Sequence[Word]) -> bool:
    """Whether one of a command's words is an address at which the management API changes things."""
    found = (API.match(one.text) for one in words[1:])
    return any(
        re.match("parameters|policies|definitions", one[2] or one[3]) for one in found if one
    )


def _curl(words: Sequence[Word], stdin: Word | None) -> Request | None:
    given = said([part for one in words for part in _apart(one)], _CURL)
    data = next((given.options[one] for one in _DATA if one in given.options), None)
    for one in _SENT:
        if one in given.options:
            data = Word(f"@{given.options[one].text}", given.options[one].line)
    form = given.options.get("-F") or given.options.get("--form")
    if form is not None and "=@" in form.text:
        data = Word(form.text[form.text.index("=") + 1 :].partition(";")[0], form.line)
    if data is not None and data.text in ("@-", "@/dev/stdin") and stdin is not None:
        data = stdin
    sent = "PUT" if any(one in given.options for one in _SENT) else "POST" if data else "GET"
    return _made(given, given.option("-X", "--request") or sent, data)


def _wget(words: Sequence[Word], _: Word | None) -> Request | None:
    given = said(words, _WGET)
    data = given.options.get("--body-data") or given.options.get("--post-data")
    file = given.options.get("--body-file") or given.options.get("--post-file")
    if file is not None:
        data = Word(f"@{file.text}", file.line)
    return _made(given, given.option("--method") or ("POST" if data else "GET"), data)


def _httpie(words: Sequence[Word], stdin: Word | None) -> Request | None:
    """`http -a me:pw PUT :15672/api/policies/%2f/p pattern=^a definition:='{}'`."""
    given = said(words, _HTTPIE)
    names = [i for i, one in enumerate(given.words) if one.text in _METHODS]
    method = given.words.pop(names[0]).text if names[:1] == [0] else ""
    items = [found for one in given.words[1:] if (found := _ITEM.fullmatch(one.text))]
    data = given.options.get("--raw") or stdin
    if items:
        data = Word(_object(items), given.words[1].line)
    return _made(given, method or ("POST" if data else "GET"), data)


def _object(items: Sequence["re.Match[str]"]) -> str:
    """Items as JSON; what `:=` gives is JSON already and stays as it is written."""
    made: dict[str, Any] = {}
    for name, inner, verb, _, value in (one.groups() for one in items):
        text = value if verb == ":=" else json.dumps(value)
        if inner:
            made.setdefault(name, {})[inner] = text
        else:
            made[name] = text
    return _written(made)


def _written(made: Mapping[str, Any]) -> str:
    parts = (
        f"{json.dumps(name)}: {_written(one) if isinstance(one, dict) else one}"
        for name, one in made.items()
    )
    return "{" + ", ".join(parts) + "}"


def _made(given: Said, method: str, data: Word | None) -> Request | None:
    words = [given.options["--url"]] if "--url" in given.options else given.words
    url = next((one for one in words if API.match(one.text)), None)
    return None if url is None else Request(method.upper(), url, data)


def _apart(word: Word) -> list[Word]:
    """Curl takes several short options in one word, and a value after the last: -sXPUT."""
    found = _SHORT.fullmatch(word.text)
    if not found or not (found[1] or found[3]):
        return [word]
    value = [Word(found[3], word.line)] if found[3] else []
    return [Word(f"-{found[2]}", word.line), *value]


_TOOLS: Mapping[str, Callable[[Sequence[Word], Word | None], Request | None]] = {
    "curl": _curl,
    "curl.exe": _curl,
    "wget": _wget,
    "http": _httpie,
    "https": _httpie,
    "xh": _httpie,
}
