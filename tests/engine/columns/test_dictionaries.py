"""Texts get codes without Arrow where few are distinct, and a kernel finds whether values are."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.columns.arrow.chunks import Chunk
from sase.engine.columns.arrow.gate import identity
from sase.engine.columns.decode import strings
from sase.engine.columns.decode.strings import LARGE, WORTH, Dictionaries, encoded
from sase.engine.kernels.scan.text_hash import (
    BUCKETS,
    PIECE,
    are_distinct,
    hash_texts,
    put_in_buckets,
)

# Around one word and two: texts that are compared by their ends alone, and others.
texts = st.one_of(
    st.sampled_from(["", "\0", "a", "a\0", "E1", "E10", "12345678", "12345678\0", "é" * 4]),
    st.text("ab\0é", max_size=20),
    st.integers(0, 2).map(lambda place: "x" * 9 + "ab" * place + "y" * 9),
    st.integers(0, 20).map(lambda place: "z" * place + "q" + "z" * (20 - place)),
)
chunks = st.lists(st.lists(st.none() | texts, max_size=12), min_size=1, max_size=3)


def decoded(arrays: list[pa.Array]) -> list[str | None]:
    codes, values, may_lack = encoded([Chunk(each, 0) for each in arrays], np.int16, Dictionaries())
    assert may_lack or (codes >= 0).all()
    return [None if code < 0 else values.names[code] for code in codes.tolist()]


@given(chunks, st.sampled_from([pa.string(), pa.large_string()]), st.integers(0, 3))
def test_codes_stand_for_the_texts(
    rows: list[list[str | None]], kind: pa.DataType, begin: int
) -> None:
    arrays = [pa.array(["before"] * begin + each, kind).slice(begin) for each in rows]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(strings, "MANY", 0)
        patched.setattr(strings, "_by_arrow", lambda plain: pytest.fail("these are few"))
        assert decoded(arrays) == [text for each in rows for text in each]


@pytest.mark.parametrize(("name", "least"), [("FEW", 2), ("ROOM", 5)])
def test_what_is_too_much_is_left_to_arrow(
    monkeypatch: pytest.MonkeyPatch, name: str, least: int
) -> None:
    monkeypatch.setattr(strings, "MANY", 0)
    monkeypatch.setattr(strings, name, least)
    for rows in (["a", "b", "a", None, "cc"], ["a", "b", "a", None, "cc", "dd"]):
        assert decoded([pa.array(rows)]) == rows
    arrays = [pa.array(["a", "b"]), pa.array(["b", "cc", "dd"])]
    assert strings._of_few(arrays[:1]) is not None
    assert strings._of_few(arrays) is None


def test_many_rows_take_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "_by_arrow", lambda plain: pytest.fail("these are few"))
    rows = ["SHELF-READING", "COUNTER-READING", None] * (strings.MANY // 3 + 1)
    assert decoded([pa.array(rows)]) == rows


def test_events_are_read_without_numba() -> None:
    """Which takes long, and commands that only look at the columns need none."""
    code = "import sys; import sase.engine.columns; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# ---------------------------------------------------------------- distinct dictionaries

# Whether the values of a dictionary are distinct: a kernel finds that out where they are many.


TEXTS = st.lists(st.text("abÄ", max_size=20) | st.text("a", min_size=7, max_size=18), max_size=300)


def known(texts: pa.Array, shares: int) -> bool:
    """Whether the kernel knows all shares of texts as distinct, in room for hardly more."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1]
    values, hashes = np.frombuffer(data or b"", np.uint8), np.empty(len(texts), np.int64)
    for begin, end in pairwise(len(texts) * number // shares for number in range(shares + 1)):
        hash_texts(ends, values, begin, end, hashes)

    def are_of(share: int) -> bool:
        filled, entries = np.zeros(BUCKETS + 1, np.int64), np.empty(len(texts), np.int64)
        put_in_buckets(hashes, share, shares, filled, entries)
        slots = np.empty(1 << (len(texts) + 1).bit_length(), np.int64)
        return are_distinct(ends, values, filled, entries, slots)

    return all(map(are_of, range(shares)))


@given(TEXTS, st.integers(0, 3), st.integers(1, 3))
def test_texts_are_distinct_or_not(texts: list[str], begin: int, shares: int) -> None:
    array = pa.array(texts, pa.large_string()).slice(begin)
    assert known(array, shares) == (len({*texts[begin:]}) == len(texts[begin:]))


@pytest.mark.parametrize("threads", [1, 3])
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
