"""A role's last steps in a conversation, as its stamps tell them."""

from ropewalk.protocol.stamps import Stamp

WINDOW = 32
"""How many of its last steps a sender tells in a stamp."""

LONGEST = 4_096
"""How many it remembers if it has to tell of a deadline."""

Numbers = tuple[int, ...]
Kept = tuple[int, int, int, int, Numbers, Numbers, Numbers]


class Steps:
    """The last steps of a way, where it was before them, and what had been heard by then."""

    __slots__ = ("_base", "_early", "_events", "_first", "_heard", "_letters", "_rows", "_silent",
                 "_state", "_untold", "_window")  # fmt: skip

    def __init__(
        self,
        rows: list[list[int]],
        state: int,
        window: int,
        silent: frozenset[int] = frozenset(),
    ) -> None:
        self._rows, self._state, self._window, self._silent = rows, state, window, silent
        self._untold = False
        """Whether a deadline has passed of which no message has told yet: it is not forgotten."""
        self._base = self._first = self._heard = 0
        self._early: tuple[int, ...] = ()
        self._events: list[int] = []
        self._letters: list[int] = []

    def add(self, event: int, letter: int) -> None:
        """Another step: a letter of its own, or -1 - n for the other side's number n."""
        self._events.append(event)
        self._letters.append(letter)
        if self._untold or event in self._silent:
            # The next message tells of it: until then, and with it, nothing is forgotten.
            self._untold = event < 0 or event in self._silent
            if len(self._events) < LONGEST:
                return
            self._untold = False
        while len(self._events) > self._window:
            self._forget()

    def _forget(self) -> None:
        """The oldest step is no longer told."""
        event, letter = self._events.pop(0), self._letters.pop(0)
        self._state = self._rows[self._state][letter]
        self._base += 1
        if event >= 0:
            self._first += 1
        else:
            self._heard, self._early = counted(self._heard, self._early, -1 - event)

    def stamp(self, number: int) -> Stamp:
        """For the letter that was the last step."""
        return Stamp(
            number,
            self._base,
            self._first,
            self._state,
            self._heard,
            self._early,
            tuple(self._events),
        )

    def memory(self) -> Kept:
        """What a restart needs of it."""
        head = self._base, self._first, self._state, self._heard
        return *head, self._early, tuple(self._events), tuple(self._letters)

    def recall(self, kept: Kept) -> None:
        """Be what it was."""
        self._base, self._first, self._state, self._heard, self._early, events, letters = kept
        self._events, self._letters = list(events), list(letters)
        last = next((event for event in reversed(events) if event >= 0), -1)
        self._untold = last in self._silent


def counted(heard: int, early: tuple[int, ...], number: int) -> tuple[int, tuple[int, ...]]:
    """How many are there without a gap, and which beyond it, with one more.

    >>> counted(0, (2,), 1), counted(0, (1,), 0)
    ((0, (1, 2)), (2, ()))
    """
    if number != heard:
        return heard, tuple(sorted((*early, number)))
    heard += 1
    while early and early[0] == heard:
        heard, early = heard + 1, early[1:]
    return heard, early


def in_order(rows: list[list[int]], state: int, letters: list[int]) -> list[int]:
    """Letters in an order that is allowed from a state: always the first that is.

    What is never allowed comes last.

    >>> in_order([[1, -1], [-1, 0]], 0, [1, 1, 0, 0])
    [0, 1, 0, 1]
    """
    at = state
    for letter in letters:
        at = rows[at][letter]
        if at < 0:
            return _searched(rows, state, list(letters))
    return letters


def _searched(rows: list[list[int]], state: int, rest: list[int]) -> list[int]:
    found: list[int] = []
    while rest:
        at = next((i for i, letter in enumerate(rest) if rows[state][letter] >= 0), None)
        if at is None:
            return found + rest
        found.append(rest.pop(at))
        state = rows[state][found[-1]]
    return found
