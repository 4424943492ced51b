"""A script: sessions with other Pythons of workers, each in the words of its error.

Spark reads the variable when a session starts, so each has its own: `test_workers.py` runs this.
"""

from __future__ import annotations

import json
import os
import sys
import warnings

from pyspark.sql import SparkSession

import sase.spark
from sase.errors import SparkError
from tests.spark.known import QUICK

QUERY = "EVENT SEQ(A a, B b) WITHIN 9"


def main() -> None:
    """Try each of the arguments, and then none."""
    found = [outcome(python) for python in [*sys.argv[1:], sys.executable]]
    print(json.dumps({"outcomes": found}))


def outcome(python: str) -> list[str]:
    """The error of each way to search by workers of a Python."""
    os.environ["PYSPARK_PYTHON"] = python
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name, value in QUICK.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    events = spark.createDataFrame([(1, "A"), (2, "B")], "ts long, type string")
    warnings.simplefilter("ignore")
    ways = {
        "match": lambda: sase.spark.match(QUERY, events),
        "script": lambda: sase.spark.script(QUERY, events),
        "register": lambda: sase.spark.register(spark),
        "count": lambda: sase.spark.match(QUERY, events, output="count"),
    }
    errors = []
    for way in ways.values():
        try:
            way()
        except SparkError as problem:
            errors.append(str(problem))
    spark.stop()
    return errors


if __name__ == "__main__":
    main()
