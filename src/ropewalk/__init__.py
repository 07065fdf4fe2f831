"""Ropewalk keeps federated message brokers delivering.

`load` reads a federation, `read_native` brokers' own files. The verbs of the command line are
functions here: what they return has `frame()`, and where that makes sense `ok`, `findings` and
`witness`. Jobs on Spark take `spark`, or find or start a session.
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
    from ropewalk.pipeline.jobs import audit, calibrate, conform, generate_trace, ingest, rates
    from ropewalk.report.verbs.deciding import check_population, check_protocol
    from ropewalk.report.verbs.pathfinding import paths
    from ropewalk.report.verbs.placing import place
    from ropewalk.report.verbs.replaying import replay
    from ropewalk.report.verbs.reporting import report
    from ropewalk.report.verbs.simulating import simulate
    from ropewalk.routing import read_table, shortest_paths
    from ropewalk.routing.ahead import tables_of
    from ropewalk.routing.ahead import tables_of as route
    from ropewalk.verify import Verdict, Verification, verify
    from ropewalk.verify.difference import difference
    from ropewalk.verify.difference import difference as diff
    from ropewalk.verify.latency import latency
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
    "audit",
    "calibrate",
    "check_population",
    "check_protocol",
    "conform",
    "diff",
    "difference",
    "generate",
    "generate_trace",
    "ingest",
    "latency",
    "load",
    "loads",
    "locate",
    "paths",
    "place",
    "rates",
    "read_native",
    "read_table",
    "repair",
    "replay",
    "report",
    "route",
    "save",
    "shortest_paths",
    "simulate",
    "tables_of",
    "verify",
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
    "audit": "ropewalk.pipeline.jobs",
    "calibrate": "ropewalk.pipeline.jobs",
    "check_population": "ropewalk.report.verbs.deciding",
    "check_protocol": "ropewalk.report.verbs.deciding",
    "conform": "ropewalk.pipeline.jobs",
    "diff": "ropewalk.verify.difference:difference",
    "difference": "ropewalk.verify.difference",
    "generate": "ropewalk.federation.generators",
    "generate_trace": "ropewalk.pipeline.jobs",
    "ingest": "ropewalk.pipeline.jobs",
    "latency": "ropewalk.verify.latency",
    "load": "ropewalk.federation",
    "loads": "ropewalk.federation",
    "locate": "ropewalk.verify.locate",
    "paths": "ropewalk.report.verbs.pathfinding",
    "place": "ropewalk.report.verbs.placing",
    "rates": "ropewalk.pipeline.jobs",
    "read_native": "ropewalk.federation.readers.reading",
    "read_table": "ropewalk.routing",
    "repair": "ropewalk.verify.repair",
    "replay": "ropewalk.report.verbs.replaying",
    "route": "ropewalk.routing.ahead:tables_of",
    "save": "ropewalk.federation",
    "shortest_paths": "ropewalk.routing",
    "simulate": "ropewalk.report.verbs.simulating",
    "tables_of": "ropewalk.routing.ahead",
}
"""Where each name is, and what it is called there where that differs."""
_VERBS = ("report", "verify")
"""Packages that are called like their functions."""


def __getattr__(name: str) -> Any:
    if name in _VERBS:
        return import_module(f"ropewalk.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'ropewalk' has no attribute {name!r}")
    home, _, there = _HOMES[name].partition(":")
    return getattr(import_module(home), there or name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
