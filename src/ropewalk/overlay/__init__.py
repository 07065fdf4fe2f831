"""The managing agent's pure core."""
