"""HAVING, RETURN and negation where matches are of any number of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import All, Column, Condition, EquivalenceTest
from sase.engine.bindings import Bindings
from sase.engine.block import Block, Clock, Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.bindings import (
    Matches,
    evaluate_matches,
    forbid_matches,
    select_matches,
)
from sase.engine.operators.contract import Context, Counters, Saved, bound_of
from sase.engine.operators.filter import Filter
from sase.engine.operators.negation import IndexedEvents, detected
from sase.engine.operators.postponed import Postponed
from sase.engine.operators.series import SeriesProgram
from sase.engine.operators.simple_conditions import SimpleConditions
from sase.planning.nodes import Negation, NegativeComponent


class _Asked:
    """Terms that are asked of finished matches, and room to bind the longest of them."""

    def __init__(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
    ) -> None:
        self.program = SeriesProgram(context, tests, terms, moments)
        self._cells = self.program.cells(16)

    def cells(self, found: Bindings) -> Numbers:
        """Nodes for any of the matches."""
        longest = 1 + int(found.lengths.sum(axis=0).max(initial=0))
        if longest > len(self._cells):
            self._cells = self.program.cells(2 * longest)
        return self._cells


def _arrays(found: Bindings) -> Matches:
    return Matches(found.events, found.ends, np.ascontiguousarray(found.lengths))


class SeriesHaving(Filter):
    """HAVING."""

    def __init__(self, having: Condition, context: Context) -> None:
        super().__init__()
        conditions = having.operands if isinstance(having, All) else (having,)
        self._asked = _Asked(context, [], [Term(each) for each in conditions], 1)

    def passes(self, sequences: Bindings) -> NDArray[np.bool_]:  # type: ignore[override]
        """Whether each match satisfies it."""
        keep = np.empty(sequences.size, np.bool_)
        cells = self._asked.cells(sequences)
        select_matches(self._asked.program.machine(), cells, _arrays(sequences), keep)
        return keep

    def analysis(self) -> Counters:
        """Matches turned away."""
        return {"rejected": {"HAVING": self._seen - self._passed}}


class SeriesValues:
    """The columns of RETURN."""

    def __init__(self, columns: Sequence[Column], context: Context) -> None:
        terms = [Term(column.value, moment) for moment, column in enumerate(columns)]
        self._count = len(terms)
        self._asked = _Asked(context, [], terms, len(terms)) if terms else None

    def of(self, found: Bindings) -> tuple[Numbers, ...]:
        """Tag and bits of each column for each match."""
        if self._asked is None:
            return ()
        out = np.empty((self._count, found.size, 2), np.int64)
        evaluate_matches(
            self._asked.program.machine(), self._asked.cells(found), _arrays(found), out
        )
        return tuple(out)


class _Absence(IndexedEvents):
    """The events of a negative component, and what must hold for one to forbid a match."""

    def __init__(self, negation: NegativeComponent, node: Negation, context: Context) -> None:
        super().__init__(negation, node.window, context)
        index = negation.component.index
        terms = [Term(condition, judged=index) for condition in self.several]
        self._asked = _Asked(context, self.rest, terms, 1)

    def forbid(self, found: Bindings, keep: NDArray[np.bool_], *, at_end: bool) -> None:
        """Clear `keep` for the matches that some event forbids."""
        asked = int(np.count_nonzero(keep))
        forbid_matches(
            self._asked.program.machine(),
            self._asked.cells(found),
            _arrays(found),
            self.arrays,
            self.gap,
            self.stored(),
            at_end,
            keep,
        )
        self.probed += asked
        self.hit += asked - int(np.count_nonzero(keep))

    def is_at_end(self, found: Bindings) -> NDArray[np.bool_]:
        """Of each match whether nothing is bound behind the component."""
        return np.asarray(found.lengths[self.gap.levels[0] + 1 :].sum(axis=0) == 0)


class SeriesNegationState:
    """A running negation (NG): the gap of a component depends on what a match has bound."""

    def __init__(self, node: Negation, context: Context) -> None:
        self._window, self._store = node.window, context.store
        simple = [each for n in node.negations for each in context.of_negative(n)]
        self._conditions = SimpleConditions(context, simple)
        self._absences = [_Absence(negation, node, context) for negation in node.negations]
        self._postponed = Postponed(context.levels, of_series=True)
        behind = [context.components[each.gap.levels[0] + 1 :] for each in self._absences]
        self._may_end = any(all(c.minimum == 0 for c in rest) for rest in behind)
        self._seen = self._passed = self._most_waiting = 0
        self._is_analyzed = context.options.analyze
        context.store.keep("ts")

    def push(self, block: Block, below: Iterator[Bindings]) -> Iterator[Bindings]:
        """The matches of which it is known that no event forbids them."""
        states = self._conditions.states(block)
        for absence in self._absences:
            absence.insert(block, states)
        for found in below:
            self._seen += found.size
            passing = self._allowed(found, at_end=False)
            if self._may_end and passing.size:
                self._postponed.add(passing, self._due(passing))
                self._most_waiting = max(self._most_waiting, len(self._postponed))
            elif passing.size:
                self._passed += passing.size
                yield passing

    def advance(self, clock: Clock, below: Iterator[Bindings]) -> Iterator[Bindings]:
        """The matches whose window has passed without an event that forbids them."""
        assert next(below, None) is None, "runs complete no match by time alone"
        if self._window is not None:
            due = self._postponed.released(clock, inclusive=self._window.inclusive)
            if due.size:
                passing = self._allowed(due, at_end=True)
                self._passed += passing.size
                if passing.size:
                    yield passing
        for absence in self._absences:
            absence.evict(bound_of(clock, self._window))

    def _allowed(self, found: Bindings, *, at_end: bool) -> Bindings:
        keep = np.ones(found.size, np.bool_)
        for absence in self._absences:
            absence.forbid(found, keep, at_end=at_end)
        return found if keep.all() else found[:, keep]

    def _due(self, found: Bindings) -> Numbers:
        """When each match is detected: those without an absence at their end wait for the others.

        Results are in the order of detection.
        """
        assert self._window is not None
        times, mask = self._store.numbers("ts"), self._store.mask
        known = detected(times[found.first & mask], self._window)
        waits = np.any([absence.is_at_end(found) for absence in self._absences], axis=0)
        return np.where(waits, known, times[found.last & mask])

    def due(self) -> int | None:
        """When the next of the matches that wait are known."""
        if self._window is None:
            return None
        return self._postponed.due(inclusive=self._window.inclusive)

    def horizon(self) -> int | None:
        """The oldest event of an index, and of the matches that wait."""
        oldest = [self._postponed.oldest(), *(each.oldest() for each in self._absences)]
        return min((each for each in oldest if each is not None), default=None)

    def counters(self) -> Counters:
        """Matches in, out and waiting; events in each index."""
        found = {
            "in": self._seen,
            "out": self._passed,
            "waiting": len(self._postponed),
            "indexed": [absence.alive for absence in self._absences],
        }
        if self._is_analyzed:
            found["probed"] = [absence.probed for absence in self._absences]
            found["hit"] = [absence.hit for absence in self._absences]
            found["rejected_events"] = self._conditions.rejected
            found["most_waiting"] = self._most_waiting
            found["most_indexed"] = [absence.most for absence in self._absences]
            found["most_bytes"] = sum(absence.size for absence in self._absences)
        return found

    def saved(self) -> Saved:
        """The indexes and what waits."""
        return {
            "seen": self._seen,
            "passed": self._passed,
            "indexes": [absence.arrays._asdict() for absence in self._absences],
            "postponed": self._postponed.saved(),
        }

    def restore(self, saved: Saved) -> None:
        """Go on from a state that was saved."""
        self._seen, self._passed = saved["seen"], saved["passed"]
        for absence, arrays in zip(self._absences, saved["indexes"], strict=True):
            absence.arrays = type(absence.arrays)(**arrays)
        self._postponed.restore(saved["postponed"])
