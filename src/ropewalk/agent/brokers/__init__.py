"""Real brokers behind one contract: `contract`, `names`, `gathering`, then one file per make."""
