"""The agent's core in corners: what a random schedule seldom reaches."""

from ropewalk.federation.facts import Contract, Topic
from tests.bench import Bench, federation

ONCE = Contract(delivery="exactly-once", order="fifo")


def test_messages_without_custody_of_two_topics_are_not_taken_for_one_another() -> None:
    free = Topic(
        publishers=("a",),
        subscribers=("b",),
        contract=Contract(delivery="best-effort", order="none"),
    )
    bench = Bench(federation("a-b", topics={"x": free, "y": free}))
    bench.subscribe("b", "#")
    bench.run(50)
    bench.publish("a", 5, topic="x")
    bench.publish("a", 5, topic="y")
    bench.run(100)
    assert sorted(bench.delivered("b")) == sorted([*range(5), *range(5)])
