"""Hostile values and names in what the commands of Spark print: no terminal obeys them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from sase.cli.main import main
from tests.test_hostile_text import (
    COLUMN,
    EVENTS,
    HOSTILE,
    NONE,
    QUERY,
    TYPE,
    VALUE,
    WRONG,
    is_harmless,
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
def test_the_program(
    name: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(EVENTS, "events.parquet")
    shows(capsys, *COMMAND_LINES[name], "--events", "events.parquet")


def test_tables_and_bad_rows(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What tasks say of them comes by way of Java."""
    monkeypatch.chdir(tmp_path)
    shows(capsys, "replay", "-q", QUERY, "--table", HOSTILE)
    bad = pa.table({"ts": [1, None], "type": [TYPE] * 2, COLUMN: [VALUE] * 2})
    pyarrow.parquet.write_table(bad, "events.parquet")
    shows(capsys, "replay", "-q", QUERY, "--events", "events.parquet")
    aside = ["--quarantine", "aside.csv"]
    shows(capsys, "replay", "-q", QUERY, "--events", "events.parquet", *aside)


def shows(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    try:
        main(words)
    except SystemExit as end:  # as argparse leaves
        assert end.code == 2
    out, said = capsys.readouterr()
    assert out or said
    assert is_harmless(out)
    assert is_harmless(said)
