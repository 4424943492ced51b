"""(TF) Transformation: make results of sequences: HAVING, RETURN, non-overlap and LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sase.base.limits import SEARCHING, heed
from sase.binding.bound import Column, Placeholder
from sase.binding.conditions.parts import conjoined
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import lower, make_stack
from sase.engine.kernels.expressions.program import evaluate_values
from sase.engine.operators.bindings.bindings import (
    DETECTED,
    Bindings,
    first_of,
    last_of,
    likely_of,
)
from sase.engine.operators.conditions import ConditionFilter
from sase.engine.operators.contract import Context, Counters, Sequences
from sase.engine.operators.taken_matches import NonOverlapFilter, TakenMatches
from sase.engine.snapshots.layout import Count, Declared, IfThere, Number, Own
from sase.planning.plan.nodes import Transformation, Union

if TYPE_CHECKING:
    from sase.engine.operators.kleene.series_negation import SeriesCheck, SeriesHaving, SeriesValues


DETECTED_AND_LAST = np.dtype([("detected", np.int64), ("last", np.int64)])


@dataclass(frozen=True, eq=False)
class Results:
    """The positions of the events of results, and tags and bits of the columns of RETURN."""

    positions: Numbers | Bindings
    values: tuple[NDArray[np.int64], ...] = ()

    @property
    def first(self) -> Numbers:
        """The position of the first event of each."""
        return first_of(self.positions)

    @property
    def last(self) -> Numbers:
        """The position of the last event of each."""
        return last_of(self.positions)

    @property
    def detected(self) -> Numbers | None:
        """When each candidate of imprecise time is detected, in raw units; None for others."""
        likely = likely_of(self.positions)
        return None if likely is None else likely.times[DETECTED]

    @property
    def order(self) -> NDArray[Any]:
        """The key by which results are ordered, if a key partitions their events."""
        detected, last = self.detected, self.last
        if detected is None:
            return last
        both = np.empty(len(self), DETECTED_AND_LAST)
        both["detected"], both["last"] = detected, last
        return both

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return int(self.positions.nbytes) + sum(value.nbytes for value in self.values)

    @property
    def matrix(self) -> Numbers:
        """The positions by level, of components that bind one event each."""
        assert not isinstance(self.positions, Bindings)
        return self.positions

    @property
    def bindings(self) -> Bindings:
        """The positions match by match, of components that bind any number of events."""
        assert isinstance(self.positions, Bindings)
        return self.positions

    def map_positions(self, change: Callable[[Numbers], Numbers]) -> Results:
        """Map the positions."""
        positions = self.positions
        if isinstance(positions, Bindings):
            return replace(self, positions=positions.mapped(change))
        return replace(self, positions=change(positions))

    @classmethod
    def merged(cls, parts: Sequence[Results], order: Numbers) -> Results:
        """Concatenate in an order."""
        first = parts[0].positions
        whole: Numbers | Bindings
        if isinstance(first, Bindings):
            whole = Bindings.joined([part.bindings for part in parts])
        else:
            whole = np.concatenate([part.matrix for part in parts], axis=1)
        values = zip(*(part.values for part in parts), strict=True)
        return cls(whole, tuple(map(np.concatenate, values))).at(order)

    def __len__(self) -> int:
        return int(self.positions.shape[1])

    def between(self, start: int, end: int) -> Results:
        """The results from one place to another."""
        return self.at(slice(start, end))

    def at(self, places: slice | NDArray[np.bool_ | np.int64]) -> Results:
        """The results at some places."""
        positions = self.positions[:, places]
        if not isinstance(positions, Bindings):
            positions = np.ascontiguousarray(positions)
        return Results(positions, tuple(value[places] for value in self.values))


class TransformationState(Declared):
    """A running transformation; for matches of series a `check` decides HAVING and RETURN."""

    layout = dict(
        out=Count(),
        left=IfThere(Number(0, "._left")),
        apart=IfThere(Own(), path="_non_overlap"),
    )

    def __init__(
        self,
        node: Transformation,
        context: Context,
        taken: TakenMatches | None = None,
        check: type[SeriesCheck] | None = None,
    ) -> None:
        self._store = context.buffer
        conditions = [] if node.having is None else list(conjoined(node.having))
        # For several branches each has computed RETURN itself.
        of_branches = isinstance(node.input, Union)
        columns = () if of_branches else node.columns or ()
        self._having: ConditionFilter | SeriesHaving | None = None
        self._columns: list[ReturnedValue] = []
        self._values: SeriesValues | None = None
        if check is None:
            self._having = ConditionFilter(context, [], conditions) if conditions else None
            self._columns = [ReturnedValue(column, context) for column in columns]
        else:
            # With kernels that sequences never load.
            from sase.engine.operators.kleene.series_negation import SeriesHaving, SeriesValues

            self._having = SeriesHaving(conditions, context, check) if conditions else None
            self._values = None if of_branches else SeriesValues(columns, context, check)
        self._non_overlap = (
            NonOverlapFilter(node.non_overlapping, context)
            if node.non_overlapping is not None and (taken is None or taken.are_told)
            else None
        )
        self._taken = taken if taken is not None and taken.are_told else None
        assert not isinstance(node.limit, Placeholder), "a plan that runs has all parameters"
        self._left = node.limit
        self._out = self._beyond = 0
        self._is_analyzed = context.options.analyze

    @property
    def is_done(self) -> bool:
        """Whether LIMIT is reached."""
        return self._left == 0

    def push(self, block: Block, below: Iterator[Sequences]) -> Iterator[Results]:
        """Yield the results of a block."""
        return self.results(self._having.push(block, below) if self._having else below)

    def advance(self, watermark: Watermark, below: Iterator[Sequences]) -> Iterator[Results]:
        """Yield the results that time completes."""
        return self.results(self._having.advance(watermark, below) if self._having else below)

    @property
    def filters(self) -> bool:
        """Whether there is a HAVING."""
        return self._having is not None

    def accepted(self, bindings: Bindings) -> NDArray[np.bool_]:
        """Which matches HAVING accepts."""
        assert self._having is not None and not isinstance(self._having, ConditionFilter)
        return self._having.passes(bindings)

    def judged(
        self, sequences: Sequences | Bindings
    ) -> tuple[NDArray[np.bool_], tuple[NDArray[np.int64], ...]]:
        """Which sequences HAVING accepts, and the columns of RETURN of all."""
        keep = np.ones(sequences.shape[1], np.bool_)
        if self._having is not None:
            keep = np.asarray(self._having.passes(sequences))  # type: ignore[arg-type]
        return keep, self._evaluated(sequences)

    def results(self, below: Iterator[Any]) -> Iterator[Results]:
        """Apply non-overlap and LIMIT, and make results."""
        if self._non_overlap is not None:
            below = self._non_overlap.passing(below)
        for sequences in below:
            if self._taken is not None:
                self._taken.tell(sequences)
            if self._left is not None:
                self._beyond += max(sequences.shape[1] - self._left, 0)
                sequences = sequences[:, : self._left]
                self._left -= sequences.shape[1]
            if sequences.size:
                self._out += sequences.shape[1]
                yield self.result(sequences)
            if self.is_done:
                return

    def result(self, sequences: Sequences | Bindings) -> Results:
        """Make results of sequences."""
        if isinstance(sequences, Bindings):
            return Results(sequences.mapped(self._positions), self._evaluated(sequences))
        positions = self._positions(sequences)
        return (
            Results(positions, self._evaluated(sequences)) if self._columns else Results(positions)
        )

    def _evaluated(self, sequences: Sequences | Bindings) -> tuple[NDArray[np.int64], ...]:
        """Tags and bits of the columns of RETURN."""
        if isinstance(sequences, Bindings):
            if self._values is None:  # computed by each branch
                return () if sequences.values is None else tuple(sequences.values)
            return self._values.evaluate(sequences)
        if not self._columns:
            return ()
        places = sequences & self._store.mask
        return tuple(column.evaluate(places) for column in self._columns)

    def _positions(self, numbers: Numbers) -> Numbers:
        """The positions of events by number."""
        if self._store.is_dense:
            return numbers
        return np.asarray(self._store.numbers("position")[numbers & self._store.mask])

    def horizon(self) -> int | None:
        """The oldest event that non-overlap needs."""
        return None if self._non_overlap is None else self._non_overlap.horizon()

    def counters(self) -> Counters:
        """The number of results, and for ANALYZE the rejections."""
        if not self._is_analyzed:
            return {"out": self._out}
        apart = self._non_overlap
        overlapping = {} if apart is None else {"overlapping": apart.overlapping}
        turned = {**overlapping, "beyond_limit": self._beyond}
        whole = {"in": self._out + sum(turned.values()), "rejected": {}}
        taken = whole if self._having is None else self._having.counters()
        return {"in": taken["in"], "rejected": taken["rejected"], **turned, "out": self._out}


class ReturnedValue:
    """A column of RETURN."""

    def __init__(self, column: Column, context: Context) -> None:
        self._context = context
        self._lowered = lower(column.value, context.layout([column.value]))
        self._stack = make_stack(self._lowered.depth)
        context.watch(dict(self._lowered.arithmetic), self._stack)

    def evaluate(self, places: Numbers) -> NDArray[np.int64]:
        """Tag and bits of the value for each sequence of places in the event buffer."""
        heed(SEARCHING)
        out = np.empty((places.shape[1], 2), np.int64)
        columns = self._context.buffer.columns(self._context.dictionary.texts.tables())
        rows = np.ascontiguousarray(places.T)
        evaluate_values(self._lowered.program, columns, rows, self._stack, out)
        return out
