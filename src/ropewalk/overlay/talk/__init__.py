"""Protocols on topics: a messenger for each conversation, beside the broker's clients.

Reading order: `token` (what a letter carries), `place` (a protocol at this broker), `lines`
(publications that wait for their turn), `alarms`, `past` (conversations over a restart), `sides`
(each role of each conversation, judged or not), `speaking` and `hearing` (what clients publish,
what arrives), `talking` (the part of an agent that does it all).
"""
