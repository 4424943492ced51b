"""Scripts on Spark: a statement that names types that the events lack is set aside, by its name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sase import spark as on_spark
from sase.cli.main import main
from sase.errors import BindingError, StatementError, StatementWarning

pytestmark = pytest.mark.slow

EVENTS = pa.table({"ts": [1, 2], "type": ["A", "B"], "k": [7, 7]})
RULES = """EVENT SEQ(A a, B b) WHERE [k] WITHIN 9;
CREATE STREAM pairs AS EVENT SEQ(A a, B b) WHERE a.user = b.user WITHIN 9 RETURN Pair(a.k AS k);
FROM pairs EVENT Pair p RETURN p.k AS k"""
TOLD = "pairs is set aside: .* no column `user`.*\n.*query_3 is set aside: .*reads `pairs`"


def test_the_others_are_replayed(spark: SparkSession) -> None:
    df = spark.createDataFrame(EVENTS.to_pandas())
    with pytest.warns(StatementWarning, match=TOLD):
        found = on_spark.script(RULES, df, seq="k")
    assert {name: each.count() for name, each in found.items()} == {"query_1": 1}
    with pytest.raises(StatementError, match="pairs is set aside: .* no column `user`"):
        found["pairs"]
    found.unpersist()
    with pytest.raises(BindingError, match="no column `user`"):
        on_spark.script(RULES, df, strict=True)
    rules = "FROM x EVENT A a RETURN a.k AS k; FROM y EVENT A a RETURN a.k AS k"
    with pytest.warns(StatementWarning, match="query_2 is set aside: .* no stream `y`"):
        found = on_spark.script(rules, {"x": df}, seq="k")
    assert {name: each.count() for name, each in found.items()} == {"query_1": 1}
    with pytest.raises(BindingError, match="no stream `y`"):
        on_spark.script(rules, {"x": df}, strict=True)


def test_the_command_names_them(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    (tmp_path / "rules.sase").write_text(RULES, encoding="utf-8")
    words = ["replay", str(tmp_path / "rules.sase"), "--events", str(tmp_path / "events.parquet")]
    assert main([*words, "-o", str(tmp_path / "found"), "--seq", "k"]) == 0
    told = capsys.readouterr().err
    assert "pairs is set aside" in told
    assert "query_3 is set aside" in told
    assert "1 match of 1 statement in 2 rows" in told
