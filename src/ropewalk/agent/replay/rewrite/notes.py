"""What a rewriting left out, told once for each reason."""


class Notes:
    """Settings of one server's files that the lab does not have, by the reason."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._by_reason: dict[str, dict[str, None]] = {}

    def add(self, what: str, why: str) -> None:
        """Note a setting; its value is nobody's business."""
        self._by_reason.setdefault(why, {})[what] = None

    def told(self) -> tuple[str, ...]:
        """One line for each reason.

        >>> notes = Notes("hub")
        >>> notes.add("port", "the lab has its own"), notes.add("bind", "the lab has its own")
        (None, None)
        >>> notes.told()
        ('hub: port, bind: the lab has its own',)
        """
        return tuple(
            f"{self._server}: {', '.join(what)}: {why}" for why, what in self._by_reason.items()
        )


def table(*rows: tuple[str, str]) -> dict[str, str]:
    """Words with their reason, from rows of a reason and its words.

    >>> table(("why", "a b"))
    {'a': 'why', 'b': 'why'}
    """
    return {word: why for why, words in rows for word in words.split()}
