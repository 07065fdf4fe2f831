"""What verbs printed with --json: each document becomes a section; known ones are laid out."""

from collections.abc import Callable, Mapping
from shlex import join

from ropewalk.report.filed import driven, judged, measured, rope, ways
from ropewalk.report.filed.blocks import Block, Section, Status, Told, status_of
from ropewalk.report.filed.facts import Ran
from ropewalk.report.filed.plainly import plain_blocks
from ropewalk.report.filed.planned import plan_section

Layout = Callable[[Ran, Status], Section]
UNDECIDED = ("unknown", "undecided")
WHOLE = ("brokers", "outcome", "made_from", "goal")
"""Without these in its summary a document of `place` holds no plan."""


def section_of(ran: Ran) -> Section:
    """A document as a section; one that a layout cannot make sense of is shown plainly."""
    status = status_of_document(ran)
    layout = LAYOUTS.get(ran.command)
    if layout is not None and not is_refusal(ran):
        try:
            return layout(ran, status)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            pass  # another version wrote it, or somebody by hand: nothing of it may be left out
    return plainly(ran, status)


def status_of_document(ran: Ran) -> Status:
    """Whether a document says ok, that something is wrong, or that it could not decide."""
    if ran.ok:
        return status_of(ran.findings)
    summary = ran.summary
    if any(one.severity == "error" for one in ran.findings) and not summary.get("silent"):
        return "findings"
    open_ = summary.get("decided") is False or summary.get("verdict") in UNDECIDED
    if open_ or summary.get("silent") or not (ran.findings or summary.get("violations")):
        return "undecided"
    return "findings"


def is_refusal(ran: Ran) -> bool:
    """Whether the verb did nothing because it was given what it could not use."""
    return not ran.ok and not ran.summary


def plainly(ran: Ran, status: Status) -> Section:
    """A document of any verb: its summary as a plain table, and its findings."""
    blocks: list[Block] = [*plain_blocks(ran.summary)]
    if ran.findings:
        blocks.append(Told(ran.findings))
    says = "It refused what it was given." if is_refusal(ran) else ENDED[status]
    return Section(
        "besides",
        f"ropewalk {ran.command}",
        status,
        says,
        tuple(blocks),
        (),
        ran.findings,
        (),
        ran.summary,
        ran.file,
        command_of(ran),
    )


ENDED: Mapping[Status, str] = {
    "ok": "It ended without an error.",
    "findings": "It found errors.",
    "undecided": "It could not decide.",
    "told": "",
}


def command_of(ran: Ran) -> str:
    """The command as it was run, if the document says so."""
    return join(ran.argv) if ran.argv else ""


def _placed(ran: Ran, _: Status) -> Section:
    if not all(key in ran.summary for key in WHOLE):
        raise KeyError(ran.command)
    return plan_section(ran.summary, ran.file, "ropewalk place", command_of(ran))


LAYOUTS: Mapping[str, Layout] = {
    "verify": judged.verification,
    "diff": judged.difference,
    "protocol": judged.protocol,
    "protocol check": judged.protocol,
    "population": judged.population,
    "population check": judged.population,
    "route": ways.routed,
    "paths": ways.paths,
    "place": _placed,
    "place replay": measured.replayed,
    "demo": rope.rope,
    "lab drive": driven.drive,
    "lab plan": driven.moved,
    "lab simulate": driven.simulation,
    "trace generate": measured.generated,
    "pipeline all": measured.everything,
    "pipeline ingest": measured.ingested,
    "pipeline rates": measured.rates,
    "pipeline calibrate": measured.calibrated,
    "pipeline audit": measured.audited,
    "pipeline conform": measured.conformed,
}
