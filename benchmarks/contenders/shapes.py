"""Who is linked with whom: a diamond with a spare way round, or a chain without one."""

from ropewalk.federation import Federation, loads
from ropewalk.federation.facts import Make

TOPIC = "bench/numbers"


def diamond(make: Make) -> Federation:
    """From a to d through b; the way through c is dearer and stands by."""
    links = ("a b 1", "b d 1", "a c 2", "c d 2")
    return _federation("diamond", make, "abcd", links)


def chain(make: Make) -> Federation:
    """From a to d through b, and no other way."""
    return _federation("chain", make, "abd", ("a b 1", "b d 1"))


def _federation(name: str, make: Make, brokers: str, links: tuple[str, ...]) -> Federation:
    lines = [f"federation: {name}", "brokers:"]
    lines += [f"  {one}: {{make: {make}}}" for one in brokers]
    lines += ["links:"]
    for a, b, cost in map(str.split, links):
        lines.append(f"  - {{between: [{a}, {b}], cost: {cost}}}")
    lines += ["topics:", f"  {TOPIC}: {{publishers: [a], subscribers: [d]}}"]
    return loads("\n".join(lines))


RING = """
brokers: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}}
links:
  - {between: [a, b]}
  - {between: [b, c]}
  - {between: [c, d]}
  - {between: [d, e]}
  - {between: [e, f]}
  - {between: [a, f]}
  - {between: [b, e]}
  - {between: [c, f]}
"""


def ring(topics: str) -> Federation:
    """Six NATS brokers in a ring with two chords; topics as lines of the federation file."""
    return loads(f"federation: six{RING}topics:{topics}")
