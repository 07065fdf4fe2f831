"""When a letter may be delivered: each lane's rules at a destination, and a home's total order.

In reading order: `window` (which numbers have come), `release` (a lane's letters, in order, once),
`batch` (priorities).
"""
