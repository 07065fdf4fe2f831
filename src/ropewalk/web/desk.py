"""What somebody works on: the text of a federation file, what it says, and what is wrong with it.

A desk is a record: changes give another one. Where a text does not load, the faults are told and
the last federation that did stays in view.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ropewalk.errors import FederationError
from ropewalk.federation import Federation, loads
from ropewalk.federation.dump import dump
from ropewalk.findings import Finding

MOST_CHARACTERS = 2_000_000
"""Of a text that is checked while somebody types; larger files are for the command line."""


@dataclass(frozen=True, eq=False, slots=True)
class Desk:
    """A text and its federation; `faults` are why the text is not (yet) what is shown."""

    file: str
    text: str
    federation: Federation
    faults: Sequence[Finding] = ()
    saved: str = ""
    """The text as the file has it."""

    @property
    def changed(self) -> bool:
        """Whether there is something to save."""
        return self.text != self.saved

    @property
    def loaded(self) -> bool:
        """Whether the text is what is shown."""
        return not self.faults

    def typed(self, text: str) -> "Desk":
        """The desk with another text.

        >>> desk = Desk.of(text="{federation: f, brokers: {a: }}", file="f.yaml")
        >>> desk.typed("{federation: f, brokers: {a: {make: natz}}}").faults[0].code
        'F015'
        """
        if len(text) > MOST_CHARACTERS:
            return self
        try:
            federation = loads(text, file=self.file)
        except FederationError as error:
            return replace(self, text=text, faults=error.findings)
        return replace(self, text=text, federation=federation, faults=())

    def kept(self) -> "Desk":
        """The desk once its text has been saved."""
        return replace(self, saved=self.text)

    @staticmethod
    def of(*, text: str, file: str) -> "Desk":
        """A desk with a text that loads; FederationError for one that does not."""
        return Desk(file, text, loads(text, file=file), (), text)

    @staticmethod
    def showing(federation: Federation) -> "Desk":
        """A desk with a federation that was read from brokers' own files, or made in memory."""
        text = dump(federation)
        return Desk(federation.source.file, text, federation, (), text)
