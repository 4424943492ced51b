"""State as bytes and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.errors import SnapshotError

STATE = {
    "rows": np.arange(12).reshape(3, 4),
    "empty": np.zeros((2, 0), np.int64),
    "types": np.array([-1, 5], np.int16),
    "flags": np.array([True, False]),
    "nested": [{"count": 2**70, "text": "\u00e4\ud800", "none": None, "yes": True, "half": 0.5}],
}


def test_what_is_read_is_what_was_written() -> None:
    read = from_bytes(to_bytes(STATE))
    assert list(read) == list(STATE)
    assert read["nested"] == STATE["nested"]
    for name in ("rows", "empty", "types", "flags"):
        assert read[name].dtype == STATE[name].dtype
        assert read[name].tolist() == STATE[name].tolist()
        assert read[name].shape == STATE[name].shape
        assert read[name].flags.writeable


@given(st.data())
def test_damage_is_seen(data: st.DataObject) -> None:
    written = bytearray(to_bytes(STATE))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SnapshotError):
        from_bytes(bytes(written))
    with pytest.raises(SnapshotError):
        from_bytes(bytes(to_bytes(STATE)[:place]))


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match="no values of type set"):
        to_bytes({"a": {1}})
