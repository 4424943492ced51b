"""Stand-ins for the streams of the paper on match windows, which are not public.

`onco` are treatments of patients in cycles of drugs and blood counts, among other events of theirs;
`nyse` trades that come in bursts. Both follow the paper's description of its streams, and no more.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

DAY = 24 * 60  # minutes
CYCLE = 21 * DAY
YEARS = 10
# Events of a cycle: type, first and last day, the fewest and the most events.
TREATMENT = (
    ("C", 0, 0, 1, 1), ("D", 0, 2, 1, 1), ("P", 0, 4, 5, 5), ("R", 1, 5, 5, 5),
    ("B", 7, 14, 1, 3), ("H", 7, 14, 1, 3),
)  # fmt: skip
OTHERS = tuple(f"N{number}" for number in range(1, 20))
ONCO_TYPES = (*(each[0] for each in TREATMENT), *OTHERS)
ONCO_EVENTS = 341_055
SYMBOLS, BURST, GAP = 500, 40, 2_000  # microseconds between trades of a burst
TRADES_A_HOUR, HOUR = 1_000_000 / 34, 3_600_000_000


def onco(events: int = ONCO_EVENTS, seed: int = 0) -> pa.Table:
    """Events with patient `pid` and value `v`; a third is of treatments, times are in minutes."""
    rng = np.random.default_rng(seed)
    patients = max(events // 3 // 97, 1)  # six cycles of sixteen events, more or less
    span = round(YEARS * 365 * DAY * events / ONCO_EVENTS)
    starts, cycles = rng.integers(0, span, patients), rng.integers(4, 9, patients)
    pid = np.repeat(np.arange(patients), cycles)
    number = np.arange(len(pid)) - np.repeat(np.cumsum(cycles) - cycles, cycles)
    begins = starts[pid] + number * CYCLE
    parts: list[tuple[NDArray[np.int64], ...]] = []
    for code, (_, first, last, fewest, most) in enumerate(TREATMENT):
        count = rng.integers(fewest, most + 1, len(pid))
        days = rng.integers(first * DAY, last * DAY + DAY, int(count.sum()))
        who = np.repeat(pid, count)
        parts.append((np.repeat(begins, count) + days, who, np.full(len(who), code)))
    left = events - sum(len(each[0]) for each in parts)
    who = rng.integers(0, patients, max(left, 0))
    days = rng.integers(0, 8 * CYCLE, len(who))
    kinds = rng.integers(len(TREATMENT), len(ONCO_TYPES), len(who))
    parts.append((starts[who] + days, who, kinds))
    ts, who, kinds = (np.concatenate(each)[:events] for each in zip(*parts, strict=True))
    order = np.argsort(ts, kind="stable")
    values = rng.integers(1, 20, len(ts)) * 5
    return _table(ONCO_TYPES, ts[order], kinds[order], {"pid": who[order], "v": values})


def nyse(events: int = 1_000_000, seed: int = 0) -> pa.Table:
    """Trades of symbols, as types, with `price`: bursts of 40 on average, times in microseconds."""
    rng = np.random.default_rng(seed)
    sizes = rng.geometric(1 / BURST, max(2 * events // BURST, 2))
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), events)) + 1]
    starts = np.sort(rng.integers(0, max(round(events / TRADES_A_HOUR * HOUR), 1), len(sizes)))
    gaps = rng.integers(0, GAP, int(sizes.sum()))
    within = np.cumsum(gaps)
    firsts = np.cumsum(sizes) - sizes
    ts = np.repeat(starts, sizes) + within - np.repeat(within[firsts], sizes)
    ts = np.sort(ts[:events])
    shares = 1 / np.arange(1, SYMBOLS + 1)
    kinds = rng.choice(SYMBOLS, len(ts), p=shares / shares.sum())
    steps = rng.choice(np.array([-1, 0, 1]), len(ts))
    by_symbol = np.argsort(kinds, kind="stable")
    walk = np.cumsum(steps[by_symbol])
    first = np.searchsorted(kinds[by_symbol], np.arange(SYMBOLS))
    base = np.append(0, walk)[np.minimum(first, len(walk))]
    price = np.empty(len(ts), np.int64)
    price[by_symbol] = 10_000 + walk - base[kinds[by_symbol]]
    names = tuple(f"S{number}" for number in range(1, SYMBOLS + 1))
    return _table(names, ts, kinds, {"price": price})


def _table(
    names: tuple[str, ...],
    ts: NDArray[np.int64],
    kinds: NDArray[np.int64],
    columns: dict[str, NDArray[np.int64]],
) -> pa.Table:
    types = pa.DictionaryArray.from_arrays(pa.array(kinds.astype(np.int16)), pa.array(names))
    return pa.table({"ts": ts, "type": types, **columns})
