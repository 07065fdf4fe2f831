"""How a new home finds out what readers have seen before it numbers anything.

The council appoints a home for a term. The new home asks every reader for its *tail*: the letters
it keeps beyond the stable point, delivered or not. A reader that answers obeys no older home from
then on. A majority of the members is asked too, for readers that the new home has not heard of
(`vows`). When ALL readers have answered, the union of the tails gets the first numbers of the new
term, in the old order, and new letters come after it. Readers pass over what they have delivered.

Why all readers keep one order. A letter that some reader has delivered in the old term is stable
(then every reader has delivered it) or in that reader's tail, and no reader delivers another one of
the old term after its answer. So the union holds, in the old order, every letter that any reader
may have ahead of another; each reader has delivered a prefix of the old order, and the new term
leads all of them through the rest of it before anything new. If a takeover breaks off, some readers
have begun its term and some have not: the next home goes by the labels of the newest term that
anyone has begun. The plan in `Begin` labels the whole union, and readers that have not begun that
term can hold nothing outside it, because their answers went into it.

Nothing is lost: an origin lets go of a letter only when every reader has it in its log, so it is
in the tails; all others the origins send to the new home. Nothing is doubled: the new home knows
what readers have delivered (`Known`), and readers look themselves.

What it gives up: while one reader cannot be reached the topic waits, because only that reader knows
what it delivered last. A majority of readers would not do. The operator can exclude such a reader
for good; what it alone delivered may then come to the others in another order.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from ropewalk.overlay.order.known import Known
from ropewalk.overlay.order.notes import NOBODY, Ask, Ballot, Id, Stream, Tail, Token
from ropewalk.overlay.order.vows import Vouching
from ropewalk.overlay.words import Letter


class Answer(Struct):
    """What one reader has told so far."""

    token: Token = (0, 0)
    begun: Ballot = NOBODY
    stable: int = 0
    upto: int = 0
    last: bool = False
    labels: dict[Id, int] = field(default_factory=dict)
    letters: dict[Id, Letter] = field(default_factory=dict)
    streams: tuple[Stream, ...] = ()
    reads: bool = True
    vouched: tuple[int, ...] = ()

    def add(self, tail: Tail) -> None:
        """Take the next piece."""
        self.stable = max(self.stable, tail.stable)
        self.upto, self.last = tail.upto, tail.last
        self.letters.update((letter.id, letter) for letter in tail.letters)
        self.labels.update((one.id, (one.order or NOBODY)[1]) for one in tail.letters)
        self.labels.update((one, number) for number, one in tail.absent)


class Takeover:
    """The questions of one new home about one topic."""

    def __init__(self, topic: str, ballot: Ballot, excluded: set[int]) -> None:
        self.topic, self.ballot = topic, ballot
        self.excluded = excluded
        self.vouching: Vouching | None = None
        """For its readers, once all have answered."""
        self._answers: dict[int, Answer] = {}

    def asks(self, readers: frozenset[int], members: frozenset[int]) -> dict[int, Ask]:
        """What is still to be asked of whom; empty when enough is known."""
        silent = {one for one in members if not self._told(one)}
        wanted = self.missing(readers)
        if 2 * len(silent) >= len(members):
            wanted |= silent
        return {
            one: Ask(self.topic, self.ballot, self._answers.get(one, Answer()).upto)
            for one in sorted(wanted)
        }

    def heard(self, reader: int, tail: Tail) -> None:
        """A reader has answered; what comes after the vouching began changes nothing any more."""
        if tail.ballot != self.ballot or self.vouching is not None:
            return
        if reader in self._answers and self._answers[reader].token != tail.token:
            del self._answers[reader]  # it has forgotten everything, or left: begin anew
        if reader not in self._answers and tail.after == 0:
            self._answers[reader] = Answer(
                tail.token, tail.begun, streams=tail.streams, reads=tail.reads, vouched=tail.vouched
            )
        answer = self._answers.get(reader)
        if answer is not None and tail.after == answer.upto and not answer.last:
            answer.add(tail)

    def missing(self, readers: frozenset[int]) -> set[int]:
        """Readers that have not told everything; also those that only members know of."""
        vouched = {one for answer in self._whole() for one in answer.vouched}
        return {one for one in (readers | vouched) - self.excluded if not self._told(one)}

    def tokens(self) -> dict[int, Token]:
        """The readers, and for which time of joining each has answered."""
        told = sorted(set(filter(self._told, self._answers)) - self.excluded)
        return {one: self._answers[one].token for one in told if self._answers[one].reads}

    def known(self) -> Known:
        """All that any reader has delivered."""
        known = Known()
        for answer in self._whole():
            known.join(answer.streams)
        return known

    def union(self) -> list[Letter]:
        """The tails in the old order, with their numbers in the new term."""
        answers = self._whole()
        newest = max((one.begun for one in answers), default=NOBODY)
        leading = [one for one in answers if one.begun == newest]
        stable = max((one.stable for one in leading), default=0)
        labels = {id_: number for one in leading for id_, number in one.labels.items()}
        letters = {id_: letter for one in answers for id_, letter in one.letters.items()}
        old = sorted((n, id_) for id_, n in labels.items() if n > stable and id_ in letters)
        ordered = [id_ for _, id_ in old] + self._left_over(labels, leading)
        return [
            replace(letters[id_], order=(self.ballot[0], number))
            for number, id_ in enumerate(ordered, 1)
        ]

    def _told(self, one: int) -> bool:
        return one in self._answers and self._answers[one].last

    def _whole(self) -> list[Answer]:
        """Answers that are complete: one that broke off vouches for letters it did not give."""
        return [answer for answer in self._answers.values() if answer.last]

    def _left_over(self, labels: dict[Id, int], leading: list[Answer]) -> list[Id]:
        """Of readers that the newest term had left out: what it does not know comes last."""
        known = Known()
        for answer in leading:
            known.join(answer.streams)
        others = [one for one in self._whole() if one.begun != leading[0].begun]
        found: dict[Id, tuple[Ballot, int]] = {}
        for answer in others:
            for id_, letter in answer.letters.items():
                if id_ not in labels and not known.knows(letter):
                    found[id_] = max(
                        found.get(id_, (NOBODY, 0)), (answer.begun, answer.labels[id_])
                    )
        return sorted(found, key=lambda id_: (found[id_], id_))
