"""Audits of a trace: what its rows prove against the contracts."""
