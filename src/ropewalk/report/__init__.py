"""Results for people and programs: the JSON document, findings as text, tables of a federation.

`filed/` is the report that can be filed, `verbs/` what `import ropewalk` offers of several rooms.
"""

from ropewalk.lazily import as_a_verb

as_a_verb(__name__, "ropewalk.report.verbs.reporting")
