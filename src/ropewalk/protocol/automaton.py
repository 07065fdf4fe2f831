"""A protocol as a deterministic automaton, and the file that states it.

    protocol: order-entry
    initial: idle
    accepting: [done]
    transitions:
      - idle -> asked: request
      - asked -> done: offer

A state is what a transition names. States and labels keep the order in which the file names them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml

from ropewalk.errors import UsageError

NOT_ALLOWED = -1
MOST = 32_767
"""States are numbered in 16 bits."""

_KEYS = ("protocol", "initial", "accepting", "transitions")
_SHAPE = "write - FROM -> TO: LABEL"


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """A protocol: `table[state, label]` is the next state, or -1 where the label is not allowed."""

    name: str
    states: tuple[str, ...]
    labels: tuple[str, ...]
    initial: int
    accepting: frozenset[int]
    table: npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class _Transition:
    source: str
    target: str
    label: str
    line: int


def load_automaton(path: Path | str) -> Automaton:
    """The protocol in a file; raises UsageError if it cannot be read or makes no sense."""
    try:
        text = Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: this is not text: save the protocol as UTF-8") from None
    except OSError as error:
        reason = error.strerror or "no reason given"
        raise UsageError(f"{path}: cannot be read ({reason}): name a protocol file") from None
    return automaton(text, file=str(path))


def load_automata(protocols: Mapping[str, str], folder: Path) -> dict[str, Automaton]:
    """The protocols of a federation by name; their files are named from its folder."""
    return {name: load_automaton(folder / path) for name, path in protocols.items()}


def automaton(text: str, *, file: str = "protocol") -> Automaton:
    """The protocol in a text; raises UsageError, with the line, if it makes no sense.

    >>> one = automaton(
    ...     "{protocol: p, initial: idle, accepting: [done], transitions: [idle -> done: ask]}"
    ... )
    >>> one.states, one.labels, one.table.tolist()
    (('idle', 'done'), ('ask',), [[1], [-1]])
    """
    return _Reader(file).read(text)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one text; the file's name goes into what it says of faults."""

    file: str

    def fault(self, line: int, what: str) -> UsageError:
        return UsageError(f"{self.file}:{line}: {what}")

    def read(self, text: str) -> Automaton:
        sections = self.sections(self.root(text))
        name = self.text(sections["protocol"], "the protocol's name", "write protocol: NAME")
        transitions = list(self.transitions(sections["transitions"]))
        states = {state: i for i, state in enumerate(dict.fromkeys(_states(transitions)))}
        labels = {
            label: i for i, label in enumerate(dict.fromkeys(one.label for one in transitions))
        }
        if len(states) > MOST:
            raise self.fault(1, f"it has {len(states):,} states: write at most {MOST:,}")
        initial = self.state(sections["initial"], "initial", states)
        accepting = [
            self.state(node, "accepting", states) for node in self.accepting(sections["accepting"])
        ]
        table = self.table(transitions, states, labels)
        return Automaton(name, tuple(states), tuple(labels), initial, frozenset(accepting), table)

    def root(self, text: str) -> yaml.Node:
        try:
            node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            problem = error.problem or "this is not YAML"
            raise self.fault(line, f"{problem}: mend the YAML here or just above") from None
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise self.fault(line, "a character that no text has: remove it") from None
        except RecursionError:
            raise self.fault(1, f"it is nested too deeply: {_SHAPE}") from None
        if node is None:
            raise self.fault(1, f"it is empty: write {', '.join(_KEYS)}")
        return node

    def sections(self, root: yaml.Node) -> dict[str, yaml.Node]:
        """The file's four keys and their values."""
        if not isinstance(root, yaml.MappingNode):
            raise self.fault(_line(root), f"this is no map: write {', '.join(_KEYS)}")
        found: dict[str, yaml.Node] = {}
        for key, value in root.value:
            name = str(key.value)
            if name not in _KEYS:
                raise self.fault(_line(key), f"{name!r} is not known: use {', '.join(_KEYS)}")
            if name in found:
                raise self.fault(_line(key), f"{name} is written twice: keep one of them")
            found[name] = value
        for name in _KEYS:
            if name not in found:
                raise self.fault(_line(root), f"{name} is missing: add {name}:")
        return found

    def text(self, node: yaml.Node, what: str, write: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.fault(_line(node), f"{what} is no text: {write}")
        text = str(node.value).strip()
        if not text:
            raise self.fault(_line(node), f"{what} is empty: {write}")
        return text

    def accepting(self, node: yaml.Node) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise self.fault(_line(node), "accepting names no states: write accepting: [STATE]")
        return list(node.value)

    def state(self, node: yaml.Node, where: str, states: dict[str, int]) -> int:
        name = self.text(node, f"a state of {where}", f"write {where} with a state's name")
        if name not in states:
            known = ", ".join(list(states)[:8])
            what = f"{where} names the state {name!r}, which no transition has"
            raise self.fault(_line(node), f"{what}: use one of {known}")
        return states[name]

    def transitions(self, node: yaml.Node) -> Iterator[_Transition]:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise self.fault(_line(node), f"there are no transitions: {_SHAPE}")
        for entry in node.value:
            if not isinstance(entry, yaml.MappingNode) or len(entry.value) != 1:
                raise self.fault(_line(entry), f"this is no transition with a label: {_SHAPE}")
            [(arrow, label)] = entry.value
            ends = self.ends(arrow)
            yield _Transition(*ends, self.text(label, "the label", _SHAPE), _line(arrow))

    def ends(self, arrow: yaml.Node) -> tuple[str, str]:
        text = self.text(arrow, "the transition", _SHAPE)
        ends = [end.strip() for end in text.split("->")]
        if len(ends) != 2 or not all(ends):
            raise self.fault(_line(arrow), f"{text!r} is not one arrow between states: {_SHAPE}")
        return ends[0], ends[1]

    def table(
        self, transitions: list[_Transition], states: dict[str, int], labels: dict[str, int]
    ) -> npt.NDArray[np.int16]:
        table = np.full((len(states), len(labels)), NOT_ALLOWED, np.int16)
        first: dict[tuple[str, str], _Transition] = {}
        for one in transitions:
            known = first.setdefault((one.source, one.label), one)
            if known is not one:
                raise self.fault(one.line, _two_ways(known, one))
            table[states[one.source], labels[one.label]] = states[one.target]
        table.flags.writeable = False
        return table


def _states(transitions: list[_Transition]) -> Iterator[str]:
    for one in transitions:
        yield from (one.source, one.target)


def _two_ways(known: _Transition, one: _Transition) -> str:
    if known.target == one.target:
        return f"this transition is also in line {known.line}: keep one of them"
    return (
        f"{one.label!r} leads from {one.source!r} to {one.target!r}, and in line {known.line} to "
        f"{known.target!r}: give each its own label"
    )


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
