"""Codes of many plain texts: those of Arrow, but by several threads for their order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.columns.arrow.chunks import located
from sase.engine.columns.decode import strings, value_codes
from sase.engine.columns.decode.strings import Dictionaries, string_column
from sase.engine.kernels.scan.code_table import BESIDE
from sase.engine.kernels.scan.text_hash import PIECE

KINDS = st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])
LONG = "x" * (BESIDE - 1)
TEXTS = st.lists(
    st.none()
    | st.text("aÄ", max_size=4)
    | st.integers(0, 10**19).map(str)
    | st.text("ab", min_size=0, max_size=20).map(lambda text: LONG + text)
    | st.text("ab", min_size=0, max_size=20).map(lambda text: text + LONG),
    max_size=60,
)


def coded(column: pa.ChunkedArray, threads: int) -> tuple[list[int], list[str]]:
    """The codes of a column, and the text of each."""
    found = string_column(located(column.chunks, 0), Dictionaries(), threads)
    assert found.dictionary is not None
    assert (found.valid is None) == (column.null_count == 0)
    return found.values.tolist(), found.dictionary.to_pylist()


def by_arrow(column: pa.ChunkedArray) -> tuple[list[int], list[str]]:
    """The value that Arrow makes of it."""
    whole = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    return whole.indices.fill_null(-1).to_pylist(), whole.dictionary.to_pylist()


def check(column: pa.ChunkedArray, threads: int) -> None:
    """Texts have the codes that Arrow gives them, by several threads in any order."""
    codes, texts = coded(column, threads)
    right, known = by_arrow(column)
    if threads == 1:
        assert (codes, texts) == (right, known)
    assert sorted(texts) == sorted(known)
    assert [texts[code] if code >= 0 else None for code in codes] == column.to_pylist()


@pytest.fixture(autouse=True)
def every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few there are kernels code them, and each thread has some."""
    monkeypatch.setattr(strings, "TINY", 0)
    monkeypatch.setattr(strings, "HUGE", 0)
    monkeypatch.setattr(value_codes, "ENOUGH", 1)


@given(st.lists(st.tuples(TEXTS, KINDS, st.integers(0, 3)), min_size=1, max_size=4), st.data())
def test_codes_are_those_of_arrow(parts: list[tuple[list[str], pa.DataType, int]], data) -> None:  # type: ignore[no-untyped-def]
    kind = parts[0][1]
    column = pa.chunked_array([pa.array(t, kind).slice(begin) for t, _, begin in parts], kind)
    threads = data.draw(st.integers(1, 5))
    if len(column):
        check(column, threads)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 40_000))
def test_tables_grow(seed: int, threads: int, keys: int) -> None:
    """Some texts are alike but for their ends, and those of one thread are not of the other."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 12 * PIECE)) + keys // 2
    numbers = rng.integers(0, keys, count) + (np.arange(count) * rng.integers(0, 2))
    texts = pa.array([f"{number}{LONG if number % 3 else ''}{number % 7}" for number in numbers])
    column = pa.chunked_array([texts.slice(0, count // 3), texts.slice(count // 3)])
    check(column, threads)


@pytest.mark.parametrize("threads", [26, 31, 32, 33, 64, 100])
def test_a_table_that_has_no_room_for_a_piece_of_each_thread_grows(threads: int) -> None:
    """Where none of them was done with any value."""
    numbers = np.arange(threads * PIECE * 3) * 7919 % 5_003
    codes = value_codes.number_codes(numbers, threads)
    assert codes is not None
    assert len({*zip(numbers.tolist(), codes.tolist(), strict=True)}) == 5_003
    check(pa.chunked_array([pa.array(numbers.astype(str))]), threads)


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 40_000))
def test_codes_of_numbers(seed: int, threads: int, keys: int) -> None:
    """Equal where the numbers are, without a gap; by one thread in the order of the first ones."""
    rng = np.random.default_rng(seed)
    every = np.append(rng.integers(-(2**63), 2**63, keys), [-(2**63), 2**63 - 1, 0, -1])
    numbers = rng.choice(every, int(rng.integers(1, 12 * PIECE)) + keys // 2)
    codes = value_codes.number_codes(numbers, threads)
    assert codes is not None
    known, first = np.unique(numbers, return_index=True)
    assert np.array_equal(np.unique(codes), np.arange(len(known)))
    assert len({*zip(numbers.tolist(), codes.tolist(), strict=True)}) == len(known)
    if threads == 1:
        assert np.array_equal(codes[np.sort(first)], np.arange(len(known)))


@pytest.mark.parametrize("threads", [1, 2])
def test_what_was_made_to_meet_goes_another_way(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table gives it up, and Arrow codes it."""
    monkeypatch.setattr(value_codes.kernel, "encode_texts", lambda *arguments: -1)
    column = pa.chunked_array([[f"user {number % 1500}" for number in range(3000)]])
    assert value_codes.text_codes([_plain(column.chunk(0))], threads) is None
    check(column, threads)


def _plain(array: pa.Array) -> value_codes.PlainTexts:
    _, offsets, data = array.buffers()
    ends, nulls = np.frombuffer(offsets, np.int32), np.zeros(0, np.uint8)
    return value_codes.PlainTexts(ends[: len(array) + 1], np.frombuffer(data, np.uint8), nulls)
