"""Matches of sets: their events in stream order, and by component."""

from __future__ import annotations

import numpy as np
import pytest

from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.forms import SetForm
from sase.engine.snapshots.saved_state import LiveEvents, Saved
from sase.errors import SnapshotError


@pytest.fixture
def found() -> Bindings:
    """Two matches, p0 c1 p2 and c4 p5, of levels c, p and b, of which b stays empty."""
    return Bindings(
        np.array([0, 1, 2, 4, 5]),
        np.array([3, 5]),
        np.array([[1, 1], [2, 1], [0, 0]]),
        np.array([1, 0, 1, 0, 1]),
        detected=np.array([9, 7]),
    )


def test_events_by_component(found: Bindings) -> None:
    assert found.by_level().events.tolist() == [1, 0, 2, 4, 5]
    events, ends = found.of_level(1)
    assert (events.tolist(), ends.tolist()) == ([0, 2, 5], [2, 3])
    events, known = found.one_of_level(0)
    assert (events.tolist(), known.tolist()) == ([1, 4], [True, True])
    assert found.one_of_level(2)[1].tolist() == [False, False]


def test_matches_are_taken_and_joined(found: Bindings) -> None:
    taken = Bindings.joined([found[:, np.array([False, True])], found[:, :1]])
    assert taken.events.tolist() == [4, 5, 0, 1, 2]
    assert taken.states.tolist() == [0, 1, 1, 0, 1]
    assert taken.ends.tolist() == [2, 5]
    assert taken.detected is not None
    assert taken.detected.tolist() == [7, 9]
    assert taken.mapped(lambda events: events + 1).events.tolist() == [5, 6, 1, 2, 3]


def test_a_checkpoint_says_whose_events_they_are(found: Bindings) -> None:
    live, form = LiveEvents(0, 6), SetForm(3, detects=True)
    saved = form.checkpoint(found)
    again = form.restored(Saved(saved).of(live))
    assert again.states.tolist() == found.states.tolist()
    assert again.detected is not None
    assert again.detected.tolist() == [9, 7]
    other = saved | {"slots": np.array([1, 0, 0, 0, 1])}
    with pytest.raises(SnapshotError, match="slots are not those of the lengths"):
        form.restored(Saved(other).of(live))
