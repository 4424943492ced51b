"""Where matches with series go: CSV, JSON lines, columns, a terminal and streams."""

from __future__ import annotations

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
from sase.cli.output_files import write_file
from sase.cli.standard_input import Ending
from sase.engine.results.matches import Matches
from sase.engine.results.sinks import text_writer
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
    writer = text_writer("csv", file, schema)
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
        text_writer("csv", io.BytesIO(), schema)


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
