"""The server that a command in a script is for: over ssh, in a container, or by a node's name.

A container is one of the machine that it is on: `ssh north docker exec rabbit` and `ssh south
docker exec rabbit` are two servers, as are pods of one name in two namespaces. Pods that differ by
their number only are one StatefulSet, and one cluster.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

INSIDE = ">"
"""Between a machine and a container on it."""
_LOCAL = ("", "localhost", "127.0.0.1")
_CONTAINERS = ("docker", "podman", "nerdctl", "docker-compose", "podman-compose", "lxc", "incus")
_PODS = ("kubectl", "oc", "k3s", "microk8s")
_NAMESPACE = ("-n", "--namespace")
_EXEC_WITH_VALUE = {
    *("-u", "--user", "-e", "--env", "-w", "--workdir", "-n", "--namespace", "-c", "--container"),
    *("--index", "-f", "--file", "-p", "--project-name", "--context", "--env-file", "--kubeconfig"),
}
_SSH_WITH_VALUE = {"-i", "-p", "-l", "-o", "-F", "-J", "-L", "-R"}
_KIND = re.compile(r"\A(?:pods?|po|deploy(?:ment)?s?|sts|statefulsets?|svc|service)/")
_NUMBER = re.compile(r"(?:-server)?-\d+\Z")
_OWN_HOST = re.compile(r"\$\(hostname[^)]*\)|`hostname[^`]*`|\$\{?HOSTNAME\}?")


def target(words: Sequence[str], server: str, context: str = "") -> str:
    """The server that a command is for: what its words say, else the one of its surroundings.

    `context` is the Kubernetes cluster that the script is at.

    >>> target(["ssh", "ops@north", "docker", "exec", "-it", "rabbit"], "")
    'north>rabbit'
    >>> target(["kubectl", "-n", "mq", "exec", "rabbit-server-0", "--"], "")
    'rabbit.mq'
    """
    for i, one in enumerate(words):
        name, rest = one.rpartition("/")[2], words[i + 1 :]
        if name in _CONTAINERS and "exec" in rest:
            server = _container(rest, server)
        elif name in _PODS and "exec" in rest:
            server = _pod(rest, context) or server
        elif name == "ssh" and (i == 0 or words[i - 1] != "vagrant"):
            server = _first(rest, _SSH_WITH_VALUE).rpartition("@")[2] or server
        elif name == "vagrant" and rest[:1] == ["ssh"]:
            server = _first(rest[1:], set()) or server
    return server


def _container(rest: Sequence[str], server: str) -> str:
    at = rest.index("exec")
    found = _first(rest[at + 1 :], _EXEC_WITH_VALUE)
    machine = _said(rest[:at], ("--context", "-H", "--host")).rpartition("@")[2] or server
    if not found:
        return server
    return f"{machine.partition(INSIDE)[0]}{INSIDE}{found}" if machine else found


def chosen(words: Sequence[str]) -> str | None:
    """The Kubernetes cluster that a script goes to; None if the command is another one.

    >>> chosen(["kubectl", "config", "use-context", "east"]), chosen(["kubectx", "west"])
    ('east', 'west')
    """
    name, *rest = words
    if name == "kubectx" or (name in _PODS and rest[:2] == ["config", "use-context"]):
        return rest[-1] if rest else None
    return None


def _pod(rest: Sequence[str], context: str) -> str:
    """`NAME.NAMESPACE`, as addresses of services are written, and where else it may be."""
    at = rest.index("exec")
    name = _KIND.sub("", _first(rest[at + 1 :], _EXEC_WITH_VALUE))
    end = rest.index("--") if "--" in rest else len(rest)
    space, where = _said(rest[:end], _NAMESPACE), _said(rest[:at], ("--context", "--kubeconfig"))
    where = where or context
    name = _NUMBER.sub("", name)
    made = f"{name}.{space}" if space else name
    return f"{made}@{where}" if name and where else made if name else ""


def _said(words: Sequence[str], options: Iterable[str]) -> str:
    """What one of some options says, in the next word or after `=`."""
    for i, one in enumerate(words):
        name, equals, value = one.partition("=")
        if name in options:
            return value if equals else next(iter(words[i + 1 :]), "")
    return ""


def _first(words: Sequence[str], with_value: set[str]) -> str:
    """The first word that is neither an option nor the value of one."""
    left = iter(words)
    for one in left:
        if one in with_value:
            next(left, None)
        elif not one.startswith("-"):
            return one
    return ""


def host_of(node: str) -> str:
    """A node's machine: `rabbit@north` runs on north; on this machine nodes have their own names.

    >>> host_of("rabbit@north.example.net"), host_of("hare"), host_of("hare@localhost")
    ('north.example.net', 'hare', 'hare')
    """
    name, _, host = node.partition("@")
    if host in _LOCAL or _OWN_HOST.fullmatch(host):
        return "" if name == "rabbit" else name
    return host


def short_names(servers: Iterable[str]) -> Mapping[str, str]:
    """What servers are called in the end: a machine with one container as the machine.

    >>> dict(short_names(["north>rabbit", "south>rabbit", "east>a", "east>b", "west"]))
    {'north>rabbit': 'north', 'south>rabbit': 'south', 'east>a': 'a', 'east>b': 'b', 'west': 'west'}
    """
    paths = {one: one.partition(INSIDE)[::2] for one in servers}
    names: dict[str, str] = {}
    for one, (machine, container) in paths.items():
        beside = [other for at, other in paths.values() if at == machine and other]
        alike = [other for other in paths if container in (other, paths[other][1])]
        if not container or beside == [container]:
            names[one] = machine
        else:
            names[one] = container if alike == [one] else f"{container}.{machine}"
    return names


def names_of(server: str) -> tuple[str, ...]:
    """Names that addresses may use for a server: its first label, and those of a service.

    >>> names_of("rabbit.mq@west")
    ('rabbit.mq', 'rabbit', 'rabbit.mq.svc', 'rabbit.mq.svc.cluster.local')
    """
    name = server.partition("@")[0]
    label, dot, rest = name.partition(".")
    if not dot or label.isdecimal():
        return (name,)
    services = () if "." in rest else (f"{name}.svc", f"{name}.svc.cluster.local")
    return (name, label, *services)
