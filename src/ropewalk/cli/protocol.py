"""`ropewalk protocol`: what a protocol needs to be kept to, and what a messenger saves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ropewalk.cli.contract import Json, Unnamed, contract, finish, progress
from ropewalk.errors import UsageError
from ropewalk.report.document import Document

if TYPE_CHECKING:
    from ropewalk.protocol import Automaton
    from ropewalk.protocol.experiment import Case

app = typer.Typer(
    cls=Unnamed,
    help="Check a protocol: can peers that see only their own messages keep to it?",
    no_args_is_help=True,
)

File = Annotated[Path, typer.Argument(help="A protocol file.", show_default=False)]


@app.command("check")
def check(
    path: File,
    over: Annotated[
        str, typer.Option(help="The transport that is asked about: fifo, unordered, messenger.")
    ] = "fifo",
    bound: Annotated[
        int, typer.Option(min=1, max=8, help="Messages per channel where one is not enough.")
    ] = 3,
    as_json: Json = False,
) -> None:
    """Tell what a protocol needs: nothing, order, a messenger, or synchronisation.

    Safety (nothing is said that is not allowed) and liveness (it can always end well) are told
    apart, with the shortest run that goes wrong as each peer sees it. Exact for two roles; for
    more, what the conditions and the runs that were explored can prove.
    """
    with contract("protocol", as_json=as_json):
        from ropewalk.protocol import load_automaton
        from ropewalk.protocol.realize.verdict import realizability
        from ropewalk.report.protocol import realizability_text

        with progress(f"checking {path}"):
            found = realizability(load_automaton(path), bound=bound)
        transport = cast("Any", over)
        ok, findings = found.over(transport).ok, found.findings(transport)
        outcome = "ok" if ok else "undecided" if ok is None else "findings"
        summary = {**found.summary, "over": over}
        done = Document("protocol", cast("Any", outcome), summary, findings)
        finish(done, as_json=as_json, text=realizability_text(found))


@app.command("simulate")
def simulate(
    path: File,
    shuffle: Annotated[
        str, typer.Option(help="How messages are delayed: all, delay=LOW..HIGH or exp=MEAN.")
    ] = "delay=0..5",
    every: Annotated[
        int, typer.Option(min=1, max=10**6, help="Steps from one message to the next.")
    ] = 2,
    length: Annotated[int, typer.Option(min=1, help="Messages of a trace, at most.")] = 10,
    traces: Annotated[int, typer.Option(min=1, help="How many traces.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 1,
    rule: Annotated[str, typer.Option(help="horizon, strict, f1 or f2.")] = "horizon",
    rival: Annotated[list[str] | None, typer.Option(help="Another rule beside it.")] = None,
    sent: Annotated[
        str | None, typer.Option(help="Instead of random traces: these messages, A,B,C.")
    ] = None,
    arrive: Annotated[
        str | None, typer.Option(help="The order in which those come, one in each step.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how long messages wait and how long the queue gets when they come out of order."""
    with contract("protocol", as_json=as_json):
        from ropewalk.protocol import load_automaton
        from ropewalk.protocol.experiment import cases_of, measure, one_way, shuffle_of
        from ropewalk.report.protocol import experiment_summary, experiment_text

        rules = _rules(rule, rival or [])
        protocol = one_way(load_automaton(path))
        if (sent is None) != (arrive is None):
            raise UsageError("--sent and --arrive go together: name the same messages in both")
        if sent is not None and arrive is not None:
            cases = [_given(protocol, sent, arrive)]
            settings = f"{path}: sent {sent}, came {arrive}"
        else:
            how = shuffle_of(shuffle)
            cases = cases_of(
                protocol, traces=traces, length=length, shuffle=how, every=every, seed=seed
            )
            settings = (
                f"{path}: {traces:,} traces of up to {length}, {shuffle}, every {every} steps"
            )
        with progress(f"simulating {path}"):
            found = [measure(protocol, cases, cast("Any", one)) for one in rules]
        done = Document("protocol", "ok", experiment_summary(found))
        finish(done, as_json=as_json, text=experiment_text(found, settings))


def _rules(rule: str, rivals: list[str]) -> list[str]:
    known = ("horizon", "strict", "f1", "f2")
    rules = list(dict.fromkeys([rule, *rivals]))
    for one in rules:
        if one not in known:
            raise UsageError(f"{one!r} is no rule: use {', '.join(known)}")
    return rules


def _given(protocol: "Automaton", sent: str, arrive: str) -> "Case":
    """Messages as they were sent, and the order in which they come."""
    from ropewalk.protocol.experiment import Case

    said, come = ([one.strip() for one in text.split(",")] for text in (sent, arrive))
    if sorted(said) != sorted(come):
        raise UsageError(f"--arrive {arrive}: these are not the messages of --sent {sent}")
    for one in said:
        if one not in protocol.number:
            raise UsageError(f"--sent {sent}: {protocol.name} has no message {one!r}")
    letters = tuple(protocol.number[one] for one in said)
    if protocol.walk(letters) < 0:
        raise UsageError(f"--sent {sent}: {protocol.name} does not allow these in this order")
    places = {one: [i for i, other in enumerate(said) if other == one] for one in said}
    arrivals = tuple((step + 1, places[one].pop(0)) for step, one in enumerate(come))
    return Case(letters, arrivals)
