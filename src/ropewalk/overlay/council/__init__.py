"""What agents decide together: who is master, which policies hold, and what moves where.

Read in this order: `settings` (how patient a council is), `words` (what members say and write),
`election` (one master by majority), `shelf` and `cases` (what is decided, in one order for all),
`mirrors` (who takes over from a broker that died), `handover` (what clients have got already),
`sittings` and `moving` (an item moves between two live brokers). Each is a `Part`.
"""
