"""Patterns with choices on the command line: every format, files in pieces, and streams."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from tests.engine.branches.test_threads import events

QUERY = "EVENT SEQ(A a, (B b OR C+ c[])?, D d) WHERE [id] AND a.v <= d.v WITHIN 9"
NEGATED = "EVENT SEQ(A a, B b, !(C c)) OR SEQ(A a, (B b OR D d)) WHERE [id] WITHIN 6"


@pytest.fixture(autouse=True)
def _events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(events(), "events.parquet", row_group_size=7)
    pyarrow.csv.write_csv(events(), "events.csv")


def run(query: str, *arguments: str, file: str = "events.parquet") -> int:
    return main(["run", "-q", query, "--events", file, "--seq", "seq", *arguments])


def wanted(query: str) -> list[dict[str, Any]]:
    found = sase.match(query, events(), seq="seq", threads=1).to_pylist()
    assert any(row["b"] is None for row in found) and any(row["b"] for row in found)
    return found


def test_what_a_match_does_not_have_is_null_in_every_format() -> None:
    expected = wanted(QUERY)
    for ending in ("parquet", "arrow", "jsonl", "csv"):
        assert run(QUERY, "-o", f"found.{ending}") == 0
    assert pyarrow.parquet.read_table("found.parquet").to_pylist() == expected
    assert pa.ipc.open_file("found.arrow").read_all().to_pylist() == expected
    assert [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()] == expected
    flat = pyarrow.csv.read_csv("found.csv").to_pylist()
    assert [row["b_id"] for row in flat] == [row["b"] and row["b"]["id"] for row in expected]
    assert [json.loads(row["c"]) for row in flat] == [row["c"] for row in expected]


@pytest.mark.parametrize("query", [QUERY, NEGATED])
def test_files_in_pieces(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sase.engine.pipeline.batch.MOST_HELD", -1)
    assert run(query, "-o", "found.parquet") == 0
    assert pyarrow.parquet.read_table("found.parquet").to_pylist() == wanted(query)


@pytest.mark.parametrize("query", [QUERY, NEGATED])
def test_a_stream(
    query: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("events.csv", encoding="utf-8") as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert run(query, "--follow", "--lateness", "2", file="-") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found == wanted(query)
