"""Files of very many small batches of Arrow are read as if they had few."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sase
from sase.engine.sources import open_files
from sase.engine.sources.formats.arrow import FEW, MANY

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.ts, b.s"
ROWS = 3 * FEW


def written(path: Path, table: pa.Table, rows: int) -> str:
    with pa.ipc.new_file(path, table.schema) as file:
        for batch in table.to_batches(max_chunksize=rows):
            file.write_batch(batch)
            file.write_batch(batch.slice(0, 0))
    return str(path)


def events() -> pa.Table:
    coded = pa.array([f"x{number % 5}" for number in range(ROWS)]).dictionary_encode()
    return pa.table(
        {
            "ts": range(ROWS),
            "type": ["A", "B"] * (ROWS // 2),
            "id": [number // 2 % 3 for number in range(ROWS)],
            "s": coded,
            "v": pa.array(["a text that is long"] * ROWS, pa.string_view()),
        }
    )


@pytest.mark.heavy
def test_small_batches_are_joined(tmp_path: Path) -> None:
    table = events()
    path = written(tmp_path / "events.arrow", table, 8)
    files = open_files(path, "ts")
    read = [each for _, each in files.batches(table.column_names)]
    assert pa.concat_tables(read).equals(table)
    assert sum(each.column(0).num_chunks for each in read) == 2 * ROWS // 8 // MANY
    found = sase.match(QUERY, path)
    assert found.to_arrow().equals(sase.match(QUERY, table).to_arrow())
    assert len(found) > ROWS // 2


def test_batches_of_great_dictionaries_are_not(tmp_path: Path) -> None:
    """To unify them would take as long for each batch."""
    codes = pa.DictionaryArray.from_arrays(
        pa.array([number % 7 for number in range(ROWS)], pa.int32()),
        pa.array(map(str, range(FEW + 1))),
    )
    table = events().append_column("great", codes)
    path = written(tmp_path / "events.arrow", table, 256)
    read = [each for _, each in open_files(path, "ts").batches(table.column_names)]
    assert pa.concat_tables(read).equals(table)
    assert sum(each.column(0).num_chunks for each in read) >= ROWS // 256


def test_what_is_wrong_is_told_by_its_row(tmp_path: Path) -> None:
    table = events().select(["ts", "type", "id"])
    indexes = pa.array([0] * 100 + [9] + [0] * (ROWS - 101), pa.int8())
    bad = pa.DictionaryArray.from_arrays(indexes, pa.array(["x", "y"]), safe=False)
    path = written(tmp_path / "events.arrow", table.append_column("s", bad), 8)
    with pytest.raises(sase.DataError, match=r"row 100 .*`s` is index 9 of a dictionary of 2"):
        sase.match(QUERY, path)
