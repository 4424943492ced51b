"""State as bytes and back; a value from a saved state may be there, or an error has its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.engine.snapshots.saved_state import LiveEvents, Saved, lists_of
from sase.errors import SnapshotError

STATE = Saved(
    {
        "number": 7, "flag": True, "text": "x", "none": None, "texts": ["a", "b"],
        "twice": ["a", "a"],
        "array": np.array([[3, 4], [5, 6]]), "types": np.array([1], np.int16),
    },
    live=LiveEvents(3, 7, 9),
)  # fmt: skip


def test_what_may_stand_there_is_taken() -> None:
    assert STATE.part("number").number(7, 7) == STATE.part("number").count() == 7
    assert STATE.part("flag").flag() is True
    assert STATE.part("text").text() == "x"
    assert Saved("\U0001f600é").text() == "\U0001f600é"
    assert STATE.part("none").is_none
    assert STATE.part("texts").texts() == ["a", "b"]
    assert STATE.part("texts").part(1).text() == "b"
    assert STATE.part("array").events(2, None).tolist() == [[3, 4], [5, 6]]
    assert STATE.part("types").array(1, dtype="int16").tolist() == [1]


@pytest.mark.parametrize(
    ("take", "message"),
    [
        (lambda: STATE.part("other"), r"state: `other` is not there"),
        (lambda: STATE.part("number").part("x"), r"state.number: `x` is not there"),
        (lambda: STATE.part("number").number(0, 6), r"state.number: this is 7, .* from 0 to 6"),
        (lambda: STATE.part("flag").number(), r"state.flag: this is True, and not a number"),
        (lambda: STATE.part("number").flag(), r"state.number: this is 7, and neither true"),
        (lambda: STATE.part("none").text(), r"state.none: this is None, and not a text"),
        (lambda: Saved("x\ud800").text(), r"state: this text has half of a character"),
        (lambda: STATE.part("text").parts(), r"state.text: this is 'x', and not a list"),
        (lambda: STATE.part("texts").parts(3), r"state.texts: these are 2, and must be 3"),
        (lambda: STATE.part("texts").members(), r"state.texts: this is .*, and not an object"),
        (lambda: STATE.part("twice").texts(), r"state.twice: a text is there twice"),
        (
            lambda: STATE.part("text").array(1),
            r"state.text: this is 'x', and not an array of int64",
        ),
        (lambda: STATE.part("types").array(1), r"state.types: this is int16, and not an array"),
        (lambda: STATE.part("array").array(4), r"this array is \(2, 2\), and must be \(4,\)"),
        (lambda: STATE.part("array").array(2, 2, low=4), r"numbers from 3 to 6, not from 4 to"),
        (lambda: STATE.of(LiveEvents(4, 7)).part("array").events(2, 2), r"from 3 to 6, not from 4"),
        (
            lambda: STATE.check_events(np.array([6, 7])),
            r"events from 6 to 7, and may be",
        ),
    ],
)
def test_what_may_not_is_refused_with_its_place(take: Callable[[], Any], message: str) -> None:
    with pytest.raises(SnapshotError, match=message):
        take()


NONE = -1


def owners(heads: list[int], following: list[int], members: list[int]) -> list[int]:
    arrays = (np.array(each, np.int64) for each in (heads, following, members))
    return lists_of(*arrays, STATE).tolist()


def test_lists_have_all_members() -> None:
    assert owners([2, NONE, 1], [NONE, 0, 3, NONE, 99], [0, 1, 2, 3]) == [2, 2, 0, 0]
    assert owners([NONE], [5, 5], []) == []


@pytest.mark.parametrize(
    ("heads", "following", "members"),
    [
        ([0], [1, 0], [0, 1]),  # a circle
        ([0, NONE], [NONE, 2, 1], [0, 1, 2]),  # a circle beside
        ([0, 1], [2, 2, NONE], [0, 1, 2]),  # two that meet
        ([0], [1, NONE], [0]),  # one that leads to an object that is no member
        ([0], [NONE, NONE], [0, 1]),  # one that is in none
        ([7], [NONE], [0]),  # a head that is not there
        ([0], [9], [0]),
        ([-(10**9)], [NONE], []),  # a head that is no sentinel
        ([0, -2], [NONE], [0]),
        ([0], [-2], [0]),  # an end that is none
    ],
)
def test_other_lists_are_refused(
    heads: list[int], following: list[int], members: list[int]
) -> None:
    with pytest.raises(SnapshotError):
        owners(heads, following, members)


# ---------------------------------------------------------------- codec

# State as bytes and back.


WHOLE_STATE = {
    "rows": np.arange(12).reshape(3, 4),
    "empty": np.zeros((2, 0), np.int64),
    "types": np.array([-1, 5], np.int16),
    "flags": np.array([True, False]),
    "nested": [{"count": 2**70, "text": "\u00e4\ud800", "none": None, "yes": True, "half": 0.5}],
}


def test_what_is_read_is_what_was_written() -> None:
    read = from_bytes(to_bytes(WHOLE_STATE))
    assert list(read) == list(WHOLE_STATE)
    assert read["nested"] == WHOLE_STATE["nested"]
    for name in ("rows", "empty", "types", "flags"):
        assert read[name].dtype == WHOLE_STATE[name].dtype
        assert read[name].tolist() == WHOLE_STATE[name].tolist()
        assert read[name].shape == WHOLE_STATE[name].shape
        assert read[name].flags.writeable


@given(st.data())
def test_damage_is_seen(data: st.DataObject) -> None:
    written = bytearray(to_bytes(WHOLE_STATE))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SnapshotError):
        from_bytes(bytes(written))
    with pytest.raises(SnapshotError):
        from_bytes(bytes(to_bytes(WHOLE_STATE)[:place]))


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match="no values of type set"):
        to_bytes({"a": {1}})
