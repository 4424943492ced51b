"""Operators for HAVING, RETURN and negation of bindings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Column, Condition, EquivalenceTest
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.kleene.match_arrays import MatchArrays
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.kernels.runs.residual_checks import (
    Confidences,
    Iterations,
    evaluate_matches,
    forbid_matches,
    select_matches,
)
from sase.engine.operators.bindings.bindings import Bindings, match_arrays
from sase.engine.operators.bindings.detection import detected
from sase.engine.operators.conditions import SequenceFilter
from sase.engine.operators.contract import Context, Counters
from sase.engine.operators.negation import NegationBase, OpenSequences
from sase.engine.operators.negative_sequences import IndexedEvents
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.planning.plan.negatives import NegativeComponent
from sase.planning.plan.nodes import Negation

if TYPE_CHECKING:
    from sase.engine.operators.negative_sequences import SequencesInGaps
    from sase.engine.operators.tight_sequences import TightSequences


class SeriesCheck:
    """Terms over finished matches, and enough nodes to bind the longest match."""

    select: ClassVar[Callable[..., None]] = staticmethod(select_matches)
    evaluate: ClassVar[Callable[..., None]] = staticmethod(evaluate_matches)
    forbid: ClassVar[Callable[..., None]] = staticmethod(forbid_matches)

    def __init__(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
    ) -> None:
        self.program = self._make_program(context, tests, terms, moments)
        self._cells = self.program.cells(16)

    def _make_program(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
    ) -> Any:
        """Return the program of the terms."""
        return SeriesProgram(context, tests, terms, moments)

    def arguments(self, bindings: Bindings) -> tuple[Machine, Any, Numbers, MatchArrays]:
        """Return the arguments of kernels for matches, with enough nodes for each match."""
        longest = 1 + int(bindings.lengths.sum(axis=0).max(initial=0))
        if longest > len(self._cells):
            self._cells = self.program.cells(2 * longest)
        bound = bindings.by_level()
        iterations, arrays = self._iterations(bound), match_arrays(bound)
        return self.program.machine(), iterations, self._cells, arrays

    def _iterations(self, bound: Bindings) -> Iterations | None:
        """Return the iterations of matches with repeated groups."""
        return None

    def confidences(self, bindings: Bindings) -> Confidences | None:
        """Return the confidences of matches of imprecise time."""
        return None


class SeriesHaving(SequenceFilter):
    """HAVING of bindings."""

    def __init__(
        self, conditions: Sequence[Condition], context: Context, check: type[SeriesCheck]
    ) -> None:
        super().__init__()
        self._check = check(context, [], [Term(each) for each in conditions], 1)

    def passes(self, sequences: Any) -> NDArray[np.bool_]:
        """Whether each match satisfies HAVING."""
        keep = np.empty(sequences.size, np.bool_)
        check = self._check
        check.select(*check.arguments(sequences), check.confidences(sequences), keep)
        return keep

    def analysis(self) -> Counters:
        """Return the number of rejected matches."""
        return {"rejected": {"HAVING": self._seen - self._passed}}


class SeriesValues:
    """The columns of RETURN of bindings."""

    def __init__(
        self, columns: Sequence[Column], context: Context, check: type[SeriesCheck]
    ) -> None:
        terms = [Term(column.value, moment) for moment, column in enumerate(columns)]
        self._count = len(terms)
        self._check = check(context, [], terms, len(terms)) if terms else None

    def evaluate(self, bindings: Any) -> tuple[Numbers, ...]:
        """Return tag and bits of each column for each match."""
        if self._check is None:
            return ()
        out = np.empty((self._count, bindings.size, 2), np.int64)
        check = self._check
        arguments = *check.arguments(bindings), check.confidences(bindings)
        check.evaluate(*arguments, check.program.stack.values, out)
        return tuple(out)


class SeriesAbsence(IndexedEvents):
    """The index of a negation of bindings, with its conditions."""

    check: ClassVar[type[SeriesCheck]] = SeriesCheck

    def __init__(self, negation: NegativeComponent, node: Negation, context: Context) -> None:
        super().__init__(negation, node, context)
        self._check = self.check(context, self.rest, self._terms(negation), 1)

    def _terms(self, negation: NegativeComponent) -> Sequence[Term]:
        """Return the conditions on an event together with a match."""
        return [Term(each, judged=negation.component.index) for each in self.several]

    def is_at_end(self, bindings: Bindings) -> NDArray[np.bool_]:
        """Whether no event is bound after the component, for each match."""
        return np.asarray(bindings.lengths[self.gap.levels[0] + 1 :].sum(axis=0) == 0)

    def forbid(self, bindings: Any, keep: NDArray[np.bool_], *, at_end: bool) -> None:
        """Clear `keep` for the matches that some event forbids."""
        asked = int(np.count_nonzero(keep))
        matches = *self._check.arguments(bindings), bindings.events
        self._check.forbid(*matches, self.arrays, self.gap, self.stored(), at_end, keep)
        self.probed += asked
        self.hit += asked - int(np.count_nonzero(keep))


class SeriesNegationState(NegationBase):
    """A running negation of bindings: bound events decide the gap of a component."""

    absence: ClassVar[type[SeriesAbsence]] = SeriesAbsence

    def __init__(self, node: Negation, context: Context, opened: OpenSequences) -> None:
        self._absences: list[SeriesAbsence | SequencesInGaps | TightSequences] = [
            *(self.absence(each, node, context) for each in node.negations),
            *opened(node, context),
        ]
        super().__init__(node, context, self._absences)

    def _pass(self, bindings: Bindings, *, at_end: bool) -> Bindings:
        """Drop the matches that a component forbids, at their end or elsewhere."""
        keep = np.ones(bindings.size, np.bool_)
        for absence in self._absences:
            absence.forbid(bindings, keep, at_end=at_end)
        return bindings if keep.all() else bindings[:, keep]

    def _due(self, bindings: Bindings) -> Numbers:
        """Return the times of detection; matches without a negated end wait, too, for the order."""
        assert self._window is not None
        times, mask = self._store.numbers("ts"), self._store.mask
        known = detected(times[bindings.first & mask], self._window)
        waits = np.any([absence.is_at_end(bindings) for absence in self._absences], axis=0)
        last = times[bindings.last & mask]
        if bindings.detected is not None:
            last = bindings.detected
        return np.where(waits, known, last)
