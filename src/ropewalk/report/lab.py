"""A lab for a terminal 80 columns wide, and how far it is with a plan."""

from collections.abc import Mapping
from typing import Any

from ropewalk.findings import Finding, Where
from ropewalk.report.document import Outcome

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


def plan_findings(told: Mapping[str, Any], plan: str) -> tuple[Outcome, list[Finding]]:
    """Items that did not go are findings; while some are on their way nothing is decided."""
    stayed = [one for one in told["moves"] if one["state"] == "passed over"]
    found = [
        Finding(
            "L003",
            f"{one['item']} did not move from {one['from']} to {one['to']}: the log of"
            f" agent {one['from']} says why",
            Where(plan),
        )
        for one in stayed
    ]
    if not told["over"]:
        return "undecided", found
    return "findings" if found else "ok", found


def plan_text(told: Mapping[str, Any]) -> str:
    """A line for each move."""
    lines = [
        f"{one['item']}: {one['from']} > {one['to']}, {one['state']}" for one in told["moves"]
    ] or ["Nothing has to move."]
    done = sum(one["state"] == "done" for one in told["moves"])
    over = "" if told["over"] else ", and it goes on"
    lines.append(f"{done} of {len(told['moves'])} items moved after {told['seconds']:.1f} s{over}.")
    return "\n".join(lines)
