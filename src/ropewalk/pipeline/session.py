"""How Spark starts: local mode by default, any master by option, on a Java that is there."""

import os
import sys
from typing import TYPE_CHECKING

from ropewalk.pipeline.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(*, master: str = "local[*]", **conf: str) -> "SparkSession":
    """A Spark session; `conf` holds further settings: `session(**{"spark.x.y": "z"})`.

    Raises MissingJavaError where no Java 17 or newer is found.
    """
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("ropewalk")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    for name, value in (settings | conf).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
