"""Brokers that the whole session shares."""

from tests.conformance.rabbit import rabbit

__all__ = ["rabbit"]
