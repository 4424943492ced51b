"""Streams in which one component of a pattern is rare, and patterns with it anywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from sase.generate import uniform_events

TYPES, KEYS, SEED, RARE, WINDOW = 20, 1_000, 20090629, "R", 10_000
PLACES = ("first", "middle", "last")


def rare_stream(
    events: int, one_in: int, *, types: int = TYPES, domains: Sequence[int] = (KEYS,)
) -> Callable[[], pa.Table]:
    """Events of some types and attributes; one in `one_in` is of the rare type."""
    return lambda: _made(events, one_in, types, tuple(domains))


@lru_cache(maxsize=1)
def _made(events: int, one_in: int, types: int, domains: tuple[int, ...]) -> pa.Table:
    table = uniform_events(events=events, types=types, domains=domains, seed=SEED)
    place = table.column_names.index("type")
    column = table.column(place).combine_chunks()
    codes = column.indices.to_numpy(zero_copy_only=False).copy()
    chosen = np.random.default_rng(SEED).choice(events, max(events // one_in, 1), replace=False)
    codes[chosen] = len(column.dictionary)
    names = pa.array([*column.dictionary.to_pylist(), RARE])
    return table.set_column(place, "type", pa.DictionaryArray.from_arrays(codes, names))


def pattern(length: int, place: str, *, negated: bool = False) -> str:
    """A number of components with the rare one in a place; with one negated behind the first."""
    parts = [f"E{number} {name}" for number, name in enumerate("abcde"[: length - 1], 1)]
    at = {"first": 0, "middle": length // 2, "last": length - 1}[place]
    parts.insert(at, f"{RARE} r")
    if negated:
        parts.insert(1, f"!(E{TYPES} n)")
    return f"EVENT SEQ({', '.join(parts)}) WHERE [attr1] WITHIN {WINDOW}"
