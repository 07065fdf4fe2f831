"""What publish/subscribe styles and topics' contracts promise, and whether it can be kept.

Reading order: `relations` and `style` (a style as arrays), `facts` (fact by fact, and as text),
`breach`, `graphs` and `following` (what rules stand on), `structure`, `tables` and `happened` (the
rules), `rules` (all of them by code, and the check), `union` and `composition` (styles put
together), `initial` (that the rules agree with each other), `walking` and `deriving` (the style
that a federation is). Then promises: `makes` (what brokers do), `governing` and `promised` (whose
contract a message has, and who is promised what), `hops`, `last_hop`, `rehoming`, `falling` and
`total`; and what a verification says: `style_findings` and `findings`.
"""

from ropewalk.verify.contracts.composition import Composed, compose
from ropewalk.verify.contracts.deriving import style_of
from ropewalk.verify.contracts.facts import read, style_of_facts
from ropewalk.verify.contracts.initial import smallest
from ropewalk.verify.contracts.rules import RULES, Checked, check
from ropewalk.verify.contracts.style import Style

__all__ = [
    "RULES",
    "Checked",
    "Composed",
    "Style",
    "check",
    "compose",
    "read",
    "smallest",
    "style_of",
    "style_of_facts",
]
