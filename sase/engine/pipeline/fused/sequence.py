"""The operators that the fused scan and the fused push take the place of: stacks and their walk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from sase.binding.bound import WindowKind
from sase.cached_property import cached_property
from sase.engine.blocks.block import Key, Tests
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.blocks.key_dictionary import KeyDictionary
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.intrinsics import CLOCK, NO_CLOCK
from sase.engine.kernels.scan.admission import PLACE, TIME
from sase.engine.kernels.scan.fused_scan import SINCE, Counting, ScanResult
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.contract import HasBranches
from sase.engine.operators.sequence_construction import SequenceConstructionState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import Results, TransformationState
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.stopwatch import Stopwatch

# The parts of a stopwatch: admission, scan, construction, and what makes results.
Parts: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class SequenceOperators:
    """Scan, construction and output of a plan that tells events apart by type and key alone.

    `results` makes results of sequences, `count` counts events that were admitted; `states_of`
    gives what is known of types by code plus one, `dictionary` the codes of the key.
    """

    scan: SequenceScanState
    construction: SequenceConstructionState
    results: Callable[[Iterator[Any]], Iterator[Results]]
    states_of: Callable[[tuple[str, ...]], Numbers]
    count: Callable[[int], None]
    parts: Parts
    dictionary: PlanDictionary
    key: Key

    @classmethod
    def of(cls, pipeline: Pipeline, tests: Tests) -> SequenceOperators:
        """The operators of a pipeline, whose key is of some tests."""
        dictionary, (first, *above) = pipeline.dictionary, pipeline.operators
        if isinstance(first, HasBranches):
            return cls._of_union(pipeline, tests)
        construction, top = above
        assert isinstance(first, SequenceScanState)
        assert isinstance(construction, SequenceConstructionState)
        assert isinstance(top, TransformationState)
        known = pipeline.builder.states_of, first.count, (0, 1, 2, 3)
        return cls(first, construction, top.results, *known, dictionary, dictionary.key(tests))

    @classmethod
    def _of_union(cls, pipeline: Pipeline, tests: Tests) -> SequenceOperators:
        """Those of the scan that all branches share."""
        from sase.engine.operators.branches.union import (
            UnionState,  # with a kernel that others never load
        )

        union, top = pipeline.operators
        assert isinstance(union, UnionState)
        assert isinstance(top, TransformationState)
        (shared,) = union.scans
        scan, construction = shared.states
        assert isinstance(scan, SequenceScanState)
        assert isinstance(construction, SequenceConstructionState)

        def results(below: Iterator[Any]) -> Iterator[Results]:
            return top.results(union.merged([map(shared.united, below)]))

        def count(admitted: int) -> None:
            scan.count(admitted)
            union.count(admitted)

        first, last = shared.parts or (1, 2)
        dictionary = pipeline.dictionary
        known = shared.states_of, count, (0, first, last, 2), dictionary, dictionary.key(tests)
        return cls(scan, construction, results, *known)

    @cached_property
    def measure(self) -> int:
        """What the window measures of an event."""
        return PLACE if _counts_events(self.scan) else TIME

    def timed(
        self, watch: Stopwatch | None, counting: Counting | None, step: Callable[[], ScanResult]
    ) -> ScanResult:
        """Call a kernel that is counted; its time is shared out among the parts it measured."""
        if watch is None or counting is None:
            return step()
        counting.spent[:] = 0
        return watch.shared(step, self.parts[:SINCE], counting.spent[:SINCE])

    def shown(self, watch: Stopwatch | None, sequences: Iterator[Any]) -> Iterator[Results]:
        """The results that sequences are."""
        results = self.results(sequences)
        return results if watch is None else watch.pulled(self.parts[SINCE], results)

    def counting(self, pipeline: Pipeline) -> Counting | None:
        """What kernels count for ANALYZE, with a clock where the operators are timed."""
        clock = NO_CLOCK if pipeline.stopwatch is None else CLOCK
        return self.stacks.counting(self.construction.tally, clock)

    @cached_property
    def stacks(self) -> ActiveStacks:
        """Those that the scan writes to."""
        assert isinstance(self.scan.stacks, ActiveStacks)
        return self.scan.stacks

    @property
    def codes(self) -> KeyDictionary:
        """What gives the codes of keys."""
        return self.dictionary.codes_of(self.key)

    @property
    def keys(self) -> int:
        """All codes are less."""
        return self.dictionary.size(self.key)

    def advance(self, pipeline: Pipeline, count: int, admitted: int, last: int) -> None:
        """Advance the watermark to the last of so many events, of which some were admitted."""
        end = pipeline.at.events
        if admitted:
            self.stacks.note_block(end - count, end - 1 if self.measure == PLACE else last)
        self.scan.evict(last, end)
        pipeline.watch(end)
        pipeline.evict_when_due()


def _counts_events(scan: SequenceScanState) -> bool:
    """Whether the window counts events."""
    return scan.measured is not None and scan.measured.kind is WindowKind.EVENTS
