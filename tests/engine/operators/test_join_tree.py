"""The order of the results of joins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sase.engine.operators.join_tree import in_order

Rows = NDArray[np.int64]


def sequences(levels: int, count: int, reach: int) -> Rows:
    """Random sequences of levels, in the order of their last events, of which some are shared."""
    random = np.random.default_rng(levels * count + reach)
    last = np.sort(random.integers(reach, reach + count // 5 + 1, count))
    before = np.sort(random.integers(1, reach, (levels - 1, count)), axis=0)[::-1]
    return np.vstack([last - before, last])


@pytest.mark.parametrize("reach", [2, 40, 3_000, 1 << 40, 1 << 62])
@pytest.mark.parametrize("levels", [2, 3, 6])
def test_sequences_come_by_the_last_event_and_the_latest_before(levels: int, reach: int) -> None:
    """One number holds how far they reach back, or several do, and one event may fill one."""
    rows = sequences(levels, 2_000, reach)
    expected = sorted(map(tuple, rows.T[:, ::-1] * [1, *[-1] * (levels - 1)]))
    found = rows[:, in_order(rows)].T[:, ::-1] * [1, *[-1] * (levels - 1)]
    assert list(map(tuple, found)) == expected


def test_none_and_one() -> None:
    assert in_order(sequences(3, 0, 5)).tolist() == []
    assert in_order(sequences(3, 1, 5)).tolist() == [0]
