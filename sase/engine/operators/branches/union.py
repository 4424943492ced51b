"""(∪) Union: the matches of the branches of a pattern in one order, each once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain as chained
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import WindowKind
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.scan.union_order import UnitedMatches, order_matches
from sase.engine.operators.bindings.candidates import DETECTED
from sase.engine.operators.bindings.detection import detection_by_branch
from sase.engine.operators.bindings.union_iterations import ranks_of, with_sizes
from sase.engine.operators.bindings.unions import (
    BranchLevels,
    UnionBindings,
    levels_of,
)
from sase.engine.operators.branches.backlog import UnionBacklog
from sase.engine.operators.branches.merge import BranchMerge
from sase.engine.operators.branches.release import UnionRelease
from sase.engine.operators.branches.scan import BranchScan, Open
from sase.engine.operators.contract import (
    Context,
    Counters,
    HasBranches,
    HasTimers,
    OperatorState,
)
from sase.engine.operators.transformation import TransformationState
from sase.engine.snapshots.layout import By, Count, Declared, Each, IfThere, Own, Row
from sase.engine.snapshots.saved_state import Saved
from sase.engine.stopwatch import Stopwatch
from sase.planning.detection import DetectionTime, detection_of
from sase.planning.nodes import Operator, Union, name_of, variables_of
from sase.planning.plan import EnginePlan
from sase.planning.shared_scans import shared_scans
from sase.planning.split import window_of

NO_TYPES = np.empty(0, np.int16)


class UnionState(Declared, HasBranches, HasTimers):
    """A running union.

    The branches meet a block one after the other, and share what is known of its events. What they
    find is merged step by step. Some matches wait: where an absence is known only once its time has
    passed, for what comes before them; where one branch may give a match sooner than another, until
    all may have given it.
    """

    layout = dict(
        branches=Each(Each(Own()), path=None),
        waiting=By("_restored", path=None),
        counts=Each(Count(), path=None),
        judged=Each(Row(Count(), Count()), path=None),
        release=IfThere(Own()),
    )

    def __init__(self, node: Union, context: Context, branches: Sequence[Open]) -> None:
        self._context, self._node = context, node
        levels, self._ranks = levels_of(node), ranks_of(node.components)
        self.scans = [
            BranchScan(shared, levels, context, open_branch)
            for shared, open_branch in zip(shared_scans(node), branches, strict=True)
        ]
        tops = {each.branches[0]: each.top for each in self.scans if len(each.branches) == 1}
        self._branches = [
            _BranchResults(own, branch, context, tops.get(own.branch))
            for own, branch in zip(levels, node.branches, strict=True)
        ]
        detections = set(map(detection_of, node.branches))
        self._is_postponed = detections != {DetectionTime.LAST_EVENT}
        # Branches may list the events of the same match in another order.
        self._is_imprecise = context.schema.is_imprecise
        # When a match that waits is released, if any waits.
        self._release = self._release_of() if len(self.scans) > 1 else None
        self._keep_types()
        self._waiting = UnionBacklog(context.levels)
        self._block: Block | None = None
        self._seen = self._found = self._out = self._twice = 0

    def _keep_types(self) -> None:
        """Keep of events what tells their branches apart, and when matches are detected."""
        buffer = self._context.buffer
        telling = [each for each in self.scans if each.tells_branches]
        if self._is_postponed or (telling and not all(each.can_tag for each in telling)):
            buffer.keep("ts")
        if self._release is not None:
            self._release.keep(buffer)
        if not buffer.is_needed:
            for each in telling:
                each.tag()

    def leave_out(self, types: Collection[str]) -> None:
        """Search no branch that needs a type of which no event is: all to come are of these."""
        for each in self.scans:
            each.leave_out(types)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[UnionBindings]:
        """Take a block, whose matches come with the watermark behind it."""
        self._block = block
        self._seen += len(block)
        return iter(())

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[UnionBindings]:
        """Yield the matches of the block and those that time completes, in order."""
        block, self._block = self._block, None
        types = NO_TYPES
        if block is not None:
            types = block.events.types[block.rows].astype(np.int16, copy=False)
        found = [each.found(block, types, watermark) for each in self.scans]
        if self._release is None:
            return self.merged(found)
        for part in chained.from_iterable(map(self._counted, found)):
            self._hold(part, self._detected(part), self._release)
        return self._due(watermark, self._release)

    def _hold(self, found: UnionBindings, detected: Numbers, release: UnionRelease) -> None:
        """Have matches wait, whose memory is limited."""
        self._waiting.add(found, detected, release.measures(found, detected, self._context.buffer))
        self._context.check(0)

    def merged(
        self, found: list[Iterator[UnionBindings]], at_once: int | None = None
    ) -> Iterator[UnionBindings]:
        """The matches of all scans, as far as there are any now."""
        by_scan = [
            (scan.branches, self._counted(each))
            for scan, each in zip(self.scans, found, strict=True)
        ]
        (_, whole), *more = by_scan
        if more:
            levels, chunk = self._context.levels, at_once or self._context.options.chunk
            whole = BranchMerge(by_scan, levels, self._in_order, chunk).matches()
        return chained.from_iterable(map(self.judged, whole))

    def count(self, admitted: int) -> None:
        """Count the events that a fused kernel took."""
        self._seen += admitted

    @property
    def asks(self) -> bool:
        """Whether there is a HAVING, or a column of RETURN."""
        return any(each.asks for each in self._branches)

    def _counted(self, found: Iterator[UnionBindings]) -> Iterator[UnionBindings]:
        for part in found:
            self._found += part.size
            yield part

    def _due(self, watermark: Watermark, release: UnionRelease) -> Iterator[UnionBindings]:
        """The matches before which none can come any more; the others wait."""
        head, passed = self._waiting.head, release.advance(watermark)
        if head is None:
            return iter(())
        if not watermark.is_final and not head.is_before(watermark.ts, passed):
            return iter(())
        whole = self._waiting.taken()
        if release.waits is not None or self._is_imprecise:  # copies may be detected at any time
            same = whole.canonical if self._is_imprecise else whole
            whole = whole.at(np.sort(self._ordered(same, np.zeros(whole.size, np.int64))))
        whole = whole.at(self._in_order(whole))
        if not watermark.is_final:
            detected = self._detected(whole)
            measures = release.measures(whole, detected, self._context.buffer)
            held = (detected >= watermark.ts) | (measures >= passed)
            count = int(held.argmax()) if held.any() else whole.size
            self._waiting.add(whole.at(slice(count, None)), detected[count:], measures[count:])
            whole = whole.at(slice(0, count))
        return self.judged(whole) if whole.size else iter(())

    def _in_order(self, found: UnionBindings) -> Numbers:
        return self._ordered(found, self._detected(found))

    def _release_of(self) -> UnionRelease | None:
        """The rule by which matches wait, if they do."""
        release, window = UnionRelease.of(self._node), window_of(self._node)
        if release.waits is not None or self._is_imprecise:
            return release
        # What is detected at the time of the watermark may still come.
        is_later = window is not None and (window.inclusive or window.kind is not WindowKind.TIME)
        return release if is_later and self._is_postponed else None

    def _ordered(self, found: UnionBindings, detected: Numbers) -> Numbers:
        """The places of matches in order, of the same ones that of the first branch."""
        is_by_branch = bool((np.diff(found.branches) >= 0).all())
        first = None if is_by_branch else np.argsort(found.branches, kind="stable")
        given, count = found if first is None else found.at(first), found.size
        order, spare, runs = (np.empty(count + 1, np.int64) for _ in range(3))
        is_new = np.empty(count, np.bool_)
        detected = detected if first is None else detected[first]
        arrays = given.events, given.slots, given.ends
        if given.iterations is not None:
            arrays = with_sizes(
                given, self._ranks[given.slots, given.iterations.inner], given.iterations
            )
        matches = UnitedMatches(*arrays, detected)
        order_matches(matches, order[:count], spare[:count], runs, is_new)
        kept = order[:count][is_new]
        self._twice += count - len(kept)
        return kept if first is None else first[kept]

    def _detected(self, found: UnionBindings) -> Numbers:
        """When each match is detected, or its last event where that is the order."""
        if found.likely is not None:
            return np.ascontiguousarray(found.likely.times[DETECTED])
        if not self._is_postponed:
            return found.last
        times, mask = self._context.buffer.numbers("ts"), self._context.buffer.mask
        branches = ((each.levels, each.plan) for each in self._branches)
        first, last = times[found.first & mask], times[found.last & mask]
        return detection_by_branch(found, first, last, branches)

    def judged(self, found: UnionBindings) -> Iterator[UnionBindings]:
        """Filter by HAVING, and evaluate RETURN, each match by its branch."""
        if self.asks:
            keep = np.ones(found.size, np.bool_)
            count = len(self._branches[0].plan.returned.columns or ())
            values = tuple(np.zeros((found.size, 2), np.int64) for _ in range(count))
            for each in self._branches:
                own = np.flatnonzero(found.branches == each.levels.branch)
                if len(own):
                    keep[own], of_branch = each.judged(found.at(own))
                    for whole, part in zip(values, of_branch, strict=True):
                        whole[own] = part
            found = found.valued(values)
            found = found if keep.all() else found.at(keep)
        else:
            counts = np.bincount(found.branches, minlength=len(self._branches)).tolist()
            for each, count in zip(self._branches, counts, strict=True):
                each.count(count, count)
        if found.size:
            self._out += found.size
            yield found

    def next_timer(self) -> int | None:
        """The first time at which some branch is told of an absence, or a match waits no more."""
        timed = (s for each in self.scans for s in each.states if isinstance(s, HasTimers))
        known = [state.next_timer() for state in timed]
        if self._release is not None and (head := self._waiting.head) is not None:
            known.append(self._release.next_time(*head))
        return min((each for each in known if each is not None), default=None)

    def horizon(self) -> int | None:
        """The oldest event that a branch needs, or of a match that waits."""
        known = [state.horizon() for each in self.scans for state in each.states]
        known.append(self._waiting.oldest)
        return min((each for each in known if each is not None), default=None)

    def counters(self) -> Counters:
        """Events, what the branches find, and what of it is the same."""
        return {
            "events": self._seen,
            "in": self._found,
            "same": self._twice,
            "waiting": self._waiting.size,
            "out": self._out,
        }

    def operators(self) -> Iterator[tuple[str, Counters]]:
        """The operators of all branches, and what they count."""
        for each in self.scans:
            yield from each.operators()
            yield from (self._branches[number].counters() for number in each.branches)

    def time_by(self, stopwatch: Stopwatch) -> None:
        """Have the operators of all branches timed."""
        for each in self.scans:
            each.time_by(stopwatch)
            for number in each.branches:
                self._branches[number].time_by(stopwatch)

    def _encoded(self) -> dict[str, Any]:
        return {
            "branches": [each.states for each in self.scans],
            "waiting": self._waiting.whole.checkpoint() if self._waiting.size else None,
            "counts": [self._seen, self._found, self._twice, self._out],
            "judged": [each.counts for each in self._branches],
        }

    def _restored(self, saved: Saved) -> UnionBindings | None:
        """The matches that wait in a checkpoint."""
        if saved.is_none:
            return None
        found = UnionBindings.of_saved(saved, [each.levels for each in self._branches])
        saved.check(self._release is not None and found.size > 0, "no match waits here")
        return found

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._seen, self._found, self._twice, self._out = values.counts
        for branch, counts in zip(self._branches, values.judged, strict=True):
            branch.counts = [*counts]
        if values.waiting is not None and self._release is not None:
            self._hold(values.waiting, self._detected(values.waiting), self._release)


class _BranchResults:
    """What makes the results of a branch, which is asked at last."""

    def __init__(
        self, levels: BranchLevels, root: Operator, shared: Context, top: OperatorState | None
    ) -> None:
        self.levels = levels
        self.plan = plan = EnginePlan(
            root, shared.schema, options=shared.options, aggregates=shared.aggregates
        )
        if top is None:  # that of no shared scan
            cache = shared.cache.setdefault(("branch", levels.branch), {})
            context = replace(
                shared,
                components=plan.positives,
                negatives=plan.negatives,
                cache=cache,
                names=variables_of(root),
            )
            top = TransformationState(plan.returned, context)
        assert isinstance(top, TransformationState)
        self._top = top
        self.asks = plan.returned.having is not None or bool(plan.returned.columns)
        self.counts = [0, 0]
        self._stopwatch: Stopwatch | None = None
        self._part = 0

    def judged(self, found: UnionBindings) -> tuple[NDArray[np.bool_], tuple[Numbers, ...]]:
        """Which matches HAVING accepts, and their columns of RETURN."""
        if self._stopwatch is None:
            keep, values = self._asked(found)
        else:
            keep, values = self._stopwatch.during(self._part, lambda: self._asked(found))
        self.count(found.size, int(keep.sum()))
        return keep, values

    def count(self, found: int, accepted: int) -> None:
        """Count matches, and those that HAVING accepts."""
        self.counts = [self.counts[0] + found, self.counts[1] + accepted]

    def _asked(self, found: UnionBindings) -> tuple[NDArray[np.bool_], tuple[Numbers, ...]]:
        native = self.levels.native(found)
        if self.plan.has_series:
            return self._top.judged(native)
        rows = found.events.reshape(-1, len(self.levels.slots))
        return self._top.judged(np.ascontiguousarray(rows.T))

    def counters(self) -> tuple[str, Counters]:
        """Its name, and what counts here."""
        own = dict(zip(("in", "out"), self.counts, strict=True))
        counted = {key: own.get(key, each) for key, each in self._top.counters().items()}
        return name_of("Transformation", self.levels.branch + 1), counted

    def time_by(self, stopwatch: Stopwatch) -> None:
        """Have it timed."""
        self._stopwatch, (self._part,) = stopwatch, stopwatch.more(1)
