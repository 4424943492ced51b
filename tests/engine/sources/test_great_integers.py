"""Integers that no float has are reported and never rounded: as floats two ids would be one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.engine.pipeline.batch import run

# The greatest id of 64 bits and the one before it are one float; so are 2^53 + 1 and 2^53.
IDS = (2**64 - 1, 2**64 - 2)
NEAR = (2**53 + 1, 2**53)
QUERY = "EVENT SEQ(Request a, Download b) WHERE [file_id] WITHIN 5 minutes RETURN a.file_id AS id"
GOOD = [("10:00:00", "Request", 7), ("10:00:01", "Download", 7)]


def downloads(path: Path, ids: tuple[Any, Any], *more: tuple[str, str, Any]) -> Path:
    """Requests of packages and their downloads, as a mirror logs them."""
    rows = [*GOOD, ("10:00:02", "Request", ids[0]), ("10:00:03", "Download", ids[1]), *more]
    named = [{"time": f"2026-03-01T{time}", "event": kind, "file_id": i} for time, kind, i in rows]
    if "csv" in path.name:
        lines = ["time,event,file_id", *(",".join(map(str, row.values())) for row in named)]
    else:
        lines = [json.dumps(row) for row in named]
    codec = {".zst": "zstd", ".gz": "gzip"}.get(path.suffix)
    with pa.output_stream(path, compression=codec) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    return path


@pytest.mark.parametrize("name", ["e.csv", "e.csv.zst", "e.jsonl", "e.json.gz"])
@pytest.mark.parametrize(
    ("ids", "more", "why"),
    [
        (IDS, (), "beyond the integers of 64 bits"),
        (IDS, (("10:00:04", "Request", 1.5),), "no float has this value"),
        (NEAR, (("10:00:04", "Request", 1.5),), "no float has this value"),
        ((-IDS[0], -IDS[1]), (), "beyond the integers of 64 bits"),
    ],
    ids=["integers", "floats", "near", "negative"],
)
def test_files(name: str, ids: tuple[int, int], more: Any, why: str, tmp_path: Path) -> None:
    path = downloads(tmp_path / name, ids, *more)
    line = 3 + ("csv" in name)
    with pytest.raises(sase.DataError, match=f"line {line}: `file_id` is {ids[0]}: .*{why}"):
        sase.match(QUERY, path)
    plan = sase.compile(QUERY, path)
    with pytest.raises(sase.DataError, match=f"`file_id` is {ids[0]}: .*{why}"):
        len(run(plan.engine, path, held=0))
    # The other rows are those of a file without these.
    found = sase.match(QUERY, path, on_bad_row="quarantine")
    assert [row["id"] for row in found] == [7]
    great = [row for row, i in enumerate(ids, 2) if abs(i) > 2**53]
    assert found.report.quarantined["sase_row"].to_pylist() == great
    # A column that no query names makes no row bad.
    others = "EVENT SEQ(Request a, Download b) WITHIN 2 seconds RETURN b.time AS at"
    assert len(sase.match(others, path)) == 2


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_integers_of_64_bits_and_great_floats_are_what_they_are(name: str, tmp_path: Path) -> None:
    path = downloads(tmp_path / name, (2**63 - 1, 2**63 - 2))
    assert [row["id"] for row in sase.match(QUERY, path)] == [7]
    path = downloads(tmp_path / name, (1e300, 1e300), ("10:00:04", "Request", 0.5))
    assert [row["id"] for row in sase.match(QUERY, path)] == [7.0, 1e300]


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
@pytest.mark.parametrize("more", [(), (("10:00:04", "Cancel", 1.5),)], ids=["", "floats"])
def test_what_results_only_show_is_shown_as_it_is_written(
    name: str, more: Any, tmp_path: Path
) -> None:
    path = downloads(tmp_path / name, IDS, *more)
    query = "EVENT Request a WHERE a.time > TIMESTAMP '2026-03-01 10:00:01'"
    for policy in ("error", "quarantine"):
        (found,) = sase.match(query, path, on_bad_row=policy)
        assert found["a"]["file_id"] == str(IDS[0])


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(lambda ids: [{"id": ids[0]}, {"id": ids[1]}], id="dicts"),
        pytest.param(lambda ids: [{"id": ids[0]}, {"id": 1.5}], id="dicts with floats"),
        pytest.param(lambda ids: [{"id": np.uint64(abs(i))} for i in ids], id="numpy"),
    ],
)
def test_rows_that_are_pushed(events: Any) -> None:
    rows = [{"ts": n, "type": "A", **row} for n, row in enumerate(events(IDS))]
    query = "EVENT SEQ(A a, A b) WHERE [id]"
    with pytest.raises(sase.SaseError):
        sase.match(query, rows)
    matcher = sase.compile(query, sase.Schema()).open()
    with pytest.raises(sase.DataError, match=str(IDS[0])):
        matcher.push(rows)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    query = "EVENT SEQ(A a, A b) WHERE [id]"
    for ids in (IDS, (IDS[0], 1)):
        frame = frames.DataFrame({"ts": [0, 1], "type": ["A", "A"], "id": list(ids)})
        with pytest.raises(sase.DataError, match=str(IDS[0])):
            sase.match(query, frame)


def test_files_of_which_some_have_floats(tmp_path: Path) -> None:
    """Arrow would make floats of integers beside them."""
    for number, ids in enumerate([[2**53 + 1, 2**53], [1.5, 2.5]]):
        table = pa.table({"ts": [number, number + 2], "type": ["A", "A"], "id": ids})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet")
    with pytest.raises(sase.DataError, match=str(2**53 + 1)):
        sase.match("EVENT SEQ(A a, A b) WHERE [id]", tmp_path)
