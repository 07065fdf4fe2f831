"""Protocols on topics: a messenger for each conversation, beside the broker's clients.

Reading order: `token` (what a letter carries), `lines` (publications that wait for their turn),
`talking` (the part of an agent that does it), `past` (conversations over a restart).
"""
