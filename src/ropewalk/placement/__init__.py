"""Placement: where the load goes, so that bursts that rise together do not share a broker."""
