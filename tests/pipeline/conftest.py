"""One Spark session for all tests: starting one takes seconds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ropewalk.pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    started = session(
        master="local[2]",
        **{
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        },
    )
    yield started
    started.stop()
