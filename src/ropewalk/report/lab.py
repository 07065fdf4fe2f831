"""A lab for a terminal 80 columns wide."""

from collections.abc import Mapping
from typing import Any

WIDTH = 80
_NAME = 24


def lab_text(told: Mapping[str, Any]) -> str:
    """A line per broker with its address, then what is broken."""
    brokers, agents = told["brokers"], told["agents"]
    wide = min(_NAME, max(map(len, ("broker", *brokers))))
    head = f"{told['federation']}: {len(brokers)} brokers, {len(told['links'])} links"
    lines = [head, _row("broker", "make", "url", "broker is", "agent is", wide)]
    lines += [
        _row(name, one["make"], one["url"], one["state"], agents[name]["state"], wide)
        for name, one in brokers.items()
    ]
    broken = [
        f"{mark}{name}: {one['fault']}"
        for kind, mark in (("links", ""), ("brokers", ""), ("agents", "agent:"))
        for name, one in told[kind].items()
        if one["fault"]
    ]
    lines += ["broken: " + "; ".join(broken)] if broken else []
    return "\n".join([*lines, f"files: {told['folder']}"])


def _row(name: str, make: str, url: str, broker: str, agent: str, wide: int) -> str:
    short = name if len(name) <= wide else f"{name[: wide - 1]}…"
    return f"{short:{wide}}  {make:9}  {url:23}  {broker:10}  {agent}".rstrip()[:WIDTH]
