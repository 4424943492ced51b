"""Sort events into stream order, stably and only where needed, and rank their order keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.resources import Check, no_check

FEW_RUNS, LAST = 1000, np.iinfo(np.int64).max
# Times compared between checks. Threads start from ENOUGH times on, with SHARES shares each.
PIECE, ENOUGH, SHARES = 1 << 18, 1 << 22, 4
# Rows sorted at once; the same if time and row are packed into one number, which sorts many times
# faster; sampled times for each part; bytes that a sort takes for each row besides its keys.
SORTED, PACKED, SAMPLE, BYTES = 1 << 20, 1 << 24, 1 << 7, 32
# Of nearly sorted rows: how many enter the window at once, which fits L2, and the bits of a row's
# number within it. As many rows may wait.
NEAR, ROW_BITS = 1 << 14, 16


class Order(NamedTuple):
    """The input row of each position, and the rank of its order key; None as in `Events`."""

    rows: Numbers | None
    tie: Numbers | None


def stream_order(
    ts: Numbers,
    seq: Numbers | None,
    check: Check = no_check,
    wanted: Callable[[], Numbers | None] = lambda: None,
) -> Order:
    """Order events by ts, or by (ts, seq).

    `check` is called before a sort, with the bytes that it takes, and between its pieces. Of events
    that are not in order, only the rows that `wanted` returns are ordered, unless it is None.
    """
    if _is_rising(ts):
        return Order(None, None)
    rows = None
    back = _steps_back(ts, seq)
    if back and (some := wanted()) is not None:
        return order_among(some, ts, seq, check)
    if back:
        check(BYTES * len(ts))
        rows = nearly_sorted_rows(ts, check) if seq is None else None
        if rows is None:
            size = PACKED if seq is None and _can_be_packed(ts, back) else SORTED
            rows = sorted_in_pieces([ts] if seq is None else [ts, seq], back, check, size)
        if _is_rising(ts, rows):
            return Order(rows, None)
        ts, seq = ts[rows], None if seq is None else seq[rows]
    later = _later(ts, seq)
    return Order(rows, None if later.all() else _ranks(later))


def order_among(rows: Numbers, ts: Numbers, seq: Numbers | None, check: Check = no_check) -> Order:
    """Order the events of some rows, which are ascending."""
    found = stream_order(ts[rows], None if seq is None else seq[rows], check)
    return found._replace(rows=rows if found.rows is None else rows[found.rows])


def looked_at(ts: Numbers, threads: int) -> AbstractContextManager[Callable[[], bool]]:
    """Test whether times rise strictly, in background threads if they are many."""
    if threads == 1 or len(ts) < ENOUGH:
        return nullcontext(partial(_is_rising, ts))
    return _looked_at_by(threads, ts)


@contextmanager
def _looked_at_by(threads: int, ts: Numbers) -> Iterator[Callable[[], bool]]:
    shares = np.linspace(0, len(ts), SHARES * threads + 1, dtype=np.int64).tolist()
    pieces = [ts[begin : end + 1] for begin, end in pairwise(shares)]
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(_is_rising, pieces)
        yield lambda: all(found)


def _is_rising(ts: Numbers, rows: Numbers | None = None) -> bool:
    """Whether times, of some rows in order, rise strictly."""
    from sase.engine.kernels.scan.admission import is_rising  # Numba, which takes long

    ts = np.ascontiguousarray(ts)
    pieces = (slice(begin, begin + 1 + PIECE) for begin in range(0, len(ts) - 1, PIECE))
    return all(is_rising(ts[piece] if rows is None else ts[rows[piece]]) for piece in pieces)


def _later(ts: Numbers, seq: Numbers | None) -> Mask:
    """Mark the events, from the second on, with an order key above that of the one before."""
    later: Mask = ts[1:] > ts[:-1]
    if seq is not None and not later.all():
        later |= (ts[1:] == ts[:-1]) & (seq[1:] > seq[:-1])
    return later


def _steps_back(ts: Numbers, seq: Numbers | None) -> int:
    """Count the events with an order key below that of the one before."""
    back = ts[1:] < ts[:-1]
    if seq is not None:
        back |= (ts[1:] == ts[:-1]) & (seq[1:] < seq[:-1])
    return int(np.count_nonzero(back))


def nearly_sorted_rows(ts: Numbers, check: Check) -> Numbers | None:
    """Sort rows stably by time if each is near its place; None if one is not.

    Rows enter a window in input order and leave it in the order of time. A row leaves when no
    later row has an earlier time. The window is a part of the result, in which time and row are
    packed into one number, both as differences: so it is sorted in place.
    """
    begins = np.arange(0, len(ts), NEAR)
    # The earliest time of each piece of input and of all that follow it.
    earliest = np.minimum.accumulate(np.minimum.reduceat(ts, begins)[::-1])[::-1].tolist()
    rows, times = np.empty(len(ts), np.uint64), np.ascontiguousarray(ts).view(np.uint64)
    numbers, mask = np.arange(NEAR, dtype=np.uint64), np.uint64((1 << ROW_BITS) - 1)
    left = low = first = 0
    for begin, time, after in zip(begins.tolist(), earliest, [*earliest[1:], LAST], strict=True):
        check(0)
        end, oldest = min(begin + NEAR, len(ts)), max(begin - (1 << ROW_BITS) + NEAR, 0)
        waiting, entering = rows[left:begin], rows[begin:end]
        if len(waiting):
            if len(waiting) > NEAR or int((waiting & mask).min()) + first < oldest:
                return None
            waiting -= np.uint64((time - low << ROW_BITS) + oldest - first)
        low, first = time, oldest
        np.subtract(times[begin:end], np.uint64(low % (1 << 64)), out=entering)
        if int(entering.max()) >> 64 - ROW_BITS:
            return None
        entering <<= np.uint64(ROW_BITS)
        entering |= numbers[: end - begin] + np.uint64(begin - first)
        window = rows[left:end]
        window.sort()
        limit = min((after - low << ROW_BITS) + int(mask), 2**64 - 1)
        leaving = window[: np.searchsorted(window, np.uint64(limit), "right")]
        leaving &= mask
        leaving += np.uint64(first)
        left += len(leaving)
    return rows.view(np.int64)


def sorted_in_pieces(keys: list[Numbers], back: int, check: Check, size: int) -> Numbers:
    """Sort rows stably by keys, the first most significant; no step sorts many rows at once."""
    if len(keys[0]) <= 2 * size:
        return sorted_rows(keys[0], back) if len(keys) == 1 else np.lexsort(keys[::-1])
    found = np.empty(len(keys[0]), np.int64)
    begin = 0
    for rows in _parts(keys[0], check, size):
        check(0)
        part = [key[rows] for key in keys]
        if len(part) > 1 and (part[0] == part[0][0]).all():
            part = part[1:]  # all have the same time
        # If partitioning made no progress, sort the part as a whole.
        is_alike = len(rows) == len(found) and len(part) == len(keys)
        order = sorted_in_pieces(part, back, check, len(rows) if is_alike else size)
        found[begin : begin + len(rows)] = rows[order]
        begin += len(rows)
    return found


def _parts(key: Numbers, check: Check, size: int) -> Iterator[Numbers]:
    """Yield rows in parts of about `size`, in ascending order of keys; rows keep their order.

    Only rows of one equal key can make a larger part.
    """
    sample = np.sort(key[:: max(size // SAMPLE, 1)])
    cuts = sample[SAMPLE::SAMPLE]
    # A frequent key becomes a part of its own.
    cuts = np.unique(np.concatenate([cuts, np.minimum(cuts, LAST - 1) + 1]))
    dealt: list[list[Numbers]] = [[] for _ in range(len(cuts) + 1)]
    for begin in range(0, len(key), size):
        check(0)
        parts = np.searchsorted(cuts, key[begin : begin + size], "right").astype(np.uint16)
        order = np.argsort(parts, kind="stable")
        ends = np.cumsum(np.bincount(parts, minlength=len(dealt)))[:-1]
        for each, rows in zip(dealt, np.split(order + begin, ends), strict=True):
            each.append(rows)
    for number, each in enumerate(dealt):
        dealt[number] = []
        rows = np.concatenate(each)
        if len(rows):
            yield rows


def sorted_rows(ts: Numbers, back: int) -> Numbers:
    """Sort rows stably by time.

    A few sorted runs are merged. Otherwise sorting numbers is several times faster than a stable
    argsort, so time and row are packed into one number if both fit. If not, the ranks of times are.
    """
    if back < FEW_RUNS:
        return np.argsort(ts, kind="stable")
    if _can_be_packed(ts, back):
        return _sorted_packed(ts - ts.min(), np.arange(len(ts)))
    rows = np.argsort(ts)
    later = _later(ts[rows], None)
    return rows if later.all() else _sorted_packed(_ranks(later), rows)


def _sorted_packed(numbers: Numbers, rows: Numbers) -> Numbers:
    """Sort rows by numbers and rows, packed into one number; overwrites both."""
    bits = len(rows).bit_length()
    numbers <<= bits
    numbers |= rows
    numbers.sort()
    numbers &= (1 << bits) - 1
    return numbers


def _can_be_packed(ts: Numbers, back: int) -> bool:
    return back >= FEW_RUNS and int(ts.max()) - int(ts.min()) < 2 ** (63 - len(ts).bit_length())


def _ranks(later: Mask) -> Numbers:
    ranks = np.zeros(len(later) + 1, np.int64)
    np.cumsum(later, out=ranks[1:])
    return ranks
