"""Broken variants that the laws must catch: a law that lets these pass would prove nothing."""

import pytest

from ropewalk.errors import FederationError
from ropewalk.federation import dump, loads
from ropewalk.federation import yaml_text as text
from ropewalk.federation.facts import Broker, Federation
from tests.laws.strategies import AWKWARD


def test_a_writer_that_never_quotes_breaks_the_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = Federation(
        name="f", brokers={name: Broker(address=name) for name in AWKWARD if "--" not in name}
    )
    assert loads(dump.dump(federation)) == federation
    monkeypatch.setattr(dump, "_text", lambda one: one)
    with pytest.raises(FederationError):
        loads(dump.dump(federation))


def test_a_reader_by_yaml_1_1_breaks_the_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    federation = loads("{federation: f, brokers: {on: {site: no}}, sites: {no: }}")
    written = dump.dump(federation)
    assert "site: no" in written
    monkeypatch.setattr(text, "_WORDS", {**text._WORDS, "no": False, "on": True})
    with pytest.raises(FederationError):
        loads(written)
