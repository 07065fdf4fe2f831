"""The deterministic simulator: drives agents' pure cores and breaks everything around them.

In reading order: `faults` and `fault_text` (what can go wrong, as text), `plan` and `schedule`
(what is to happen), `cores` (what is driven), `journal`, `lanes`, `hosts`, `clients`, `network`,
`breaking`, `turns` and `turning` (epochs), `movers` (clients that move) and `world` (the run
itself), `truth`, `account`, `beliefs` and `invariants` (was it right?), `run`,
`shrink` and `story` (why not), `summary`, `scenarios`.

Apart from these, the packet network of Jia 2014, 6.3.2: `packets` (queues, lines and a log),
`routers` (what forwards by a table), `lsa`, `lsdb` and `ospf` (the rival), `plain_pcrt` (the scheme
of the thesis), `pcrt` (Ropewalk's agents), `measures` and `scenario_jia` (a link fails and
recovers, scheme by scheme). `flooding` counts what OSPF says of one failure in a large network.

And large federations: `fleet` (thousands of agents, beats only where they matter) and `growth`
(what a failure costs in domains). `circles` tells who can know of which links.

>>> from ropewalk.overlay.simulate import parse_faults
>>> print(parse_faults("at 0.5 s cut b1--b2 for 800ms")[0])
at 500 ms cut b1--b2 for 800 ms
"""

from ropewalk.overlay.simulate.faults import Fault, parse_faults
from ropewalk.overlay.simulate.plan import Plan, Shift
from ropewalk.overlay.simulate.run import Run, simulate
from ropewalk.overlay.simulate.scenarios import SCENARIOS, Scenario
from ropewalk.overlay.simulate.schedule import Load, plan_of, random_faults
from ropewalk.overlay.simulate.shrink import shrink
from ropewalk.overlay.simulate.story import story
from ropewalk.overlay.simulate.summary import Summary
from ropewalk.overlay.simulate.turning import random_turns
from ropewalk.overlay.simulate.turns import Turn

__all__ = [
    "SCENARIOS",
    "Fault",
    "Load",
    "Plan",
    "Run",
    "Scenario",
    "Shift",
    "Summary",
    "Turn",
    "parse_faults",
    "plan_of",
    "random_faults",
    "random_turns",
    "shrink",
    "simulate",
    "story",
]
