"""The trace: what agents and recorders write, one row per observation at a broker.

`columns` (its columns, kinds and what each kind needs), `ids` (names as stable 64-bit numbers).
"""
