"""The stock stream of the 2008 paper's experiments: a random walk of the price of each symbol."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sase.generate import arguments
from sase.generate.types import TypeLayout, check_layout, type_column

Int64s = npt.NDArray[np.int64]


def stock_events(
    *,
    events: int,
    symbols: int = 2,
    prices: int = 1000,
    volumes: int = 1000,
    moves: tuple[float, float, float] = (0.70, 0.15, 0.15),
    seed: int = 0,
    type_layout: TypeLayout = "int8",
) -> pa.Table:
    """Events of the one type Stock with symbol, price and volume, each counted from 1.

    Symbol and volume are uniform. The price of a symbol goes up by 1, down by 1 or stays with the
    probabilities `moves`, and goes round from `prices` to 1 and back; the symbols start evenly
    spread over that range. The time is the number of the row.
    """
    events = arguments.whole("events", events)
    symbols = arguments.whole("symbols", symbols, 1, 2**31 - 1)
    prices = arguments.whole("prices", prices, 1, 2**31 - 1)
    volumes = arguments.whole("volumes", volumes, 1, 2**31 - 1)
    odds = arguments.shares("moves", moves, 3)
    check_layout(type_layout, 1)
    rng = np.random.default_rng(arguments.whole("seed", seed))

    symbol = rng.integers(1, symbols + 1, size=events)
    volume = rng.integers(1, volumes + 1, size=events)
    step = rng.choice(np.array([1, -1, 0]), p=odds, size=events)
    start = np.maximum((symbol - 1) * prices // symbols, 1)
    price = (start - 1 + _walked(symbol, step)) % prices + 1
    return pa.table(
        {
            "ts": np.arange(events, dtype=np.int64),
            "type": type_column(np.zeros(events, dtype=np.int64), ["Stock"], type_layout),
            "symbol": symbol.astype(np.int32),
            "price": price.astype(np.int32),
            "volume": volume.astype(np.int32),
        }
    )


def _walked(symbol: Int64s, step: Int64s) -> Int64s:
    """For each event the sum of the steps of its symbol so far, its own included."""
    order = np.argsort(symbol, kind="stable")
    grouped, steps = symbol[order], step[order]
    total = np.cumsum(steps)
    first = np.searchsorted(grouped, grouped)  # the first row of the same symbol
    walked = np.empty_like(total)
    walked[order] = total - (total - steps)[first]
    return walked
