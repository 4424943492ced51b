"""The streams of the 2006 paper: the data of earlier measurements, exactly, and Zipf's law."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sase.generate import GeneratorError, uniform_events


def by_hand(events: int, types: int, domains: list[int], seed: int) -> dict[str, np.ndarray]:
    """Type and attributes as the measurements of other systems drew them, types from 1."""
    rng = np.random.default_rng(seed)
    columns = {"type": rng.integers(1, types + 1, size=events)}
    for number, size in enumerate(domains, 1):
        columns[f"attr{number}"] = rng.integers(0, size, size=events)
    return columns


@pytest.mark.parametrize(
    ("events", "types", "domains", "seed"),
    [
        (5_000, 20, [100, 20, 1000, 1000, 10], 20060601),
        (5_000, 20, [10_000, 20, 1000, 1000, 10], 20060602),
        (1_001, 3, [2**31, 1], 7),
        (1, 1, [], 0),
        (0, 20, [10], 1),
    ],
)
def test_the_data_are_those_of_earlier_measurements(
    events: int, types: int, domains: list[int], seed: int
) -> None:
    table = uniform_events(events=events, types=types, domains=domains, seed=seed)
    expected = by_hand(events, types, domains, seed)
    assert table.column_names == ["ts", *expected]
    assert table["ts"].to_pylist() == list(range(events))
    assert table["type"].to_pylist() == [f"E{code}" for code in expected.pop("type")]
    for name, values in expected.items():
        assert table[name].to_pylist() == values.tolist()


def test_the_first_events_of_the_stream_of_a_million() -> None:
    """Written down, so that neither the generator nor NumPy changes them unnoticed."""
    table = uniform_events(events=8, domains=[100, 20], seed=20060601)
    assert table["type"].to_pylist() == ["E16", "E3", "E5", "E9", "E3", "E19", "E11", "E2"]
    assert table["attr1"].to_pylist() == [50, 42, 42, 79, 59, 16, 37, 18]


def test_columns_are_narrow() -> None:
    schema = uniform_events(events=3, domains=[5]).schema
    assert schema.field("ts").type == pa.int64()
    assert schema.field("attr1").type == pa.int32()


@pytest.mark.parametrize(
    ("layout", "arrow_type"),
    [
        ("int8", pa.dictionary(pa.int8(), pa.string())),
        ("int32", pa.dictionary(pa.int32(), pa.string())),
        ("string", pa.string()),
    ],
)
def test_the_type_column_has_the_layout_asked_for(layout: str, arrow_type: pa.DataType) -> None:
    table = uniform_events(events=500, seed=3, type_layout=layout)
    assert table["type"].type == arrow_type
    assert table["type"].to_pylist() == uniform_events(events=500, seed=3)["type"].to_pylist()


def test_a_dictionary_lists_all_types_in_order() -> None:
    (chunk,) = uniform_events(events=1, types=128)["type"].chunks
    assert chunk.dictionary.to_pylist() == [f"E{k}" for k in range(1, 129)]


def test_a_seed_gives_one_stream_and_another_seed_another() -> None:
    for skew in (0, 1.5):
        first, same, other = (
            uniform_events(events=100, seed=seed, type_skew=skew, value_skew=skew)
            for seed in (1, 1, 2)
        )
        assert first.equals(same)
        assert not first.equals(other)


def test_skewed_types_follow_zipf() -> None:
    table = uniform_events(events=100_000, types=4, type_skew=1, seed=5)
    counts = Counter(table["type"].to_pylist())
    whole = 1 + 1 / 2 + 1 / 3 + 1 / 4
    for rank in (1, 2, 3, 4):
        assert counts[f"E{rank}"] / 100_000 == pytest.approx(1 / rank / whole, abs=0.01)


def test_skewed_values_follow_zipf() -> None:
    table = uniform_events(events=100_000, domains=[3, 1], value_skew=2, seed=5)
    counts = Counter(table["attr1"].to_pylist())
    whole = 1 + 1 / 4 + 1 / 9
    assert [counts[value] / 100_000 for value in range(3)] == pytest.approx(
        [1 / whole, 1 / 4 / whole, 1 / 9 / whole], abs=0.01
    )
    assert set(table["attr2"].to_pylist()) == {0}


def test_skewed_values_do_not_skew_the_types() -> None:
    plain, skewed = (uniform_events(events=100, seed=1, value_skew=skew) for skew in (0, 1))
    assert plain["type"].equals(skewed["type"])


@pytest.mark.parametrize("skew", [0.01, 100])
def test_the_strongest_skew_stays_within_the_domain(skew: float) -> None:
    values = uniform_events(events=5_000, domains=[7], value_skew=skew)["attr1"].to_pylist()
    assert set(values) == (set(range(7)) if skew < 1 else {0})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"events": -1}, "events is -1, and should be at least 0"),
        ({"events": 1.5}, "events is 1.5, and should be a whole number"),
        ({"events": True}, "events is True, and should be at least 0"),
        ({"types": 0}, "types is 0, and should be at least 1"),
        ({"domains": [10, 0]}, "a domain is 0, and should be at least 1 and at most 2,147,483,648"),
        ({"domains": [2**31 + 1]}, "a domain is 2147483649, and should be"),
        ({"domains": 10}, "domains is 10, and should be a list of whole numbers"),
        ({"seed": -3}, "seed is -3, and should be at least 0"),
        ({"seed": None}, "seed is None, and should be a whole number"),
        ({"type_skew": -0.5}, "type_skew is -0.5, and should be 0 for no skew, or up to 100"),
        ({"value_skew": float("nan")}, "value_skew is nan, and should be 0 for no skew"),
        ({"value_skew": "1"}, "value_skew is '1', and should be 0 for no skew"),
        ({"type_layout": "int16"}, "type_layout is 'int16', and should be one of 'int8', 'int32'"),
        ({"types": 129}, "has room for 128 types and not for 129: take 'int32'"),
    ],
)
def test_what_makes_no_stream_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(GeneratorError, match=re.escape(message)):
        uniform_events(**{"events": 10, **wrong})


def test_more_types_than_a_byte_counts() -> None:
    for layout in ("int32", "string"):
        table = uniform_events(events=2_000, types=300, type_layout=layout)
        assert len(set(table["type"].to_pylist())) > 256
