"""Every exception that Ropewalk raises on purpose.

    RopewalkError
    ├── InputError            what was given cannot be used; carries findings (exit 2)
    │   ├── FederationError   a federation file with faults, all of them
    │   ├── ConfigurationError  brokers' own configuration files with faults, all of them
    │   ├── ProtocolError     a protocol file with faults, all of them
    │   ├── PopulationError   a population file or a net with faults, all of them
    │   └── SmvError          an SMV text with faults, or with what is not supported
    ├── UsageError            a call or command line that makes no sense (exit 2)
    ├── LabError              a lab, or a process of it, that does not start or answer (exit 2)
    ├── MissingJavaError      Spark needs a JDK 17+ and none was found (exit 2)
    └── StoryError            an event that cannot happen now; carries what led there

"Could not decide" is a value of a result, never an exception.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ropewalk.findings import Finding


class RopewalkError(Exception):
    """Root of the tree: catch this to catch all that Ropewalk raises on purpose."""


class InputError(RopewalkError):
    """What was given cannot be used; `findings` holds one entry per fault."""

    def __init__(self, findings: Sequence["Finding"]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))


class FederationError(InputError):
    """A federation file with faults; all of them are in `findings`, in line order."""


class ConfigurationError(InputError):
    """Brokers' own configuration files with faults; all are in `findings`, in line order."""


class ProtocolError(InputError):
    """A protocol file with faults; all of them are in `findings`, in line order."""


class PopulationError(InputError):
    """A population file or a net with faults; all of them are in `findings`, in line order."""


class SmvError(InputError):
    """An SMV text that cannot be read; all faults are in `findings`, in line order."""


class UsageError(RopewalkError):
    """A call or command line that makes no sense; the message says what to write."""


class LabError(RopewalkError):
    """A lab, or a process of it, that does not start or answer; the message has its last words."""


class MissingJavaError(RopewalkError):
    """Spark needs a JDK 17 or newer and none was found."""


class StoryError(RopewalkError):
    """An event that cannot happen now; `story` holds the events that led there, oldest first."""

    def __init__(self, message: str, story: Sequence[str]) -> None:
        self.story = tuple(story)
        super().__init__("\n  ".join((message, *self.story)))
