"""Priorities: of the letters that are ready together the most urgent goes first.

A queue that always takes the most urgent letter would let the others starve; within one batch the
urgent overtake, and nobody waits for longer than a batch.
"""

from collections.abc import Callable

from ropewalk.overlay.words import Letter


def urgent_first(ready: list[Letter], by_priority: Callable[[str], bool]) -> list[Letter]:
    """Letters of topics ordered by priority change places among themselves; the others stay.

    Equal priorities keep their order, so `after` must chain letters of the same topic and priority.
    """
    places = [place for place, letter in enumerate(ready) if by_priority(letter.topic)]
    if len(places) < 2:
        return ready
    chosen = sorted((ready[place] for place in places), key=lambda letter: -letter.priority)
    ordered = list(ready)
    for place, letter in zip(places, chosen, strict=True):
        ordered[place] = letter
    return ordered
