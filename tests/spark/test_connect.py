"""Spark Connect, which has no `sparkContext` and no `rdd`, gives the same."""

from pathlib import Path

import pytest

from tests.spark.known import REPLAYS
from tests.spark.scripts import run_script

MORE = [
    "bad rows", "metrics", "several DataFrames", "explanation", "table function", "batches",
    "errors", "files",
]  # fmt: skip


@pytest.mark.heavy
def test_a_session_of_connect_finds_the_same(tmp_path: Path) -> None:
    outcome = run_script("connect", tmp_path)
    assert outcome == dict.fromkeys([*REPLAYS, *MORE], True)
