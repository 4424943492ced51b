"""Texts of which few are distinct get codes without Arrow, and are the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.columns.arrow.chunks import Chunk
from sase.engine.columns.decode import strings
from sase.engine.columns.decode.strings import Dictionaries, encoded

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
