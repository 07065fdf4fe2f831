"""Ropewalk keeps federated message brokers delivering.

`load` reads a federation, `read_native` brokers' own files; what they return goes into the
functions of the other packages, such as `ropewalk.verify.verify`.
Names are imported when they are first used, so that `import ropewalk` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropewalk.errors import FederationError, InputError, RopewalkError, UsageError
    from ropewalk.federation import Federation, load, loads, save
    from ropewalk.federation.generators import generate
    from ropewalk.federation.readers.reading import read_native
    from ropewalk.findings import Finding
    from ropewalk.routing import read_table, shortest_paths
    from ropewalk.routing.ahead import tables_of
    from ropewalk.verify import Verdict, Verification
    from ropewalk.verify.difference import difference
    from ropewalk.verify.locate import Observation, locate
    from ropewalk.verify.repair import repair

__version__ = "0.1.0"

__all__ = [
    "Federation",
    "FederationError",
    "Finding",
    "InputError",
    "Observation",
    "RopewalkError",
    "UsageError",
    "Verdict",
    "Verification",
    "difference",
    "generate",
    "load",
    "loads",
    "locate",
    "read_native",
    "read_table",
    "repair",
    "save",
    "shortest_paths",
    "tables_of",
]

_HOMES = {
    "Federation": "ropewalk.federation",
    "FederationError": "ropewalk.errors",
    "Finding": "ropewalk.findings",
    "InputError": "ropewalk.errors",
    "Observation": "ropewalk.verify.locate",
    "RopewalkError": "ropewalk.errors",
    "UsageError": "ropewalk.errors",
    "Verdict": "ropewalk.verify",
    "Verification": "ropewalk.verify",
    "difference": "ropewalk.verify.difference",
    "generate": "ropewalk.federation.generators",
    "load": "ropewalk.federation",
    "loads": "ropewalk.federation",
    "locate": "ropewalk.verify.locate",
    "read_native": "ropewalk.federation.readers.reading",
    "read_table": "ropewalk.routing",
    "repair": "ropewalk.verify.repair",
    "save": "ropewalk.federation",
    "shortest_paths": "ropewalk.routing",
    "tables_of": "ropewalk.routing.ahead",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ropewalk' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
