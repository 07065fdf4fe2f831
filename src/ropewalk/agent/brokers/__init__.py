"""Real brokers behind one contract: `contract`, `names`, then one file per make."""
