"""Commands of the pages' `sh` blocks: taken apart, and what stands for what when they are run.

Every command is run, or is in `ONLY_READ` with the reason why not. `SMALLER` says what is put in
place of what costs much or belongs to another machine; nothing else is changed.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ropewalk.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(?:sh|bash|shell)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^    ((?:make|ropewalk|python) .*)$", re.MULTILINE)

SMALLER = [
    (r"--events 1e6", "--events 2e4", "seconds of Spark instead of a minute"),
    (r"lab drive --seconds 10", "lab drive --seconds 2", "clients for two seconds"),
    (r"--rate 1000 --seconds 10", "--rate 200 --seconds 2", "the same"),
    (r"at 3 s blackhole (\S+) for 2 s", r"at 500 ms blackhole \1 for 500 ms", "within them"),
    (r"--runs 100", "--runs 2", "each run is one more of the same"),
    (r"range\(20\)", "range(2)", "the same, of a mean"),
    (r"--seconds 300", "--seconds 30", "a bound that is not reached"),
    (r"/var/lib/ropewalk/", "state/", "a folder of this test's own"),
    (r"127\.0\.0\.1:9101", "127.0.0.1:{port}", "a port that is free"),
    (
        r"generate six-node -o six\.yaml",
        "generate three-broker -o six.yaml",
        "three agents, not six",
    ),
    (r"--document \*\.json", "--document verified.json", "a plan's policies end so, too"),
    (r"=10\.0\.0\.5:9100", "=127.0.0.1:1", "nobody but this machine is asked"),
    (r"(ropewalk serve .*)", r"\1 --port 0", "a port that is free"),
    (r"\.venv/bin/", "", "programs of this environment"),
]
"""What is put in place of what, and why."""

ONLY_READ = [
    (r"make ", "sets up an environment or runs all tests; its target has to be in the Makefile"),
    (r"python benchmarks/", "runs for minutes to hours; the script has to be there"),
    (r"ropewalk demo", "runs for minutes; tests of the demo run its steps"),
    (r"ropewalk lab (up|drive) .*--make (mosquitto|rabbitmq)", "needs that broker installed"),
    (r"systemctl |systemd-sysusers$|journalctl ", "needs systemd as the machine's first process"),
    (r"export PYTHON=|sh deploy/spark/standalone\.sh", "tests/pipeline/test_cluster.py runs these"),
    (r"sh deploy/spark/submit\.sh", "tests/pipeline/test_cluster.py runs it"),
    (r"SPARK_LOCAL_IP=\S+ ropewalk pipeline", "a master and a worker: test_cluster.py has one"),
    (r"main=\$\(python|spark-submit ", "a Java of its own: tests/pipeline/test_cli.py runs it"),
    (r"ropewalk pipeline stream ", "runs until it is ended: tests/pipeline/test_stream*.py"),
]
"""What is not run, and why. Verbs and options of `ropewalk` are still checked."""

SPARK = re.compile(r"ropewalk (pipeline|trace|place replay)\b|--from-trace|report .*--work")
"""Run by tests/pipeline, in the process that has a Spark session."""

STAYS = re.compile(r"ropewalk (lab up|agent|serve)\b")
"""Runs until it is ended: in the background, until the end of its page (the console: until it is up)."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a block."""

    page: str
    text: str
    """As written, without its comment."""
    exits: int | None = None
    """The exit code that its comment names."""

    @property
    def smaller(self) -> str:
        """What is run."""
        text = self.text
        for pattern, other, _why in SMALLER:
            text = re.sub(pattern, other, text)
        return text

    @property
    def reason(self) -> str:
        """Why it is only read; empty if it is run."""
        return next((why for pattern, why in ONLY_READ if re.match(pattern, self.bare)), "")

    @property
    def bare(self) -> str:
        """Without the environment's folder."""
        return self.text.replace(".venv/bin/", "")

    @property
    def on_spark(self) -> bool:
        return bool(SPARK.search(self.text))

    @property
    def stays(self) -> bool:
        return bool(STAYS.match(self.bare))


def commands(text: str, page: str = "") -> Iterator[Command]:
    """The commands of a page, in order."""
    for block in FENCE.findall(text):
        yield from taken_apart(block, page)
    for line in INDENTED.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)):
        yield from taken_apart(line + "\n", page)


def taken_apart(block: str, page: str = "") -> Iterator[Command]:
    r"""The commands of a block: ended by a line's end, `&&`, `;` or `&` outside of quotes.

    >>> [(one.text, one.exits) for one in taken_apart("a 'b\n#c' && d  # no: exit 1\ne \\\n f &\n")]
    [("a 'b\n#c'", None), ('d', 1), ('e   f', None)]
    """
    text, comment, quote, depth, at = "", "", "", 0, 0
    block = block.replace("\\\n", " ")
    while at < len(block):
        sign = block[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif block.startswith("$(", at):
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
        elif sign == "#" and text[-1:] in ("", " "):
            end = block.index("\n", at)
            comment, at = block[at:end], end
            continue
        elif sign in "\n;&" and not depth:
            if text.strip():
                yield _command(text, comment if sign == "\n" else "", page)
            text, comment, at = "", "", at + (2 if block.startswith("&&", at) else 1)
            continue
        text, at = text + sign, at + 1
    assert not quote, f"{page}: a quote is not closed: {block}"


def _command(text: str, comment: str, page: str) -> Command:
    told = re.search(r"\bexit (?:code )?(\d)", comment)
    return Command(page, text.strip(), int(told[1]) if told else None)


def every_command() -> list[Command]:
    """Of all pages."""
    return [one for page in PAGES for one in commands(page.read_text("utf-8"), page.name)]


def words(text: str, folder: Path) -> tuple[list[str], Path | None]:
    """The words of a command, with names of files filled in, and where its output goes."""
    given = shlex.split(text)
    out = None
    if ">" in given:
        at = given.index(">")
        out = folder / given[at + 1]
        del given[at : at + 2]
    found = []
    for word in given:
        matching = sorted(folder.glob(word)) if "*" in word and f"'{word}'" not in text else []
        found += [str(one.relative_to(folder)) for one in matching] or [word]
    return found, out


def faults(command: Command) -> list[str]:
    """What is wrong with a command that is only read."""
    given = shlex.split(re.sub(r"^(\w+=\S+ )+", "", command.bare.split(" > ")[0]))
    if not given:
        return []
    program, *rest = given
    if program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        return [f"no target {one}" for one in rest if one not in targets and "=" not in one]
    if program in ("python", "sh"):
        return [] if (ROOT / rest[0]).is_file() else [f"no file {rest[0]}"]
    return unknown(rest) if program == "ropewalk" else []


def unknown(given: Sequence[str]) -> list[str]:
    """Verbs and options that `ropewalk` does not have.

    >>> unknown(["lab", "up", "x.yaml", "--form", "3"]), unknown(["vreify", "x"])
    (['--form'], ['vreify'])
    """
    command: Any = typer.main.get_command(app)
    rest = list(given)
    context = command.context_class(command, info_name="ropewalk")
    while hasattr(command, "list_commands"):
        known = command.list_commands(context)
        verb = next((one for one in rest if not one.startswith("-")), None)
        if verb is None:
            return []  # a group alone is no command, but it can be spoken of
        if verb not in known:
            return [] if _has_usual(command) else [verb]
        rest.remove(verb)
        command = command.get_command(context, verb)
    has = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    has |= {"--help", "-h"}
    return [one for one in rest if re.match(r"--?[a-z]", one) and one.partition("=")[0] not in has]


def _has_usual(group: Any) -> bool:
    """Whether a group takes what is no verb of it as an argument of its usual one."""
    return type(group).__name__ not in ("TyperGroup", "Verbs")
