"""Hints about the unit of integer times go by the size of the values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sase

SECONDS = 1_704_099_600
QUERY = "EVENT SEQ(A a, B b) WITHIN 20 minutes"
FACTORS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def events(factor: int, first: int = SECONDS, gap: int = 7200) -> pa.Table:
    return pa.table({"ts": [first * factor, (first + gap) * factor], "type": ["A", "B"]})


@pytest.mark.parametrize("unit", FACTORS)
def test_an_error_suggests_the_unit_of_the_values(unit: str, tmp_path: Path) -> None:
    table = events(FACTORS[unit])
    pq.write_table(table, tmp_path / "events.parquet")
    pa.csv.write_csv(table, tmp_path / "events.csv")
    rows, files = table.to_pylist(), [tmp_path / "events.parquet", tmp_path / "events.csv"]
    for given in (table, table.to_batches()[0], rows, table.to_pandas(), *files):
        with pytest.raises(sase.BindingError) as told:
            sase.match(QUERY, given)
        (hint,) = told.value.diagnostics[0].hints
        assert f'{SECONDS * FACTORS[unit]} is a time in {unit} since 1970: say  time_unit="' in hint
        assert f'time_unit="{unit}"' in hint


@pytest.mark.parametrize("unit", FACTORS)
def test_durations_with_a_unit_suggest_the_unit_of_the_values(unit: str, tmp_path: Path) -> None:
    table, plain = events(FACTORS[unit]), "EVENT SEQ(A a, B b) WITHIN 20"
    both = table.append_column("hi", table["ts"])
    pq.write_table(table, tmp_path / "events.parquet")
    ways: list[Callable[[], object]] = [
        lambda: sase.compile(plain, table, lateness="5 s"),
        lambda: sase.compile(plain, tmp_path / "events.parquet", lateness="5 s"),
        lambda: sase.Script(f"{plain}; EVENT A a", table, lateness="5 s").open(),
        lambda: sase.interval(table, before="5 s"),
        lambda: sase.match("EVENT A a", both, time=("ts", "hi"), longest="5 s"),
    ]
    for way in ways:
        with pytest.raises(sase.PlanError) as told:
            way()
        assert (
            f"is not known: {SECONDS * FACTORS[unit]} is a time in {unit} since 1970: say "
            f' time_unit="{unit}", or give raw units' in str(told.value)
        )
    with pytest.raises(sase.PlanError, match='give the unit of `ts`, such as  time_unit="ms"'):
        sase.compile(plain, events(1, 5).slice(0, 0), lateness="5 s")


def test_values_that_are_no_dates_suggest_none() -> None:
    for given in (events(1, 5), events(1, -5), events(1, 10**13)):
        with pytest.raises(sase.BindingError) as told:
            sase.match(QUERY, given.slice(0, 1))
        assert "is a time in" not in str(told.value)


def test_a_script_suggests_the_unit_too() -> None:
    with pytest.raises(sase.BindingError, match='say  time_unit="s"'):
        sase.Script(f"{QUERY}; EVENT A a").run(events(1))


@pytest.mark.parametrize(("unit", "meant"), [("ms", "s"), ("us", "s"), ("us", "ms"), ("ns", "us")])
def test_a_unit_by_which_all_is_in_1970_is_doubted(unit: str, meant: str) -> None:
    """A gap of two hours is no gap of twenty minutes, as the unit has it."""
    table = events(FACTORS[meant])
    words = (
        f"`ts` counts {unit}, by which all events are in 1970: if it counts {meant}, by which the"
        f' first is in 2024, say  time_unit="{meant}"'
    )
    assert sase.match(QUERY, table, time_unit=unit).report.warnings == (words,)
    assert words in str(sase.why(QUERY, table, time_unit=unit))
    matcher = sase.compile(QUERY, table, time_unit=unit).open()
    for row in range(2):
        matcher.push(table.slice(row, 1))
    assert words in matcher.report().warnings


@pytest.mark.parametrize(
    ("first", "gap", "unit"), [(0, 10**6, "ms"), (5, 60, "s"), (SECONDS, 9, "s")]
)
def test_times_that_begin_at_zero_or_are_plausible_are_not_doubted(
    first: int, gap: int, unit: str
) -> None:
    table = events(FACTORS[unit], first, gap)
    assert sase.match(QUERY, table, time_unit=unit).report.warnings == ()
