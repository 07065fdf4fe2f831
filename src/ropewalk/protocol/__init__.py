"""Protocols that conversations follow: can peers keep to them, and do they?

Reading order: `automaton` (what may be said when), `reading` (a file and its faults: `notebook`,
`transitions`, `guards`, `precedence`), `views` and `realize` (what each role sees; can all keep to
it), `convergence` (do all orders of what is missing end alike), `crossing` (words that meet),
`grounds` (all of this of one protocol), `stamps` and `steps` (what a message tells of its sender's
way), `horizon` (the rule), `messenger`, `conversations`, `memory`, `binding` (headers), `strict`
and `printed` (rivals), `experiment`, `observed` (a protocol as a trace shows it).
"""

from ropewalk.protocol.automaton import Automaton
from ropewalk.protocol.reading import automaton, load_automaton

__all__ = ["Automaton", "automaton", "load_automaton"]
