"""Equivalence tests and conditions on several events, decided by kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import All, Condition, EquivalenceTest
from sase.engine.expressions import ProgramLayout, lower_counted, lower_terms, make_stack
from sase.engine.kernels.expressions.checks import Checks, Tally, select, select_counted
from sase.engine.kernels.expressions.program import Program
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Context, Sequences


class ResidualFilter:
    """Tests and conditions, as the arrays that kernels read.

    The conditions of a level are one program, tried in order; a `tally` counts for ANALYZE
    which of them failed. `layout` changes where programs find the events of a sequence.
    """

    def __init__(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        conditions: Sequence[list[Condition]],
        rows: int,
        layout: Callable[[ProgramLayout], ProgramLayout] = lambda layout: layout,
    ) -> None:
        self._context = context
        self._tests = frozen(np.array([context.keep_test(t) for t in tests], np.int64))
        present = [each for each in conditions if each]
        counted = [each for group in present for each in group]
        counts = context.options.analyze
        if not counted:
            lowered, entries = lower_terms([])
        elif counts:
            lowered, entries = lower_counted(present, layout(context.layout(counted)))
        else:
            found = layout(context.layout(counted))
            lowered, entries = lower_terms([(each, found) for each in _joined(present)])
        left = iter(entries)
        starts = [next(left) if each else NOTHING for each in conditions] if present else []
        self._starts = frozen(np.array(starts, np.int64))
        self._program: Program = lowered.program
        self._stack = make_stack(lowered.depth)
        self._rows = np.zeros(rows, np.int64)
        self.is_empty = not (tests or present)
        shapes = ((len(tests), rows), len(counted), rows)
        self.tally = Tally(*(np.zeros(each, np.int64) for each in shapes)) if counts else None
        self._names = [context.text_of_test(test) for test in tests] if counts else []
        self._names += [context.text_of(condition) for condition in counted] if counts else []
        # The level of each condition.
        self._levels = [level for level, each in enumerate(conditions) for _ in each]
        if lowered.arithmetic:
            context.watch(dict(lowered.arithmetic), self._stack)

    @classmethod
    def of_sequences(
        cls, context: Context, tests: Sequence[EquivalenceTest], conditions: list[Condition]
    ) -> ResidualFilter:
        """A filter of whole sequences, decided at the first level, which is reached last."""
        by_level = [conditions, *([] for _ in range(context.levels - 1))] if conditions else []
        return cls(context, tests, by_level, context.levels)

    def select(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Whether each sequence passes."""
        keep = np.empty(sequences.shape[1], np.bool_)
        sequences = np.ascontiguousarray(sequences)
        if self.tally is None:
            select(sequences, self.checks(), None, keep)
        else:
            select_counted(sequences, self.checks(), self.tally, keep)
        return keep

    def checks(self) -> Checks:
        """The arrays as they are now."""
        context, store = self._context, self._context.buffer
        columns = store.columns(context.dictionary.texts.tables())
        known = store.mask, self._tests, store.frozen_codes, self._starts, self._program
        return Checks(*known, columns, self._stack, self._rows)

    @property
    def rejected(self) -> dict[str, int]:
        """Rejections by test and condition, in the order of trying."""
        assert self.tally is not None
        counts = [*self.tally.disagreed.sum(axis=1).tolist(), *self.tally.failed.tolist()]
        return by_text(zip(self._names, counts, strict=True))

    @property
    def rejected_at(self) -> list[int]:
        """Rejections by level."""
        assert self.tally is not None
        found: list[int] = self.tally.disagreed.sum(axis=0).tolist()
        for level, count in zip(self._levels, self.tally.failed.tolist(), strict=True):
            found[level] += count
        return found


def by_text(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts by text; conditions written twice are counted together."""
    found: dict[str, int] = {}
    for text, count in counted:
        found[text] = found.get(text, 0) + count
    return found


def _joined(groups: Sequence[list[Condition]]) -> list[Condition]:
    return [each[0] if len(each) == 1 else All(tuple(each)) for each in groups]
