"""Sort events into stream order, stably and only where needed, and rank their order keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sase.engine.columns.arrays import Mask, Numbers

FEW_RUNS = 1000
# So many times are compared before it is asked whether to go on. Threads compare many, where there
# are enough to be worth starting them, and each has some shares of all.
PIECE, MANY, ENOUGH, SHARES = 1 << 15, 1 << 18, 1 << 22, 4


class Order(NamedTuple):
    """The input row of each position, and the rank of its order key; None as in `Events`."""

    rows: Numbers | None
    tie: Numbers | None


def stream_order(
    ts: Numbers, seq: Numbers | None, is_rising: Callable[[], bool] | None = None
) -> Order:
    """Order events by ts, or (ts, seq); `is_rising` tells if somebody has compared times before."""
    # Most inputs: sorted, and no two alike.
    if _is_rising(ts, PIECE) if is_rising is None else is_rising():
        return Order(None, None)
    later = _later(ts, seq)
    rows = None
    back = _steps_back(ts, seq)
    if back:
        rows = np.lexsort((seq, ts)) if seq is not None else sorted_rows(ts, back)
        later = _later(ts[rows], None if seq is None else seq[rows])
    return Order(rows, None if later.all() else _ranks(later))


@contextmanager
def looked_at(ts: Numbers, threads: int) -> Iterator[Callable[[], bool]]:
    """Find out by threads, meanwhile, whether times rise strictly."""
    if threads == 1 or len(ts) < ENOUGH:
        yield partial(_is_rising, ts, PIECE)
        return
    shares = np.linspace(0, len(ts), SHARES * threads + 1, dtype=np.int64).tolist()
    pieces = [ts[begin : end + 1] for begin, end in pairwise(shares)]
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(partial(_is_rising, size=MANY), pieces)
        yield lambda: all(found)


def _is_rising(ts: Numbers, size: int) -> bool:
    """Whether times rise strictly; `size` are compared at once."""
    from sase.engine.kernels.scan.admission import is_rising  # Numba, which takes long

    ts = np.ascontiguousarray(ts)
    return all(is_rising(ts[begin : begin + 1 + size]) for begin in range(0, len(ts) - 1, size))


def _later(ts: Numbers, seq: Numbers | None) -> Mask:
    """Mark events, but the first, whose order key is above that of the one before."""
    later: Mask = ts[1:] > ts[:-1]
    if seq is not None and not later.all():
        later |= (ts[1:] == ts[:-1]) & (seq[1:] > seq[:-1])
    return later


def _steps_back(ts: Numbers, seq: Numbers | None) -> int:
    """Count the events whose order key is below that of the one before."""
    back = ts[1:] < ts[:-1]
    if seq is not None:
        back |= (ts[1:] == ts[:-1]) & (seq[1:] < seq[:-1])
    return int(np.count_nonzero(back))


def sorted_rows(ts: Numbers, back: int) -> Numbers:
    """Sort rows stably by time.

    Few sorted runs are merged. Otherwise it is several times faster to sort numbers than rows by
    them, so time and row are packed into one, if both fit.
    """
    low, bits = int(ts.min()), len(ts).bit_length()
    if back < FEW_RUNS or int(ts.max()) - low >= 2 ** (63 - bits):
        return np.argsort(ts, kind="stable")
    packed = np.sort(((ts - low) << bits) | np.arange(len(ts)))
    return packed & ((1 << bits) - 1)


def _ranks(later: Mask) -> Numbers:
    ranks = np.zeros(len(later) + 1, np.int64)
    np.cumsum(later, out=ranks[1:])
    return ranks
