"""Matches as a set, and their number: `output="compressed"` and `output="count"`."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import sase
from sase.engine.pipeline import batch
from sase.engine.report import Report
from sase.engine.set_results import MatchCount
from sase.engine.set_results.collapsed_table import count_column
from sase.errors import BudgetError, BudgetWarning, PlanError
from sase.planning import counting

# Any of these can be in a match of a series, or not.
MANY = [{"ts": n, "type": "A", "v": n, "f": n / 4, "s": f"x{n % 3}"} for n in range(60)]
SERIES = "EVENT A+ a[]"
FEW = pa.table(
    {
        "ts": range(24),
        "type": ["A", "A", "B"] * 8,
        "id": [n // 3 % 2 for n in range(24)],
        "v": [n * 5 % 7 for n in range(24)],
    }
)
RISING = "EVENT SEQ(A+ a[], B b) WHERE [id] AND a[i].v > a[i-1].v AND b.v >= a[a.len].v WITHIN 12"
# The first event of a series is no neighbour of its later ones.
FROM_FIRST = "EVENT SEQ(A+ a[], B b) WHERE [id] AND a[i].v > a[1].v WITHIN 12"


def compressed(query: str, events: object = FEW, **keywords: Any) -> sase.CompressedMatches:
    return sase.match(query, events, output="compressed", **keywords)


def listed(query: str) -> list[dict[str, Any]]:
    return sase.match(query, FEW).to_pylist()


def test_what_nobody_can_list_is_counted() -> None:
    matches = compressed(SERIES, MANY)
    assert matches.counts_paths
    assert matches.count() == 2**60 - 1
    assert len(matches.sample(20)) == 20
    assert matches.sample(20, seed=5).rows == matches.sample(20, seed=5).rows
    assert matches.aggregate("count", "a") == 60 * 2**59
    assert matches.aggregate("max", "a[].v") == 59
    assert matches.aggregate("avg", "a[].f") == 59 / 8
    assert matches.where("a.len = 60").count() == 1
    assert sase.match(SERIES, MANY, output="count") == 2**60 - 1


def test_the_first_matches_come_without_the_others() -> None:
    matches = compressed(SERIES, MANY)
    assert matches.first(4).rows["a"].to_pylist() == [[0], [1], [0, 1], [2]]
    firsts = [[event["v"] for event in match["a"]] for match in islice(matches, 3)]
    assert firsts == [[0], [1], [0, 1]]
    assert len(islice_of_batches(matches.expand(), 500)) == 500


def islice_of_batches(matches: sase.Matches, number: int) -> list[Any]:
    rows = (row for batch in matches.to_reader() for row in batch.slice(0, number).to_pylist())
    return list(islice(rows, number))


@pytest.mark.parametrize("is_set", [False, True])
def test_a_list_of_them_is_refused_and_the_remedy_named(is_set: bool) -> None:
    keywords: dict[str, Any] = {"max_matches": 1000}
    warned = pytest.warns(BudgetWarning, match='output="compressed"')
    with nullcontext() if is_set else warned:
        matches = (
            compressed(SERIES, MANY, **keywords).expand()
            if is_set
            else sase.match(SERIES, MANY, **keywords)
        )
    with pytest.raises(BudgetError, match=r'more than 1,000 matches.*output="compressed"'):
        len(matches)


def test_what_having_is_asked_of_too_often_is_refused_and_estimated() -> None:
    """All matches before HAVING must be looked at: how many these are is known before."""
    long = compressed(SERIES, MANY).where("max(a[].v) > 58")
    message = f"^{2**60 - 1} matches would have to be looked at one by one, more than 100,000,000,"
    for asked in (long.count, long.to_arrow, lambda: long.sample(1)):
        with pytest.raises(BudgetError, match=message + ".*estimate"):
            asked()
    with pytest.raises(BudgetError, match="more than 100,000,000,000, since HAVING max"):
        sase.match(f"{SERIES} HAVING max(a[].v) > 58", MANY, output="count")
    found = long.estimate(samples=500, seed=3)
    assert found.low < found.count < found.high <= found.most == 2**60 - 1
    assert found.low < 2**59 < found.high  # those with the last event
    assert found == long.estimate(samples=500, seed=3)


def test_estimates_of_what_is_counted_and_of_what_is_not() -> None:
    few = compressed(SERIES, MANY[:12])
    assert few.estimate().count == few.estimate().low == few.count()
    some = few.where("sum(a[].v) % 2 = 0")
    found = some.estimate(samples=2_000)
    assert found.low <= some.count() <= found.high
    with pytest.raises(PlanError, match="cannot be estimated, since .*a.1..v"):
        compressed(FROM_FIRST).estimate()
    with pytest.raises(PlanError, match="0: an estimate takes at least one sample"):
        few.estimate(samples=0)


def test_no_remedy_where_there_is_none() -> None:
    query = "EVENT A+ a[] WHERE skip_till_next_match"
    with pytest.raises(BudgetError) as refused:
        len(sase.match(query, MANY, max_matches=3))
    assert "compressed" not in str(refused.value)


@pytest.mark.parametrize("query", [RISING, FROM_FIRST, f"{RISING} LIMIT 3"])
def test_it_is_what_is_listed(query: str) -> None:
    matches, expected = compressed(query), listed(query)
    assert expected
    assert list(matches) == matches.expand().to_pylist() == expected
    assert matches.count() == len(expected)
    assert matches.counts_paths == (query == RISING)
    sums = sum(event["v"] for match in expected for event in match["a"])
    assert matches.aggregate("sum", "a[].v") == sums
    assert matches.aggregate("count", "b") == len(expected)


def test_why_matches_are_looked_at_is_said() -> None:
    matches = compressed(FROM_FIRST)
    assert matches.reasons == ("a[i].v > a[1].v is no condition on neighbours",)
    assert "looked at one by one" in matches.report.notes[-1]
    assert compressed(RISING).report.notes == ()
    for query, word in {
        "EVENT A+ a[] WHERE skip_till_next_match": "runs depend on each other",
        "EVENT SEQ(A a, !(B b), A c)": "a negative component",
        "EVENT A+ a[] LIMIT 2": "LIMIT",
        "EVENT A+ a[] WITHIN 5 HAVING sum(a[].v) > 3": "HAVING",
    }.items():
        assert word in compressed(query).reasons[0]


def test_conditions_on_the_length_are_counted_with() -> None:
    for condition in ("a.len > 2", "2 >= a.len", "count(a[]) = 2", "a.len BETWEEN 2 AND 3"):
        matches = compressed(RISING).where(condition)
        assert matches.counts_paths
        assert list(matches) == listed(f"{RISING} HAVING {condition}")


def test_a_condition_on_whole_matches() -> None:
    matches = compressed(RISING).where("sum(a[].v) > 4").where("b.v < 6")
    assert list(matches) == listed(f"{RISING} HAVING sum(a[].v) > 4 AND b.v < 6")
    assert 0 < matches.count() < compressed(RISING).count()
    with pytest.raises(sase.QueryError):
        compressed(RISING).where("a.nothing > 4")


@pytest.mark.parametrize("query", [RISING, FROM_FIRST])
def test_the_collapsed_form(query: str) -> None:
    table = compressed(query).to_arrow()
    assert table.column_names == ["ts_end", "key", "count", "rows", "events"]
    for row in table.to_pylist():
        of = [match for match in listed(query) if match["ts_end"] == row["ts_end"]]
        assert row["count"] == len(of)
        assert row["key"] == {"id": of[0]["b"]["id"]}
        assert row["events"]["b"] == [of[0]["b"]]
        assert row["rows"]["a"] == sorted({event["ts"] for match in of for event in match["a"]})


def test_the_collapsed_form_by_first_events_lists_no_match() -> None:
    """From one event to another there are as many as sets of those between them."""
    events = [{"ts": n, "type": "A"} for n in range(70)]
    table = compressed(SERIES, events).to_arrow(by="first")
    assert table.column_names == ["ts_start", "ts_end", "count", "rows", "events"]
    assert table.num_rows == 70 * 71 // 2
    last = table.slice(table.num_rows - 70).to_pylist()
    assert [row["rows"]["a"] for row in last] == [[*range(n, 70)] for n in range(70)]
    assert [int(row["count"]) for row in last] == [
        2 ** (68 - n) if n < 69 else 1 for n in range(70)
    ]
    with pytest.raises(PlanError, match="by='b': the collapsed form is by the last event"):
        compressed(SERIES, events).to_arrow(by="b")


def test_counts_beyond_int64_are_text() -> None:
    events = [{"ts": n, "type": "A"} for n in range(70)]
    counts = compressed(SERIES, events).to_arrow()["count"]
    assert counts.type == pa.string()
    assert counts.to_pylist()[-1] == str(2**69)
    count = sase.match(SERIES, events, output="count")
    assert count.to_arrow().to_pylist() == [{"count": str(2**70 - 1)}]


@pytest.mark.parametrize("query", [RISING, FROM_FIRST, "EVENT SEQ(A a, B b) WITHIN 9 LIMIT 4"])
def test_the_number_is_an_integer(query: str) -> None:
    count = sase.match(query, FEW, output="count")
    assert isinstance(count, int)
    assert count == len(listed(query))
    assert count.is_counted == (query == RISING)
    assert count.report.rows == len(FEW) or "LIMIT" in query
    assert bool(count.report.notes) != count.is_counted


@pytest.mark.parametrize("few", [1, 2, 1 << 23])
def test_what_a_key_keeps_few_is_counted_one_by_one(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it is more than is counted sooner so: then as paths."""
    monkeypatch.setattr(counting, "FEW", few)
    query = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9"
    count = sase.match(query, FEW, output="count")
    assert count == len(listed(query)) > 2
    assert count.is_counted == (few < count)
    assert bool(count.report.notes) == (few >= count)


@pytest.mark.parametrize("rare", [1, 2, 1 << 7])
def test_what_may_be_very_many_is_first_looked_at_for_a_few(
    rare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in some events; if there are more matches, all are counted as paths."""
    monkeypatch.setattr(counting, "RARE", rare)
    monkeypatch.setattr(counting, "ENOUGH", 1)
    few = len(FEW) // rare
    for query in (RISING, "EVENT SEQ(A a, B b, C? c) WITHIN 9"):
        count = sase.match(query, FEW, output="count")
        assert count == len(listed(query)) > 2
        assert count.is_counted == (few < count)
        ways = sase.explain(query, FEW, output="count").to_dict()["form"]["ways"]
        assert [way["method"] for way in ways] == ["few_listed"] * (few > 0) + [ways[-1]["method"]]
    told = str(sase.explain(RISING, FEW.schema, output="count"))
    assert "for few; where they are more than 16,384," in " ".join(told.split())


@pytest.mark.parametrize("query", ["EVENT SEQ(A a, B b) WHERE [id] WITHIN 9", RISING])
def test_what_is_in_files_that_are_too_large_is_counted_one_by_one(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(FEW, path)
    monkeypatch.setattr("sase.engine.pipeline.batch.MOST_HELD", -1)
    count = sase.match(query, path, output="count")
    assert count == len(listed(query)) and not count.is_counted
    (way,) = sase.explain(query, path, output="count").to_dict()["form"]["ways"]
    assert way == {"method": "listed", "reasons": ["the events are too many to be held"]}
    assert f"since {way['reasons'][0]}" in " ".join(count.report.notes)


def test_files_are_held_within_the_memory_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, limits, read = tmp_path / "events.parquet", list[int](), batch.read
    pq.write_table(FEW, path)

    def noted(plan: Any, events: Any, most: int, guard: Any) -> Any:
        limits.append(most)
        return read(plan, events, most, guard)

    monkeypatch.setattr(batch, "read", noted)
    sase.match(RISING, path, output="count", max_memory="200MB")
    assert limits == [50_000_000]


def test_files_are_read_once_for_a_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a search that gives up, and for the graph that counts then."""
    path, names, read = tmp_path / "events.csv", list[list[str]](), batch.read_whole
    csv.write_csv(FEW, path)
    monkeypatch.setattr(counting, "SOME", 1)

    def noted(plan: Any, files: Any, columns: list[str]) -> Any:
        names.append(columns)
        return read(plan, files, columns)

    monkeypatch.setattr(batch, "read_whole", noted)
    count = sase.match(RISING, path, output="count")
    assert count == len(listed(RISING)) > 1 and count.is_counted
    assert len(names) == 1


def test_too_many_to_be_looked_at() -> None:
    query = "EVENT A+ a[] HAVING sum(a[].v) > 3"
    with pytest.raises(BudgetError, match=r"looked at one by one.*HAVING sum\(a\[\].v\) > 3"):
        compressed(query, MANY).count(budget=1000)
    with pytest.raises(BudgetError, match="more than 500, since HAVING"):
        sase.match(query, MANY, output="count", max_matches=500)
    assert len(compressed(query, MANY).first(3)) == 3


@pytest.mark.parametrize("query", [RISING, FROM_FIRST])
def test_samples_are_matches_and_each_comes_once_in_a_while(query: str) -> None:
    matches = compressed(query)
    every = [str(row) for row in matches.expand().rows.to_pylist()]
    drawn = [str(row) for row in matches.sample(60 * len(every), seed=3).rows.to_pylist()]
    assert {*drawn} == {*every}
    assert max(map(drawn.count, every)) < 2 * 60


def test_no_match_at_all() -> None:
    matches = compressed("EVENT Z+ a[]", MANY)
    assert matches.count() == len(matches.first(3)) == len(list(matches)) == 0
    assert matches.to_arrow().num_rows == 0
    assert matches.aggregate("sum", "a[].v") is None
    with pytest.raises(sase.SaseError, match="no match to sample"):
        matches.sample(1)


@pytest.mark.parametrize(
    ("function", "of", "message"),
    [
        ("median", "a[].v", "no aggregate `median`"),
        ("sum", "b[].v", "no positive variable `b`"),
        ("sum", "a", "of an attribute"),
        ("sum", "a[].w", "no event has this attribute"),
        ("sum", "a[].s", "integers or floats"),
    ],
)
def test_wrong_aggregates(function: str, of: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        compressed(SERIES, MANY).aggregate(function, of)


def test_a_plan_lists_its_matches() -> None:
    with pytest.raises(PlanError, match="give it to sase.match"):
        sase.compile(SERIES, MANY, output="compressed")


def test_counts_that_python_would_not_write_are_text() -> None:
    count = MatchCount.of(10**5_000, Report(), is_counted=True)
    assert str(count) == repr(count) == "1" + 5_000 * "0"
    assert count.to_arrow().to_pylist() == [{"count": str(count)}]
    assert count_column([1, 10**5_000]).to_pylist() == ["1", str(count)]
