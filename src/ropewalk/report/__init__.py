"""Results for people and programs: the JSON document, findings as text, tables of a federation."""
