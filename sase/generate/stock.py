"""Generate the stock stream of the SASE+ experiments: a random walk of each symbol's price."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sase.generate import batches as arguments
from sase.generate.batches import (
    ROWS,
    Draw,
    Int64s,
    TypeLayout,
    at_once,
    check_layout,
    drawn_columns,
    event_reader,
)


def stock_reader(
    *,
    events: int,
    symbols: int = 2,
    prices: int = 1000,
    volumes: int = 1000,
    moves: tuple[float, float, float] = (0.70, 0.15, 0.15),
    seed: int = 0,
    type_layout: TypeLayout = "int8",
    rows: int = ROWS,
) -> pa.RecordBatchReader:
    """Events of the type Stock with symbol, price and volume, each counted from 1.

    Symbol and volume are uniform. The price of a symbol rises by 1, falls by 1 or stays, with the
    probabilities `moves`; it wraps around between `prices` and 1. The symbols start evenly spread
    over that range. The time is the row number. Events come in batches of `rows`, made when read.
    """
    events = arguments.whole("events", events)
    symbols = arguments.whole("symbols", symbols, 1, 2**31 - 1)
    prices = arguments.whole("prices", prices, 1, 2**31 - 1)
    volumes = arguments.whole("volumes", volumes, 1, 2**31 - 1)
    odds = arguments.shares("moves", moves, 3)
    check_layout(type_layout, 1)
    rng = np.random.default_rng(arguments.whole("seed", seed))
    rows = arguments.whole("rows", rows, 1)

    draws: list[Draw] = [
        lambda rng, count: rng.integers(1, symbols + 1, size=count),
        lambda rng, count: rng.integers(1, volumes + 1, size=count),
        lambda rng, count: rng.choice(np.array([1, -1, 0]), p=odds, size=count),
    ]

    def drawn() -> Iterator[list[Int64s]]:
        walked: dict[int, int] = {}  # sum of each symbol's steps
        for symbol, volume, step in drawn_columns(rng, draws, events, rows):
            start = np.maximum((symbol - 1) * prices // symbols, 1)
            price = (start - 1 + _walk(symbol, step, walked)) % prices + 1
            yield [np.zeros_like(symbol), symbol, price, volume]

    return event_reader(["Stock"], type_layout, ("symbol", "price", "volume"), drawn())


stock_events = at_once(stock_reader)


def _walk(symbol: Int64s, step: Int64s, walked: dict[int, int]) -> Int64s:
    """For each event the sum of its symbol's steps so far, including its own."""
    order = np.argsort(symbol, kind="stable")
    known, first, place = np.unique(symbol[order], return_index=True, return_inverse=True)
    total = np.cumsum(step[order])
    before = np.array([walked.get(each, 0) for each in known.tolist()], dtype=np.int64)
    sums = np.empty_like(total)
    sums[order] = total - (total - step[order])[first][place] + before[place]
    last = np.append(first[1:], len(order)) - 1
    walked.update(zip(known.tolist(), sums[order][last].tolist(), strict=True))
    return sums
