"""The checks of sequences, agreement and conditions: during the walk, or after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.expressions.checks import UNDECLARED, Checks, select
from sase.engine.kernels.sentinels import NOTHING
from tests.engine.kernels.checked import ROOM, checks_of
from tests.engine.kernels.opened import NfaRun, Run
from tests.engine.kernels.streams import Event, Rows, streams
from tests.engine.kernels.twins import sequences

CODES = st.sampled_from([0, 0, 1, 1, 1, UNDECLARED, NOTHING])
VALUES = st.sampled_from([1, 2, 3, None])
# Conditions `value of level < value of level`.
PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=2)


def agree(found: list[int]) -> bool:
    """Every two events agree: a pair does where one does not declare the attribute."""
    declared = [code for code in found if code != UNDECLARED]
    return NOTHING not in declared and len(set(declared)) <= 1


def compares(left: int | None, right: int | None) -> bool:
    return left is not None and right is not None and left < right


class Checked:
    """Codes and values of all events, and which pairs of levels are compared."""

    def __init__(self, data: Any, tests: int, conditions: bool) -> None:
        self.codes = [self.some(data, CODES) for _ in range(tests)]
        self.values = self.some(data, VALUES)
        self.pairs = data.draw(PAIRS) if conditions else []

    def some(self, data: Any, values: Any) -> Any:
        """Values of all places, of which the same few come again and again."""
        few = data.draw(st.lists(values, min_size=1, max_size=7))
        return (few * ROOM)[:ROOM]

    def passes(self, row: tuple[int, ...]) -> bool:
        places = [number % ROOM for number in row]
        return all(agree([codes[place] for place in places]) for codes in self.codes) and all(
            compares(*(self.values[places[level]] for level in pair)) for pair in self.pairs
        )

    def at_the_end(self) -> Checks:
        """As a selection has it: at level 0, which is the last to be looked at."""
        return checks_of(self.codes, self.values, [self.pairs, [], []])

    def by_level(self) -> Checks:
        """As construction has it: at the first level of a condition."""
        levels = [[pair for pair in self.pairs if min(pair) == level] for level in range(3)]
        return checks_of(self.codes, self.values, levels)


@pytest.mark.parametrize("stacks", [Run, NfaRun])
@pytest.mark.parametrize(("tests", "conditions"), [(1, False), (2, True)])
@given(data=st.data(), room=st.integers(1, 3), cuts=st.lists(st.integers(0, 14), max_size=3))
def test_checked_while_they_are_built(
    stacks: type[Run], tests: int, conditions: bool, data: Any, room: int, cuts: list[int]
) -> None:
    """The sequences that pass, as when those of all are selected."""
    events: list[Event] = [e._replace(key=0) for e in data.draw(streams([1, 2, 4, 3, 6, 7]))]
    checked = Checked(data, tests, conditions)
    expected = [row for row in sequences(events, 3) if checked.passes(row)]
    run, checks = stacks(3, stack=1, room=room), checked.by_level()
    assert run.through(events, cuts, checks) == expected
    assert selected(sequences(events, 3), checked.at_the_end()) == expected


def selected(rows: Rows, checks: Checks) -> Rows:
    keep = np.full(len(rows), 77, np.bool_)
    select(np.array(rows, np.int64).reshape(-1, 3).T.copy(), checks, None, keep)
    return [row for row, passes in zip(rows, keep.tolist(), strict=True) if passes]


ROWS = st.lists(st.tuples(*[st.integers(0, 1000)] * 3), max_size=6)


@given(ROWS, st.data(), st.integers(0, 3))
def test_selection(rows: Rows, data: Any, tests: int) -> None:
    """Of any sequences of events, wherever they stand in the store."""
    checked = Checked(data, tests, conditions=True)
    expected = [row for row in rows if checked.passes(row)]
    assert selected(rows, checked.at_the_end()) == expected
