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
from sase.planning.declined import NO_SCAN, Declined

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
    def of(cls, pipeline: Pipeline, *, admitted: bool = False) -> SequenceOperators | Declined:
        """Return the operators of a pipeline, or what its plan asks beyond types and keys.

        Of events that are `admitted` by its scan already, it asks nothing else there.
        """
        scan, *above = pipeline.operators
        if isinstance(scan, HasBranches):
            return cls._of_union(pipeline)
        if not isinstance(scan, SequenceScanState):
            return NO_SCAN
        if len(above) != 2:
            return Declined("an operator between construction and output looks at each sequence")
        construction, top = above
        assert isinstance(construction, SequenceConstructionState)
        assert isinstance(top, TransformationState)
        tests = _key_tests(pipeline, scan, construction, top, admitted=admitted)
        if isinstance(tests, Declined):
            return tests
        states_of, dictionary = pipeline.builder.states_of, pipeline.dictionary
        known = states_of, scan.count, (0, 1, 2, 3), dictionary, dictionary.key(tests)
        return cls(scan, construction, top.results, *known)

    @classmethod
    def _of_union(cls, pipeline: Pipeline) -> SequenceOperators | Declined:
        """Those of the scan that all branches share."""
        from sase.engine.operators.branches.union import (
            UnionState,  # with a kernel that others never load
        )

        union, top = pipeline.operators
        assert isinstance(union, UnionState)
        assert isinstance(top, TransformationState)
        if len(union.scans) > 1:
            return Declined("the branches of the pattern do not share one scan")
        (shared,) = union.scans
        if not isinstance(shared.states[0], SequenceScanState):
            return NO_SCAN
        if len(shared.states) != 2:
            return Declined("an operator between construction and output looks at each sequence")
        if union.asks:
            return Declined("the output filters or computes results by their branch")
        scan, construction = shared.states
        assert isinstance(scan, SequenceScanState)
        assert isinstance(construction, SequenceConstructionState)
        tests = _key_tests(pipeline, scan, construction, top)
        if isinstance(tests, Declined):
            return tests

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


def _key_tests(
    pipeline: Pipeline,
    scan: SequenceScanState,
    construction: SequenceConstructionState,
    top: TransformationState,
    *,
    admitted: bool = False,
) -> Tests | Declined:
    """The tests of the key of operators, or what their plan asks beyond types and keys."""
    tests, options, stacks = scan.fusible_key(admitted=admitted), pipeline.plan.options, scan.stacks
    is_timed = pipeline.stopwatch is not None
    if tests is None or not isinstance(stacks, ActiveStacks):
        return Declined("the scan tests conditions on events, or keeps stacks of another kind")
    asks_more = {
        "results end at LIMIT": pipeline.plan.returned.limit is not None,
        "the construction tests conditions": not construction.is_fusible,
        "the output filters, projects or counts results": not top.is_fusible,
        "events are ranked in their partitions": pipeline.plan.ranked,
        "events are kept for what is asked of them later": pipeline.keeps_events,
        "events of other types count": pipeline.plan.watches_all,
        "arithmetic is watched for overflow": pipeline.context.overflows,
        "the window counts events, and types tell branches apart": stacks.tagged
        and _counts_events(scan),
        "operators are timed but not counted": is_timed and not options.analyze,
        "kernels cannot read a clock here": is_timed and CLOCK == NO_CLOCK,
    }
    for reason, holds in asks_more.items():
        if holds:
            return Declined(reason)
    for test in tests:
        if test.attributes or test.value is not None:
            return Declined("the key is of attributes of several names, or of one value")
        if pipeline.types.declare(test.attribute) is not None:
            return Declined(f"some types do not declare `{test.attribute}`")
    return tests
