"""The base of all run evaluations: conditions, incoming events, and the match buffer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent, Condition, When
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.result_memory import ResultMemory
from sase.engine.kernels.kleene.run_nodes import FULL, Incoming
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters, measures_of
from sase.engine.operators.kleene.match_room import FEWEST, MatchRoom, Written
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.terms import run_terms
from sase.engine.operators.scan_filter import ScanFilter
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.layout import Count, Declared, Number, Row
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation


class RunEvaluationBase(Declared):
    """The conditions of a run evaluation, and its match buffer."""

    layout = dict(
        seen=Count(),
        built=Count(),
        clock=Row(Number(), Number(0, "live.positions"), into=Watermark, path="_watermark"),
    )

    # The kernel that advances runs: by far the largest.
    kernel: Any = None
    # The matches that are taken of those that overlap, which need not be found.
    _taken: TakenMatches | None = None

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        if self.kernel is not None:
            context.kernels.append(self.kernel)
        self.node, self._context, self._window = node, context, node.window
        # A single event agrees with itself, NULL or not.
        is_alone = context.is_alone and context.components[0].is_single
        self._rest = [] if is_alone else list(node.tested)
        self._states = states_of(context, node, len(self._rest))
        self._always, self._first = self._simple()
        self._key = context.dictionary.key(() if is_alone else node.partitions)
        self._program = self._programmed()
        # Whether anything is decided on several events.
        self._binds = bool(node.conditions or self._rest)
        self._memory = ResultMemory()
        self._room = self._match_room(fewest(self._taken, context))
        self._seen = self._built = 0
        self._watermark = Watermark(EARLIEST, 0)

    def _simple(self) -> tuple[ScanFilter, ScanFilter]:
        """The conditions on one event: on each of a component, and on its first alone."""
        return _simple(self.node, self._context)

    def _programmed(self) -> SeriesProgram:
        """The conditions on several events, by moment."""
        states = self._states
        terms = list(run_terms(self.node, states))
        return SeriesProgram(
            self._context, self._rest, terms, states.moments, of_runs=True, states=states
        )

    @property
    def _width(self) -> int:
        """How many bits the states of an event have."""
        return self._context.levels

    def _match_room(self, matches: int) -> MatchRoom:
        """Room for so many matches."""
        return MatchRoom(self._memory, self._context.levels, matches)

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

    def _flush(self, why: int) -> Iterator[Bindings]:
        """Yield the matches of a kernel that stopped; enlarge the room if one match did not fit."""
        written = self._room.take()
        if written is not None:
            self._built += len(written.ends)
            found = self._matches_of(written)
            if found.size:
                yield found
        elif why == FULL:
            self._room.double()

    def _matches_of(self, written: Written) -> Bindings:
        """The matches that were written."""
        return Bindings(written.events, written.ends, written.lengths)

    def advance(self, watermark: Watermark, below: Iterator[Bindings]) -> Iterator[Bindings]:
        """Yield nothing: time completes no match."""
        self._watermark = watermark
        return iter(())

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._room.sizes[2] = self._built

    def _counted(self, bytes_held: int) -> Counters:
        """The counters of ANALYZE."""
        if not self._context.options.analyze:
            return {}
        return {
            "rejected_events": {**self._always.rejected, **self._first.rejected},
            "most_bytes": bytes_held + self._room.nbytes,
            "most_stored_bytes": self._context.buffer.size,
        }


def states_of(context: Context, node: RunEvaluation, tests: int) -> PatternStates:
    """The states of a pattern, which are the same for all runs of a plan."""
    key = PatternStates, node.components, tests
    return context.cached(key, lambda: PatternStates(node.components, tests, node.automaton))


def fewest(taken: TakenMatches | None, context: Context) -> int:
    """For how many matches there is room before it is told which are taken."""
    chunk = context.options.chunk
    return min(FEWEST, chunk) if taken is not None and taken.are_told else chunk


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
