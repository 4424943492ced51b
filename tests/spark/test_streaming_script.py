"""Scripts over streaming DataFrames: the matches of one process, exactly once, also when killed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
from tests.spark.killed import KILLS, files_of, kill_in_a_batch, started

TEXT = """CREATE STREAM pairs AS EVENT SEQ(A a, B b, !(C c)) WHERE [id] AND a.v <= b.v WITHIN 60 ms
            RETURN Pair(a.id AS id, b.v - a.v AS step, b.n AS n);
          CREATE STREAM twice AS FROM pairs EVENT SEQ(Pair p, Pair q) WHERE [id] WITHIN 90 ms
            RETURN p.n AS one, q.n AS two, q.step AS step"""
OPTIONS = {"seq": "n", "time_unit": "ms"}
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
text, options = {TEXT!r}, {OPTIONS!r}
found = sase.spark.script(text, {{"raw": files}}, lateness="20 ms", buckets=3, **options)
for name, df in found.items():
    begun = df.writeStream.option("checkpointLocation", folder + "/checkpoint/" + name)
    begun.trigger(availableNow=True).start(folder + "/found/" + name).awaitTermination()
    pq.write_table(spark.read.parquet(folder + "/found/" + name).toArrow(), folder + "/" + name)
"""


def events(random: Random, size: int) -> pa.Table:
    """Events up to 20 ms off their order, and at last one behind all windows."""
    rows = [
        {
            "ts": 1000 + 3 * number + random.randint(0, 9),
            "type": random.choice("AAABBBCZ"),
            "id": random.choice([1, 2, 3, 4, None]),
            "v": random.choice([1, 2, 3, None]),
            "n": number,
        }
        for number in range(size)
    ]
    return pa.Table.from_pylist([*rows, {"ts": 10**7, "type": "Z", "id": 0, "v": 0, "n": size}])


def in_order(rows: list[dict[str, object]]) -> list[str]:
    return sorted(map(repr, rows))


@pytest.mark.heavy
def test_every_statement_finds_each_result_once_after_kills(tmp_path: Path) -> None:
    random = Random(KILLS)
    table = events(random, 300)
    files_of(table, tmp_path, 2 * KILLS + 2)
    for _ in range(KILLS):
        assert kill_in_a_batch(started(CHILD, tmp_path), tmp_path / "checkpoint", random)
    # On a machine that is busy workers of Spark give up: that is one restart more.
    assert any(started(CHILD, tmp_path).wait() == 0 for _ in range(4))
    wanted = sase.Script(TEXT, streams={"raw": table}, **OPTIONS).run(streams={"raw": table})
    for name, matches in wanted.items():
        found = pq.read_table(tmp_path / name).to_pylist()
        assert in_order(found) == in_order(matches.to_pylist())
        assert len(found) > 10
