"""A failing run as a short story: what happened when, who believed what, where a message went.

The run is repeated with every crossing of a link told, which gives the same run: it is
deterministic. Lines that tell of other messages are left out.
"""

from collections.abc import Callable, Iterator
from itertools import groupby

from ropewalk.overlay.simulate.account import Account
from ropewalk.overlay.simulate.invariants import Violation
from ropewalk.overlay.simulate.journal import Entry
from ropewalk.overlay.simulate.run import Run

MOST_LINES = 80
CAST = 2
"""Of so many of the messages concerned the way is told."""


def story(run: Run, violation: Violation, *, most_lines: int = MOST_LINES) -> str:
    """What led to a violation, line by line."""
    told = run.again(words=True)
    teller = _Teller(told.account, violation)
    lines = [line for entry in told.journal.entries if (line := teller.line(entry))]
    lines = [*_merged(lines)]
    if len(lines) > most_lines:
        head, tail = most_lines // 2, most_lines - most_lines // 2
        left_out = f"{'':>12}  ... {len(lines) - most_lines} lines left out ..."
        lines = [*lines[:head], left_out, *lines[-tail:]]
    return "\n".join([f"{violation.code}: {violation.message}.", *lines, *teller.end()])


def _merged(lines: list[str]) -> Iterator[str]:
    """What is repeated over and over is told once, with how often."""
    for text, some in groupby(lines, lambda line: line[14:]):
        same = list(some)
        times = f"  (and {len(same) - 1} times more until {same[-1][:12].strip()})"
        yield same[0][:14] + text + (times if len(same) > 1 else "")


class _Teller:
    """Puts entries of a journal into words."""

    def __init__(self, account: Account, violation: Violation) -> None:
        self._account = account
        self._cast = set(violation.numbers[-CAST:] if violation.numbers else ())
        self._cast |= set(violation.numbers[:CAST])
        self._broker = violation.witness.get("broker")
        self._ways: dict[str, Callable[[Entry], str]] = {
            "fault": lambda e: f"FAULT   {e[3].split(' ', 3)[3]}",
            "heal": lambda e: f"HEALED  {e[3].split(' ', 3)[3]}",
            "crash": self._crash,
            "start": self._start,
            "publish": self._publish,
            "accept": self._accept,
            "refuse": self._refuse,
            "deliver": self._deliver,
            "repeat": self._repeat,
            "confirm": self._confirm,
            "carry": self._carry,
            "things": self._things,
            "leak": lambda _: "",
            "far": lambda _: "",
        }

    def line(self, entry: Entry) -> str:
        """One line, or nothing if the entry is beside the point."""
        way = self._ways.get(entry[1])
        text = way(entry) if way is not None else ""
        return f"{entry[0] / 1000:>9.3f} ms  {text}" if text else ""

    def end(self) -> list[str]:
        """Who still keeps what of the messages concerned."""
        kept = sorted(self._account.journal.custody)
        letters = {one.letter: n for n, one in self._account.accepted.items() if n in self._cast}
        return [
            f"{'at the end':>12}  message {letters[letter]} is still kept for {self._name(to)}"
            for letter, to in kept
            if letter in letters
        ]

    def _name(self, broker: int) -> str:
        return self._account.name(broker)

    def _crash(self, entry: Entry) -> str:
        _, _, broker, disk, custody = entry
        cast = {one.letter for n, one in self._account.accepted.items() if n in self._cast}
        had = sum(letter in cast for letter, _ in custody)
        keeps = f", {had} of these messages in custody" if had else ""
        return f"{self._name(broker)}: agent gone{'' if disk else ' and its disk'}{keeps}"

    def _start(self, entry: Entry) -> str:
        return f"{self._name(entry[2])}: agent back, life {entry[3]}" if entry[0] else ""

    def _publish(self, entry: Entry) -> str:
        if entry[3] not in self._cast:
            return ""
        topic = self._account.publications[entry[3]].topic
        return f"{self._name(entry[2])}: message {entry[3]} of {topic} is published"

    def _accept(self, entry: Entry) -> str:
        _, _, broker, number, letter = entry
        told = f"{self._name(broker)}: accepts message {number} as its {letter[3]}. of life"
        return f"{told} {letter[1]}" if number in self._cast else ""

    def _refuse(self, entry: Entry) -> str:
        _, _, broker, number, reason = entry
        told = f"{self._name(broker)}: refuses message {number}: {reason}"
        return told if number in self._cast else ""

    def _deliver(self, entry: Entry) -> str:
        _, _, broker, subscriber, number, _ = entry
        told = f"{self._name(broker)}: message {number} DELIVERED to {subscriber}"
        return told if number in self._cast else ""

    def _repeat(self, entry: Entry) -> str:
        _, _, broker, subscriber, number = entry
        told = f"{self._name(broker)}: message {number} again for {subscriber}, dropped"
        return told if number in self._cast else ""

    def _confirm(self, entry: Entry) -> str:
        _, _, broker, subscriber, pattern, _ = entry
        told = f"{self._name(broker)}: {subscriber}'s subscription to {pattern} is confirmed"
        return told if self._broker == self._name(broker) else ""

    def _carry(self, entry: Entry) -> str:
        _, _, link, source, told = entry
        some = [(number, hops) for number, hops in told if number in self._cast]
        a, b = (int(end) for end in self._account.federation.graph.ends[link])
        to = self._name(b if source == a else a)
        which = ", ".join(f"{number} (hop {hops})" for number, hops in some)
        return f"{self._name(source)} -> {to}: message {which}" if some else ""

    def _things(self, entry: Entry) -> str:
        names = [
            self._account.link_name(one) if one >= 0 else self._name(-1 - one) for one in entry[3]
        ]
        return f"{self._name(entry[2])}: holds {', '.join(names) or 'nothing'} for down"
