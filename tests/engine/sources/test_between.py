"""The end of a run comes between the batches of files that are read, held or sorted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet
import pytest

import sase
from sase.api import compiled_script, matching
from sase.api.compiled_query import compile_query
from sase.engine.pipeline.limits import SECOND, Limits, RunGuard
from sase.engine.sources import open_files
from sase.engine.sources.external_sort import in_order, naming_least
from sase.engine.sources.formats import json_lines
from sase.engine.sources.open import infer_types
from sase.engine.sources.salvage import salvaged
from sase.errors import MemoryLimitError, TimeLimitError

ROWS = 400_000
QUERY = "EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 10"
FORMATS = ["csv", "parquet", "arrow", "jsonl"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same events in files of each format, and of CSV not in order."""
    folder = tmp_path_factory.mktemp("files")
    table = pa.table(
        {"ts": np.arange(ROWS), "type": ["A", "B"] * (ROWS // 2), "v": np.arange(ROWS) % 7}
    )
    paths = {format: str(folder / f"events.{format}") for format in FORMATS}
    pyarrow.csv.write_csv(table, paths["csv"])
    pyarrow.parquet.write_table(table, paths["parquet"])
    pyarrow.feather.write_feather(table, paths["arrow"], chunksize=1 << 16)
    lines = "".join(
        f'{{"ts": {ts}, "type": "{name}", "v": {v}}}\n'
        for ts, name, v in zip(*(each.to_pylist() for each in table.columns), strict=True)
    )
    Path(paths["jsonl"]).write_text(lines, encoding="utf-8")
    paths["shuffled"] = str(folder / "shuffled.csv")
    pyarrow.csv.write_csv(table.take(np.random.default_rng(1).permutation(ROWS)), paths["shuffled"])
    return paths


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_held_is_read_batch_by_batch(format: str, files: dict[str, str]) -> None:
    opened, calls = open_files(files[format], "ts"), 0

    def count(more: int) -> None:
        nonlocal calls
        calls += 1

    opened.between = count
    whole, _ = opened.table(["ts", "v"])
    assert (whole.num_rows, calls > 2) == (ROWS, True)

    def interrupt(more: int) -> None:
        raise KeyboardInterrupt

    opened.between = interrupt
    with pytest.raises(KeyboardInterrupt):
        opened.table(["ts", "v"])


def test_lines_of_null_are_looked_for_piece_by_piece(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the whole file, before Arrow begins to read it."""
    opened, calls = open_files(files["jsonl"], "ts"), list[int]()
    opened.between = calls.append
    monkeypatch.setattr(json_lines, "PIECE", 1 << 20)
    before = list[int]()
    monkeypatch.setattr(pyarrow.json, "open_json", lambda *_, **__: before.append(len(calls)) or ())
    opened.table(["ts", "v"])
    assert before[0] == Path(files["jsonl"]).stat().st_size // (1 << 20) + 1


@pytest.mark.parametrize("format", FORMATS)
def test_time_is_up_while_files_are_read(format: str, files: dict[str, str]) -> None:
    """Also while a query is planned, or text is read to make sure of its types."""
    early = "within the first rows|while the query is read and planned"
    with pytest.raises(TimeLimitError, match=early):
        sase.match(QUERY, files[format], timeout=0.000001)
    with pytest.raises(TimeLimitError, match=early):
        sase.why(QUERY, files[format], timeout=0.000001)
    plan = sase.compile(QUERY, files[format])
    with pytest.raises(TimeLimitError, match=early):
        plan.run(files[format], timeout=0.000001)


def test_limited_memory_holds_less(files: dict[str, str]) -> None:
    """Rows that are read to make sure of types are not kept if that would be too much."""
    free = sase.match(QUERY, files["csv"])
    assert sase.match(QUERY, files["csv"], max_memory="1 GB").rows.equals(free.rows)
    opened = open_files(files["csv"], "ts")
    infer_types(opened, ("ts", "type", "v"), shows_all=True, judges=False, most=1000)
    assert opened.kept is None


def test_a_sort_ends_between_batches(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, held = open_files(files["shuffled"], "ts"), [0]
    monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", lambda: held[0])
    guard = RunGuard(Limits(memory=100), lambda: 0)
    plan = sase.compile(QUERY, files["shuffled"]).engine
    opened.between, opened.most = guard.check, 1 << 20
    runs = [table.num_rows for table, _ in in_order(opened, ["ts", "type", "v"], plan)]
    assert sum(runs) == ROWS and len(runs) > 2
    held[0] = 1000
    names = ["ts", "type", "v"]
    said = "takes about [0-9,]+ bytes: write them in order, or allow as much"
    with pytest.raises(MemoryLimitError, match=said), naming_least(opened, names):
        next(iter(in_order(opened, names, plan)))


@pytest.mark.parametrize("format", FORMATS)
def test_where_memory_is_limited_the_same_is_read(format: str, files: dict[str, str]) -> None:
    opened, names = open_files(files[format], "ts"), ["v", "type", "ts"]
    free, _ = opened.table(names)
    opened.most = 1 << 20
    parts = [table for _, table in opened.batches(names, size=1 << 14)]
    assert pa.concat_tables(parts).equals(free)


def test_where_memory_is_limited_parquet_is_read_by_pages(tmp_path: Path) -> None:
    """With columns of folders, those that a file has not, and names that are none of a struct."""
    for day, kind in enumerate((pa.string(), pa.large_string())):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        text = pa.array(["x", "y", None] * 10_000, kind)
        table = pa.table({"type": text, "a.b": range(30_000), "a": [day] * 30_000})
        if day:
            table = table.append_column("new", pa.array([1.5] * 30_000))
        pyarrow.parquet.write_table(table, folder / "events.parquet")
    opened = open_files(str(tmp_path), None)
    names = ["new", "day", "a", "type"]
    free, _ = opened.table(names)
    opened.most = 1
    read = pa.concat_tables([table for _, table in opened.batches(names, size=1000)])
    assert len(read) == 60_000
    assert read.unify_dictionaries().equals(free.unify_dictionaries())


def test_bad_rows_are_handled_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    rows = "".join(f"2026-01-01T00:00:{number % 60:02},A,{number}\n" for number in range(5000))
    path.write_text(f"ts,type,v\n{rows}", encoding="utf-8")
    opened, calls = open_files(str(path), "ts", judges=True), list[int]()
    opened.between = calls.append
    salvaged(opened, "ts", {"ts", "type", "v"})
    assert len(calls) >= 2 * 5000 // 1024  # of the rows, and of their times


def test_time_is_up_when_a_query_is_compiled(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0]

    def slow(*given: Any, **named: Any) -> Any:
        now[0] += 2 * SECOND
        return compile_query(*given, **named)

    monkeypatch.setattr(matching, "ticks", lambda: now[0])
    monkeypatch.setattr(compiled_script, "compile_query", slow)
    with pytest.raises(TimeLimitError, match="longer than its timeout of 1 s"):
        sase.match(QUERY, files["csv"], timeout=1)


def test_a_sorted_run_is_read_without_mapping_it(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pages would count as memory of the process."""
    monkeypatch.setattr(pa, "memory_map", None)
    opened = open_files(files["shuffled"], "ts")
    plan = sase.compile(QUERY, files["shuffled"]).engine
    tables = [table for table, _ in in_order(opened, ["ts", "type"], plan, piece=1 << 20)]
    assert sum(table.num_rows for table in tables) == ROWS
    assert max(table.num_rows for table in tables) < ROWS // 8
