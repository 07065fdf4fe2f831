"""How Spark starts: local mode by default, any master or a Spark Connect server by option.

Where it runs is decided by the first that is given: an option; ROPEWALK_SPARK_MASTER or
ROPEWALK_SPARK_REMOTE; SPARK_REMOTE, as Spark itself has it; what `spark-submit` was told; local[*].
"""

import atexit
import json
import os
import re
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from ropewalk.errors import UsageError
from ropewalk.pipeline.java import kept, quiet_home
from ropewalk.pipeline.quick import archive_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as SparkSession  # for those who may not import pyspark

MASTER, REMOTE, SPARKS_REMOTE = "ROPEWALK_SPARK_MASTER", "ROPEWALK_SPARK_REMOTE", "SPARK_REMOTE"
DEFAULT = "local[*]"
ANSWER_S = 10.0
"""How long a cluster or server that is named may take to answer at all."""
CONNECT_PORT = 15002
"""Where pyspark puts, and looks for, the Connect server that it starts by itself."""
INIT_CONF, INIT_CONF_COUNT = "PYSPARK_REMOTE_INIT_CONF", "PYSPARK_REMOTE_INIT_CONF_LEN"
"""Where pyspark looks for settings of that server."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"

CLUSTER = re.compile(r"local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*(\d+)\s*\]")
MASTERS = re.compile(
    r"local(\[(\*|\d+)(\s*,\s*\d+)?\])?|local-cluster\[.*\]|spark://.+|yarn|k8s://.+"
)

SQL = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
}
"""What jobs count on, wherever they run. Rows may hold whole files: batches end by bytes too."""

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
HERE = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
"""Only where all of Spark is on this machine: workers elsewhere must reach the driver."""

LOGGING = """\
# Errors only, on stderr: what a command prints is its own.
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.console.type = Console
appender.console.name = stderr
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = Spark: %p %c{1}: %m%n%ex
# Without a level of its own it tells that it sets the level to WARN, and does.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
# A failure of these reaches whoever called, as an exception.
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.writes.name = org.apache.spark.sql.execution.datasources.v2
logger.writes.level = off
logger.streams.name = org.apache.spark.sql.execution.streaming
logger.streams.level = off
logger.connect.name = org.apache.spark.sql.connect.utils.ErrorUtils
logger.connect.level = off
"""


@dataclass(frozen=True, slots=True)
class Target:
    """Where Spark runs: a master, or a Spark Connect address; `asked` says who named it."""

    url: str
    remote: bool = False
    asked: str | None = None

    @property
    def starts_here(self) -> bool:
        """Whether this process starts Spark's Java."""
        return not self.url.startswith("sc://")

    @property
    def on_this_machine(self) -> bool:
        """Whether all of Spark runs on this machine."""
        return self.url.startswith("local")


def session(master: str | None = None, *, remote: str | None = None, **conf: str) -> "SparkSession":
    """A Spark session; `conf` holds further settings: `session(**{"spark.x.y": "z"})`.

    The one that is active in this process is taken if it fits. Raises MissingJavaError where no
    Java 17 or newer is found, and UsageError for an address that cannot be or does not answer, and
    for an active session that is another than the one asked for.
    """
    target = target_of(master, remote)
    _check_address(target)
    found = _active()
    if found is not None:
        return _reused(found, target, conf)
    if target.starts_here:
        _prepare(target)
    else:
        _check_connect()
        _check_server(target)
    return _started(target, _settings(target, conf))


def target_of(
    master: str | None = None,
    remote: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Target:
    """Where Spark is to run, by options, then by the environment.

    >>> target_of("local[2]", environment={"SPARK_REMOTE": "sc://far"})
    Target(url='local[2]', remote=False, asked='master')
    """
    by_spark = environment.get(SPARKS_REMOTE)
    for first, second, one, other in (
        (master, remote, "master", "remote"),
        (environment.get(MASTER), environment.get(REMOTE), MASTER, REMOTE),
        (None, by_spark, "", SPARKS_REMOTE),
    ):
        if first and second:
            raise UsageError(f"{one} is {first} and {other} is {second}: give one of them")
        if first:
            return Target(first.strip(), asked=one)
        if second:
            return Target(second.strip(), remote=True, asked=other)
    return Target(DEFAULT)


def _check_address(target: Target) -> None:
    """Refuse what Spark would only stumble over later."""
    if target.remote and re.fullmatch(r"sc://[^/;]+(/.*)?", target.url):
        return
    if target.remote and not target.url.startswith("local"):
        told = "write sc://HOST:PORT, or local[2] for a server of this process's own"
        raise UsageError(f"{target.asked} is {target.url}, which is no Spark Connect: {told}")
    if target.url.startswith("sc://"):
        raise UsageError(f"{target.asked} is {target.url}: a Spark Connect server is a remote")
    if not MASTERS.fullmatch(target.url) or target.url.endswith("[0]"):
        told = "write local[2], local-cluster[2,1,1024], spark://HOST:PORT, yarn or k8s://..."
        raise UsageError(f"{target.asked} is {target.url}, which is no Spark master: {told}")
    if target.url.startswith("local-cluster") and not CLUSTER.fullmatch(target.url):
        told = "write local-cluster[WORKERS,CORES,MEGABYTES], such as local-cluster[2,1,1024]"
        raise UsageError(f"{target.asked} is {target.url}: {told}")


def _active() -> Any:
    """The session of this process, classic or Connect; None if there is none."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    if find_spec("grpc") and "pyspark.sql.connect.session" in sys.modules:
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        if (found := ConnectSession.getActiveSession()) is not None:
            return found
    classic = SparkSession.getActiveSession()
    return classic if classic is not None and classic.sparkContext._jsc is not None else None


def _reused(found: Any, target: Target, conf: dict[str, str]) -> "SparkSession":
    """The active session with these settings; UsageError where it cannot be what is asked for."""
    own = _target_of(found)
    next_step = "stop it first (`spark.stop()`), or leave this out"
    if target.asked and (own.url, own.remote) != (target.url, target.remote):
        told = f"this process has a Spark session on {own.url} already"
        raise UsageError(f"{target.asked} is {target.url}, but {told}: {next_step}")
    # What was started here has our settings already, or others that its caller chose.
    for name, value in (conf if id(found) in STARTED else SQL | conf).items():
        current = found.conf.get(name, None)
        if current == value or (name == JAVA_OPTIONS and value in str(current)):
            continue
        if not found.conf.isModifiable(name):
            told = f"this process has a Spark session already, whose {name} cannot be changed"
            raise UsageError(f"{name} is to be {value}, but {told}: {next_step}")
        found.conf.set(name, value)
    return found  # type: ignore[no-any-return]


STARTED: dict[int, Target] = {}
"""What sessions that were started here were asked for: a Connect session does not tell."""


def _target_of(found: Any) -> Target:
    if id(found) in STARTED:
        return STARTED[id(found)]
    if hasattr(found, "_jsparkSession"):
        return Target(found.sparkContext.master)
    return Target(f"sc://{found.client.host}", remote=True)


def _check_connect() -> None:
    missing = [name for name in ("grpc", "grpc_status", "google.rpc") if not _has(name)]
    if missing:
        told = "install it with `pip install 'ropewalk[connect]'`"
        raise UsageError(f"Spark Connect needs {', '.join(missing)}: {told}")


def _has(module: str) -> bool:
    with suppress(ModuleNotFoundError):
        return find_spec(module) is not None
    return False


def _check_server(target: Target) -> None:
    """Wait for a Connect server, but not for the minutes that Spark would."""
    import grpc  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    try:
        channel = DefaultChannelBuilder(target.url).toChannel()
    except (PySparkException, ValueError) as error:
        raise UsageError(f"{target.asked} is {target.url}: {_first_line(error)}") from None
    try:
        grpc.channel_ready_future(channel).result(timeout=ANSWER_S)
    except grpc.FutureTimeoutError:
        told = f"no Spark Connect server answers there within {ANSWER_S:.0f} s"
        raise UsageError(
            f"{target.asked} is {target.url}, but {told}: start one with "
            "start-connect-server.sh, or leave this out to run here"
        ) from None
    finally:
        channel.close()


def _prepare(target: Target) -> None:
    """Make this process ready to start Spark's Java."""
    if target.remote:
        _check_connect()
        _check_port()
    for host, port in re.findall(r"(?:spark://|,)([^,:]+):(\d+)", target.url):
        with suppress(OSError), socket.create_connection((host, int(port)), ANSWER_S):
            break
    else:
        if target.url.startswith("spark://"):
            told = f"no Spark master answers there within {ANSWER_S:.0f} s"
            raise UsageError(f"{target.asked} is {target.url}, but {told}: start it, or try local")
    if not submitted():
        os.environ["JAVA_HOME"] = str(quiet_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if target.url.startswith("local-cluster"):
        os.environ["SPARK_HOME"] = str(_spark_home())
    if not target.remote:
        # With it pyspark starts Connect, whatever the master.
        os.environ.pop(SPARKS_REMOTE, None)


def _spark_home() -> Path:
    """Spark's own folder by links, for as long as this process lives.

    Spark's scripts start the workers from there, and these write logs to `work` in it: the package
    itself may not be writable, and nobody would look for logs there.
    """
    package = find_spec("pyspark")
    home = Path(tempfile.mkdtemp(prefix="ropewalk-spark-"))
    atexit.register(rmtree, home, ignore_errors=True)
    for one in Path(str(package and package.origin)).parent.iterdir():
        if one.name != "work":
            (home / one.name).symlink_to(one)
    return home


def submitted() -> bool:
    """Whether `spark-submit` started this process: then Java runs already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _check_port() -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", CONNECT_PORT))
        except OSError:
            told = f"port {CONNECT_PORT} is taken, perhaps by another Spark Connect server"
            raise UsageError(
                f"{told}: give remote=sc://localhost:{CONNECT_PORT} to use that, or a master"
            ) from None


def _settings(target: Target, conf: dict[str, str]) -> dict[str, str]:
    """All settings of a new session; those of the caller win."""
    if not target.starts_here:
        return SQL | conf
    settings = SQL | QUIET | {"spark.app.name": "ropewalk"}
    if submitted():
        return settings | conf
    settings |= {"spark.driver.memory": "2g"} | (HERE if target.on_this_machine else {})
    if cluster := CLUSTER.fullmatch(target.url):
        settings["spark.executor.memory"] = f"{cluster[1]}m"
        settings["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(filter(None, _python_path()))
    options = [_log_option(), *archive_options(), conf.get(JAVA_OPTIONS, "")]
    return settings | conf | {JAVA_OPTIONS: " ".join(filter(None, options))}


def _python_path() -> tuple[str, str]:
    """Where workers find this package, also where it was not installed."""
    return str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")


def _log_option() -> str:
    """Log settings from the first line on: what is set later misses what Java says at its start."""
    try:
        return f'"-Dlog4j2.configurationFile={kept("logging", "log4j2.properties", LOGGING)}"'
    except OSError:
        return ""


def _started(target: Target, settings: Mapping[str, str]) -> "SparkSession":
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    builder._options = {}  # the builder is one for the process, and keeps what others told it
    if target.remote:
        builder = builder.remote(target.url)
    elif target.asked or not submitted():
        builder = builder.master(target.url)
    try:
        if target.remote and target.starts_here:
            started = _with_own_server(builder, settings)
        else:
            started = builder.config(map=dict(settings)).getOrCreate()
        _ = started.version  # a Connect server is asked here for the first time
    except (PySparkException, Py4JError) as error:
        raise UsageError(f"Spark on {target.url} does not start: {_first_line(error)}") from None
    STARTED.clear()
    STARTED[id(started)] = target
    return started  # type: ignore[no-any-return]


def _with_own_server(builder: Any, settings: Mapping[str, str]) -> Any:
    """Settings are the server's, for all its sessions: a session would refuse most of them."""
    given = {INIT_CONF_COUNT: "1", f"{INIT_CONF}_0": json.dumps(dict(settings))}
    os.environ.update(given)
    try:
        return builder.getOrCreate()
    finally:
        for name in given:
            del os.environ[name]


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    return str(error if java is None else java.toString()).strip().partition("\n")[0]


def is_active() -> bool:
    """Whether this process has a session already."""
    return _active() is not None
