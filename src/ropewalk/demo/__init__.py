"""The whole rope on this machine: the commands that a user would type, one after the other.

Reading order: `scenery` (the federation, its bursts, what its brokers bear), `scale` (how long,
what is broken when), `figures` (what the commands' documents say), `judging` (what has to hold),
`telling` (each step in a few lines): all of that is pure. Then `folder`, `commands` (processes, and
one Spark session for all jobs) and `course` (the steps in their order).
"""

from ropewalk.demo.course import Ending as Ending
from ropewalk.demo.course import run as run
from ropewalk.demo.scale import FAST as FAST
from ropewalk.demo.scale import FULL as FULL
from ropewalk.demo.scale import Scale as Scale
