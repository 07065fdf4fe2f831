"""Brokers that fail and return, and the items that they carry; sessions are taken for granted."""

from ropewalk.overlay.council.cases import CaseLog
from ropewalk.overlay.council.election import Election
from ropewalk.overlay.council.mirrors import Mirrors
from ropewalk.overlay.parts import Part
from ropewalk.placement.policies.cases import Case, CaseBase
from tests.laws.council_world import PACE, Desk, S, World

NAMES = ("b0", "b1", "b2", "b3", "b4")
HOMES = {f"i{n}": n % 5 for n in range(10)}
ROOM = dict.fromkeys(NAMES, 9.0)
BASE = CaseBase(
    {item: (NAMES[home], 1.0) for item, home in HOMES.items()},
    NAMES,
    (
        Case("peak", frozenset(), {}, 1.0, ROOM),
        Case("peak", frozenset({"b0"}), {"i0": "b3", "i5": "b4"}, 1.0, ROOM),
        Case("peak", frozenset({"b1"}), {"i1": "b0", "i6": "b0"}, 1.0, ROOM),
    ),
)


class Town:
    """Which broker serves which items, as told; an agent that starts serves what is at home."""

    def __init__(self, seed: int, *, calm: bool = False) -> None:
        self.serves: dict[int, set[str]] = {}
        self.refused = 0
        self.world = World(seed, 5, self.staff, calm=calm)

    def staff(self, desk: Desk) -> list[Part]:
        me, incarnation = desk.me, desk.incarnation
        self.serves[me] = {item for item, home in HOMES.items() if home == me}

        def move(now_us: int, item: str, to: int) -> None:
            desk.world.later(desk.world.rng.randrange(1, S), lambda: end(item, to))

        def end(item: str, to: int) -> None:
            """The session is over, well or not."""
            if not desk.up or desk.incarnation != incarnation:
                return
            moved = desk.world.desks[to].up and desk.world.rng.random() < 0.7
            if moved:
                self.serves[me].discard(item)
                self.serves[to].add(item)
            mirrors.ended(desk.world.now_us, item, moved=moved)

        election = Election(desk, range(5), PACE, group="uk")
        log = CaseLog(desk, election)
        mirrors = Mirrors(
            desk,
            log,
            NAMES,
            take=lambda _, items: self.serves[me].update(items),
            give_back=lambda _, items: self.serves[me].difference_update(items),
            move=move,
        )
        return [election, log, mirrors]

    def mirrors(self) -> list[Mirrors]:
        return [p for d in self.world.desks for p in d.parts if isinstance(p, Mirrors)]

    def publish_cases(self) -> None:
        for one in self.mirrors():
            one.log.propose_cases(self.world.now_us, BASE.text(), BASE.version)

    def carriers(self) -> dict[str, set[int]]:
        """By item, the live brokers that serve it."""
        up = [desk.me for desk in self.world.desks if desk.up]
        return {item: {me for me in up if item in self.serves[me]} for item in HOMES}
