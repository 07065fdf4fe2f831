"""The probability that messages arrive in time, with bounds: by loss, latency, load and failures.

Reading order: `times` (what one thing takes, in slots of time), `load` (how busy brokers are),
`model` (every hop of a federation), `arrivals` (all pairs at once), `ways` (one path, or two at
once), `failing` (over all that may fail), `asked` (which pairs owe what), `result` (the verdicts)
and `told` (findings, and the hop that costs most).
"""

from ropewalk.verify.latency.load import Rate
from ropewalk.verify.latency.result import RETRY, Latency, latency
from ropewalk.verify.latency.times import Retry

__all__ = ["RETRY", "Latency", "Rate", "Retry", "latency"]
