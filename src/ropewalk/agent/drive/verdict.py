"""What a run has found: lost, doubled and disordered messages as findings."""

from collections.abc import Iterator

from ropewalk.agent.drive.plan import Disagreement, DriveResult, Pair
from ropewalk.findings import Finding, Where

ONCE = ("exactly-once", "at-most-once")


def findings_of(
    result: DriveResult, file: str, *, no_duplicates: bool = False
) -> tuple[Finding, ...]:
    """Every promise that was not kept; `no_duplicates` promises it for all topics."""
    return tuple(_found(result, Where(file), no_duplicates))


def _found(result: DriveResult, where: Where, no_duplicates: bool) -> Iterator[Finding]:
    for stream, reader in result.silent:
        told = f"{stream.topic}: nothing of {stream} came to {reader} while warming up"
        yield Finding("D004", told, where)
    for pair in result.pairs:
        figures, contract = pair.figures, pair.stream.contract
        if figures.lost:
            told = f"{figures.lost} of {figures.acknowledged} acknowledged messages never came"
            yield _finding("D001", pair, f"{told}{_numbers(pair)}", where)
        if figures.doubled and (no_duplicates or contract.delivery in ONCE):
            yield _finding("D002", pair, f"{figures.doubled} messages came again", where)
        if figures.disordered and contract.order == "fifo":
            told = f"{figures.disordered} messages came after newer ones of the same publisher"
            yield _finding("D003", pair, told, where)
    for one in result.disagreements:
        yield _apart(one, where)


def _finding(code: str, pair: Pair, told: str, where: Where) -> Finding:
    message = f"{pair.stream.topic}, {pair.stream} to {pair.reader}: {told}"
    return Finding(code, message, where, witness=pair.as_dict())


def _numbers(pair: Pair) -> str:
    first, last = pair.figures.lost_numbers[0]
    return f", the first number {first}" if first == last else f", the first {first} to {last}"


def _apart(one: Disagreement, where: Where) -> Finding:
    told = (
        f"{one.topic}: {one.one} and {one.other} got number {one.first[1]} of publisher"
        f" {one.first[0]} and number {one.second[1]} of publisher {one.second[0]} in different"
        " order"
    )
    witness = {"topic": one.topic, "first": one.first, "second": one.second}
    return Finding("D003", told, where, witness=witness)
