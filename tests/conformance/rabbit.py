"""A RabbitMQ of the test session's own, on loopback, with all that it starts ended after it."""

import ctypes
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trustme

from ropewalk.agent.brokers.contract import Access

DEBIAN = Path("/usr/lib/rabbitmq/bin")
"""Where the programs themselves are: Debian's `rabbitmq-server` on PATH wants to be root."""
READY_S = 60
HOST = "127.0.0.1"
MOST_BYTES = 1_000_000
"""The largest message that this broker takes."""
_ports = iter(range(21000 + os.getpid() % 5000, 32000))


def program(name: str) -> str | None:
    return str(DEBIAN / name) if (DEBIAN / name).exists() else shutil.which(name)


def free_port() -> int:
    """Below the range of outgoing connections, which could take it in the meantime."""
    for port in _ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise OSError("no free port")


class Rabbit:
    """One node with its own port mapper, folders, management API and certificate."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.tls_port, self.api_port = free_port(), free_port(), free_port()
        self._distribution, self._mapper_port = free_port(), free_port()
        self.authority = trustme.CA()
        self._mapper: subprocess.Popen[bytes] | None = None
        self._node: subprocess.Popen[bytes] | None = None
        self._write_files()

    def access(self, name: str, **other: Any) -> Access:
        given = {"port": self.port, "user": "guest", "password": "guest", **other}
        return Access(name=name, host=HOST, **given)

    @property
    def api(self) -> str:
        return f"http://{HOST}:{self.api_port}"

    def trusting(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def start(self) -> None:
        self.launch()
        self.ready()

    def launch(self) -> None:
        """On the main thread: the node ends with the thread that started it."""
        if self._mapper is None:
            mapper = [str(shutil.which("epmd")), "-port", str(self._mapper_port), "-address", HOST]
            self._mapper = self._spawn(mapper)
            self._wait(self._mapper_port)
        self._node = self._spawn([str(program("rabbitmq-server"))])

    def ready(self) -> None:
        self._wait(self.port)
        self._wait(self.api_port)

    def kill(self) -> None:
        """As power loss would: the node is not asked."""
        _end(self._node)
        self._node = None

    def end(self) -> None:
        self.kill()
        _end(self._mapper)

    def control(self, *arguments: str) -> None:
        command = [str(program("rabbitmqctl")), "-q", *arguments]
        subprocess.run(
            command, env=self._environment(), check=True, timeout=30, capture_output=True
        )

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                command,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def _wait(self, port: int) -> None:
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection((HOST, port), 1):
                return
            time.sleep(0.05)
        raise TimeoutError((self.folder / "output").read_text(encoding="utf-8")[-2000:])

    def _environment(self) -> dict[str, str]:
        at = self.folder
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(at),  # the cookie lies there
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": HOST,
            "RUNNING_UNDER_SYSTEMD": "true",  # no shell stays between us and the node
            "RABBITMQ_NODENAME": f"ropewalk-{self.port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._distribution),
            "RABBITMQ_CONFIG_FILE": str(at / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(at / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(at / "plugins"),
            "RABBITMQ_MNESIA_BASE": str(at / "data"),
            "RABBITMQ_LOG_BASE": str(at / "log"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(at / "generated"),
            "RABBITMQ_PID_FILE": str(at / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}"
            " +sbwt none +sbwtdcpu none +sbwtdio none",  # idle threads must not spin
        }

    def _write_files(self) -> None:
        certificate = self.authority.issue_cert(HOST)
        certificate.private_key_pem.write_to_path(str(self.folder / "key.pem"))
        certificate.cert_chain_pems[0].write_to_path(str(self.folder / "cert.pem"))
        self.authority.cert_pem.write_to_path(str(self.folder / "ca.pem"))
        (self.folder / "plugins").write_text("[rabbitmq_management].", encoding="ascii")
        settings = {
            "listeners.tcp.1": f"{HOST}:{self.port}",
            "listeners.ssl.1": f"{HOST}:{self.tls_port}",
            "ssl_options.cacertfile": self.folder / "ca.pem",
            "ssl_options.certfile": self.folder / "cert.pem",
            "ssl_options.keyfile": self.folder / "key.pem",
            "management.tcp.ip": HOST,
            "management.tcp.port": self.api_port,
            "log.console": "false",
            "max_message_size": MOST_BYTES,
            "collect_statistics_interval": 500,
        }
        text = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (self.folder / "rabbitmq.conf").write_text(text, encoding="utf-8")


def _end_with_parent() -> None:
    """Nothing is left behind, even if the tests are killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _end(process: "subprocess.Popen[bytes] | None") -> None:
    if process is not None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="session")
def rabbit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rabbit]:
    if not program("rabbitmq-server") or not shutil.which("epmd"):
        pytest.skip("rabbitmq-server is not installed: apt install rabbitmq-server")
    broker = Rabbit(tmp_path_factory.mktemp("rabbitmq"))
    try:
        broker.start()
        yield broker
    finally:
        broker.end()
