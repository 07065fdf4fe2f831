"""Drive a federation with ordinary clients and check every sequence number.

Reading order: `plan` (what is asked and what comes of it), `drive` (a run), `cast` (who publishes
and subscribes where), `payload` and `tally` (numbers and the verdict on them), `stage` (the clients
of a run: `feeds` and `ears`), `pace`, `bursts`, `timing` and `stalls` (when to publish, when to
break what, when nothing was done), `clients` (the contract) with `nats_client`, `mqtt_client`,
`rabbit_client`, `window` (what is in flight) and `fast_nats` (for saturation), and `verdict`
(findings).
"""

from ropewalk.agent.drive.drive import drive as drive
from ropewalk.agent.drive.plan import DrivePlan as DrivePlan
from ropewalk.agent.drive.plan import DriveResult as DriveResult
from ropewalk.agent.drive.verdict import findings_of as findings_of
