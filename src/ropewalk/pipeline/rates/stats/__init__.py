"""Statistics to place from: the folder that rates are saved in, or two CSV files; without Spark.

`facts` (what they are), `checks` (what they must be), `saved` (a folder of the rates job),
`tables` (CSV files made by hand).
"""

from pathlib import Path

from ropewalk.errors import UsageError
from ropewalk.pipeline.rates.stats.facts import Counts, Stats
from ropewalk.pipeline.rates.stats.saved import ABOUT, stats_of_folder
from ropewalk.pipeline.rates.stats.tables import COVARIANCE, MEANS, stats_of_tables

__all__ = ["Counts", "Stats", "load_stats"]


def load_stats(path: str | Path, covariance: str | Path | None = None) -> Stats:
    """Statistics of topics from a folder of rates, a folder of two CSV files, or these files.

    A file alone is that of the means; `covariance.csv` is then looked for beside it. Raises
    UsageError for what cannot be read or makes no sense.
    """
    path = Path(path)
    if path.is_file() or covariance is not None:
        return stats_of_tables(path, Path(covariance or path.parent / COVARIANCE))
    if not path.is_dir():
        raise UsageError(
            f"{path}: there is no such folder: make it with `ropewalk pipeline rates`, or name "
            "another"
        )
    if (path / MEANS).is_file() or (path / COVARIANCE).is_file():
        return stats_of_tables(path / MEANS, path / COVARIANCE)
    if (path / "rates" / ABOUT).is_file() and not (path / ABOUT).exists():
        raise UsageError(f"{path}: holds no rates itself: name {path / 'rates'}")
    return stats_of_folder(path)
