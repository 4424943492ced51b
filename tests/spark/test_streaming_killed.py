"""A streaming query that is killed and started again gives the results of one that runs on."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
from tests.spark.killed import KILLS, files_of, kill_in_a_batch, started

FILES = 2 * KILLS + 2
QUERY = "EVENT SEQ(A a, !(N n), B b, !(C c)) WHERE [id] AND a.v <= b.v WITHIN 60 ms"
CHILD = f"""
import sys
import pyarrow.parquet as pq
import sase.spark
from sase.spark.session import local_session
from tests.spark.known import QUICK

folder = sys.argv[1]
spark = local_session("local[2]", QUICK)
spark.sparkContext.setLogLevel("OFF")
schema = spark.read.parquet(folder + "/in/0000.parquet").schema
files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder + "/in")
found = sase.spark.match({QUERY!r}, files, time_unit="ms", lateness="20 ms", buckets=3)
begun = found.writeStream.option("checkpointLocation", folder + "/checkpoint")
begun.trigger(availableNow=True).start(folder + "/found").awaitTermination()
pq.write_table(spark.read.parquet(folder + "/found").toArrow(), folder + "/result.parquet")
"""


def events(random: Random, size: int) -> pa.Table:
    """Events up to 20 ms off their order, and at last one behind all windows."""
    rows = [
        {
            "ts": 1000 + 3 * number + random.randint(0, 9),
            "type": random.choice("AAABBBNCZ"),
            "id": random.choice([1, 2, 3, 4, None]),
            "v": random.choice([1, 2, 3, None]),
        }
        for number in range(size)
    ]
    return pa.Table.from_pylist([*rows, {"ts": 10**7, "type": "Z", "id": 0, "v": 0}])


@pytest.mark.heavy
def test_killed_and_started_again(tmp_path: Path) -> None:
    random = Random(KILLS)
    table = events(random, 300)
    files_of(table, tmp_path, FILES)
    batches = tmp_path / "checkpoint"
    killed = sum(kill_in_a_batch(started(CHILD, tmp_path), batches, random) for _ in range(KILLS))
    assert killed == KILLS
    assert started(CHILD, tmp_path).wait() == 0
    found = pq.read_table(tmp_path / "result.parquet").to_pylist()
    wanted = sase.match(QUERY, table, time_unit="ms").to_pylist()
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert len(found) > 20
