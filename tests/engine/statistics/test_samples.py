"""A sample's figures are near those of the whole, also where keys are local in time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sase.binding.bound import BoundWindow
from sase.engine.columns import Events
from sase.engine.statistics import measured
from sase.engine.statistics.sampling import Sample, draw_sample
from sase.generate.uniform import uniform_events
from sase.planning.statistics import Statistics
from tests.engine.statistics.brute_force import loaded

MILLION = 1_000_000
QUERY = "EVENT SEQ(E1 a, E2 b, E3 c) WHERE [attr1, attr2] AND a.attr3 < c.attr3 AND b.attr3 < 100"
WINDOWS = ["", " WITHIN 2000", " WITHIN 500 EVENTS", " WITHIN 100 EVENTS PER PARTITION"]


@pytest.fixture(scope="module", params=[0.0, 1.0], ids=["uniform", "zipf"])
def stream(request: pytest.FixtureRequest) -> pa.Table:
    return uniform_events(
        events=MILLION, domains=(1000, 20, 1000), value_skew=request.param, seed=1
    )


def shares(table: pa.Table, name: str) -> np.ndarray:
    """How often each value occurs, as a part of all."""
    counts = np.bincount(table[name].to_numpy())
    return counts[counts > 0] / table.num_rows


@pytest.mark.parametrize("window", WINDOWS)
def test_figures_of_independent_events(stream: pa.Table, window: str) -> None:
    found = measured(*loaded(QUERY + window, stream), sample=50_000)
    assert 45_000 < found.sampled <= 50_000
    own = stream.filter(pa.compute.equal(stream["type"].cast(pa.string()), "E2"))
    of_b = found.type("E2")
    assert of_b is not None
    assert of_b.rows == pytest.approx(own.num_rows, rel=0.1)
    attribute = of_b.attribute("attr1")
    assert attribute is not None and attribute.distinct is not None
    assert 500 < attribute.distinct < 2500
    assert attribute.agreement == pytest.approx((shares(own, "attr1") ** 2).sum(), rel=0.4)
    low = np.mean(own["attr3"].to_numpy() < 100)
    assert found.admission("b") == pytest.approx(low, rel=0.15)
    for names in (("attr1",), ("attr2",), ("attr1", "attr2")):
        for variables in ("bc", "abc"):
            powers = [(shares(stream, name) ** len(variables)).sum() for name in names]
            share = found.agreement(names, variables)
            assert share is not None
            assert np.prod(powers) / 3 < share < np.prod(powers) * 3
    equal = (shares(stream, "attr3") ** 2).sum()
    assert found.selectivity("a.attr3 < c.attr3") == pytest.approx((1 - equal) / 2, abs=0.1)


def test_keys_that_never_repeat() -> None:
    """A pair of events shares a key of its own, or none does: there is no hit in any sample."""
    table = pa.table(
        {
            "ts": range(400_000),
            "type": pa.array(["A", "B"] * 200_000).dictionary_encode(),
            "k": np.random.default_rng(1).permutation(400_000) // 2,
        }
    )
    found = measured(*loaded("EVENT SEQ(A a, B b) WHERE [k]", table), sample=4000)
    share = found.agreement("k", "ab")
    assert share is not None
    assert 1 / 2_000_000 < share < 1 / 20_000


def test_many_events_agree_on_frequent_values() -> None:
    """Too few do in a sample to count them, and pairs, of which most are of others, do not tell."""
    table = uniform_events(events=200_000, domains=(1_000_000, 10_000), value_skew=1.0, seed=2)
    query = "EVENT SEQ(E1 a, E2 b, E3 c, E1 d, E2 e) WHERE [attr1, attr2]"
    found = measured(*loaded(query, table), sample=10_000)
    share = found.agreement(("attr1", "attr2"), "abcde")
    of_each = [shares(table, name) for name in ("attr1", "attr2")]
    expected, of_pairs = (np.prod([(s**n).sum() for s in of_each]) for n in (5, 2))
    assert share is not None
    assert expected / 4 < share < expected * 4
    assert of_pairs**4 < expected / 1000


# ---------------------------------------------------------------- facts that are local in time

PERIOD = 50


def local_stream(count: int, types: str, period: int) -> pa.Table:
    """Keys of which each comes up once with every type in turn, within a period."""
    rng = np.random.default_rng(2)
    starts = rng.integers(0, count, count)
    ts = np.concatenate([starts + n * period for n in range(len(types))])
    order = np.argsort(ts, kind="stable")
    codes = np.repeat(np.arange(len(types), dtype=np.int8), count)
    return pa.table(
        {
            "ts": ts[order],
            "type": pa.DictionaryArray.from_arrays(codes[order], list(types)),
            "k": np.tile(np.arange(count), len(types))[order],
            "v": np.repeat(np.arange(len(types)), count)[order],
        }
    )


def exact(table: pa.Table, first: str, last: str, window: int) -> float:
    """The share of pairs within a window that agree: one of each key."""
    ts, types = table["ts"].to_numpy(), np.array(table["type"].to_pylist())
    begins, ends = ts[types == first], ts[types == last]
    low = np.searchsorted(ends, begins, "right")
    high = np.searchsorted(ends, begins + window, "left")
    return len(begins) / int((high - low).sum())


@pytest.mark.parametrize("window", [120, 300])
def test_agreement_within_a_window(window: int) -> None:
    table = local_stream(30_000, "ABC", PERIOD)
    query = f"EVENT SEQ(A a, B b, C c) WHERE [k] WITHIN {window}"
    found = measured(*loaded(query, table), sample=20_000)
    share = found.agreement("k", "bc")
    assert share == pytest.approx(exact(table, "B", "C", window), rel=0.3)
    of_three = found.agreement("k", "abc")
    assert share is not None and of_three is not None
    assert share**2 / 3 < of_three < share**2 * 6
    # In general they would hardly agree.
    assert share > 20 / 30_000


def test_tuples_within_a_window() -> None:
    """Events of one key come in order; of any two within the window only half would."""
    table = local_stream(30_000, "ABC", PERIOD)
    query = f"EVENT SEQ(A a, C c) WHERE [k] AND a.ts + {2 * PERIOD} = c.ts AND a.v < c.v WITHIN 300"
    found = measured(*loaded(query, table), sample=20_000)
    steps = found.selectivity(f"a.ts + {2 * PERIOD} = c.ts")
    assert steps is not None and steps > 0.9


# ---------------------------------------------------------------- how the rows are drawn


def sampled(query: str, table: pa.Table, size: int) -> tuple[Events, BoundWindow | None, Sample]:
    plan, events = loaded(query, table)
    window = next(iter(plan.windows), None)
    return events, window, draw_sample(events, window, size, np.random.default_rng(4), ())


@pytest.mark.parametrize("window", ["40", "400", "30 EVENTS", "3000 EVENTS", "1"])
def test_slices_lie_within_windows(window: str) -> None:
    table = local_stream(30_000, "ABC", PERIOD)
    events, bound, sample = sampled(f"EVENT SEQ(A a, B b) WITHIN {window}", table, 9000)
    assert bound is not None and bound.size is not None
    local = sample.slices > 0
    assert 1000 < local.sum() <= 4500
    assert len(sample.events) <= 9000
    measures = events.ts if bound.kind.value == "time" else np.arange(len(events))
    for number in np.unique(sample.slices[local])[:50]:
        positions = sample.positions[sample.slices == number]
        assert (np.diff(positions) > 0).all()
        assert measures[positions[-1]] - measures[positions[0]] <= 2 * bound.size
        assert len(positions) <= sample.sizes[number]
    assert (sample.events.ts == events.ts[sample.positions]).all()


@pytest.mark.parametrize("window", ["", " WITHIN 90000", " WITHIN 9 EVENTS PER PARTITION"])
def test_without_a_narrow_window_all_rows_are_scattered(window: str) -> None:
    table = local_stream(30_000, "ABC", PERIOD)
    _, _, sample = sampled(f"EVENT SEQ(A a, B b) WHERE [k]{window}", table, 9000)
    assert sample.scattered == len(sample.events) > 8000
    assert sample.part == sample.scattered / 90_000


def test_of_few_rows_all_are_drawn() -> None:
    table = local_stream(100, "ABC", PERIOD)
    _, _, sample = sampled("EVENT SEQ(A a, B b) WHERE [k] WITHIN 5", table, 9000)
    assert sample.is_all
    assert sample.positions[: sample.scattered].tolist() == list(range(300))


def test_simultaneous_events_are_no_chain() -> None:
    table = pa.table({"ts": [0] * 50, "type": ["A", "B"] * 25, "k": [1] * 50})
    found: Statistics = measured(*loaded("EVENT SEQ(A a, B b) WHERE [k]", table))
    assert found.agreement("k", "ab") == 0.5  # as of nothing


def test_times_at_the_ends_of_what_there_is() -> None:
    least, most = -(2**63), 2**63 - 1
    times = [least, *range(-150, 150), most - 1, most]
    table = pa.table({"ts": times, "type": ["A", "B", "A"] * 101, "k": [1] * 303})
    query = f"EVENT SEQ(A a, B b) WHERE [k] AND a.k <= b.k WITHIN {2**62}"
    assert measured(*loaded(query, table), sample=100).agreement("k", "ab") is not None


def test_types_that_hardly_come_up_are_counted_among_all_events() -> None:
    times = np.arange(90_000)
    events = pa.table({"ts": times, "type": np.where(times % 30_000 == 777, "R", "A")})
    found = measured(*loaded("EVENT SEQ(A a, R r) WITHIN 10", events), sample=500)
    assert {each.name: each.rows for each in found.types if each.name == "R"} == {"R": 3}
    assert found.sampled <= 500
