"""Containers that a script starts: what they are called, and which of its ports are theirs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ropewalk.federation.readers.rabbitmq.options import said
from ropewalk.federation.readers.shell import Word

_ENGINES = ("docker", "podman", "nerdctl")
_RUN_WITH_VALUE = {
    *("--name", "-p", "--publish", "--hostname", "-h", "--network-alias", "--net", "--network"),
    *("-e", "--env", "-v", "--volume", "--mount", "--env-file", "-u", "--user", "-w", "--restart"),
    *("-m", "--memory", "--cpus", "-l", "--label", "--link", "--ip", "--add-host", "--entrypoint"),
    *("--pull", "--platform", "--log-driver", "--ulimit", "--health-cmd", "--pod"),
}
_PORT = re.compile(r"(?:[^:]*:)?(\d+):(\d+)(?:/tcp)?")
_OF_RABBITMQ = ("15672", "15671")


@dataclass(frozen=True, slots=True)
class Container:
    """A container with the ports at which its management API is reached, and its other names."""

    name: str
    ports: tuple[str, ...]
    names: tuple[str, ...]


def started(words: Sequence[Word]) -> Container | None:
    """The container that `docker run` starts; None if it is another command, or has no name.

    >>> started([Word(one, 1) for one in "docker run -h b --name a -p 8080:15672 x".split()])
    Container(name='a', ports=('8080',), names=('b',))
    """
    texts = [one.text for one in words]
    at = next((i for i, one in enumerate(texts) if one in _ENGINES), None)
    if at is None or not {"run", "create"} & set(texts[at + 1 : at + 3]):
        return None
    name = said(words[at + 1 :], _RUN_WITH_VALUE).option("--name")
    pairs = list(_pairs(texts[at + 1 :]))
    ports = [_PORT.fullmatch(value) for key, value in pairs if key in ("-p", "--publish")]
    names = [value for key, value in pairs if key in ("-h", "--hostname", "--network-alias")]
    if not name or "$" in name:
        return None
    own = tuple(one[1] for one in ports if one is not None and one[2] in _OF_RABBITMQ)
    return Container(name, own, tuple(one for one in names if one != name and "$" not in one))


def _pairs(texts: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Options with their values; an option may stand there several times."""
    for i, one in enumerate(texts):
        key, equals, value = one.partition("=")
        if equals:
            yield key, value
        elif i + 1 < len(texts):
            yield key, texts[i + 1]
