"""Replay a finding on real brokers that were started from their users' own configuration files.

Reading order: `cast` (who plays and what is seen), `doors` (which lab port an address of a file
means), `rewrite/` (each make's files for the lab, and what was left out), `stage` (the servers),
`ready` (the connections that the files ask for are there), `ears` (clients that count), `play` and
`judge` (whether what was seen confirms what was said).
"""

from ropewalk.agent.replay.cast import Actor as Actor
from ropewalk.agent.replay.cast import Observed as Observed
from ropewalk.agent.replay.cast import Reach as Reach
from ropewalk.agent.replay.cast import Scene as Scene
from ropewalk.agent.replay.judge import Verdict as Verdict
from ropewalk.agent.replay.judge import judge as judge
from ropewalk.agent.replay.play import play as play
