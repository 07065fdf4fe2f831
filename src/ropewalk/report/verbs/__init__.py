"""The verbs of the command line as functions, whose results are records with data frames.

`import ropewalk` offers them by name; here are those that stand on several rooms: `plans` (plans
and what they are made of), `placing`, `replaying`, `pathfinding`, `deciding` (protocols and
populations), `simulating`, `reporting`. The others stand where they are made: in `verify`,
`routing`, and the jobs on Spark in `pipeline.jobs`.
"""
