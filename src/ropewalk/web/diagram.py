"""A protocol as a Mermaid state diagram: text in which nothing of a file means anything.

Colours are our own, by classes, so that they follow the page when it turns dark.
"""

import string

from ropewalk.protocol.automaton import Automaton

PLAIN = frozenset(string.ascii_letters + string.digits + " ._-")
MOST_STATES = 30
"""Of a larger protocol only what lies near the present state is drawn."""
NEAR = 2
"""Steps from the present state."""
LONGEST = 40
CONFIG = {"state": {"useMaxWidth": False}}
"""As large as its words are, not as wide as the page."""
MOST_LABELS = 4
"""On an arrow; more are told as a number."""

STYLE = """
.rw-diagram { overflow-x: auto; --ink: #1f2933; --box: #eef2f7; --rim: #51657d; --now: #1463d2;
  --bad: #b91c1c; --page: #ffffffd0; }
.body--dark .rw-diagram { --ink: #e5e7eb; --box: #253244; --rim: #9fb0c6; --now: #3b82f6;
  --bad: #f87171; --page: #1d1d1dd0; }
.rw-diagram svg { max-width: 100% !important; max-height: 440px; height: auto; }
.rw-diagram svg .transition { stroke: var(--rim) !important; stroke-width: 1.5px !important; }
.rw-diagram svg marker path { fill: var(--rim) !important; stroke: var(--rim) !important; }
.rw-diagram svg .node rect, .rw-diagram svg .node path { fill: var(--box) !important;
  stroke: var(--rim) !important; }
.rw-diagram svg .state-start, .rw-diagram svg .node circle { fill: var(--rim) !important;
  stroke: var(--rim) !important; }
.rw-diagram svg .edgeLabel, .rw-diagram svg .edgeLabel p, .rw-diagram svg .labelBkg,
.rw-diagram svg .edgeLabel rect { background: var(--page) !important; fill: var(--page); }
.rw-diagram svg .nodeLabel, .rw-diagram svg .edgeLabel span, .rw-diagram svg text {
  color: var(--ink) !important; fill: var(--ink) !important; }
.rw-diagram svg .node.now rect, .rw-diagram svg .node.now path { fill: var(--now) !important;
  stroke: var(--now) !important; }
.rw-diagram svg .node.now .nodeLabel { color: #fff !important; }
.rw-diagram svg .node.off rect, .rw-diagram svg .node.off path { stroke: var(--bad) !important;
  stroke-width: 3px !important; }
"""


def mermaid_of(
    automaton: Automaton, at: frozenset[int] = frozenset(), *, forbidden: bool = False
) -> str:
    r"""The diagram, the present states marked.

    >>> from ropewalk.protocol import automaton
    >>> text = "{protocol: p, initial: a, accepting: [b], transitions: [a -> b: '<m>']}"
    >>> print(mermaid_of(automaton(text)))
    stateDiagram-v2
    direction TB
    state "a" as s0
    state "b" as s1
    [*] --> s0
    s0 --> s1 : #60;m#62;
    s1 --> [*]
    """
    drawn = near(automaton, at)
    lines = ["stateDiagram-v2", "direction TB"]
    lines += [f'state "{escaped(automaton.states[one])}" as s{one}' for one in drawn]
    if automaton.initial in drawn:
        lines.append(f"[*] --> s{automaton.initial}")
    for state in drawn:
        lines += _arrows(automaton, state, set(drawn))
        if state in automaton.accepting:
            lines.append(f"s{state} --> [*]")
    lines += [f"class s{one} {'off' if forbidden else 'now'}" for one in sorted(at)]
    return "\n".join(lines)


def near(automaton: Automaton, at: frozenset[int]) -> list[int]:
    """The states that are drawn: all of a small protocol."""
    if len(automaton.states) <= MOST_STATES:
        return list(range(len(automaton.states)))
    found = list(at or {automaton.initial})
    edge = found
    for _ in range(NEAR):
        reached = dict.fromkeys(to for one in edge for to in automaton.rows[one] if to >= 0)
        edge = [one for one in reached if one not in found]
        found = [*found, *edge][:MOST_STATES]
    return sorted(found)


def _arrows(automaton: Automaton, state: int, drawn: set[int]) -> list[str]:
    """An arrow for each state that follows, with all that leads there."""
    labels: dict[int, list[str]] = {}
    for letter, to in enumerate(automaton.rows[state]):
        if to in drawn:
            labels.setdefault(to, []).append(automaton.labels[letter])
    return [f"s{state} --> s{to} : {_together(some)}" for to, some in labels.items()]


def _together(labels: list[str]) -> str:
    shown = [escaped(one) for one in labels[:MOST_LABELS]]
    more = len(labels) - len(shown)
    return "<br/>".join([*shown, *([f"and {more} more"] if more else [])])


def escaped(text: str) -> str:
    """A name in which Mermaid finds nothing but characters.

    >>> escaped('a "b" `c`')
    'a #34;b#34; #96;c#96;'
    """
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(one if one in PLAIN else f"#{ord(one)};" for one in short) or " "
