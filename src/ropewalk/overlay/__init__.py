"""The managing agent's pure core: one state machine for the agent, the simulator and the verifier.

Reading order: `words` and `wire` (what agents say), `events` (what happens, what is to be done),
`settings`, `setup`, `rules`, `chart` and `pairs` (what an agent is given); `deck` (what its parts
share), `serial` and `gazette` (what is known), `interface` and `liveness` (who is alive),
`shipping` (from link to link), `lane`, `runs`, `relaunch`, `holdings` and `custody` (what an origin
keeps), `arrivals` and `order/` (what is delivered, and when), `interests` and `retained` (who wants
what), `front` (the broker's clients), `epochs` (new charts), `totals` (one order for all), `parts`,
`logbook`, `council/` and `managing` (what agents decide together), `talk/` (protocols), `agent`
(all of it), `view`. Then `simulate/`, which drives and breaks it.

>>> from ropewalk import generate
>>> from ropewalk.overlay import Agent, Setup, chart_of, rules_of
>>> three = generate("three-broker")
>>> agent = Agent(Setup(me=0, chart=chart_of(three), rules=rules_of(three)))
>>> [type(action.word).__name__ for action in agent.start(0)], agent.wake_us
([], 0)
"""

from ropewalk.overlay.agent import Agent
from ropewalk.overlay.chart import Chart, chart_of
from ropewalk.overlay.rules import Rules, rules_of
from ropewalk.overlay.settings import Settings
from ropewalk.overlay.setup import Setup

__all__ = ["Agent", "Chart", "Rules", "Settings", "Setup", "chart_of", "rules_of"]
