"""All rules of a style in one table, by their codes, and the check of all of them.

Of each rule is known which kinds of facts it goes by, and which of them could mend it if there were
more. The first says what a rule need not be asked again for, the second leads the search for the
smallest style that keeps all rules (`initial`). Both are laws that tests hold the rules to.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ropewalk.verify.contracts import happened, structure, tables
from ropewalk.verify.contracts.breach import Broken
from ropewalk.verify.contracts.style import Style

ACCESS = ("in", "out", "pull")
HEARING = ("out", "pull")
SUB_TABLE = ("sub-to", "sub-over")
ADV_TABLE = ("adv-of", "adv-over")
GRAPH = ("dispatcher", "link")


@dataclass(frozen=True, slots=True)
class StyleRule:
    """What must hold of a style."""

    code: str
    breaches: Callable[[Style], Broken]
    reads: frozenset[str]
    """Kinds of facts that it goes by: others do not change what it says."""
    mends: Mapping[str, tuple[int, ...]]
    """Kinds of which one more could mend a breach, if its names at these places are in it.

    No other fact does, as long as topics are plain names.
    """

    @property
    def words(self) -> str:
        """What it asks for, in one line."""
        return (self.breaches.__doc__ or "").splitlines()[0].partition(": ")[2]


def _rule(
    code: str,
    breaches: Callable[[Style], Broken],
    reads: Iterable[str],
    mends: Mapping[str, tuple[int, ...]],
) -> StyleRule:
    return StyleRule(code, breaches, frozenset(reads), MappingProxyType(mends))


_EVERY = (
    _rule(
        *("S1", structure.access_is_declared),
        ("dispatcher", "producer", "consumer", *ACCESS),
        {"dispatcher": (0,), "producer": (0,), "consumer": (0,)},
    ),
    _rule("S2", structure.links_are_declared, GRAPH, {"dispatcher": (0,)}),
    _rule("S3", structure.links_go_both_ways, ("link",), {"link": (0, 1)}),
    _rule("S4", structure.dispatchers_are_connected, GRAPH, dict.fromkeys(GRAPH, ())),
    _rule(
        *("S5", structure.one_access),
        ("dispatcher", "consumer", *HEARING),
        {"dispatcher": (0,), "out": (0,), "pull": (0,)},
    ),
    _rule("S6", structure.no_cut_vertex, GRAPH, dict.fromkeys(GRAPH, ())),
    _rule(
        *("S7", happened.one_sequence),
        ("consumer", "producer", "subscribe", "advertise", "produce", "sequence", "receive"),
        {"consumer": (0,), "producer": (0,), "receive": (0,)},
    ),
    _rule("S8", happened.notifications_match, ("receive", "subscribe"), {"subscribe": (0, 1)}),
    _rule("S9", happened.nothing_is_made_up, ("receive", "produce"), {"produce": (1, 2)}),
    _rule(
        *("S10", tables.sources_are_attached),
        (*ACCESS, "sub-to", "adv-of"),
        dict.fromkeys(ACCESS, (0, 1)),
    ),
    _rule("S11", tables.sources_are_linked, ("link", "sub-over", "adv-over"), {"link": (0, 1)}),
    _rule(
        *("S12", tables.sources_are_near),
        ("link", *ACCESS, *SUB_TABLE, *ADV_TABLE),
        {"link": (0, 1), **dict.fromkeys(ACCESS, (1,))},
    ),
    _rule(
        *("S13", tables.subscriptions_are_kept),
        (*GRAPH, *ACCESS, "subscribe", "advertise", *SUB_TABLE),
        {"out": (0,), "pull": (0,), "sub-to": (0, 1, 2), "sub-over": (1,)},
    ),
    _rule(
        *("S14", tables.advertisements_are_kept),
        (*GRAPH, *ACCESS, "subscribe", "advertise", *ADV_TABLE),
        {"in": (0,), "adv-of": (0, 1, 2), "adv-over": (1,)},
    ),
    _rule(
        *("S15", structure.once_needs_a_tree_or_a_memory),
        (*GRAPH, *HEARING, "subscribe", "once", "remembers"),
        {"remembers": ()},  # also of one that passed the doubles on
    ),
    _rule("S16", happened.events_are_advertised, ("produce", "advertise"), {"advertise": (0, 1)}),
    _rule("S17", happened.nothing_is_issued_twice, ("subscribe", "advertise", "produce"), {}),
)
RULES: Mapping[str, StyleRule] = MappingProxyType({rule.code: rule for rule in _EVERY})
"""S1 to S17."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A style, and what of it breaks which rule."""

    style: Style
    broken: Mapping[str, Broken]
    """By code, only rules that are broken."""

    @property
    def holds(self) -> bool:
        """Whether no rule is broken."""
        return not self.broken


def check(style: Style, codes: Iterable[str] | None = None) -> Checked:
    """All rules, or some of them.

    >>> from ropewalk.verify.contracts.facts import read, style_of_facts
    >>> found = check(style_of_facts(read("dispatcher a b; link a > b")))
    >>> {code: one.breaches[0].words for code, one in found.broken.items()}
    {'S3': 'a > b has no way back'}
    """
    chosen = RULES if codes is None else codes
    found = {code: RULES[code].breaches(style) for code in chosen}
    return Checked(style, {code: one for code, one in found.items() if one})
