"""A lab of real brokers and agents on this machine, which can be broken.

Reading order: `guardian` and `group` (no process outlives the lab), `child`, `ports`; `makes/` and
`brokers`; `pipe` and `proxy` (the faults of links), `loss`; `folder`, `layout` and `agents` (where
everything is); `targets` and `lab`; `wire` and `control` (orders from outside).
"""
