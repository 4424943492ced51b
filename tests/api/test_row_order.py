"""`seq="#row"` in every way of running; and reports say where events share their time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import sase
from sase.engine.pipeline import batch as running

# Pairs of one time, in which the alarm comes before the event that clears it, or after it.
ALARMS = "EVENT SEQ(DOWN d, !(UP u)) WHERE [id] WITHIN 5"
ROWS: list[dict[str, Any]] = [
    {"ts": 10 * n, "type": kind, "id": n}
    for n in range(40)
    for kind in (("DOWN", "UP") if n % 4 else ("UP", "DOWN"))
]
# Those in which the alarm comes last are not cleared.
LEFT = [n for n in range(40) if not n % 4]
BY_ROW: dict[str, Any] = {"seq": "#row"}
TIES = "100 % of the 80 events that the query sees share their time with another"


def ids(matches: sase.Matches) -> list[int]:
    return [match["d"]["id"] for match in matches.to_pylist()]


def written(folder: Path, suffix: str, rows: list[dict[str, Any]] = ROWS) -> str:
    """The rows in three files."""
    size = -(-len(rows) // 3)
    for number in range(3):
        part = pa.Table.from_pylist(rows[size * number : size * (number + 1)])
        path = str(folder / f"part{number}{suffix}")
        match suffix:
            case ".parquet":
                pq.write_table(part, path, row_group_size=5)
            case ".csv":
                pyarrow.csv.write_csv(part, path)
            case ".jsonl":
                Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in part.to_pylist()))
            case _:
                pyarrow.feather.write_feather(part, path)
    return str(folder / f"part*{suffix}")


def test_events_in_memory() -> None:
    table = pa.Table.from_pylist(ROWS)
    for events in (ROWS, table, pl.from_dicts(ROWS), table.to_pandas(), table.to_batches()[0]):
        assert ids(sase.match(ALARMS, events, **BY_ROW)) == LEFT
    by_type = {kind: [row for row in ROWS if row["type"] == kind] for kind in ("DOWN", "UP")}
    # The rows of the first table come first.
    assert ids(sase.match(ALARMS, by_type, **BY_ROW)) == []
    assert len(sase.match(ALARMS, ROWS)) == 40


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".arrow"])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_files_by_a_pattern(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_sorted: bool
) -> None:
    """Also where they are too many to be held, sorted or not."""
    rows = ROWS if is_sorted else ROWS[40:] + ROWS[:40]
    path = written(tmp_path, suffix, rows)
    assert sorted(ids(sase.match(ALARMS, path, **BY_ROW))) == LEFT
    monkeypatch.setattr(running, "MOST_HELD", 10)
    assert sorted(ids(sase.match(ALARMS, path, **BY_ROW))) == LEFT


def test_a_row_group_that_is_not_read_counts_no_less(tmp_path: Path) -> None:
    others = [{"ts": 0, "type": "X", "id": 0}] * 10
    rows = [row for n in range(0, 80, 2) for row in (*others, *ROWS[n : n + 2])]
    found = sase.match(ALARMS, written(tmp_path, ".parquet", rows), **BY_ROW)
    assert ids(found) == LEFT
    assert "were not read" in found.report.notes[0]


@pytest.mark.parametrize("size", [1, 3, 80])
@pytest.mark.parametrize("lateness", [None, 0, 25])
def test_pushes_and_snapshots(size: int, lateness: int | None) -> None:
    """Rows are counted from the first one pushed, also behind a snapshot."""
    plan = sase.compile(ALARMS, pa.Table.from_pylist(ROWS), lateness=lateness, **BY_ROW)
    matcher, found = plan.open(), list[int]()
    for begin in range(0, len(ROWS), size):
        if begin % 3 == 0:
            matcher = plan.restore(matcher.snapshot())
        found += ids(matcher.push(ROWS[begin : begin + size]))
    assert found + ids(matcher.finish()) == LEFT


def test_rows_that_wait_keep_their_order() -> None:
    """A row that is late by less than the lateness comes behind those of its time."""
    plan = sase.compile(ALARMS, pa.Table.from_pylist(ROWS), lateness=25, **BY_ROW)
    matcher = plan.open()
    rows = [("DOWN", 0), ("DOWN", 20), ("UP", 0), ("DOWN", 0), ("DOWN", 40)]
    found = [matcher.push([{"ts": ts, "type": kind, "id": 1}]) for kind, ts in rows]
    found.append(matcher.finish())
    assert [row["d"] for each in found for row in each.rows.to_pylist()] == [3, 1, 4]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads: int) -> None:
    """By time slices, and by key where there is no window."""
    assert ids(sase.match(ALARMS, ROWS, threads=threads, **BY_ROW)) == LEFT
    pairs = sase.match("EVENT SEQ(DOWN d, UP u) WHERE [id]", ROWS, threads=threads, **BY_ROW)
    assert ids(pairs) == [n for n in range(40) if n % 4]


def test_bad_rows_keep_the_order_of_the_others() -> None:
    rows: list[dict[str, Any]] = []
    for row in ROWS:
        rows += [row, {"ts": None, "type": "UP", "id": row["id"]}]
    found = sase.match(ALARMS, rows, on_bad_row="quarantine", **BY_ROW)
    assert (ids(found), found.report.bad) == (LEFT, 80)


def test_a_column_of_that_name_is_an_attribute() -> None:
    rows = [{**row, "#row": -n} for n, row in enumerate(ROWS)]
    assert ids(sase.match(ALARMS, rows, **BY_ROW)) == LEFT
    one = sase.match("EVENT DOWN d WHERE d.`#row` = -2", rows, **BY_ROW)
    assert ids(one) == [1]


# ---------------------------------------------------------------- notes on ties


def test_a_run_says_that_events_share_their_time() -> None:
    for threads in (1, 3):
        (warning,) = sase.match(ALARMS, ROWS, threads=threads).report.warnings
        assert warning.startswith(TIES)
        assert 'seq="#row"' in warning
    for output in ("count", "compressed"):
        found = sase.match("EVENT SEQ(DOWN d, UP u)", ROWS, output=output)
        (warning,) = found.report.warnings
        assert warning.startswith(TIES)
    assert sase.match(ALARMS, ROWS, **BY_ROW).report.warnings == ()
    assert sase.match("EVENT DOWN d", ROWS).report.warnings == ()


def test_a_seq_that_repeats_is_named() -> None:
    rows = [{**row, "n": 0} for row in ROWS]
    (warning,) = sase.match(ALARMS, rows, seq="n").report.warnings
    assert "share their time and `n` with another" in warning
    assert "without repeating" in warning


def test_files_in_pieces_say_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MOST_HELD", 10)
    (warning,) = sase.match(ALARMS, written(tmp_path, ".parquet")).report.warnings
    assert warning.startswith(TIES)


@pytest.mark.parametrize("is_restored", [True, False])
def test_a_stream_says_it_once_before_its_end(*, is_restored: bool) -> None:
    plan = sase.compile(ALARMS, pa.Table.from_pylist(ROWS))
    matcher, told = plan.open(), list[tuple[str, ...]]()
    for turn in range(20):
        rows = [{**row, "ts": row["ts"] + 1000 * turn} for row in ROWS]
        for begin in range(0, len(rows), 10):
            told.append(matcher.push(rows[begin : begin + 10]).report.warnings)
        if is_restored and turn == 4:
            matcher = plan.restore(matcher.snapshot())
    (first,) = [each for each in told if each]
    assert "100 % of the 1,000 events" in first[0]
    (last,) = matcher.finish().report.warnings
    assert "100 % of the 1,600 events" in last


def test_why_says_it() -> None:
    words = sase.why(ALARMS, ROWS).words
    assert words[0] == "there are 40 matches"
    assert words[1].startswith(TIES)
    assert TIES not in str(sase.why(ALARMS, ROWS, **BY_ROW))


def test_compare_and_explain_say_it() -> None:
    pairs = "EVENT SEQ(DOWN d, UP u) WITHIN 5"
    notes = sase.compare(pairs, ROWS).notes
    assert [note for note in notes if "share their time" in note] == [notes[0]]
    assert TIES in str(sase.explain(pairs, ROWS, analyze=True))
    assert TIES in str(sase.explain(pairs, ROWS, analyze=True, pushed=7))
