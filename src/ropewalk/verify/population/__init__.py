"""Any number of clients: whether something bad can come about, however many take part.

In reading order:

- `net`, `run`: places, rules with transfers, what is bad; how a run is written
- `spec`: nets in mist's format, read and written
- `clients/`: populations of clients as people write them, and their reduction to nets
- `engine/`: decides a net, forwards and backwards
- `evidence/`: checks every verdict once more, by code of its own
- `asking`: what is asked of a file, and what the answers mean in its names
"""
