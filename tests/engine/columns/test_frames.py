"""Frames of pandas that Arrow does not read, and other objects that are no table yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sase
from sase.errors import DataError, SaseError, SchemaError

QUERY = "EVENT SEQ(A x, B y) WITHIN 10"
COMPARING = "EVENT SEQ(A x, B y) WHERE x.v <= y.v WITHIN 10"
ROWS: list[dict[str, Any]] = [
    {"ts": 1, "type": "A", "v": 1, "w": 1.5},
    {"ts": 2, "type": "B", "v": "x", "w": None},
    {"ts": 3, "type": "B", "v": 5, "w": 2.0},
    {"ts": 4, "type": "B", "v": None, "w": 2.0},
]


def outcome(query: str, events: Any, **options: Any) -> Any:
    """The rows that match and those put aside, or the error."""
    try:
        found = sase.match(query, events, **options)
        aside = found.report.quarantined
        # A missing value in `w` is NULL in dicts, and NaN in a frame.
        told = None if aside is None else aside.drop_columns(["w"]).to_pylist()
        return found.rows.to_pylist(), told
    except SaseError as problem:
        return type(problem), str(problem)


@pytest.mark.parametrize("on_bad_row", ["error", "quarantine"])
@pytest.mark.parametrize("query", [QUERY, COMPARING, COMPARING.replace("x.v <= ", "1 <= ")])
def test_objects_of_pandas_are_read_as_dicts_are(query: str, on_bad_row: str) -> None:
    frame = pd.DataFrame(ROWS)
    assert outcome(query, frame, on_bad_row=on_bad_row) == outcome(
        query, ROWS, on_bad_row=on_bad_row
    )


def test_a_bad_object_has_its_row() -> None:
    plan = sase.compile(COMPARING, ROWS[:1])
    with pytest.raises(
        DataError, match=r"row 1 \(from 0\): `v` is 'x', which does not go"
    ) as caught:
        plan.run(pd.DataFrame(ROWS))
    assert (caught.value.row, caught.value.column, caught.value.value) == (1, "v", "x")
    found = sase.match(COMPARING, pd.DataFrame(ROWS), on_bad_row="quarantine")
    assert found.rows.to_pylist() == [{"x": 0, "y": 2}]
    assert found.report.quarantined["sase_row"].to_pylist() == [1]


def test_what_pandas_has_for_missing_objects_is_null() -> None:
    values = [1, float("nan"), pd.NA, pd.NaT, None, "x"]
    events = {"ts": range(6), "type": ["A"] * 6, "v": pd.Series(values, dtype=object)}
    found = sase.match("EVENT A a WHERE a.v IS NULL", pd.DataFrame(events), on_bad_row="quarantine")
    assert found.rows["a"].to_pylist() == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["id", "ts"])
def test_columns_of_one_name(name: str) -> None:
    columns = [[1, 2], ["A", "B"], [1, 1], [2, 2]]
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = pd.Index(["ts", "type", "id", name])
    for events in (frame, pa.table(columns, ["ts", "type", "id", name])):
        with pytest.raises(SchemaError, match=f"several columns `{name}`: rename all but one"):
            sase.match(QUERY, events)


# ---------------------------------------------------------------- moments of dicts


MOMENTS = [
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=1))),
    datetime(2026, 1, 1, 3),  # noqa: DTZ001 - without a zone
]


def moments(*values: Any) -> list[dict[str, Any]]:
    return [{"ts": each, "type": "A"} for each in values]


def test_moments_with_and_without_a_zone_do_not_mix() -> None:
    for values in (MOMENTS, MOMENTS[::-1]):
        with pytest.raises(DataError, match="a time zone is given of some") as caught:
            sase.match("EVENT A a", moments(*values))
        assert caught.value.row == (2 if values is MOMENTS else 1)
        found = sase.match("EVENT A a", moments(*values), on_bad_row="quarantine")
        bad = found.report.quarantined
        assert bad["sase_row"].to_pylist() == ([2] if values is MOMENTS else [1, 2])
        assert "a time zone is given of some" in bad["sase_reason"][0].as_py()


def test_moments_of_one_sort_do() -> None:
    assert len(sase.match("EVENT A a", moments(*MOMENTS[:2]))) == 2
    assert len(sase.match("EVENT A a", moments(None, MOMENTS[0]), on_bad_row="quarantine")) == 1


@pytest.mark.parametrize("events", [
    [{"ts": 2**64 - 1, "type": "A"}],
    pa.table({"ts": pa.array([2**64 - 1], pa.uint64()), "type": ["A"]}),
    pd.DataFrame({"ts": np.array([2**64 - 1], np.uint64), "type": ["A"]}),
], ids=["dicts", "arrow", "pandas"])  # fmt: skip
def test_times_beyond_64_bits_are_no_floats(events: Any) -> None:
    """Floats are seconds: the advised unit meant another time."""
    with pytest.raises(DataError, match="leave the row out, or give a time in a coarser unit"):
        sase.match("EVENT A a", events)


@pytest.mark.parametrize(
    ("events", "remedy"),
    [
        (["a.csv", "b.csv"], "give the folder of these files, or a pattern such as"),
        ([Path("a.csv")], "give the folder of these files, or a pattern such as"),
        ([pa.table({"ts": [1]})], "make one table of them"),
        ((row for row in ROWS), "if these are dicts, give  list(events)"),
        (map(dict, ROWS), "if these are dicts, give  list(events)"),
        (7, "give the path of files, a pyarrow table"),
    ],
    ids=["names", "paths", "tables", "generator", "map", "number"],
)
def test_what_cannot_be_events_says_what_can(events: Any, remedy: str) -> None:
    with pytest.raises(DataError) as caught:
        sase.match(QUERY, events)
    assert remedy in str(caught.value)


BY_ID = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10"


def test_what_is_written_to_a_frame_later_changes_nothing() -> None:
    """The numbers and the codes of categories are NumPy's, which Arrow leaves where they are."""
    types = pd.Categorical(["A", "B"] * 50)
    frame = pd.DataFrame({"ts": np.arange(100), "type": types, "id": np.repeat(range(50), 2)})
    expected = sase.match(BY_ID, frame.copy()).to_pylist()
    matches = sase.match(BY_ID, frame)
    for name in ("ts", "id"):
        frame[name].to_numpy(copy=False).flags.writeable = True
        frame[name].to_numpy(copy=False)[:] = 7
    frame["type"].array._codes[:] = 99
    assert len(expected) == 50
    assert matches.to_pylist() == expected
