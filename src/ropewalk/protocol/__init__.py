"""Protocols that conversations follow: `automaton` (what may be said when, read from a file)."""

from ropewalk.protocol.automaton import Automaton, automaton, load_automaton

__all__ = ["Automaton", "automaton", "load_automaton"]
