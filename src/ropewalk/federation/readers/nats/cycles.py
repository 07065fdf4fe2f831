"""Imports of accounts from each other that go in a circle, which the server does not load."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ropewalk.federation.readers.nats.subjects import collide, within
from ropewalk.findings import Where


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """An import as it is written: what the subject is called at either account."""

    importer: str
    exporter: str
    kind: str
    here: str
    there: str
    where: Where

    @property
    def asked(self) -> str:
        """What the server compares with other imports' subjects."""
        return self.there if self.kind == "stream" else self.here

    @property
    def met(self) -> str:
        """What it compares those with."""
        return self.here if self.kind == "stream" else self.there


def cycles(taken: Sequence[Taken]) -> Iterator[tuple[Taken, list[str]]]:
    """Imports that close a circle with those before them, each with the accounts it goes round."""
    before: dict[tuple[str, str], list[Taken]] = {}
    for one in taken:
        way = _round(one.exporter, one.asked, one.kind, before, [one.importer])
        if way is not None:
            yield one, way
        else:
            before.setdefault((one.importer, one.kind), []).append(one)


def _round(
    account: str,
    subject: str,
    kind: str,
    before: Mapping[tuple[str, str], Sequence[Taken]],
    way: list[str],
) -> list[str] | None:
    """As the server looks for a circle: the accounts that it visits, or None."""
    for one in before.get((account, kind), ()):
        if not collide(subject, one.met):
            continue
        if one.exporter in way:
            return [*way, account, one.exporter]
        inner = one.met if within(one.met, subject) else subject
        found = _round(one.exporter, inner, kind, before, [*way, account])
        if found is not None:
            return found
    return None
