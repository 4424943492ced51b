"""Generate the streams of SASE 2006's experiments, with independent types and attributes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
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


def uniform_reader(
    *,
    events: int,
    types: int = 20,
    domains: Sequence[int] = (100, 20, 1000, 1000, 10),
    seed: int = 0,
    type_skew: float = 0,
    value_skew: float = 0,
    type_layout: TypeLayout = "int8",
    rows: int = ROWS,
) -> pa.RecordBatchReader:
    """One event per unit of time, of types E1, E2, … with attributes attr1, attr2, ….

    The i-th entry of `domains` is the number of values of attribute i: 0, 1, …. The parameters are
    those of Table 1: `types` is T, `type_skew` θ₁, the length of `domains` A, its entries V₁, V₂,
    …. With a skew above 0 the k-th type, or the k-th value of each attribute, has a frequency
    proportional to 1 / k^skew (Zipf). Events come in batches of `rows`, made when read.
    """
    events = arguments.whole("events", events)
    types = arguments.whole("types", types, 1)
    sizes = arguments.wholes("domains", "a domain", domains, 1, 2**31)
    check_layout(type_layout, types)
    type_skew = arguments.skew("type_skew", type_skew)
    value_skew = arguments.skew("value_skew", value_skew)
    rng = np.random.default_rng(arguments.whole("seed", seed))
    rows = arguments.whole("rows", rows, 1)

    draws = [_drawing(types, type_skew), *(_drawing(size, value_skew) for size in sizes)]
    names = [f"E{k}" for k in range(1, types + 1)]
    attributes = [f"attr{number}" for number in range(1, len(sizes) + 1)]
    return event_reader(names, type_layout, attributes, drawn_columns(rng, draws, events, rows))


uniform_events = at_once(uniform_reader)


def _drawing(size: int, skew: float) -> Draw:
    """Return a function that draws values from 0, 1, …, size - 1."""
    if skew == 0:
        return lambda rng, count: rng.integers(0, size, size=count)
    weights: npt.NDArray[np.float64] = np.arange(1, size + 1, dtype=np.float64) ** -skew
    bounds = np.cumsum(weights)

    def draw(rng: np.random.Generator, count: int) -> Int64s:
        # Without the last bound, so that rounding cannot exceed the last value.
        drawn = rng.random(count) * bounds[-1]
        values: Int64s = np.searchsorted(bounds[:-1], drawn, side="right")
        return values

    return draw
