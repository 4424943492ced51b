"""Figures of statistics are those of counting: distinct values, chains, ties, and footers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
from sase.binding import Schema
from sase.engine.columns import Events, describe
from sase.engine.columns.arrays import Numbers
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.sources import Files, open_files
from sase.engine.statistics import from_footers, ties
from sase.engine.statistics.chains import Chains, RowGroups, SampleRows
from sase.engine.statistics.distinct import agreeing, distinct, occurrences
from sase.engine.statistics.ties import TieShare
from sase.planning.statistics import Statistics
from tests.seeds import draw_numbers


def counts(values: np.ndarray) -> np.ndarray:
    return occurrences(np.sort(values))


def test_codes_are_counted() -> None:
    assert counts(np.array([3, 0, 3, 3, 9])).tolist() == [1, 3, 1]
    assert counts(np.array([], np.int64)).tolist() == []


def test_the_whole_is_exact() -> None:
    assert distinct(np.array([1, 1, 5, 2]), 1.0) == 4
    assert distinct(np.array([], np.int64), 0.1) == 0


def test_what_never_repeats_is_all_distinct() -> None:
    assert distinct(np.ones(500, np.int64), 0.01) == 50_000


@pytest.mark.parametrize("size", [1, 10, 1000, 20_000, 200_000])
def test_equally_frequent_values(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.integers(0, size, 1_000_000)
    found = distinct(counts(rng.choice(values, 20_000, replace=False)), 0.02)
    assert found == pytest.approx(len(np.unique(values)), rel=0.2)


@pytest.mark.parametrize("skew", [0.8, 1.0, 1.5])
def test_skewed_values(skew: float) -> None:
    rng = np.random.default_rng(5)
    bounds = np.cumsum(np.arange(1, 50_001) ** -skew)
    values = np.searchsorted(bounds, rng.random(1_000_000) * bounds[-1])
    found = distinct(counts(rng.choice(values, 20_000, replace=False)), 0.02)
    exact = len(np.unique(values))
    assert exact / 50**0.5 < found < exact * 50**0.5


@pytest.mark.parametrize("several", [2, 3])
def test_agreement_is_that_of_different_rows(several: int) -> None:
    values = [1, 1, 1, 2, 2, 3]
    rows = list(permutations(values, several))
    expected = sum(len(set(each)) == 1 for each in rows) / len(rows)
    assert agreeing(np.array([3, 2, 1]), several) == pytest.approx(expected)
    assert agreeing(np.array([several - 1]), several) is None


# ---------------------------------------------------------------- chains

# Chains are counted and drawn as if they were made one by one.


def rows(
    count: int, rng: np.random.Generator, slices: int = 1
) -> tuple[SampleRows, Numbers, list[np.ndarray]]:
    """Random rows with ties, their groups, and who may stand for three levels."""
    numbers = np.sort(rng.integers(0, slices, count))
    times = np.sort(rng.integers(0, count, count))
    groups = numbers * 10 + rng.integers(0, 3, count)
    weights = np.array([1.0, 3.0, 0.5])[:slices]
    shares = np.array([1.0, 2.0, 4.0])[:slices]
    made = SampleRows(np.arange(count), numbers, times, shares[numbers], weights[numbers])
    return made, groups, [rng.random(count) < part for part in (0.6, 0.5, 0.7)]


def made(
    sample: SampleRows, groups: Numbers, standing: list[np.ndarray]
) -> dict[tuple[int, ...], float]:
    """Every chain, and the number of its agreements."""
    return {
        chain: float(sample.weights[chain[0]] * np.prod(sample.shares[list(chain)]))
        for chain in combinations(range(len(groups)), len(standing))
        if len({groups[row] for row in chain}) == 1
        and all(stands[row] for stands, row in zip(standing, chain, strict=True))
        and all(sample.ties[a] < sample.ties[b] for a, b in zip(chain, chain[1:], strict=False))
    }


@pytest.mark.parametrize("slices", [1, 3])
@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(5))
def test_chains_are_counted_level_by_level(seed: int, slices: int) -> None:
    sample, groups, standing = rows(30, np.random.default_rng(seed), slices)
    chains = Chains(RowGroups(sample, groups), standing)
    for level in range(3):
        by_slice = np.zeros(slices)
        for chain, count in made(sample, groups, standing[level:]).items():
            by_slice[sample.slices[chain[0]]] += count
        assert chains.by_slice(level, slices) == pytest.approx(by_slice)
    assert chains.total == pytest.approx(chains.by_slice(0, slices).sum())


def test_chains_are_drawn_by_what_they_count() -> None:
    rng = np.random.default_rng(7)
    sample, groups, standing = rows(25, rng, 3)
    expected = made(sample, groups, standing)
    chains = Chains(RowGroups(sample, groups), standing)
    drawn = Counter(map(tuple, chains.draw(100_000, rng).T.tolist()))
    assert drawn.keys() <= expected.keys()
    for chain, count in expected.items():
        wanted = count / sum(expected.values()) * 100_000
        assert abs(drawn[chain] - wanted) < 5 * wanted**0.5 + 5


def test_the_last_levels_are_drawn_alone() -> None:
    rng = np.random.default_rng(8)
    sample, groups, standing = rows(25, rng)
    drawn = Chains(RowGroups(sample, groups), standing).draw(1000, rng, 1)
    assert {*map(tuple, drawn.T.tolist())} <= made(sample, groups, standing[1:]).keys()


def test_no_rows_are_no_chains() -> None:
    nothing = np.zeros(0, np.int64)
    sample = SampleRows(nothing, nothing, nothing, np.zeros(0), np.zeros(0))
    assert Chains(RowGroups(sample, nothing), [np.zeros(0, np.bool_)] * 2).total == 0


# ---------------------------------------------------------------- ties

# The share of events that tie is that of counting by hand, however they come.


TYPES = ("A", "B", "C")
SEEN = frozenset("AC")
SOME = "EVENT SEQ(A a, C c) WITHIN 3"


def events_of(times: Sequence[int], types: Sequence[str]) -> Events:
    """Sorted events."""
    ts = np.array(times, np.int64)
    tie = np.unique(ts, return_inverse=True)[1].astype(np.int64)
    codes = np.array([TYPES.index(each) for each in types], np.int16)
    has_ties = len(set(times)) < len(times)
    return Events(ts, None, codes, TYPES, {}, tie=tie if has_ties else None)


def by_hand(times: Sequence[int], types: Sequence[str], seen: frozenset[str]) -> tuple[int, int]:
    """How many events are seen, and how many of them have the time of another of them."""
    found = [time for time, name in zip(times, types, strict=True) if name in seen]
    return len(found), sum(count for count in Counter(found).values() if count > 1)


@pytest.mark.random
@pytest.mark.parametrize("seen", [SEEN, frozenset("B"), None])
def test_pieces_of_a_stream_count_as_the_whole(seen: frozenset[str] | None) -> None:
    shares = 0
    for number in draw_numbers(60):
        random = Random(number)
        size = random.randrange(1, 40)
        times = sorted(random.randrange(random.choice((4, 60))) for _ in range(size))
        types = [random.choice(TYPES) for _ in range(size)]
        expected = by_hand(times, types, frozenset(TYPES) if seen is None else seen)
        whole, pieces = TieShare(seen), TieShare(seen)
        events = events_of(times, types)
        whole.measure(events)
        # Without a tie nothing is counted of events that are all there are.
        assert (whole.events, whole.tied) == (expected if events.tie is not None else (0, 0))
        begin = 0
        while begin < size:
            end = min(begin + random.choice((1, 1, 2, 7)), size)
            piece = events_of(times[begin:end], types[begin:end])
            follows = begin > 0 and times[begin] == times[begin - 1]
            if piece.tie is None and not follows and random.random() < 0.5:
                admitted = by_hand(times[begin:end], types[begin:end], seen or frozenset(TYPES))[0]
                pieces.pass_by(end - begin, admitted, lambda piece=piece: piece)  # type: ignore[misc]
            else:
                pieces.add(piece, follows=follows)
            begin = end
        assert (pieces.events, pieces.tied) == expected
        shares += 0 < expected[1] < expected[0]
    assert shares > 10


@pytest.mark.parametrize("seen", [SEEN, frozenset("B"), frozenset("X"), None])
def test_many_events_of_a_stream_that_do_not_tie(seen: frozenset[str] | None) -> None:
    """They are counted by comparing types, and not by looking each up."""
    random, size = Random(1), ties.SLICE + 3
    types = [random.choice(TYPES) for _ in range(size)]
    share = TieShare(seen)
    share.add(events_of(range(size), types), follows=False)
    expected = by_hand(range(size), types, frozenset(TYPES) if seen is None else seen)
    assert (share.events, share.tied) == expected
    last = int(seen is None or types[-1] in seen)
    assert share.checkpoint() == [*expected, last]


def test_many_events_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "MANY", 1 << 12)
    monkeypatch.setattr(ties, "SLICE", 1 << 8)
    times = [n // 4 if n % 10 < 3 else 10**6 + n for n in range(40_000)]
    times.sort()
    share = TieShare(None)
    share.measure(events_of(times, ["A"] * len(times)))
    assert share.is_sample and share.events == 1 << 12
    exact = by_hand(times, ["A"] * len(times), frozenset("A"))
    assert share.tied / share.events == pytest.approx(exact[1] / exact[0], abs=0.05)
    assert "% of a sample of 4,096 events" in share.warning(None)


def test_where_a_sample_sees_few_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "MANY", 1 << 12)
    monkeypatch.setattr(ties, "SLICE", 1 << 8)
    types = ["A" if n % 1000 < 2 else "B" for n in range(40_000)]
    share = TieShare(SEEN)
    share.measure(events_of([n // 2 for n in range(40_000)], types))
    assert (share.events, share.tied, share.is_sample) == (80, 80, False)


@pytest.mark.parametrize(
    ("query", "options", "matters"),
    [
        (SOME, {}, True),
        ("EVENT A a", {}, False),
        ("EVENT A+ a[]", {}, True),
        ("EVENT SEQ(A a, !(B b)) WITHIN 3", {}, True),
        (SOME, {"seq": "#row"}, False),
        (SOME, {"seq": "n"}, True),
    ],
)
def test_where_the_order_matters(query: str, options: dict[str, str], *, matters: bool) -> None:
    table = [{"ts": 1, "type": "A", "n": 1}]
    plan = sase.compile(query, table, **options).engine
    assert (TieShare.of(plan) is not None) == matters


def test_a_twentieth_is_not_more_than_one() -> None:
    share = TieShare(None)
    share.measure(events_of([0, 0, *range(1, 39)], ["A"] * 40))
    assert (share.events, share.tied, share.is_large) == (40, 2, False)
    share = TieShare(None)
    share.measure(events_of([0, 0, *range(1, 38)], ["A"] * 39))
    assert share.is_large


# ---------------------------------------------------------------- footers

# Footers give the facts that reading the files would give.


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
