"""The streams of the 2006 paper's experiments: event types and attributes drawn independently."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sase.generate import arguments
from sase.generate.types import TypeLayout, check_layout, type_column


def uniform_events(
    *,
    events: int,
    types: int = 20,
    domains: Sequence[int] = (100, 20, 1000, 1000, 10),
    seed: int = 0,
    type_skew: float = 0,
    value_skew: float = 0,
    type_layout: TypeLayout = "int8",
) -> pa.Table:
    """One event per unit of time, of the types E1, E2, … with the attributes attr1, attr2, ….

    `attr1` has as many values as `domains` says first: 0, 1, …, and so on. The parameters are those
    of Table 1: `types` is T, `type_skew` θ₁, the length of `domains` A, its members V₁, V₂, …. With
    a skew above 0 the k-th type, or the k-th value of each attribute, occurs in proportion to
    1 / k^skew (Zipf).
    """
    events = arguments.whole("events", events)
    types = arguments.whole("types", types, 1)
    sizes = arguments.wholes("domains", "a domain", domains, 1, 2**31)
    check_layout(type_layout, types)
    type_skew = arguments.skew("type_skew", type_skew)
    value_skew = arguments.skew("value_skew", value_skew)
    rng = np.random.default_rng(arguments.whole("seed", seed))

    codes = _draw(rng, 1, types, events, type_skew) - 1
    columns = {
        "ts": pa.array(np.arange(events, dtype=np.int64)),
        "type": type_column(codes, [f"E{k}" for k in range(1, types + 1)], type_layout),
    }
    for number, size in enumerate(sizes, 1):
        values = _draw(rng, 0, size, events, value_skew)
        columns[f"attr{number}"] = pa.array(values.astype(np.int32))
    return pa.table(columns)


def _draw(
    rng: np.random.Generator, low: int, size: int, events: int, skew: float
) -> npt.NDArray[np.int64]:
    """A value for each event out of low, low + 1, …, low + size - 1."""
    if skew == 0:
        return rng.integers(low, low + size, size=events)
    weights: npt.NDArray[np.float64] = np.arange(1, size + 1, dtype=np.float64) ** -skew
    bounds = np.cumsum(weights)
    # Searched without the last bound, so that no rounding leads beyond the last value.
    drawn = rng.random(events) * bounds[-1]
    values: npt.NDArray[np.int64] = low + np.searchsorted(bounds[:-1], drawn, side="right")
    return values
