"""Footers give the facts that reading the files would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
from sase.binding import Schema
from sase.engine.columns import describe
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.sources import Files, open_files
from sase.engine.statistics import from_footers
from sase.planning.statistics import Statistics


def opened(path: Path, **options: Any) -> tuple[Files, Schema]:
    files = open_files(path)
    return files, describe(files.schema, **options)


def written(folder: Path, table: pa.Table, name: str = "a.parquet", size: int = 10) -> Path:
    pq.write_table(table, folder / name, row_group_size=size)
    return folder / name


TIMES = [
    pa.array(range(5, 35), pa.int64()),
    pa.array(range(5, 35), pa.uint16()),
    pa.array([1e9 + number / 4 for number in range(30)]),
    *(pa.array(range(5, 35), pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    pa.array(range(5, 35), pa.timestamp("us", "UTC")),
    pa.array(range(5, 35), pa.date32()),
    pa.array([86_400_000 * number for number in range(5, 35)], pa.date64()),
]


@pytest.mark.parametrize("times", TIMES, ids=[str(each.type) for each in TIMES])
def test_rows_and_time_span(times: pa.Array, tmp_path: Path) -> None:
    path = written(tmp_path, pa.table({"ts": times, "type": ["A", "B", "C"] * 10}))
    files, schema = opened(path)
    found = from_footers(files, schema)
    plan = sase.compile("EVENT A a", files.schema, plan="basic").engine
    events = Pipeline(plan).load(files.table(files.schema.names)[0])[1]
    assert found is not None
    assert (found.rows, found.first, found.last) == (30, int(events.ts[0]), int(events.ts[-1]))
    assert (found.source, found.types) == ("footers", ())


def test_files_of_several_resolutions(tmp_path: Path) -> None:
    for name, unit, begin in (("a", "us", 10_000_000), ("b", "ms", 3000)):
        times = pa.array([begin, begin + 5], pa.timestamp(unit))
        written(tmp_path, pa.table({"ts": times, "type": ["A", "A"]}), f"{name}.parquet")
    found = from_footers(*opened(tmp_path))
    assert found is not None
    assert (found.rows, found.first, found.last) == (4, 3_000_000, 10_000_005)
    assert found.types[0].rows == 4


def test_types_that_stand_alone_in_row_groups(tmp_path: Path) -> None:
    types = ["A"] * 20 + ["F"] * 10 + ["C", "E"] * 5 + ["D"] * 10
    path = written(tmp_path, pa.table({"ts": range(50), "type": types}))
    found = from_footers(*opened(path))
    assert found is not None
    # Of D there may be more between C and E.
    assert {each.name: each.rows for each in found.types} == {"A": 20, "F": 10}


def test_one_type_for_all(tmp_path: Path) -> None:
    path = written(tmp_path, pa.table({"ts": range(50)}))
    found = from_footers(*opened(path, type=None, types=["Only"]))
    assert found is not None
    assert [(each.name, each.rows) for each in found.types] == [("Only", 50)]


def test_what_footers_do_not_say(tmp_path: Path) -> None:
    texts = ["2026-01-01 00:00:00", "2026-01-02 00:00:00"]
    tables = [
        (pa.table({"ts": texts, "type": ["A", "A"]}), True),
        (pa.table({"ts": [1, 2], "type": ["A", "A"]}), False),
    ]
    for table, statistics in tables:
        pq.write_table(table, tmp_path / "a.parquet", write_statistics=statistics)
        found = from_footers(*opened(tmp_path / "a.parquet"))
        assert found is not None
        assert (found.rows, found.first, found.last) == (2, None, None)
        assert len(found.types) == int(statistics)


def test_without_rows(tmp_path: Path) -> None:
    path = written(
        tmp_path, pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], "str")})
    )
    assert from_footers(*opened(path)) == Statistics(0, source="footers")


def test_other_formats_have_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,type\n1,A\n", encoding="utf-8")
    assert from_footers(*opened(tmp_path / "a.csv")) is None
