"""Files that are cut off, replaced or removed while they are read; too little room and memory."""

from __future__ import annotations

import gzip
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.engine.sources import MOST_HELD, Files, external_sort
from sase.engine.sources.formats.parquet import ParquetFormat
from sase.engine.sources.open import open_files
from sase.errors import BudgetError, DataError

ROWS = 60_000
EVENTS = pa.table(
    {"ts": np.arange(ROWS), "type": ["A", "B"] * (ROWS // 2), "v": np.arange(ROWS) % 97}
)
SUFFIXES = (".parquet", ".csv", ".csv.gz", ".jsonl", ".arrow")


def write(path: Path, events: pa.Table) -> Path:
    """Events in the format that the name says."""
    name = path.name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(events, path, row_group_size=10_000)
    elif name.endswith(".arrow"):
        with pa.ipc.new_file(path, events.schema) as writer:
            writer.write_table(events, max_chunksize=10_000)
    elif name.endswith(".jsonl"):
        rows = zip(*(column.to_pylist() for column in events.columns), strict=True)
        lines = (f'{{"ts": {ts}, "type": "{kind}", "v": {v}}}\n' for ts, kind, v in rows)
        path.write_text("".join(lines))
    else:
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(events, sink)
        text = sink.getvalue().to_pybytes()
        path.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    return path


def cut_off(path: Path) -> None:
    """In the midst of a row, and of its last block, page or batch."""
    os.truncate(path, path.stat().st_size * 2 // 3 + 1)


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def replaced(path: Path) -> None:
    """By another file that has the name at once, with fewer rows of other values."""
    other = write(path.with_name(f"other{''.join(path.suffixes)}"), EVENTS.slice(1000).take([5, 9]))
    os.replace(other, path)


def written_anew(path: Path) -> None:
    """In place, with columns of other types."""
    text = pa.array(["none"] * 100)
    write(path, EVENTS.slice(0, 100).set_column(2, "v", text).set_column(0, "ts", text))


def removed(path: Path) -> None:
    path.unlink()


CHANGES = (cut_off, cut_to_nothing, replaced, written_anew, removed)


# The files that are changed while they are read: Parquet is read by pages, too.
CHANGED = pytest.mark.parametrize(
    ("suffix", "most", "change"),
    [
        (suffix, most, change)
        for suffix, most in (*((suffix, MOST_HELD) for suffix in SUFFIXES), (".parquet", 1))
        for change in CHANGES
    ],
)
NAMES = ["ts", "type", "v"]


@CHANGED
def test_a_file_that_changes_before_it_is_read_as_a_whole(
    suffix: str, most: int, change: Callable[[Path], None], tmp_path: Path
) -> None:
    """Its columns are known by then: the error says so, whatever else is wrong with it now."""
    path, files = opened(tmp_path, suffix, most)
    change(path)
    said = "is not there any more" if change is removed else "was changed while it was read: run it"
    with pytest.raises(DataError) as caught:
        files.table(NAMES, NAMES)
    assert str(caught.value).startswith(f"{path} {said}")


@CHANGED
def test_a_file_that_changes_while_its_pieces_are_read(
    suffix: str, most: int, change: Callable[[Path], None], tmp_path: Path
) -> None:
    """No more than the earlier rows is taken, and then there is the error."""
    path, files = opened(tmp_path, suffix, most)
    pieces = files.batches(["ts", "v"], size=1000)
    _, first = next(pieces)
    assert first.column("ts").to_pylist() == [*range(first.num_rows)]
    change(path)
    seen = first.num_rows
    with pytest.raises(DataError, match="is not there any more|was changed while it was read"):
        for _, piece in pieces:
            assert piece.column("ts").to_pylist() == [*range(seen, seen + piece.num_rows)]
            seen += piece.num_rows
    assert seen <= ROWS


def opened(folder: Path, suffix: str, most: int) -> tuple[Path, Files]:
    """The events in a file of a format, with a limit on the bytes that may be held."""
    path = write(folder / f"e{suffix}", EVENTS)
    files = open_files(path)
    files.most = most
    return path, files


# ---------------------------------------------------------------- room and memory


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """No file may become larger, as on a disk that is full by then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_while_events_are_sorted_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the folder and a remedy, and nothing is left there."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = write(tmp_path / "e.parquet", EVENTS.take(np.arange(ROWS)[::-1]))
    plan = sase.compile("EVENT SEQ(A a, B b) WITHIN 5", EVENTS).engine
    files = open_files(path)
    with small_files(10_000), pytest.raises(DataError) as caught:
        next(external_sort.in_order(files, ["ts", "type"], plan))
    assert str(caught.value).startswith(
        f"events that are sorted on disk cannot be written to {tmp_path}/temporary/sase-sort-"
    )
    assert "File too large" in str(caught.value)
    assert str(caught.value).endswith(": TMPDIR names another place")
    assert list((tmp_path / "temporary").iterdir()) == []
    table, rows = next(external_sort.in_order(files, ["ts", "type"], plan))
    assert (table.column("ts")[0].as_py(), rows[0]) == (0, ROWS - 1)


@pytest.mark.parametrize(
    "problem",
    [
        pa.ArrowMemoryError("malloc of size 123 failed"),
        pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily"),
    ],
)
def test_a_lack_of_memory_is_no_damage(
    problem: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*values: object) -> None:
        raise problem

    path = write(tmp_path / "e.parquet", EVENTS)
    monkeypatch.setattr(ParquetFormat, "read_all", fails)
    with pytest.raises(BudgetError) as caught:
        sase.match("EVENT SEQ(A a, B b) WITHIN 5", path)
    assert str(caught.value) == f"{path} cannot be read with so little memory: {problem}"
