"""Single clients that do what a story says, by the model's own rules; what it does not allow stops.

This is written apart from the reduction to nets and knows nothing of it: sets of names, one client
after another. So a story that has passed is one of the model, however it was found.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ropewalk.errors import StoryError
from ropewalk.verify.population.clients.facts import Kind, Need, Pattern, Population, Step

What = Literal["step", "cut", "back", "deliver", "drop", "fail", "arrive"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What happens next, as far as the model leaves it open."""

    what: What
    client: int = -1
    step: Step | None = None
    topic: str = ""
    message: str = ""
    way: tuple[str, str] = ("", "")
    """The brokers between which a message arrives."""
    reach: frozenset[int] = frozenset()
    """Where subscribers are divided: whom the notification reaches, and who fails."""
    fail: frozenset[int] = frozenset()


@dataclass(slots=True)
class Happening:
    """What has come of a choice."""

    choice: Choice
    received: list[int] = field(default_factory=list)
    awaiting: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    retained: list[str] = field(default_factory=list)
    """What a client got when it subscribed."""


@dataclass(slots=True)
class Member:
    """One client."""

    kind: Kind
    at: str
    state: str
    topics: set[str]
    got: set[str] = field(default_factory=set)
    on: bool = True
    due: set[tuple[str, str]] = field(default_factory=set)
    """Notifications under way to it: topics and messages."""
    missed: set[str] = field(default_factory=set)

    def receive(self, message: str) -> None:
        """A message has reached it."""
        self.got.add(message)
        self.missed.discard(message)

    def lose(self, lost: Iterable[tuple[str, str]]) -> None:
        """What was under way to it does not come."""
        for one in list(lost):
            self.due.discard(one)
            self.missed.add(one[1])

    def disconnect(self) -> None:
        """It loses its connection."""
        self.on = False
        if not self.queues:
            self.lose(self.due)
        if self.kind.session == "clean":
            self.topics.clear()

    @property
    def queues(self) -> bool:
        """Whether its broker keeps what comes while it is away."""
        return self.kind.session == "queued" and self.kind.connection == "reconnects"

    def meets(self, need: Need) -> bool:
        """Whether it meets a need of a bad pattern."""
        return (
            self.kind.name in need.kinds
            and (not need.states or self.state in need.states)
            and (not need.at or self.at in need.at)
            and (need.connected is None or need.connected == self.on)
            and need.subscribed <= self.topics
            and not need.not_subscribed & self.topics
            and need.received <= self.got
            and not need.not_received & self.got
            and need.missed <= self.missed
        )


Begun = Sequence[tuple[str, str]]
"""The clients that there are: their kinds and brokers."""


class Replay:
    """Clients and brokers while a story goes on."""

    def __init__(self, population: Population, begun: Begun) -> None:
        self.population = population
        self.members = [self._member(kind, at) for kind, at in begun]
        self.kept: dict[tuple[str, str], set[str]] = {}
        self.ways: Counter[tuple[str, str, str, str]] = Counter()
        self.happened: list[Happening] = []

    def play(self, choice: Choice) -> Happening:
        """Let it happen; raises StoryError, if the model does not allow it."""
        now = Happening(choice)
        getattr(self, f"_{choice.what}")(choice, now)
        self.happened.append(now)
        return now

    def bad(self, pattern: Pattern) -> list[int] | None:
        """Different clients that meet the needs of a pattern, one after another; or None."""
        slots = [need for need in pattern.needs for _ in range(need.at_least)]
        taken: dict[int, int] = {}
        for i in range(len(slots)):
            if not self._seat(slots, i, taken, set()):
                return None
        return [client for client, _ in sorted(taken.items(), key=lambda one: one[1])]

    def _seat(self, slots: list[Need], i: int, taken: dict[int, int], tried: set[int]) -> bool:
        """Find a client for a need; others may have to change places."""
        for client, member in enumerate(self.members):
            if client in tried or not member.meets(slots[i]):
                continue
            tried.add(client)
            if client not in taken or self._seat(slots, taken[client], taken, tried):
                taken[client] = i
                return True
        return False

    def _member(self, name: str, at: str) -> Member:
        kind = self.population.kinds[name]
        if at not in kind.at:
            raise StoryError(f"{name} cannot be at {at}", [])
        return Member(kind, at, kind.start, set(kind.subscribed))

    def _refuse(self, choice: Choice, why: str) -> StoryError:
        story = [f"{one.choice.what} of client {one.choice.client}" for one in self.happened]
        return StoryError(f"{choice.what} of client {choice.client} cannot happen: {why}", story)

    def _require(self, choice: Choice, so: bool, why: str) -> None:
        if not so:
            raise self._refuse(choice, why)

    # --- what clients do ----------------------------------------------------------------------

    def _step(self, choice: Choice, now: Happening) -> None:
        one, step = self.members[choice.client], choice.step
        if step is None or step not in one.kind.steps:
            raise self._refuse(choice, "its kind has no such step")
        self._require(choice, one.on, "it is not connected")
        self._require(choice, one.state == step.source, f"it is in {one.state}, not {step.source}")
        self._require(choice, step.received <= one.got, "it has not received what it needs")
        self._require(choice, not step.not_received & one.got, "it has received what it must not")
        self._require(choice, bool(step.publish) or not choice.reach | choice.fail, "it is silent")
        one.got -= step.forget
        one.state = step.target
        one.lose({due for due in one.due if due[0] in step.unsubscribe})
        one.topics -= step.unsubscribe
        one.topics |= step.subscribe
        for topic in sorted(step.subscribe):
            for message in sorted(self.kept.get((one.at, topic), ())):
                one.receive(message)
                now.retained.append(message)
        if step.publish:
            self._publish(choice, now, one.at, step.on, step.publish, came="")

    def _cut(self, choice: Choice, _: Happening) -> None:
        one = self.members[choice.client]
        self._require(choice, one.on, "it is not connected")
        self._require(choice, one.kind.connection != "stable", "its connection is stable")
        one.disconnect()

    def _back(self, choice: Choice, _: Happening) -> None:
        one = self.members[choice.client]
        self._require(choice, not one.on, "it is connected")
        self._require(choice, one.kind.connection == "reconnects", "such clients do not come back")
        one.on = True
        one.state = one.kind.returns or one.state

    # --- notifications under way --------------------------------------------------------------

    def _deliver(self, choice: Choice, now: Happening) -> None:
        self._coming(choice).receive(choice.message)
        now.received.append(choice.client)

    def _drop(self, choice: Choice, now: Happening) -> None:
        one = self._coming(choice)
        self._require(choice, self._divides(choice.topic), "nothing is lost on this topic")
        one.missed.add(choice.message)
        now.missed.append(choice.client)

    def _fail(self, choice: Choice, now: Happening) -> None:
        self._drop(choice, now)
        self.members[choice.client].disconnect()

    def _coming(self, choice: Choice) -> Member:
        """A client, and what was under way to it no longer is."""
        one, due = self.members[choice.client], (choice.topic, choice.message)
        self._require(choice, one.on, "it is not connected")
        self._require(choice, due in one.due, "this is not under way to it")
        one.due.discard(due)
        return one

    def _divides(self, topic: str) -> bool:
        return self.population.topics[topic].semantics == "global"

    # --- brokers ------------------------------------------------------------------------------

    def _arrive(self, choice: Choice, now: Happening) -> None:
        source, target = choice.way
        key = source, target, choice.topic, choice.message
        self._require(choice, self.ways[key] > 0, "no such message is on its way")
        self.ways[key] -= 1
        self._publish(choice, now, target, choice.topic, choice.message, came=source)

    def _publish(
        self, choice: Choice, now: Happening, at: str, name: str, message: str, *, came: str
    ) -> None:
        topic = self.population.topics[name]
        publisher = -1 if topic.echo else choice.client
        audience = [
            i
            for i, one in enumerate(self.members)
            if one.at == at and name in one.topics and i != publisher
        ]
        self._check_division(choice, audience, divided=self._divides(name) and not topic.later)
        for i in audience:
            one = self.members[i]
            if topic.later if one.on else one.queues:
                one.due.add((name, message))
                now.awaiting.append(i)
            elif one.on and (not self._divides(name) or i in choice.reach):
                one.receive(message)
                now.received.append(i)
            else:
                one.missed.add(message)
                (now.failed if i in choice.fail else now.missed).append(i)
        for i in choice.fail:
            self.members[i].disconnect()
        if topic.semantics == "retained":
            kept = self.kept.setdefault((at, name), set())
            if topic.retain == "last":
                kept.clear()
            kept.add(message)
        for beside in self.population.beside(at, name):
            if beside != came:
                self.ways[at, beside, name, message] += 1

    def _check_division(self, choice: Choice, audience: list[int], *, divided: bool) -> None:
        named = choice.reach | choice.fail
        self._require(choice, divided or not named, "this topic does not divide its subscribers")
        self._require(choice, not choice.reach & choice.fail, "one client is reached and fails")
        connected = {i for i in audience if self.members[i].on}
        self._require(choice, named <= connected, "who is named is no connected subscriber")
