"""Rivals from the paper, to be compared with: weighted round robin and a genetic algorithm."""
