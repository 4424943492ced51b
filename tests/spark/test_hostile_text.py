"""Hostile values and names in the output of the commands of Spark: no terminal obeys them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.program import Program
from tests.test_hostile_text import (
    COLUMN,
    EVENTS,
    HOSTILE,
    NONE,
    QUERY,
    TYPE,
    VALUE,
    WRONG,
    assert_harmless,
)

pytestmark = pytest.mark.slow
COMMAND_LINES = {
    "a table": ["replay", "-q", QUERY],
    "json lines": ["replay", "-q", QUERY, "--format", "jsonl"],
    "a set": ["replay", "-q", QUERY, "--output", "compressed"],
    "none": ["replay", "-q", NONE],
    "an unknown column": ["replay", "-q", WRONG],
    "a file": ["replay", "-q", QUERY, "-o", HOSTILE],
    "a folder": ["replay", "-q", QUERY, "-o", f"{HOSTILE}/m/"],
    "a recipe": ["replay", "-q", QUERY, "--plan", HOSTILE],
    "slices": ["replay", "-q", QUERY, "--slices", HOSTILE],
    "a strategy": ["replay", "-q", QUERY, "--strategy", HOSTILE],
    "a setting": ["replay", "-q", QUERY, "--conf", HOSTILE],
    "a time": ["replay", "-q", QUERY, "--time", HOSTILE],
    "a seq": ["replay", "-q", QUERY, "--seq", HOSTILE],
    "statistics": ["replay", "-q", QUERY, "--stats", HOSTILE],
    "text": ["explain", "--spark", "-q", QUERY, "--verbose"],
    "a page": ["explain", "--spark", "-q", QUERY, "--format", "html"],
    "counted": ["explain", "--spark", "-q", QUERY, "--analyze"],
}


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_the_program(name: str, spark: SparkSession, program: Program) -> None:
    assert_harmless(program(*COMMAND_LINES[name], events=EVENTS))


def test_tables_and_bad_rows(spark: SparkSession, program: Program) -> None:
    """Messages of tasks about them come by way of Java."""
    words = ["replay", "-q", QUERY]
    assert_harmless(program(*words, "--table", HOSTILE))
    bad = pa.table({"ts": [1, None], "type": [TYPE] * 2, COLUMN: [VALUE] * 2})
    assert_harmless(program(*words, events=bad))
    assert_harmless(program(*words, "--quarantine", "aside.csv", events=bad))
