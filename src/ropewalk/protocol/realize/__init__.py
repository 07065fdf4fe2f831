"""Whether roles that see only their own messages can keep to a protocol.

Reading order: `runs` (what happened, and who saw what), `explore` (everything that can happen over
channels), `speaking` (words that cross), `conditions` (for more than two roles), `verdict`.
"""
