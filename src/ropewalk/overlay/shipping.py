"""Parcels from link to link: by the tables of the colour that holds now, frame by frame.

A frame carries what its sender knows and the neighbour has not acknowledged yet; the receiver joins
that with its own knowledge before it routes, so a message never meets a broker that knows less than
those before it. While knowledge stays the same a message follows one tree of shortest paths, and it
changes a few times at most: no endless loop. Nothing is de-duplicated in transit but frames that
came twice over the same link: a message that is turned back is not a duplicate.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ropewalk.overlay.chart import HERE, NONE, Away, Row, detour
from ropewalk.overlay.deck import Deck
from ropewalk.overlay.gazette import Gazette
from ropewalk.overlay.interface import FAILURE, Interface
from ropewalk.overlay.liveness import Liveness
from ropewalk.overlay.runs import moved, parcels_of, singles
from ropewalk.overlay.words import LINKS, Address, Frame, Item, Letter, Note, Parcel, Run

AGAIN_AT_ONCE = 64
"""Frames of a link that are sent again at one beat."""
NOTE_HOPS = 255

View = tuple[frozenset[int], frozenset[int], frozenset[int], Away]
"""Links down, brokers dead, links slow; and at an edge, what its gateways cannot reach."""


class Shipping:
    """One agent's part in carrying parcels."""

    def __init__(self, deck: Deck, gazette: Gazette, liveness: Liveness) -> None:
        self._deck, self._gazette, self._liveness = deck, gazette, liveness
        self.arrived: Callable[[Letter, Address], None] = lambda _letter, _address: None
        self.run_arrived: Callable[[Run], None] = lambda _run: None
        self.noted: Callable[[Note], None] = lambda _note: None
        self.stranded: Callable[[Note], None] = lambda _note: None
        self.forwarded = self.copied = 0
        self.dropped = {"no road": 0, "hop limit": 0, "link full": 0}
        self.parcels: dict[int, list[Parcel | Run]] = {}
        self._more: dict[int, int] = {}
        """By link: messages in runs that have gathered, but for one of each run."""
        self.notes: dict[int, list[Note]] = {}
        self._doubled: set[int] = set()
        """Suspect links all of whose parcels have gone another way as well."""
        self.on_chart()

    def on_chart(self) -> None:
        """Go over to the chart that holds now."""
        deck = self._deck
        self.roads = deck.chart.roads(deck.me, slow_cost=deck.settings.slow_cost)
        self.hop_limit = deck.settings.hop_limit or deck.chart.hop_limit
        self.known: View | None = None
        self._rows: list[Row] | None = None
        self._home: Row | None = None

    # --- where things go --------------------------------------------------------------------

    def state(self) -> View:
        """What is down, dead, slow and away, as this agent sees it now."""
        gazette = self._gazette
        faces = self._liveness.faces.values()
        mine = [face.link for face in faces if face.state is FAILURE]
        down = gazette.down.union(mine) if mine else gazette.down
        return down, gazette.dead, gazette.slow, gazette.away

    def refresh(self) -> bool:
        """Look again at what is down; returns whether anything has newly failed."""
        before, now = self.known, self.state()
        if now == before:
            return False
        self.known, self._rows, self._home = now, None, None
        if before is None:
            return True
        return not (now[0] <= before[0] and now[1] <= before[1] and now[3] <= before[3])

    def row(self, origin: int = 0) -> Row:
        """The next link to every destination, for messages of an origin."""
        rows = self._rows
        if rows is None:
            if self.known is None:
                self.known = self.state()
            roads = self.roads
            rows = [roads.row(*self.known, plane) for plane in range(roads.planes)]
            self._rows = rows
        return rows[0] if len(rows) == 1 else rows[self.roads.plane(origin)]

    def _row_around(self, avoid: Iterable[int], letter: Letter) -> Row:
        """The row with some more links down; what stays in its domain keeps off its borders."""
        down, dead, slow, away = self.known or self.state()
        if letter.domain >= 0:
            down = down | self._deck.chart.borders
        plane = self.roads.plane(letter.origin)
        return self.roads.row(down.union(avoid), dead, slow, away, plane)

    def home_row(self) -> Row:
        """The next link to destinations of the own domain, without leaving it."""
        if self._home is None:
            down, dead, slow, away = self.known or self.state()
            self._home = self.roads.row(down | self._deck.chart.borders, dead, slow, away)
        return self._home

    def has_road(self, to: int, *, home: bool = False) -> bool:
        """Whether there is a way to a broker now; `home`: without leaving the domain."""
        row = self.home_row() if home else self.row()
        return to < len(row) and row[to] != NONE

    def has_room(self, to: int, *, home: bool = False) -> bool:
        """Whether there is a way to a broker now, and more should go out on it."""
        row = self.home_row() if home else self.row()
        link = row[to] if to < len(row) else NONE
        return link != NONE and self._room_on(link)

    def space(self, to: int) -> int:
        """How many messages more should go out on the way to a broker now; 0 without a way."""
        row = self.row()
        link = row[to] if to < len(row) else NONE
        face = self._liveness.faces.get(detour(link) if link < HERE else link)
        return max(0, (self._left(face) + 1) // 2) if face is not None else 0

    # --- in ---------------------------------------------------------------------------------

    def frame_came(self, face: Interface, frame: Frame) -> None:
        """Parcels from a neighbour: to the next link each, or here."""
        if frame.number and not face.frame_came(frame.session, frame.number):
            return
        for note in frame.notes:
            self.forward_note(note)
        if frame.parcels:
            self.forward(frame.parcels)

    def forward(self, parcels: Iterable[Parcel | Run]) -> None:
        """Every parcel to the link that is next for its destination."""
        if self.roads.planes > 1:
            for single in singles(parcels):
                self._forward_any(single)
            return
        row, me, arrived, limit = self.row(), self._deck.me, self.arrived, self.hop_limit
        faces, last, suspect = self._liveness.faces, NONE, False
        buffer: list[Parcel | Run] = []
        for parcel in parcels:
            if isinstance(parcel, Run):
                self.forward_run(parcel)
                continue
            to = parcel.to
            address = to[0]
            if len(to) > 1 or parcel.avoid or parcel.route or parcel.letter.domain >= 0:
                self._forward_any(parcel)
            elif address.to == me:
                arrived(parcel.letter, address)
            else:
                link = row[address.to] if address.to < len(row) else NONE  # of a later chart
                if link < 0 or parcel.hops >= limit:
                    self._forward_any(parcel)
                    continue
                if link != last:  # seldom: parcels of a frame mostly go on together
                    last, buffer = link, self.parcels.setdefault(link, [])
                    suspect = link in faces and faces[link].suspect
                further = Parcel(parcel.letter, to, parcel.hops + 1)
                buffer.append(further)
                if suspect:
                    self._copy_around(link, (further,))

    def forward_run(self, run: Run) -> None:
        """A run to the next link, or here; where that is not so plain, each parcel by itself."""
        to, row = run.to.to, self.row()
        link = row[to] if to < len(row) else NONE
        if link == HERE:
            self.run_arrived(run)
        elif link < 0 or run.hops >= self.hop_limit or self.roads.planes > 1:
            for parcel in parcels_of(run):
                self._forward_any(parcel)
        else:
            further = moved(run)
            self.parcels.setdefault(link, []).append(further)
            self._more[link] = self._more.get(link, 0) + len(run.payloads) - 1
            face = self._liveness.faces.get(link)
            if face is not None and face.suspect:
                self._copy_around(link, (further,))

    def post(self, letter: Letter, to: tuple[Address, ...]) -> None:
        """A letter of this agent's own begins its way: as `forward`, mostly with fewer steps."""
        if len(to) == 1 and letter.domain < 0 and self.roads.planes == 1:
            row, destination = self.row(), to[0].to
            link = row[destination] if destination < len(row) else NONE
            if link >= 0:
                self._push(link, Parcel(letter, to, 1))
                return
        self.forward((Parcel(letter, to),))

    def _forward_any(self, parcel: Parcel) -> None:
        """A parcel with several destinations, or with wishes of its own."""
        letter, route = parcel.letter, parcel.route
        if route and self._usable(route[0]) and parcel.hops < self.hop_limit:
            self._push(route[0], Parcel(letter, parcel.to, parcel.hops + 1, (), route[1:]))
            return
        avoid = parcel.avoid
        if avoid:
            row = self._row_around(avoid, letter)
        else:
            row = self.home_row() if letter.domain >= 0 else self.row(letter.origin)
        ways: dict[int, list[Address]] = {}
        for address in parcel.to:
            ways.setdefault(row[address.to] if address.to < len(row) else NONE, []).append(address)
        for link, addresses in ways.items():
            if link == HERE:
                for address in addresses:
                    self.arrived(letter, address)
            elif link == NONE or parcel.hops >= self.hop_limit:
                self._undeliverable(parcel)
            elif link < HERE:
                more = avoid
                for address in addresses:
                    more = self._broken(address.to, more)
                self._push(detour(link), Parcel(letter, tuple(addresses), parcel.hops + 1, more))
            else:
                self._push(link, Parcel(letter, tuple(addresses), parcel.hops + 1, avoid))

    def _broken(self, to: int, avoid: tuple[int, ...]) -> tuple[int, ...]:
        """What a message has to avoid from here on: links of its destination that are down."""
        down = (self.known or self.state())[0]
        more = (link for _, link in self._deck.chart.attached.get(to, ()) if link in down)
        return tuple(dict.fromkeys((*avoid, *more)))

    def _usable(self, link: int) -> bool:
        face = self._liveness.faces.get(link)
        down = (self.known or self.state())[0]
        return face is not None and face.up and not face.suspect and link not in down

    def _push(self, link: int, parcel: Parcel) -> None:
        self.parcels.setdefault(link, []).append(parcel)
        face = self._liveness.faces[link]
        if face.suspect and not parcel.avoid:
            self._copy_around(link, (parcel,))

    def _undeliverable(self, parcel: Parcel) -> None:
        """Dropped here: the origin still has it, if its contract asks for that."""
        why = "hop limit" if parcel.hops >= self.hop_limit else "no road"
        self.dropped[why] += 1
        self._deck.tell(why, parcel.letter.id, parcel.hops)

    # --- out --------------------------------------------------------------------------------

    def flush(self) -> None:
        """Send what has gathered, one frame for each link."""
        parcels, notes, more = self.parcels, self.notes, self._more
        self.parcels, self.notes, self._more = {}, {}, {}
        for link in parcels.keys() | notes.keys():
            face = self._liveness.faces.get(link)
            if face is not None:
                some = parcels.get(link, ())
                self._send(face, some, len(some) + more.get(link, 0), notes.get(link, ()))

    def _send(
        self,
        face: Interface,
        parcels: Iterable[Parcel | Run],
        messages: int,
        notes: Iterable[Note],
    ) -> None:
        deck, some = self._deck, tuple(parcels)
        room = max(0, deck.settings.link_queue - face.in_flight)
        if messages > room:
            self.dropped["link full"] += messages - room
            some, messages = tuple(islice(singles(some), room)), room
        number = 0
        if some:
            face.frame_number += 1
            number = face.frame_number
        frame = Frame(deck.chart.epoch, face.session, number, some, tuple(notes), _first(face))
        if some:
            face.sent[number] = (frame, deck.now_us, messages)
            face.in_flight += messages
            self.forwarded += messages
            if not face.suspect:
                self._doubled.discard(face.link)  # a false alarm: these go this way only
        deck.send(face.link, frame)

    def room(self, to: int, *, home: bool = False) -> bool:
        """Whether more of this agent's own messages should go out towards a broker now."""
        return self._room_on((self.home_row() if home else self.row())[to])

    def _room_on(self, link: int) -> bool:
        face = self._liveness.faces.get(link)
        return face is None or self._left(face) > 0

    def _left(self, face: Interface) -> int:
        """Twice the room that this agent's own messages have on a link."""
        gathered = len(self.parcels.get(face.link, ())) + self._more.get(face.link, 0)
        return self._deck.settings.link_queue - 2 * (face.in_flight + gathered)

    # --- links that fail --------------------------------------------------------------------

    def suspected(self, face: Interface) -> None:
        """A link is silent: what is on it goes another way as well, before anything new does."""
        self._doubled.add(face.link)
        for frame, _, _ in list(face.sent.values()):
            self._copy_around(face.link, frame.parcels)

    def _copy_around(self, link: int, parcels: Iterable[Parcel | Run]) -> None:
        rows: dict[tuple[int, bool], Row] = {}
        for parcel in singles(parcels):
            if parcel.avoid:
                continue
            letter = parcel.letter
            same = letter.origin, letter.domain >= 0
            row = rows.get(same)
            if row is None:  # looked up once for all that are alike: this may be a full link
                row = rows[same] = self._row_around((link,), letter)
            if all(a.to >= len(row) or row[a.to] == NONE for a in parcel.to):
                self._doubled.discard(link)
                continue
            self.copied += 1
            self._forward_any(Parcel(parcel.letter, parcel.to, parcel.hops, (link,)))

    def lost(self, face: Interface) -> None:
        """A link is down: what was on it and not acknowledged is routed anew."""
        parcels = [parcel for frame, _, _ in face.sent.values() for parcel in frame.parcels]
        face.sent.clear()
        face.in_flight = 0
        self.refresh()
        waiting = self.parcels.pop(face.link, [])
        self._more.pop(face.link, None)
        if face.link not in self._doubled:
            waiting = parcels + waiting
        self._doubled.discard(face.link)
        for parcel in waiting:
            if isinstance(parcel, Run):
                self.forward_run(parcel)
            else:
                self._forward_any(Parcel(parcel.letter, parcel.to, parcel.hops))

    def overdue(self, face: Interface) -> None:
        """Send frames again that the neighbour should have acknowledged by now."""
        deck = self._deck
        least = 2 * face.quality.trip_us + 3 * face.peer_every_us
        before = deck.now_us - max(deck.settings.frame_again_us, int(least))
        late = [number for number, (_, at, _) in face.sent.items() if at <= before]
        for number in late[:AGAIN_AT_ONCE]:
            frame, _, messages = face.sent[number]
            face.sent[number] = (frame, deck.now_us, messages)
            epoch, parcels = deck.chart.epoch, frame.parcels
            deck.send(face.link, Frame(epoch, frame.session, number, parcels, (), _first(face)))

    # --- notes ------------------------------------------------------------------------------

    def note(self, to: int, body: Any) -> None:
        """Something small to another agent; it may not arrive."""
        self.forward_note(Note(self._deck.me, self._deck.incarnation, to, body))

    def forward_note(self, note: Note) -> None:
        """A note to the next link, or here."""
        if note.to == self._deck.me:
            self.noted(note)
            return
        row, avoid = self.row(), note.avoid
        if avoid:
            down, dead, slow, away = self.known or self.state()
            row = self.roads.row(down.union(avoid), dead, slow, away)
        link = row[note.to] if note.to < len(row) else NONE
        if link == NONE:
            self.stranded(note)
        elif note.hops < NOTE_HOPS:
            if link < HERE:
                link, avoid = detour(link), self._broken(note.to, avoid)
            onward = Note(note.sender, note.incarnation, note.to, note.body, note.hops + 1, avoid)
            self.notes.setdefault(link, []).append(onward)


def _first(face: Interface) -> tuple[Item, ...]:
    """What a neighbour must know before it routes: states of links that it may not know yet."""
    return tuple(one for one in face.pending.values() if one.kind == LINKS) if face.pending else ()
