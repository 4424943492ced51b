"""Negative sequences with imprecise time: their matches that may lie in a candidate's gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sase.engine.kernels.confidence import placed_negatives as search
from sase.engine.kernels.groups.negative_sequences import CROWDED, DONE
from sase.engine.kernels.kleene.run_nodes import MOMENTS
from sase.engine.operators.bindings.bindings import Bindings, match_arrays
from sase.engine.operators.contract import Context
from sase.engine.operators.imprecise.interval_negatives import IntervalLists
from sase.engine.operators.negative_sequences import joint_context, lists_of, terms_of
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.planning.plan.negatives import NegativeSequence
from sase.planning.plan.nodes import Confidence

# Initial nodes and frames of a search, and rows of its results.
ROOM, ROWS = 16, 1024


class PlacedMatch(NamedTuple):
    """A match of a sequence by its events, and the events that may keep it from forbidding.

    Each of `absences` is the number of events before its place, and an event.
    """

    events: tuple[int, ...]
    absences: tuple[tuple[int, int], ...]


class IntervalSequences(IntervalLists):
    """The events of a negative sequence's components, and the search for its matches."""

    def __init__(self, node: NegativeSequence, confidence: Confidence, context: Context) -> None:
        super().__init__(node, confidence, context)
        node = _least(node)
        joint = joint_context(node, context)
        first = context.levels
        self._lists = lists_of(node, first)
        moments = MOMENTS * (first + len(node.components))
        terms = [term for _, term in terms_of(node, first)]
        self._program = SeriesProgram(joint, self._rest, terms, moments, of_runs=True)
        self._cells = self._program.cells(ROOM)
        self._frames = np.zeros((ROOM, search.FRAME), np.int64)
        self._out = np.zeros((ROWS, search.ROW), np.int64)

    def of(self, bindings: Bindings) -> Iterator[tuple[int, PlacedMatch]]:
        """Yield pairs: the number of a match, and a match of the sequence that may forbid it."""
        state, matches = np.zeros(search.STATE, np.int64), match_arrays(bindings)
        state[search.DEPTH], why = search.FRESH, CROWDED
        while why != DONE:
            why = search.place_sequences(
                self._program.machine(), self._cells, matches, self._lists, self._indexed(),
                self._times(), self._sets, self.split, self._span,
                search.IntervalSearch(state, self._frames, self._out),
            )  # fmt: skip
            written = int(state[search.WRITTEN])
            yield from _read(self._out[:written].tolist())
            state[search.WRITTEN] = 0
            self._context.check(0)
            if why == CROWDED:
                self._make_nodes()
            elif why == search.FULL and not written:
                self._make_rows()

    def _make_nodes(self) -> None:
        cells, frames = self._cells, self._frames
        self._cells = self._program.cells(2 * len(cells))
        self._cells[: len(cells)] = cells
        self._frames = np.append(frames, np.zeros_like(frames), axis=0)

    def _make_rows(self) -> None:
        self._out = np.zeros((2 * len(self._out), search.ROW), np.int64)


def _least(node: NegativeSequence) -> NegativeSequence:
    """The sequence with its series at their least length, if longer ones add nothing."""
    if len(node.positives) < len(node.components):
        return node
    asked = {index for conjunct in node.together for index in conjunct.references}
    components = (
        replace(each, maximum=max(each.minimum, 1))
        if each.is_series and each.index not in asked
        else each
        for each in node.components
    )
    return replace(node, components=tuple(components))


def _read(rows: Sequence[Sequence[int]]) -> Iterator[tuple[int, PlacedMatch]]:
    """Yield a candidate's number and a match for each run of rows, led by its first event."""
    at = 0
    while at < len(rows):
        number, events, absences = rows[at][search.WHOSE], [rows[at][search.WHICH]], []
        at += 1
        while at < len(rows) and rows[at][search.PLACE] > 0:
            _, place, event, is_absence = rows[at]
            if is_absence:
                absences.append((place, event))
            else:
                events.append(event)
            at += 1
        yield number, PlacedMatch(tuple(events), tuple(absences))
