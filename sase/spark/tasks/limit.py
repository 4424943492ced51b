"""LIMIT: the first results of a part, and in a second step those of all parts.

Results may end at different events that are equal in time and `seq`. Then the order of these
results is not defined. This does not matter if LIMIT returns all of them or none.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.pipeline.limits import UNLIMITED, Limits
from sase.engine.results.batch import MatchBatch
from sase.errors import DataError
from sase.spark.reading.arrow_map import map_in_arrow
from sase.spark.tasks.result_order import HEAD, ORDER, heads_of, results_of, sequence
from sase.spark.tasks.task_limits import checked, within


@dataclass
class TiedResults:
    """The results tied with the last one: rows of leading sort keys and last event."""

    last: Numbers | None = None
    has_several: bool = False

    def add(self, results: Numbers) -> None:
        """Add more results."""
        if not len(results):
            return
        last = results[-1]
        others = np.flatnonzero((results[:, :HEAD] != last[:HEAD]).any(axis=1))
        group = results[int(others[-1]) + 1 if len(others) else 0 :]
        has_several = bool((group[:, HEAD:] != last[HEAD:]).any())
        if len(group) == len(results) and self.last is not None and _equal(self.last, last, HEAD):
            has_several |= self.has_several or not _equal(self.last, last)
        self.last, self.has_several = last, has_several

    def follows(self, results: Numbers) -> Numbers:
        """Whether each further result ends at the same event as the previous one."""
        before = results[:1] - 1 if self.last is None else self.last[None]
        is_same = (results == np.concatenate([before, results[:-1]])).all(axis=1)
        return np.asarray(is_same, np.int64)

    def ties(self, results: Numbers) -> Mask:
        """Mask the results that are tied with the last one."""
        assert self.last is not None
        return np.logical_and.accumulate((results[:, :HEAD] == self.last[:HEAD]).all(axis=1))

    def forbids_cut(self, results: Numbers) -> Mask:
        """Mask the tied results before which LIMIT cannot cut."""
        assert self.last is not None
        return np.asarray(self.has_several | (results[:, HEAD:] != self.last[HEAD:]).any(axis=1))


def _equal(one: Numbers, other: Numbers, count: int | None = None) -> bool:
    return bool((one[:count] == other[:count]).all())


# ---------------------------------------------------------------- in a part


@dataclass(frozen=True)
class Leading:
    """The first results of a part with their sort keys, or one beyond that could be among them."""

    found: MatchBatch
    heads: Numbers
    follows: Numbers
    is_beyond: bool = False


@dataclass
class PartitionHead:
    """Keeps the first results of a part; `expects_ties` says that tied ones may follow."""

    left: int
    expects_ties: bool = False
    _group: TiedResults = field(default_factory=TiedResults)
    _last: MatchBatch | None = None

    def of(self, matches: MatchBatch) -> Iterator[Leading]:
        """Keep results up to the limit, and one after it that is tied with them."""
        if self.left:
            taken = matches.between(0, self.left)
            heads = heads_of(taken)
            follows = self._group.follows(heads)
            self._group.add(heads)
            self.left -= len(taken)
            if len(taken):
                self._last = taken.between(len(taken) - 1, len(taken))
            yield Leading(taken, heads, follows)
            matches = matches.between(len(taken), len(matches))
            if not self.left:
                self.expects_ties = self._group.has_several or self._is_tied()
        if not self.left and self.expects_ties and len(matches):
            yield from self._next_tie(matches)

    def _next_tie(self, matches: MatchBatch) -> Iterator[Leading]:
        """The first result after the limit that could equally be before it."""
        heads = heads_of(matches)
        of_group = self._group.ties(heads)
        shows = np.flatnonzero(of_group & self._group.forbids_cut(heads))
        self.expects_ties = bool(of_group.all()) and not len(shows)
        for place in shows[:1].tolist():
            one, head = matches.between(place, place + 1), heads[place : place + 1]
            yield Leading(one, head, self._group.follows(head), is_beyond=True)

    def _is_tied(self) -> bool:
        """Whether another event is equal to the last one in time and `seq`."""
        assert self._last is not None and self._group.last is not None
        history, (*_, last) = self._last.history, self._group.last.tolist()
        pieces = history.pieces
        near = [each for each in (last - 1, last + 1) if pieces[0].begin <= each < pieces[-1].end]
        numbers = np.array([last, *near], np.int64)
        times = history.times(numbers)
        orders = sequence(self._last, numbers)
        return bool(((times[1:] == times[0]) & (orders[1:] == orders[0])).any())

    def refuse(self, tied: MatchBatch) -> NoReturn:
        """Raise the error that the order of the first results is not defined."""
        assert self._last is not None
        raise DataError(_undecided(self._last.table(), tied.table()))


# ---------------------------------------------------------------- of all parts


def limited(
    results: DataFrame, count: int, schema: st.StructType, limits: Limits = UNLIMITED
) -> DataFrame:
    """The first results (docs/semantics.md, Order of results) among the first ones of all parts."""
    order = sf.col(f"`{ORDER}`")
    first = results.orderBy(order).limit(count + 1)
    alone = first.repartitionById(1, sf.lit(0)).sortWithinPartitions(order)
    return map_in_arrow(alone, First(count, limits), schema)


@dataclass(frozen=True)
class First:
    """Keeps the first rows, unless the next one could equally be among them."""

    count: int
    limits: Limits = UNLIMITED

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows without their sort keys."""
        yield from within(self.limits, lambda guard: self._taken(checked(batches, guard)))

    def _taken(self, batches: Iterable[pa.RecordBatch]) -> Generator[pa.RecordBatch]:
        left, group = self.count, TiedResults()
        last: pa.RecordBatch | None = None
        for batch in batches:
            results, shown = results_of(batch.column(ORDER)), batch.drop_columns([ORDER])
            taken = shown.slice(0, left)
            group.add(results[: taken.num_rows])
            left -= taken.num_rows
            if taken.num_rows:
                yield taken
                last = taken.slice(taken.num_rows - 1)
            if taken.num_rows < batch.num_rows:
                # If tied rows end at different events, the first two of them do.
                following = results[taken.num_rows :][:1]
                if (group.ties(following) & group.forbids_cut(following)).all():
                    raise DataError(_undecided(last, shown.slice(taken.num_rows, 1)))
                return


def _undecided(*rows: pa.Table | pa.RecordBatch | None) -> str:
    shown = [str(row) for each in rows if each is not None for row in each.to_pylist()]
    return (
        "LIMIT takes the first results, and which of these is first is not decided, as the events"
        f" that they and others end at are equal in time and `seq`: {' and '.join(shown)};"
        " give a `seq` that numbers events without repeating, or where time is imprecise leave"
        " LIMIT out"
    )
