"""What a message costs each broker, T = t_rcv + n_fltr * t_fltr + r * t_tx, from what was measured.

`solve` (least squares without negative costs, outliers weighted down), `fit` (one broker: costs,
intervals, what cannot be told), `results` (what comes out, and how it is written), `jobs` (all
brokers on Spark, from a trace's samples or from a file of runs).
"""

from ropewalk.pipeline.calibrate.fit import Fit, Observations, fit
from ropewalk.pipeline.calibrate.jobs import calibrate, calibrate_runs
from ropewalk.pipeline.calibrate.results import Calibration, Calibrations, write_capacities

__all__ = [
    "Calibration",
    "Calibrations",
    "Fit",
    "Observations",
    "calibrate",
    "calibrate_runs",
    "fit",
    "write_capacities",
]
