"""When a letter may be delivered: each lane's rules at a destination, and a home's total order.

In reading order: `window` (which numbers have come), `release` (a lane's letters, in order, once),
`batch` (priorities); for a total order `notes` (what is said and written), `known` (which letters
are known), `numbering` (a home's book), `vows` (members as witnesses), `takeover` (how a term
begins), `sequencer` (the part of a home), `reading` (one topic at a destination), `desk` (the part
of a destination and member).
"""
