"""Matches with series in all forms of results, and the times in a row, which are of one kind."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.cli.output_files import write_file
from sase.cli.standard_input import Ending
from sase.engine.results.matches import Matches
from sase.engine.results.sinks import stream_writer
from sase.errors import SchemaError

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
EVENTS: list[dict[str, Any]] = [
    {"ts": BEGIN + timedelta(seconds=n), "type": each, "v": n, "s": f'"{n}"'}
    for n, each in enumerate("ABBBBCABC")
]
# There is no D.
QUERY = "EVENT SEQ(A a, B+ b[], D? d, C c) WHERE skip_till_next_match WITHIN 20 seconds"


@pytest.fixture(name="matches")
def _matches() -> Matches:
    found = sase.match(QUERY, EVENTS)
    assert [len(row["b"]) for row in found.to_pylist()] == [4, 1, 5]
    return found


def test_csv_has_series_as_json_and_nothing_of_what_is_missing(matches: Matches) -> None:
    schema, batches = matches.to_batches()
    file = io.BytesIO()
    writer = stream_writer("csv", file, schema)
    for batch in batches:
        writer.write_batch(batch)
    writer.close()
    file.seek(0)
    table = pa.csv.read_csv(file)
    assert table.column("a_v").to_pylist() == [0, 6, 0]
    assert table.column("c_v").to_pylist() == [5, 8, 8]
    last = json.loads(table.column("b")[1].as_py())
    assert last == [{"ts": "2026-03-02T00:00:07+00:00", "type": "B", "v": 7, "s": '"7"'}]
    assert table.column("d_v").null_count == 3


def test_names_that_clash_when_parts_of_attributes_become_columns() -> None:
    """No schema gives the parts of an attribute: its columns do, before anything is written."""
    events = [{"ts": 1, "type": "A", "p": {"v": 1}, "p_v": 2}]
    schema, _ = sase.match("EVENT A x", events).to_batches()
    with pytest.raises(SchemaError, match="`x.p.v` and `x.p_v` .* `x_p_v`.*RETURN … AS name"):
        stream_writer("csv", io.BytesIO(), schema)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl"])
def test_the_other_formats_have_lists(suffix: str, matches: Matches, tmp_path: Path) -> None:
    path = tmp_path / f"found.{suffix}"
    written: list[int] = []
    with Ending() as ending:
        write_file(*matches.to_batches(), str(path), ending, wrote=written.append)
    assert sum(written) == 3
    if suffix == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    elif suffix == "parquet":
        rows = pa.parquet.read_table(path).to_pylist()
    else:
        rows = pa.ipc.open_file(path).read_all().to_pylist()
    assert [[event["v"] for event in row["b"]] for row in rows] == [
        [1, 2, 3, 4], [7], [1, 2, 3, 4, 7]
    ]  # fmt: skip
    assert [row["d"] for row in rows] == [None] * 3


def test_a_terminal_shows_the_first_events_of_a_series(matches: Matches) -> None:
    from sase.engine.results.repr import cells_of

    header, cells = cells_of(matches.head(3).to_arrow(), matches.schema.type)
    b = [row[header.index("b")] for row in cells]
    assert b[1] == '[ts=2026-03-02 00:00:07Z v=7 s="7"]'
    assert b[0].startswith('[ts=2026-03-02 00:00:01Z v=1 s="1", ts=2026-03-02 00:00:02Z v=2')
    assert [each.rsplit(", ", 1)[1] for each in b[::2]] == ["… 1 more]", "… 2 more]"]
    assert cells[0][header.index("d")] == "NULL"


def test_a_stream_has_the_same(matches: Matches) -> None:
    table = pa.Table.from_pylist(EVENTS)
    matcher = sase.compile(QUERY, table.schema).open()
    found = matcher.stream(table.to_reader(max_chunksize=2)).read_all()
    assert found.to_pylist() == matches.to_pylist()


# ---------------------------------------------------------------- time kinds

# All times in a row of results are of one kind, whatever kind the time column is of.


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
