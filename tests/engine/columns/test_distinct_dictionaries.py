"""Whether the values of a dictionary are distinct: a kernel finds that out where they are many."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.columns.arrow.gate import identity
from sase.engine.columns.decode.strings import LARGE, WORTH, Dictionaries
from sase.engine.kernels.scan.text_hash import PIECE, are_distinct, hash_texts

TEXTS = st.lists(st.text("abÄ", max_size=20) | st.text("a", min_size=7, max_size=18), max_size=300)


def known(texts: pa.Array, shares: int) -> bool:
    """Whether the kernel knows all shares of texts as distinct, in room for hardly more."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1]
    values, hashes = np.frombuffer(data or b"", np.uint8), np.empty(len(texts), np.int64)
    for begin, end in pairwise(len(texts) * number // shares for number in range(shares + 1)):
        hash_texts(ends, values, begin, end, hashes)
    rows, room = np.empty(PIECE, np.int64), 1 << (len(texts) + 1).bit_length()
    return all(
        are_distinct(ends, values, hashes, share, shares, rows, np.zeros(room, np.int64))
        for share in range(shares)
    )


@given(TEXTS, st.integers(0, 3), st.integers(1, 3))
def test_texts_are_distinct_or_not(texts: list[str], begin: int, shares: int) -> None:
    array = pa.array(texts, pa.large_string()).slice(begin)
    assert known(array, shares) == (len({*texts[begin:]}) == len(texts[begin:]))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_find_a_value_that_stands_twice(threads: int) -> None:
    """Whichever of them has it in its share."""
    count = 3 * WORTH
    values = [f"user {number * 7919:x}" for number in range(count)]
    assert added(pa.array(values), threads) is None
    for second in (1, count // 2, count - 1):
        mapping = added(
            pa.array([*values[:second], values[second // 2], *values[second:]]), threads
        )
        assert mapping is not None and mapping[second] == second // 2


@pytest.mark.parametrize("first", [0, 1, PIECE, LARGE - 2])
@pytest.mark.parametrize("second", [LARGE - 1, LARGE + PIECE])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_value_that_stands_twice_has_one_code(first: int, second: int, kind: pa.DataType) -> None:
    """At any place, and in any part of a longer array."""
    values = [f"user {number * 7919:x}" for number in range(LARGE + 2 * PIECE)]
    assert added(pa.array(["", *values], kind).slice(1)) is None
    values[second] = values[first]
    mapping = added(pa.array(["", *values], kind).slice(1))
    assert mapping is not None
    assert mapping[second] == mapping[first] == first
    assert len({*mapping.tolist()}) == len(values) - 1


def test_null_is_no_value() -> None:
    values = [f"user {number}" for number in range(LARGE)]
    mapping = added(pa.array([*values, None]))
    assert mapping is not None and mapping[-1] == -1


def added(dictionary: pa.Array, threads: int = 1) -> np.ndarray | None:
    """The place of each value among the distinct ones; None if each has its own."""
    dictionaries, key = Dictionaries(), identity(dictionary)
    dictionaries.add({key: dictionary}, is_distinct=False, threads=threads)
    return dictionaries.mappings[key]
