"""Rates: how many messages each topic carries in peak periods, and how topics vary together.

In the order they run: `tally` (rows of a file to counts per topic and window), `counts` (the same
on Spark), `peaks` (which windows count), `grid` (windows x topics, sparse; means and variances),
`gram` (sums of products), `covariance` (the matrix, on Spark), `items` (topics put together),
`factors` (a short form of the matrix), `job` (all of it). `stats` reads what was saved, without
Spark.
"""

from ropewalk.pipeline.rates.counts import counts, topics
from ropewalk.pipeline.rates.covariance import Covariance, covariance_of, load_covariance
from ropewalk.pipeline.rates.factors import Factors, factors_of
from ropewalk.pipeline.rates.grid import Grid
from ropewalk.pipeline.rates.items import Items, items_of
from ropewalk.pipeline.rates.job import Rates, rates
from ropewalk.pipeline.rates.peaks import Peak, PeakRule
from ropewalk.pipeline.rates.stats import Stats, load_stats

__all__ = [
    "Covariance",
    "Factors",
    "Grid",
    "Items",
    "Peak",
    "PeakRule",
    "Rates",
    "Stats",
    "counts",
    "covariance_of",
    "factors_of",
    "items_of",
    "load_covariance",
    "load_stats",
    "rates",
    "topics",
]
