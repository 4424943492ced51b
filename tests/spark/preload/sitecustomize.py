"""Python imports this when it starts: Spark forks workers in tests from a process with our modules.

A worker looks through all its objects for garbage behind every task, which for those of the imports
alone takes as long as a small task does, and each that had an error is followed by a fresh one. So
the first process also runs queries, for which it loads kernels.
"""

from __future__ import annotations

import sys

QUERIES = (
    "EVENT SEQ(A a, !(B b), C c) WHERE [id] AND a.v < c.v WITHIN 9",
    "EVENT SEQ(A a, C c) WHERE a.v < c.v WITHIN 9 LIMIT 3",
)


def preload() -> None:
    """Import the modules of tasks and of table functions, and load the kernels of some queries."""
    import gc

    import pyarrow as pa
    import pyspark.sql.worker.analyze_udtf
    import pyspark.worker  # noqa: F401

    import sase
    import sase.spark.table_function
    import sase.spark.tasks.task

    events = pa.table({"ts": [1, 2, 3], "type": [*"ABC"], "id": [1, 1, 1], "v": [1, 2, 3]})
    for query in QUERIES:
        sase.match(query, events, seq="ts", threads=1).to_arrow()
    gc.collect()
    gc.freeze()


if "pyspark.daemon" in sys.orig_argv:
    preload()
