"""One Spark session for all tests: starting one takes seconds.

`python -m ropewalk.pipeline.quick` makes an archive that halves that; it is used if it is there.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ropewalk.pipeline.quick import quick_options
from ropewalk.pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    started = session(
        "local[2]",
        **{
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": quick_options(),
        },
    )
    yield started
    started.stop()
