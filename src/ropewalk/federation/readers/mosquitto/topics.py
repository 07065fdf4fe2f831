"""The topic lines of one connection: which messages each of them carries, and under which names.

Measured with Mosquitto 2.0.11: a message crosses a connection once, however many lines match it;
with MQTT 5, or where the broker that sends it has `allow_duplicate_messages`, once for each that
is subscribed and matches. Of the lines that rename, the first that matches gives its names; a line
without prefixes counts only where none of these matches. An `out` line also unsubscribes what it
would bring in.

One name is left out: `#` matches its own parent too, so `# out 0 a/ x/` sends `a` as `x/a`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ropewalk.federation.readers.drafts import Direction, Drafts
from ropewalk.federation.spelling import cover
from ropewalk.federation.topics import common
from ropewalk.findings import Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A topic line."""

    where: Where
    pattern: str
    direction: Direction = "out"
    qos: int = 0
    local: str = ""
    remote: str = ""

    @property
    def renames(self) -> bool:
        """Whether it has a prefix."""
        return bool(self.local or self.remote)

    def goes(self, way: Direction) -> bool:
        """Whether it carries anything that way."""
        return self.direction in (way, "both")

    def prefix(self, way: Direction) -> str:
        """What its names begin with where its messages come from."""
        return self.local if way == "out" else self.remote

    def full(self, way: Direction) -> str:
        """What it subscribes to where its messages come from."""
        return self.prefix(way) + self.pattern


@dataclass(frozen=True, slots=True)
class Carried:
    """What a line carries one way, without its prefixes."""

    patterns: tuple[str, ...]
    excepts: tuple[str, ...]
    qos: int


def effective(
    lines: Sequence[Line], unsubscribes: bool, drafts: Drafts, *, each: Collection[Direction] = ()
) -> list[tuple[Line, Direction, Carried]]:
    """What each line carries, one entry for both ways where that is the same.

    The ways of `each` bring what several lines have subscribed once for each of them.
    """
    sent, fetched = (_OneWay(drafts, each=way in each) for way in ("out", "in"))
    out = sent.carried(lines, "out", {line.full("out") for line in lines if line.goes("out")})
    live = subscribed(lines, unsubscribes)
    _tell_undone(lines, live, drafts)
    into = fetched.carried(lines, "in", live)
    found: list[tuple[Line, Direction, Carried]] = []
    for line in lines:
        here, there = out.get(line.where, []), into.get(line.where, [])
        if here == there:
            found += ((line, "both", one) for one in here)
            continue
        found += ((line, "out", one) for one in here)
        found += ((line, "in", one) for one in there)
    return found


def subscribed(lines: Sequence[Line], unsubscribes: bool) -> set[str]:
    """What a connection stays subscribed to at the far broker, after all of its lines."""
    live: set[str] = set()
    for line in lines:
        if line.goes("in"):
            live.add(line.full("in"))
        elif unsubscribes:
            live.discard(line.full("in"))
    return live


def _tell_undone(lines: Sequence[Line], live: set[str], drafts: Drafts) -> None:
    for i, line in enumerate(lines):
        if not line.goes("in") or line.full("in") in live:
            continue
        undoes = [one for one in lines[i + 1 :] if not one.goes("in")]
        by = next(one for one in undoes if one.full("in") == line.full("in"))
        what = f"nothing comes in by this topic line: the out line {by.where.line} unsubscribes it"
        fix = "write both instead of the two, or bridge_attempt_unsubscribe false"
        drafts.warn(line.where, "C020", f"{what}: {fix}")


@dataclass(frozen=True, slots=True)
class _OneWay:
    drafts: Drafts
    each: bool

    def carried(
        self, lines: Sequence[Line], way: Direction, live: set[str]
    ) -> dict[Where, list[Carried]]:
        """What lines carry one way, of what is subscribed."""
        going = [line for line in lines if line.goes(way)]
        order = sorted(going, key=lambda line: not line.renames)
        qos = {line.full(way): line.qos for line in going}  # of equal ones the last counts
        found: dict[Where, list[Carried]] = {}
        for i, line in enumerate(order):
            before: dict[str, Line] = {}
            for one in order[:i]:
                if met := common(line.full(way), one.full(way)):
                    before.setdefault(met, one)
            sets = [self._kept(wanted, before) for wanted in self._wanted(line.full(way), live)]
            if sets and not any(sets):
                by = before.get(line.full(way)) or next(iter(before.values()))
                other = all(one.full(way) != line.full(way) for one in order[:i])
                again = self.each and other and line.full(way) in live
                _tell_covered(line, way, by, self.drafts, again=again)
            made = (_carried(line, way, kept, before, qos) for kept in sets)
            found[line.where] = [one for one in made if one is not None]
        return found

    def _wanted(self, mine: str, live: set[str]) -> list[list[str]]:
        """What comes of a line's names, in as many lots as there are copies."""
        met = [mine] if mine in live else []
        others = (common(mine, one) for one in sorted(live) if one != mine)
        if self.each:
            return [[one] for one in (*met, *others) if one]
        return [met] if met else [lot] if (lot := [one for one in others if one]) else []

    def _kept(self, wanted: Sequence[str], before: Mapping[str, Line]) -> list[str]:
        return [one for one in cover(sorted(wanted)) if not _covered(one, before)]


def _carried(
    line: Line, way: Direction, kept: Sequence[str], before: Mapping[str, Line], qos: dict[str, int]
) -> Carried | None:
    patterns = _without(line.prefix(way), kept)
    excepts = [one for one in cover(before) if any(common(one, kept_) for kept_ in kept)]
    if not patterns or not line.pattern:
        return None
    rest = _without(line.prefix(way), excepts)
    return Carried(patterns, rest, qos.get(line.full(way), line.qos))


def _covered(pattern: str, before: Mapping[str, Line]) -> bool:
    return any(common(pattern, one) == pattern for one in before)


def _without(prefix: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """Names without the prefix; `a` itself, which `a/#` matches too, has none to be without."""
    return tuple(one[len(prefix) :] for one in patterns if one.startswith(prefix) and one != prefix)


def _tell_covered(line: Line, way: Direction, by: Line, drafts: Drafts, *, again: bool) -> None:
    if again:
        what = f"this topic line brings once more {way} what line {by.where.line} carries"
        why = "as MQTT 5 and allow_duplicate_messages have it"
        drafts.warn(line.where, "C020", f"{what} ({why}): remove it")
        return
    if (line.local, line.remote) == (by.local, by.remote):
        what = f"this topic line carries nothing {way} that line {by.where.line} does not"
        drafts.note(line.where, "C020", f"{what}: remove it")
        return
    what = f"this topic line carries nothing {way}: line {by.where.line} takes it all first"
    fix = "of lines with a prefix the first that matches counts: put the narrower one first"
    if not line.renames:
        fix = "a line without prefixes comes last, wherever it stands: remove one of the two"
    drafts.warn(line.where, "C020", f"{what}; {fix}")


def tell_doubles(lines: Sequence[Line], drafts: Drafts) -> None:
    """Lines that releases after 2.0.11 take for doubles and skip, though their names differ."""
    for i, line in enumerate(lines):
        for one in lines[:i]:
            same = (line.pattern, line.direction, line.qos) == (one.pattern, one.direction, one.qos)
            left = {(line.local, one.local), (line.remote, one.remote)}
            if same and all("" in pair or pair[0] == pair[1] for pair in left):
                if (line.local, line.remote) != (one.local, one.remote):
                    what = f"Mosquitto 2.1 takes this line for a double of line {one.where.line}"
                    drafts.warn(line.where, "C020", f"{what} and skips it: keep one of the two")
                break


def single(line: Line) -> Line | None:
    """A single topic renamed, as prefixes and what both names end with; None if that is nothing.

    >>> line = Line(where=Where("f", 1), pattern="", local="a/temp", remote="b/temp")
    >>> found = single(line)
    >>> found.local, found.remote, found.pattern
    ('a/', 'b/', 'temp')
    """
    near, far = line.local.split("/"), line.remote.split("/")
    same = 0
    while same < min(len(near), len(far)) and near[-1 - same] == far[-1 - same]:
        same += 1
    end = "/".join(near[len(near) - same :]) if same else _same_end(line.local, line.remote)
    if not end:
        return None
    local = line.local[: len(line.local) - len(end)]
    remote = line.remote[: len(line.remote) - len(end)]
    return replace(line, pattern=end, local=local, remote=remote)


def _same_end(a: str, b: str) -> str:
    same = 0
    while same < min(len(a), len(b)) and a[-1 - same] == b[-1 - same]:
        same += 1
    return a[len(a) - same :]
