"""Times that tables in memory hold as texts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

import sase

QUERY = "EVENT SEQ(A a, B b) WITHIN 1 hour RETURN a.ts AS p"
TEXTS = {
    "ISO 8601": (["2024-02-03 09:00:00", "2024-02-03T09:10"], datetime(2024, 2, 3, 9)),  # noqa: DTZ001
    "a zone": (
        ["2024-02-03T09:00:00Z", "2024-02-03T10:10+01:00"],
        datetime(2024, 2, 3, 9, tzinfo=UTC),
    ),
    "day first": (["13/02/2024 09:00", "13/02/2024 09:10"], datetime(2024, 2, 13, 9)),  # noqa: DTZ001
}
MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "rows": lambda columns: pa.table(columns).to_pylist(),
    "Arrow": pa.table,
    "a dictionary": lambda columns: pa.table(
        {name: pa.array(each).dictionary_encode() for name, each in columns.items()}
    ),
    "runs of texts": lambda columns: pa.table(
        {name: pc.run_end_encode(pa.array(each)) for name, each in columns.items()}
    ),
    "a dictionary of views": lambda columns: pa.table(
        {
            name: pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(each, pa.string_view()))
            for name, each in columns.items()
        }
    ),
    "pandas": pd.DataFrame,
    "Polars": pl.DataFrame,
    "tables": lambda columns: {
        name: pa.table({"ts": [ts]})
        for ts, name in zip(columns["ts"], columns["type"], strict=True)
    },
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("form", TEXTS)
def test_texts_are_times(form: str, maker: str) -> None:
    texts, first = TEXTS[form]
    events = MAKERS[maker]({"ts": texts, "type": ["A", "B"]})
    assert [row["p"] for row in sase.match(QUERY, events).to_pylist()] == [first]


def test_other_texts_are_refused() -> None:
    rows = [{"ts": "2024-02-03 09:00:00", "type": "A"}, {"ts": "soon", "type": "B"}]
    with pytest.raises(
        sase.DataError, match=r"row 1 \(from 0\): `ts` is 'soon': this is no moment"
    ):
        sase.match(QUERY, rows)
    with pytest.raises(sase.SchemaError, match="the time column `ts` has the type string"):
        sase.match(QUERY, [{"ts": "soon", "type": "A"}])


def test_a_form_that_may_be_two_is_named() -> None:
    rows = [{"ts": f"03/02/2024 09:{minute}0", "type": kind} for minute, kind in enumerate("AB")]
    with pytest.raises(sase.SchemaError, match="the day may be the first number or the second"):
        sase.match(QUERY, rows)
    (row,) = sase.match(QUERY, rows, time_format="%d/%m/%Y %H:%M").to_pylist()
    assert row["p"] == datetime(2024, 2, 3, 9)  # noqa: DTZ001 - of texts without a zone
    with pytest.raises(sase.SchemaError, match="no texts of this form"):
        sase.match(QUERY, [{"ts": "2024-02-03", "type": "A"}], time_format="%Y/%m/%d")


def test_a_plan_and_a_stream_take_iso() -> None:
    rows = pa.table({"ts": TEXTS["ISO 8601"][0], "type": ["A", "B"]}).to_pylist()
    plan = sase.compile(QUERY, rows)
    assert len(plan.run(rows)) == 1
    matcher = plan.open()
    assert [len(matcher.push([row])) for row in rows] == [0, 1]
    assert len(sase.Script(QUERY).run(rows)["query_1"]) == 1
    others = pa.table({"ts": TEXTS["day first"][0], "type": ["A", "B"]}).to_pylist()
    with pytest.raises(sase.SchemaError, match="has the type string"):
        plan.open().push(others)


ODD = {
    "ts": ["2024-02-03 09:00:00", "soon", "2024-02-03 09:10:00", "2024-02-03 09:20:00Z", None],
    "type": ["A", "A", "B", "B", "B"],
}


@pytest.mark.parametrize(
    "maker", [name for name in MAKERS if name not in ("tables", "a dictionary of views")]
)
def test_texts_that_are_no_times_go_into_quarantine(maker: str, tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    pa.csv.write_csv(pa.table(ODD), path)
    expected = sase.match(QUERY, path, on_bad_row="quarantine")
    assert expected.report.bad == 3
    found = sase.match(QUERY, MAKERS[maker](ODD), on_bad_row="quarantine")
    assert found.to_pylist() == expected.to_pylist()
    assert found.rows.to_pydict() == {"a": [0], "b": [2]}
    bad = found.report.quarantined
    assert bad["sase_row"].to_pylist() == [1, 3, 4]
    assert bad["ts"].to_pylist() == ["soon", "2024-02-03 09:20:00Z", None]
    assert bad["sase_reason"].to_pylist() == expected.report.quarantined["sase_reason"].to_pylist()
    assert "has a zone, and others have none" in bad["sase_reason"][1].as_py()


def test_texts_of_another_form_go_into_quarantine() -> None:
    rows = [{"ts": "13/02/2024 09:00", "type": "A"}, {"ts": "?", "type": "A", "v": 1}]
    rows += [{"ts": "13/02/2024 09:10", "type": "B", "v": "x"}]
    found = sase.match(QUERY, rows, on_bad_row="quarantine")
    assert (len(found), found.report.bad) == (1, 1)
    named = sase.match(
        QUERY.replace("WITHIN", "WHERE b.v > 0 WITHIN"), rows, on_bad_row="quarantine"
    )
    assert named.report.quarantined["sase_row"].to_pylist() == [1, 2]
    assert named.report.quarantined["v"].to_pylist() == ["1", "x"]


def test_a_stream_with_quarantine_can_be_cut_anywhere() -> None:
    rows = pa.table(ODD).to_pylist()
    plan = sase.compile(QUERY, rows[:1], on_bad_row="quarantine")
    assert plan.run(rows).report.bad == 3
    for size in (1, 2, 5):
        matcher = plan.open()
        found = [m for at in range(0, 5, size) for m in matcher.push(rows[at : at + size])]
        last = matcher.finish()
        assert (len(found) + len(last), last.report.bad) == (1, 3)
