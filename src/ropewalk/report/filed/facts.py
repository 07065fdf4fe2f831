"""What a report is made of: everything that was read, as records; nothing here reads files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ropewalk.federation.facts import Federation
from ropewalk.findings import Finding
from ropewalk.verify import Verification


@dataclass(frozen=True, slots=True)
class Input:
    """A file that went in, so that an auditor can tell it again."""

    role: str
    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What a verb printed with --json."""

    file: str
    command: str
    ok: bool
    summary: Mapping[str, Any]
    findings: tuple[Finding, ...]
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan, as its file has it: every value a text."""

    file: str
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Observed:
    """What jobs of the pipeline left in a working folder."""

    folder: str
    taken: Mapping[str, Any] | None = None
    """Rows of each table of the store, and its trace files."""
    rates: Mapping[str, Any] | None = None
    capacities: Mapping[str, Any] | None = None
    audit: Mapping[str, Any] | None = None
    examples: Sequence[Finding] = ()
    """Some violations of every code."""
    conformance: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """A verification, with what was found of protocols and of brokers' own files besides."""

    result: Verification
    besides: tuple[Finding, ...] = ()
    not_modelled: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How a report came about: when, by which command, with which software, where."""

    made: str
    """In UTC, as ISO 8601 has it."""
    command: str
    versions: Mapping[str, str]
    platform: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """All that goes into a report."""

    title: str
    federation: Federation
    proof: Proof
    making: Making
    plans: tuple[PlanFile, ...] = ()
    observed: tuple[Observed, ...] = ()
    documents: tuple[Ran, ...] = ()
    inputs: tuple[Input, ...] = field(default=())
