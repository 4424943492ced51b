"""All times in a row of results are of one kind, whatever kind the time column is of."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.cli.main import main

SECONDS = [1.5, 2.25, 4.125, 9.0]
KINDS: dict[str, pa.Array] = {
    "floats": pa.array(SECONDS),
    "floats of 32 bits": pa.array(SECONDS, pa.float32()),
    "integers": pa.array([1, 2, 4, 9]),
    "milliseconds": pa.array([1500, 2250, 4125, 9000], pa.timestamp("ms")),
    "microseconds with a zone": pa.array([1, 2, 4, 9], pa.timestamp("us", "UTC")),
    "days": pa.array([1, 2, 4, 9], pa.date32()),
}
PAIR = "EVENT SEQ(A a, B b) WHERE [id]"
SERIES = "EVENT SEQ(A a, B+ b[]) WHERE [id]"
MAYBE = "EVENT SEQ(A a, (C c)?, B b) WHERE [id]"


def events(times: pa.Array) -> pa.Table:
    ids = ["x", "x", "y", "y"]
    return pa.table({"ts": times, "type": ["A", "B", "A", "B"], "id": ids, "v": [1.5, 2, 3, 4]})


def check(row: dict[str, Any]) -> None:
    last = row["b"][-1] if isinstance(row["b"], list) else row["b"]
    assert (row["a"]["ts"], last["ts"]) == (row["ts_start"], row["ts_end"])
    assert type(row["a"]["ts"]) is type(row["ts_start"])
    assert row["detected_at"] == row["ts_end"]
    assert row["a"]["v"] in (1.5, 3.0)  # as it was given


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("query", [PAIR, SERIES, MAYBE])
def test_whole_events(kind: str, query: str) -> None:
    table = events(KINDS[kind])
    matches = sase.match(query, table)
    assert len(matches) == 2
    for row in matches.to_pylist():
        check(row)
    schema = matches.to_arrow().schema
    shown = schema.field("a").type.field("ts").type
    assert shown == schema.field("ts_start").type == schema.field("detected_at").type


@pytest.mark.parametrize("kind", KINDS)
def test_events_that_are_pushed(kind: str) -> None:
    table = events(KINDS[kind])
    matcher = sase.compile(PAIR, table).open()
    found = [row for at in range(4) for row in matcher.push(table.slice(at, 1)).to_pylist()]
    assert len(found) == 2
    for row in found:
        check(row)


def test_rows_of_whole_seconds_among_others() -> None:
    matcher = sase.compile(PAIR, events(KINDS["floats"])).open()
    whole = [{"ts": 1, "type": "A", "id": "x", "v": 1.5}]
    other = [{"ts": 2.5, "type": "B", "id": "x", "v": 2.0}]
    matcher.push(whole)
    (row,) = matcher.push(other).to_pylist()
    assert (row["a"]["ts"], row["b"]["ts"], row["ts_end"]) == (1_000_000, 2_500_000, 2_500_000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_each_type(kind: str) -> None:
    table = events(KINDS[kind]).drop(["type"])
    rows = sase.match(PAIR, {"A": table[:1], "B": table[1:2]}, type=None).to_pylist()
    assert len(rows) == 1
    check(rows[0])


def test_what_stops_matches() -> None:
    told = str(sase.why(f"{PAIR} AND b.ts - a.ts < 500 ms", events(KINDS["floats"])))
    assert "b.ts is 2250000, a.ts is 1500000: by 250000" in told
    assert "by 4375000" in told
    assert "a: row 0  ts=1500000 id=x" in told
    assert "1.5" not in told.replace("v=1.5", "")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_text(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events.csv"
    path.write_text("ts,type,id\n1.5,A,x\n2.25,B,x\n", encoding="utf-8")
    assert main(["run", "-q", PAIR, "--events", str(path), "--format", form]) == 0
    out = capsys.readouterr().out
    if form == "jsonl":
        row = json.loads(out)
        assert row["a"]["ts"] == row["ts_start"] == 1_500_000
    else:
        (flat,) = csv.DictReader(out.splitlines())
        assert flat["a_ts"] == flat["ts_start"] == "1500000"
