"""The data pipeline on Spark: `java` (which Java runs it), `session` (how it starts)."""
