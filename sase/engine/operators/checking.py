"""Tests and conditions of an operator, as kernels decide them; for ANALYZE each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import All, Condition, EquivalenceTest
from sase.engine.expressions import lower_several, make_stack
from sase.engine.kernels.checks import TALLIED, Checks, Tally, select, select_counted
from sase.engine.kernels.compiling import frozen
from sase.engine.kernels.program import Program
from sase.engine.kernels.stacks import NOTHING
from sase.engine.operators.contract import Context, Sequences


class Checking:
    """Tests and conditions, and the arrays that kernels read to decide them.

    The conditions of a level are one program. With a `tally` each is a program of its own.
    """

    def __init__(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        conditions: Sequence[list[Condition]],
        rows: int,
    ) -> None:
        self._context = context
        self._tests = frozen(np.array([context.keep_test(t) for t in tests], np.int64))
        counts = context.options.analyze
        programs = [c for each in conditions for c in (each if counts else _joined(each))]
        lowered, entries = lower_several(programs, context.layout(programs))
        left = iter(entries)
        starts = [next(left) if each else NOTHING for each in conditions] if programs else []
        self._starts = frozen(np.array([] if counts else starts, np.int64))
        self._program: Program = lowered.program
        self._stack = make_stack(lowered.depth)
        self._rows = np.zeros(rows, np.int64)
        self._texts = [context.text_of_test(test) for test in tests]
        self._texts += [context.text_of(condition) for condition in programs]
        self.is_empty = not self._texts
        self.tally = _tally(conditions, entries, len(tests), rows) if counts else None
        context.watch(dict(lowered.arithmetic), self._stack)

    @classmethod
    def of_sequences(
        cls, context: Context, tests: Sequence[EquivalenceTest], conditions: list[Condition]
    ) -> Checking:
        """All of it to be decided when the first level is reached, which is the last to be."""
        by_level = [conditions, *([] for _ in range(context.levels - 1))] if conditions else []
        return cls(context, tests, by_level, context.levels)

    def selected(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Whether each sequence passes."""
        keep = np.empty(sequences.shape[1], np.bool_)
        sequences = np.ascontiguousarray(sequences)
        if self.tally is None:
            select(sequences, self.now(), None, keep)
        else:
            select_counted(sequences, self.now(), self.tally, keep)
        return keep

    def now(self) -> Checks:
        """The arrays as they are now."""
        context, store = self._context, self._context.store
        columns = store.columns(context.coding.texts.tables())
        codes = frozen(store.codes)
        return Checks(
            store.mask,
            self._tests,
            codes,
            self._starts,
            self._program,
            columns,
            self._stack,
            self._rows,
        )

    @property
    def rejected(self) -> dict[str, int]:
        """How many candidates each test and each condition turned away, in the order of trying."""
        assert self.tally is not None
        return by_text(zip(self._texts, self.tally.rejected.tolist(), strict=True))


def by_text(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts by text: what is written twice is counted together."""
    found: dict[str, int] = {}
    for text, count in counted:
        found[text] = found.get(text, 0) + count
    return found


def _joined(conditions: list[Condition]) -> list[Condition]:
    return conditions if len(conditions) < 2 else [All(tuple(conditions))]


def _tally(
    conditions: Sequence[list[Condition]], starts: list[int], tests: int, rows: int
) -> Tally:
    """Counts that begin at nothing; a level without conditions has no numbers."""
    sizes = [0, *map(len, conditions), *([0] * (rows - len(conditions)))]
    return Tally(
        frozen(np.cumsum(sizes)),
        frozen(np.array(starts, np.int64)),
        np.zeros(tests + len(starts), np.int64),
        np.zeros((TALLIED, rows), np.int64),
    )
