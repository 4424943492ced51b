"""The compared indexes of negation keep the same sequences, for partitions of any size."""

import numpy as np
import pytest

from experiments.figures.negation_partitions import Probed, by_jumps, by_partitions


def drawn(seed: int, window: int) -> Probed:
    """Simultaneous events, gaps of any length up to the window, and some keys."""
    random = np.random.default_rng(seed)
    lasts = np.sort(random.integers(window, 300, 80))
    firsts = lasts - random.integers(1, window, 80)
    times = np.sort(random.integers(0, 300, 60))
    return Probed(times, random.integers(0, 3, 60), firsts, lasts, random.integers(0, 3, 80), 3)


def kept(each: Probed) -> int:
    """The sequences without an event of their key in their gap, one by one."""
    return sum(
        not any(
            first < at < last and key == own for at, key in zip(each.times, each.keys, strict=True)
        )
        for first, last, own in zip(each.firsts, each.lasts, each.of_sequences, strict=True)
    )


@pytest.mark.parametrize("window", [8, 40])
def test_each_index_keeps_the_same_sequences(window: int) -> None:
    some = [drawn(seed, window) for seed in range(12)]
    expected = [kept(each) for each in some]
    assert 0 < sum(expected) < 12 * 80
    assert [by_jumps(*each, window) for each in some] == expected
    for width in (1, 3, window, 2 * window):
        for keyed in (True, False):
            found = [by_partitions(*each, window, width, keyed) for each in some]
            assert found == expected, (width, keyed)
