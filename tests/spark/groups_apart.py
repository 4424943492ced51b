"""Look for repeated groups of which Spark takes other matches that do not overlap than one process.

    python -m tests.spark.groups_apart SEED COUNT

tries the queries of the numbers from SEED on, by every strategy that they may be cut by. It prints
those that fail, and how many were refused, found nothing, and found matches.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import pyarrow as pa
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import ReplayWarning, SaseError
from tests.drawing.examples import example
from tests.drawing.repeated_groups import APART
from tests.spark.cases import multiset
from tests.spark.known import QUICK, frame

STRATEGIES = ("one_task", "key", "slice", "key_and_slice")
REFUSED, NOTHING, FOUND, FAULT = "refused", "without matches", "with matches", "faults"


def compared(spark: SparkSession, number: int, strategy: str) -> tuple[str, str]:
    """The outcome of a query by a strategy, and a description of it where it is a fault."""
    drawn = example(number, APART)
    text, types = drawn.query.text, drawn.keywords["types"]
    table = pa.Table.from_pylist([{**row, "seq": n} for n, row in enumerate(drawn.rows)])
    try:
        local = sase.match(text, table, seq="seq", types=types, output="non_overlap")
        wanted = multiset(local.to_pylist())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReplayWarning)
            found = on_spark.match(
                text, frame(spark, table), seq="seq", strategy=strategy, types=types,
                output="non_overlap", slices=3 if "slice" in strategy else None,
            )  # fmt: skip
    except SaseError as error:
        return REFUSED, str(error)
    given = multiset(found.toArrow().to_pylist())
    if given != wanted:
        return FAULT, f"{number} by {strategy}: {text}\n{drawn.rows}\n{given}\n{wanted}"
    return (FOUND if wanted else NOTHING), ""


def hunt(spark: SparkSession, first: int, count: int) -> Counter[str]:
    """How many were refused, found nothing, found matches, and are faults."""
    seen: Counter[str] = Counter()
    for number in range(first, first + count):
        for strategy in STRATEGIES:
            what, said = compared(spark, number, strategy)
            seen[what] += 1
            if what == FAULT:
                print(said, flush=True)
    return seen


if __name__ == "__main__":
    from sase.spark.session import local_session

    session = local_session("local[2]", QUICK)
    session.sparkContext.setLogLevel("OFF")
    total = hunt(session, int(sys.argv[1]), int(sys.argv[2]))
    print(f"{sys.argv[2]} queries: {dict(total)}")
    session.stop()
    sys.exit(bool(total[FAULT]))
