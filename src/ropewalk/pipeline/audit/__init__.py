"""The audit of a trace (docs/audit.md): `plain` (each rule as Spark SQL)."""
