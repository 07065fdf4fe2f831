"""Two applications that follow a protocol, each at its broker, with agents between them."""

from pathlib import Path
from random import Random
from typing import Any

from ropewalk.federation.facts import Contract, Topic
from ropewalk.overlay.events import Accepted, Deliver, Published, Refused, Subscribed
from ropewalk.overlay.wire import decode_records, encode_records
from ropewalk.protocol import Automaton, automaton, load_automaton
from tests.bench import MS, Bench, federation

LOOSE = Contract(delivery="at-least-once", order="none")
TO_B = Topic(publishers=("a",), subscribers=("d",), contract=LOOSE, protocol="p")
TO_A = Topic(publishers=("d",), subscribers=("a",), contract=LOOSE, protocol="p")
SQUARE = federation("a-b b-d a-c c-d", topics={"to/b": TO_B, "to/a": TO_A})
AT = {0: "a", 1: "d"}
"""Where the two roles are."""
TOPIC = {0: "to/b", 1: "to/a"}


EXAMPLES = Path(__file__).parents[1] / "examples" / "protocols"
FIGURE_3 = load_automaton(EXAMPLES / "figure-3.yaml")
DEAL = automaton(
    "{protocol: deal, initial: idle, accepting: [done], messages: {A -> B: [ask, take],"
    " B -> A: [offer, refuse]}, transitions: [idle -> asked: ask, asked -> offered: offer,"
    " asked -> done: refuse, offered -> done: take]}"
)
NOTES = automaton(
    "{protocol: p, initial: idle, accepting: [ready], messages: {A -> B: [go, note], B -> A: ok},"
    " transitions: [idle -> on: go, on -> ready: ok, ready -> ready: note]}"
)


class World(Bench):
    """Role 0 is a client at broker a, role 1 at broker d; there are two ways between them."""

    def __init__(self, protocol: Automaton, **setup: Any) -> None:
        self.protocol = protocol
        super().__init__(SQUARE, protocols={"p": protocol}, **setup)
        for role in (0, 1):
            self.hand(AT[role], Subscribed(f"role {role}", TOPIC[1 - role]))
        self.run(50)

    def say(self, role: int, message: str, talk: str = "x", **headers: str) -> None:
        """A role publishes a message."""
        told = {"conversation": talk, "message": message, **headers}
        event = Published(message, TOPIC[role], message.encode(), headers=tuple(told.items()))
        self.hand(AT[role], event)

    def restart(self, broker: str) -> None:
        """An agent is killed and comes back with its log, as it lies on a disk."""
        b = self.number[broker]
        incarnation = self.agents[b].deck.incarnation + 1
        self.logs[b] = list(decode_records(encode_records(self.logs[b])))
        self.stop(b)
        self.start(b, incarnation=incarnation)
        for role in (role for role in (0, 1) if AT[role] == broker):
            self.hand(broker, Subscribed(f"role {role}", TOPIC[1 - role]))

    def got(self, role: int) -> list[str]:
        """What a role's application got, in order."""
        b = self.number[AT[role]]
        return [
            action.letter.payload.decode()
            for _, at, action in self.done
            if at == b and isinstance(action, Deliver)
        ]

    def answers(self, kind: type[Accepted] | type[Refused]) -> list[Any]:
        """Tickets of what was accepted, or refused."""
        return [one.ticket for _, _, one in self.done if isinstance(one, kind)]


def losing(world: Bench, *payloads: bytes) -> list[object]:
    """Letters with these payloads are lost on every link, until told otherwise; those lost."""
    lost: list[object] = []

    def drop(_broker: int, _link: int, word: object) -> bool:
        parcels = getattr(word, "parcels", ())
        mine = [one for one in parcels if getattr(one.letter, "payload", b"") in payloads]
        lost.extend(mine)
        return not mine

    world.pass_word = drop
    return lost


def overtaken(world: World) -> list[object]:
    """Role 0 says a and b; a is lost on its way until told otherwise. Returns what was lost."""
    lost = losing(world, b"a")
    world.say(0, "a")
    world.run(5)
    world.say(0, "b")
    world.run(300)
    return lost


def square(protocol: Automaton, topics: str, subscribed: str, contract: Contract = LOOSE) -> Bench:
    """Brokers a, b, c, d in a ring whose own clients get each other's messages at once."""
    facts = Topic(publishers=("a", "d"), subscribers=("a", "d"), contract=contract, protocol="p")
    of = federation("a-b b-d a-c c-d", topics=dict.fromkeys(topics.split(), facts))
    world = Bench(of, protocols={"p": protocol}, deliver_local=False)
    for one in subscribed.split():
        broker, topic = one.split(":")
        world.hand(broker, Subscribed(one, topic))
    world.run(50)
    return world


def say(world: Bench, broker: str, topic: str, message: str, talk: str = "x", **more: Any) -> None:
    headers = (("conversation", talk), ("message", message), *more.pop("headers", ()))
    more = {"ticket": message, "payload": message.encode(), **more}
    world.hand(broker, Published(topic=topic, headers=headers, **more))


def got(world: Bench, broker: str) -> list[str]:
    b = world.number[broker]
    some = [one for _, at, one in world.done if at == b and isinstance(one, Deliver)]
    return [one.letter.payload.decode() for one in some]


def accepted(world: Bench) -> list[Any]:
    return [one.ticket for _, _, one in world.done if isinstance(one, Accepted)]


def refused(world: Bench) -> list[Refused]:
    return [one for _, _, one in world.done if isinstance(one, Refused)]


class Players:
    """Applications that speak at random, as far as what they have heard allows."""

    def __init__(self, world: World, random: Random) -> None:
        self.world, self.random = world, random
        self.at = [world.protocol.initial] * 2
        self.state = world.protocol.initial
        self.heard = [0, 0]
        self.said = [list[str](), list[str]()]
        self.illegal = False

    def turn(self, ms: float) -> None:
        """Let some time pass; then somebody may speak."""
        self.listen(ms)
        role = self.random.randrange(2)
        row = self.world.protocol.rows[self.at[role]]
        may = [one for one in self.world.protocol.said_by(role) if row[one] >= 0]
        if may and self.random.random() < 0.6:
            self._speak(role, self.random.choice(may))

    def listen(self, ms: float) -> None:
        """Let some time pass, in which both hear what comes."""
        self.world.run(ms)
        for role in (0, 1):
            self._listen(role)

    def _speak(self, role: int, letter: int) -> None:
        name = self.world.protocol.labels[letter]
        self.world.say(role, name)
        self.world.run(MS / MS)
        if name in self.world.answers(Accepted):
            self.at[role] = self.world.protocol.rows[self.at[role]][letter]
            self.said[role].append(name)
            rows = self.world.protocol.rows
            self.state = rows[self.state][letter] if self.state >= 0 else -1
            self.illegal |= self.state < 0

    def _listen(self, role: int) -> None:
        """A message that comes again after a crash is passed over, as at least once asks for."""
        protocol = self.world.protocol
        for name in self.world.got(role)[self.heard[role] :]:
            self.heard[role] += 1
            if self.world.got(role).index(name) == self.heard[role] - 1:
                to = protocol.rows[self.at[role]][protocol.number[name]]
                assert to >= 0, (role, name, protocol.states[self.at[role]])
                self.at[role] = to
