"""The base of all run evaluations: conditions, incoming events, and the match buffer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from sase.binding.bound import BoundComponent, Condition, When
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.result_memory import ResultMemory
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import MOMENTS
from sase.engine.kernels.kleene.runs import FULL, Incoming
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters, measures_of
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.terms import run_terms
from sase.engine.operators.scan_filter import ScanFilter
from sase.engine.snapshots.layout import Count, Declared, Number, Row
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation

# Room for events in the match buffer, by match.
EVENTS_A_MATCH = 16
# The fewest matches that are found before it is told which are taken, of those that overlap.
FEWEST = 256


class RunEvaluationBase(Declared):
    """The conditions of a run evaluation, and its match buffer."""

    layout = dict(
        seen=Count(),
        built=Count(),
        clock=Row(Number(), Number(0, "live.positions"), into=Watermark, path="_watermark"),
    )

    # The kernel that advances runs: by far the largest.
    kernel: ClassVar[Any] = None

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        if self.kernel is not None:
            context.kernels.append(self.kernel)
        self.node, self._context, self._window = node, context, node.window
        self._always, self._first = self._simple()
        # A single event agrees with itself, NULL or not.
        is_alone = context.is_alone and context.components[0].is_single
        self._rest = [] if is_alone else list(node.tested)
        self._key = context.dictionary.key(() if is_alone else node.partitions)
        self._program = self._programmed()
        # Whether anything is decided on several events.
        self._binds = bool(node.conditions or self._rest)
        self._memory = ResultMemory()
        self._written = self._room(context.options.chunk)
        self._seen = self._built = 0
        self._watermark = Watermark(EARLIEST, 0)

    def _simple(self) -> tuple[ScanFilter, ScanFilter]:
        """The conditions on one event: on each of a component, and on its first alone."""
        return _simple(self.node, self._context)

    def _programmed(self) -> SeriesProgram:
        """The conditions on several events, by moment."""
        terms, moments = list(run_terms(self.node)), MOMENTS * self._context.levels
        return SeriesProgram(self._context, self._rest, terms, moments, of_runs=True)

    @property
    def _width(self) -> int:
        """How many bits the states of an event have."""
        return self._context.levels

    def _room(self, chunk: int) -> MatchBuffer:
        """A match buffer for matches that are written one by one."""
        return MatchBuffer(
            np.empty(chunk * EVENTS_A_MATCH, np.int64),
            np.empty(chunk, np.int64),
            np.empty((self._context.levels, chunk), np.int64),
            np.zeros(3, np.int64),
        )

    def _prunes(self) -> bool:
        """Whether an event outside of the window ends a walk for all earlier ones."""
        if self._window is None:
            return False
        return not self._rest or not self.node.counts_in_partitions

    def _incoming(self, block: Block, spots: np.typing.NDArray[np.int64]) -> Incoming:
        states = self._always.states(block)
        takes = states & ((1 << self._width) - 1)
        begins = self._first.narrow(block, takes)
        keys, measures = block.codes(self._key), measures_of(block, self._window)
        return Incoming(block.numbers, begins, takes, keys, measures, block.ties, spots)

    def _results(self) -> Iterator[Bindings]:
        """Yield and empty the match buffer."""
        written = self._written
        matches, events, _ = (int(size) for size in written.sizes)
        self._built += matches
        written.sizes[:] = 0, 0, self._built
        if matches:
            is_full = 2 * matches > len(written.ends)
            if is_full and 2 * events < len(written.events):  # the next ones are as long
                found, room = written.events[:events], self._memory.empty(3 * events // 2 + 1)
            else:
                found, room = self._memory.detach(written.events, events)
            ends, more = self._memory.detach(written.ends, matches)
            self._written = written._replace(events=room, ends=more)
            lengths = written.lengths[:, :matches]
            lengths = self._memory.copy(lengths) if is_full else lengths.copy()
            yield Bindings(found, ends, lengths)

    def _flush(self, why: int) -> Iterator[Bindings]:
        """Flush the match buffer after a kernel stopped; enlarge it if one match did not fit."""
        is_empty = not self._written.sizes[0]
        yield from self._results()
        if why == FULL and is_empty:
            events = np.empty(2 * len(self._written.events), np.int64)
            self._written = self._written._replace(events=events)

    def _fit(self, taken: int) -> None:
        """Fit the match buffer, which was full, to how many of its matches were taken."""
        found = len(self._written.ends)
        size = self._size_for(found, taken)
        if size != found:
            self._written = self._room(size)
            self._written.sizes[2] = self._built

    def _size_for(self, found: int, taken: int) -> int:
        """How many matches a buffer should hold that was full, by how many of them were taken."""
        chunk = self._context.options.chunk
        return min(2 * found, chunk) if 4 * taken >= found else max(found // 2, min(FEWEST, chunk))

    def advance(self, watermark: Watermark, below: Iterator[Bindings]) -> Iterator[Bindings]:
        """Yield nothing: time completes no match."""
        self._watermark = watermark
        return iter(())

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._written.sizes[2] = self._built

    def _counted(self, bytes_held: int) -> Counters:
        """The counters of ANALYZE."""
        if not self._context.options.analyze:
            return {}
        return {
            "rejected_events": {**self._always.rejected, **self._first.rejected},
            "most_bytes": bytes_held + self._written.events.nbytes,
            "most_stored_bytes": self._context.buffer.size,
        }


def up_to_required(components: Sequence[BoundComponent], levels: Iterable[int]) -> int:
    """As bits the levels up to the first that may not be empty: one of them is bound next."""
    found = 0
    for level in levels:
        found |= 1 << level
        if components[level].minimum > 0:
            break
    return found


def _simple(node: RunEvaluation, context: Context) -> tuple[ScanFilter, ScanFilter]:
    """The conditions on one event: on each of a component, and on its first alone."""
    # Match windows have decided them.
    always = () if node.input is not None else conditions_on_each(node, context)
    first = [
        (each.component, each.condition)
        for each in node.simple
        if each.when is When.FIRST and each.component is not None
    ]
    return ScanFilter(context, always), ScanFilter(context, first)


def conditions_on_each(node: RunEvaluation, context: Context) -> Iterator[tuple[int, Condition]]:
    """The conditions on each event of a component, fixed values included."""
    for conjunct in node.simple:
        if conjunct.when is not When.FIRST:
            assert conjunct.component is not None
            yield conjunct.component, conjunct.condition
    for test in node.equivalences:
        if test.value is not None:
            yield from context.values(test, node.components)
