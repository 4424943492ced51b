"""The stock stream of the 2008 paper: the data of earlier measurements, exactly."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from sase.generate import GeneratorError, stock_events


def by_hand(events: int, seed: int) -> dict[str, list[int]]:
    """Two symbols, one event after the other, as the measurements of other systems drew them."""
    rng = np.random.default_rng(seed)
    symbol = rng.integers(1, 3, size=events).tolist()
    volume = rng.integers(1, 1001, size=events).tolist()
    steps = rng.choice(np.array([1, -1, 0]), p=[0.70, 0.15, 0.15], size=events).tolist()
    now, price = {1: 1, 2: 500}, []
    for which, step in zip(symbol, steps, strict=True):
        now[which] = (now[which] + step - 1) % 1000 + 1
        price.append(now[which])
    return {"symbol": symbol, "price": price, "volume": volume}


@pytest.mark.parametrize(("events", "seed"), [(20_000, 20080601), (1, 3), (0, 3)])
def test_the_data_are_those_of_earlier_measurements(events: int, seed: int) -> None:
    table = stock_events(events=events, seed=seed)
    assert table.to_pydict() == {
        "ts": list(range(events)),
        "type": ["Stock"] * events,
        **by_hand(events, seed),
    }


def test_the_first_events() -> None:
    """Written down, so that neither the generator nor NumPy changes them unnoticed."""
    table = stock_events(events=8, seed=20080601)
    assert table["symbol"].to_pylist() == [1, 2, 2, 1, 1, 1, 2, 1]
    assert table["price"].to_pylist() == [2, 501, 500, 3, 4, 4, 500, 5]
    assert table["volume"].to_pylist() == [280, 521, 591, 949, 269, 732, 105, 287]


def test_prices_go_round_at_both_ends() -> None:
    """So the long stream has prices over the whole range, and steps of 1 or from end to end."""
    table = stock_events(events=3_000, symbols=1, prices=5, moves=(0.4, 0.4, 0.2), seed=1)
    prices = table["price"].to_pylist()
    assert set(prices) == {1, 2, 3, 4, 5}
    assert {b - a for a, b in zip(prices, prices[1:], strict=False)} == {-4, -1, 0, 1, 4}


def test_each_symbol_walks_by_itself_from_a_start_of_its_own() -> None:
    table = stock_events(events=400, symbols=4, prices=100, moves=(1, 0, 0), seed=9)
    for symbol, start in (1, 1), (2, 25), (3, 50), (4, 75):
        rows = zip(table["symbol"].to_pylist(), table["price"].to_pylist(), strict=True)
        prices = [price for each, price in rows if each == symbol]
        assert prices == [(start + step) % 100 + 1 for step in range(len(prices))]


def test_a_seed_gives_one_stream_and_another_seed_another() -> None:
    first, same, other = (stock_events(events=100, seed=seed) for seed in (1, 1, 2))
    assert first.equals(same)
    assert not first.equals(other)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"events": -5}, "events is -5, and should be at least 0"),
        ({"symbols": 0}, "symbols is 0, and should be at least 1"),
        ({"prices": 0}, "prices is 0, and should be at least 1"),
        ({"volumes": 0}, "volumes is 0, and should be at least 1"),
        ({"moves": (0.5, 0.5)}, "moves is (0.5, 0.5), and should be 3 probabilities"),
        ({"moves": (0.5, 0.7, -0.2)}, "moves is (0.5, 0.7, -0.2), and should be 3 probabilities"),
        ({"moves": (0.5, 0.5, 0.5)}, "moves is (0.5, 0.5, 0.5): the probabilities should add up"),
        ({"moves": 1}, "moves is 1, and should be 3 probabilities"),
        ({"seed": -1}, "seed is -1, and should be at least 0"),
        ({"type_layout": "text"}, "type_layout is 'text', and should be one of"),
    ],
)
def test_what_makes_no_stream_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(GeneratorError, match=re.escape(message)):
        stock_events(**{"events": 10, **wrong})
