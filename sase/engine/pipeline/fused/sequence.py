"""The operators that the fused scan and the fused push take the place of: stacks and their walk."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sase.binding.bound import WindowKind
from sase.engine.blocks.block import Key, Watermark
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.blocks.key_dictionary import KeyDictionary
from sase.engine.kernels.jit.intrinsics import CLOCK, NO_CLOCK
from sase.engine.kernels.scan.admission import PLACE, TIME
from sase.engine.kernels.scan.fused_scan import SINCE, Counting, ScanResult
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.sequence_construction import SequenceConstructionState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import TransformationState
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.stopwatch import Stopwatch
from sase.planning.rewrites.contract import NO_SCAN, Declined

# The part of a stopwatch that makes results: the last of such a plan.
OUTPUT = 3


def timed_by_kernel(
    watch: Stopwatch | None, counting: Counting | None, step: Callable[[], ScanResult]
) -> ScanResult:
    """Call a kernel that is counted; its time is shared out among the parts that it measured."""
    if watch is None or counting is None:
        return step()
    counting.spent[:] = 0
    return watch.shared(step, counting.spent[:SINCE])


class SequenceOperators(NamedTuple):
    """Scan, construction and output of a plan that tells events apart by type and key alone.

    `dictionary` gives the codes of the key, `measure` is what the window measures of an event.
    """

    scan: SequenceScanState
    construction: SequenceConstructionState
    top: TransformationState
    key: Key
    measure: int
    dictionary: PlanDictionary

    @classmethod
    def of(cls, pipeline: Pipeline) -> SequenceOperators | Declined:
        """Return the operators of a pipeline, or what its plan asks beyond types and keys."""
        scan, *above = pipeline.operators
        if not isinstance(scan, SequenceScanState):
            return NO_SCAN
        if len(above) != 2:
            return Declined("an operator between construction and output looks at each sequence")
        construction, top = above
        assert isinstance(construction, SequenceConstructionState)
        assert isinstance(top, TransformationState)
        tests, window, options = scan.fusible_key, scan.measured, pipeline.plan.options
        is_timed = pipeline.stopwatch is not None
        if tests is None:
            return Declined("the scan tests conditions on events, or keeps stacks of another kind")
        asks_more = {
            "results end at LIMIT": pipeline.plan.returned.limit is not None,
            "the construction tests conditions": not construction.is_fusible,
            "the output filters, projects or counts results": not top.is_fusible,
            "events are ranked in their partitions": pipeline.plan.ranked,
            "events are kept for what is asked of them later": pipeline.keeps_events,
            "events of other types count": pipeline.plan.watches_all,
            "arithmetic is watched for overflow": pipeline.context.overflows,
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
        by_position = window is not None and window.kind is WindowKind.EVENTS
        measure, dictionary = PLACE if by_position else TIME, pipeline.dictionary
        return cls(scan, construction, top, dictionary.key(tests), measure, dictionary)

    def counting(self, pipeline: Pipeline) -> Counting | None:
        """What kernels count for ANALYZE, with a clock where the operators are timed."""
        clock = NO_CLOCK if pipeline.stopwatch is None else CLOCK
        return self.stacks.counting(self.construction.tally, clock)

    @property
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
        self.scan.advance(Watermark(last, end), iter(()))
        pipeline.watch(end)
        pipeline.evict_when_due()
