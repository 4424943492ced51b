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
from sase.engine.kernels.scan.result_order import UnitedMatches, order_matches
from sase.engine.operators.bindings.bindings import DETECTED, Bindings
from sase.engine.operators.bindings.detection import detection_by_branch
from sase.engine.operators.bindings.iteration_order import ranks_of, with_sizes
from sase.engine.operators.bindings.unions import BranchLevels, UnionForm, levels_of
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
from sase.planning.branches import DetectionTime, detection_of, shared_scans
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import Operator, Union, variables_of
from sase.planning.split import window_of

NO_TYPES = np.empty(0, np.int16)


class UnionState(Declared, HasBranches, HasTimers):
    """A running union.

    The branches process a block one after the other, and share the facts on its events. Their
    matches are merged step by step. Some matches wait. If an absence is certain only later, a match
    waits for earlier ones. If one branch may find a match sooner than another, the match waits
    until no other branch can find it any more.
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
        self._form = UnionForm.of(levels)
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
        # The rule by which waiting matches are released, if any wait.
        self._release = self._release_of() if len(self.scans) > 1 else None
        self._keep_types()
        self._waiting = UnionBacklog()
        self._block: Block | None = None
        self._seen = self._found = self._out = self._twice = 0

    def _keep_types(self) -> None:
        """Keep the types of events that determine branches, and the times that detection needs."""
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
        """Search no branch that needs a missing type; all later events are of these types."""
        for each in self.scans:
            each.leave_out(types)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Take a block; its matches are yielded with the watermark after it."""
        self._block = block
        self._seen += len(block)
        return iter(())

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Bindings]:
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

    def _hold(self, bindings: Bindings, detected: Numbers, release: UnionRelease) -> None:
        """Add waiting matches, and check their memory."""
        self._waiting.add(
            bindings, detected, release.measures(bindings, detected, self._context.buffer)
        )
        self._context.check(0)

    def merged(
        self, found: list[Iterator[Bindings]], at_once: int | None = None
    ) -> Iterator[Bindings]:
        """Merge the matches of all scans, as far as there are any now."""
        by_scan = [
            (scan.branches, self._counted(each))
            for scan, each in zip(self.scans, found, strict=True)
        ]
        (_, whole), *more = by_scan
        if more:
            chunk = at_once or self._context.options.chunk
            whole = BranchMerge(by_scan, self._in_order, chunk).matches()
        return chained.from_iterable(map(self.judged, whole))

    def count(self, admitted: int) -> None:
        """Count the events that a fused kernel processed."""
        self._seen += admitted

    @property
    def asks(self) -> bool:
        """Whether there is a HAVING, or a column of RETURN."""
        return any(each.asks for each in self._branches)

    def _counted(self, bindings: Iterator[Bindings]) -> Iterator[Bindings]:
        for part in bindings:
            self._found += part.size
            yield part

    def _due(self, watermark: Watermark, release: UnionRelease) -> Iterator[Bindings]:
        """The matches that no other match can precede any more; the others wait."""
        head, passed = self._waiting.head, release.advance(watermark)
        if head is None:
            return iter(())
        if not watermark.is_final and not head.is_before(watermark.ts, passed):
            return iter(())
        whole = self._waiting.taken()
        if release.waits is not None or self._is_imprecise:  # copies may be detected at any time
            same = whole.canonical if self._is_imprecise else whole
            whole = whole[:, np.sort(self._ordered(same, np.zeros(whole.size, np.int64)))]
        whole = whole[:, self._in_order(whole)]
        if not watermark.is_final:
            detected = self._detected(whole)
            measures = release.measures(whole, detected, self._context.buffer)
            held = (detected >= watermark.ts) | (measures >= passed)
            count = int(held.argmax()) if held.any() else whole.size
            self._waiting.add(whole[:, count:], detected[count:], measures[count:])
            whole = whole[:, :count]
        return self.judged(whole) if whole.size else iter(())

    def _in_order(self, bindings: Bindings) -> Numbers:
        return self._ordered(bindings, self._detected(bindings))

    def _release_of(self) -> UnionRelease | None:
        """The rule by which matches wait, if they do."""
        release, window = UnionRelease.of(self._node), window_of(self._node)
        if release.waits is not None or self._is_imprecise:
            return release
        # Matches detected at the time of the watermark may still come.
        is_later = window is not None and (window.inclusive or window.kind is not WindowKind.TIME)
        return release if is_later and self._is_postponed else None

    def _ordered(self, bindings: Bindings, detected: Numbers) -> Numbers:
        """The places of matches in order; of equal matches only that of the first branch."""
        is_by_branch = bool((np.diff(bindings.branches) >= 0).all())
        first = None if is_by_branch else np.argsort(bindings.branches, kind="stable")
        given, count = bindings if first is None else bindings[:, first], bindings.size
        order, spare, runs = (np.empty(count + 1, np.int64) for _ in range(3))
        is_new = np.empty(count, np.bool_)
        detected = detected if first is None else detected[first]
        arrays = given.events, given.known_states, given.ends
        if given.counts is not None:
            arrays = with_sizes(given, self._ranks[given.states, given.slots])
        matches = UnitedMatches(*arrays, detected)
        order_matches(matches, order[:count], spare[:count], runs, is_new)
        kept = order[:count][is_new]
        self._twice += count - len(kept)
        return kept if first is None else first[kept]

    def _detected(self, bindings: Bindings) -> Numbers:
        """The time of detection of each match, or its last event if that is the order."""
        if bindings.times is not None:
            return np.ascontiguousarray(bindings.times[DETECTED])
        if not self._is_postponed:
            return bindings.last
        times, mask = self._context.buffer.numbers("ts"), self._context.buffer.mask
        branches = ((each.levels, each.plan) for each in self._branches)
        first, last = times[bindings.first & mask], times[bindings.last & mask]
        return detection_by_branch(bindings, first, last, branches)

    def judged(self, bindings: Bindings) -> Iterator[Bindings]:
        """Filter by HAVING, and evaluate RETURN, each match by its branch."""
        if self.asks:
            keep = np.ones(bindings.size, np.bool_)
            count = len(self._branches[0].plan.returned.columns or ())
            values = np.zeros((count, bindings.size, 2), np.int64)
            for each in self._branches:
                own = np.flatnonzero(bindings.branches == each.levels.branch)
                if len(own):
                    keep[own], of_branch = each.judged(bindings[:, own])
                    for whole, part in zip(values, of_branch, strict=True):
                        whole[own] = part
            bindings = bindings.valued(values)
            bindings = bindings if keep.all() else bindings[:, keep]
        else:
            counts = np.bincount(bindings.branches, minlength=len(self._branches)).tolist()
            for each, count in zip(self._branches, counts, strict=True):
                each.count(count, count)
        if bindings.size:
            self._out += bindings.size
            yield bindings

    def next_timer(self) -> int | None:
        """The next time at which a branch decides an absence, or a waiting match is released."""
        timed = (s for each in self.scans for s in each.states if isinstance(s, HasTimers))
        known = [state.next_timer() for state in timed]
        if self._release is not None and (head := self._waiting.head) is not None:
            known.append(self._release.next_time(*head))
        return min((each for each in known if each is not None), default=None)

    def horizon(self) -> int | None:
        """The oldest event that a branch or a waiting match needs."""
        known = [state.horizon() for each in self.scans for state in each.states]
        known.append(self._waiting.oldest)
        return min((each for each in known if each is not None), default=None)

    def counters(self) -> Counters:
        """The counts of events, of the matches of branches, and of equal matches."""
        return {
            "events": self._seen,
            "in": self._found,
            "same": self._twice,
            "waiting": self._waiting.size,
            "out": self._out,
        }

    def counted(self) -> Iterator[Counters]:
        """The counters of each operator of all branches."""
        for each in self.scans:
            yield from each.counted()
            yield from (self._branches[number].counters() for number in each.branches)

    def time_by(self, stopwatch: Stopwatch) -> None:
        """Measure the time of the operators of all branches."""
        for each in self.scans:
            each.time_by(stopwatch)
            for number in each.branches:
                self._branches[number].time_by(stopwatch)

    def _encoded(self) -> dict[str, Any]:
        return {
            "branches": [each.states for each in self.scans],
            "waiting": self._saved_matches(),
            "counts": [self._seen, self._found, self._twice, self._out],
            "judged": [each.counts for each in self._branches],
        }

    def _saved_matches(self) -> dict[str, Any] | None:
        """The waiting matches."""
        if not self._waiting.size:
            return None
        return self._form.checkpoint(self._form.whole(self._waiting.whole))

    def _restored(self, saved: Saved) -> Bindings | None:
        """Restore the waiting matches of a checkpoint."""
        if saved.is_none:
            return None
        found = self._form.restored(saved)
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
    """Makes the results of a branch; it runs after the merge."""

    def __init__(
        self, levels: BranchLevels, root: Operator, shared: Context, top: OperatorState | None
    ) -> None:
        self.levels = levels
        self.plan = plan = EnginePlan(
            root, shared.schema, options=shared.options, aggregates=shared.aggregates
        )
        if top is None:  # the branch shares its scan with others
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

    def judged(self, bindings: Bindings) -> tuple[NDArray[np.bool_], tuple[Numbers, ...]]:
        """Which matches HAVING accepts, and their columns of RETURN."""
        if self._stopwatch is None:
            keep, values = self._asked(bindings)
        else:
            keep, values = self._stopwatch.during(self._part, lambda: self._asked(bindings))
        self.count(bindings.size, int(keep.sum()))
        return keep, values

    def count(self, found: int, accepted: int) -> None:
        """Count matches, and those that HAVING accepts."""
        self.counts = [self.counts[0] + found, self.counts[1] + accepted]

    def _asked(self, bindings: Bindings) -> tuple[NDArray[np.bool_], tuple[Numbers, ...]]:
        native = self.levels.native(bindings)
        if self.plan.has_series:
            return self._top.judged(native)
        rows = bindings.events.reshape(-1, len(self.levels.slots))
        return self._top.judged(np.ascontiguousarray(rows.T))

    def counters(self) -> Counters:
        """Its counters."""
        own = dict(zip(("in", "out"), self.counts, strict=True))
        return {key: own.get(key, each) for key, each in self._top.counters().items()}

    def time_by(self, stopwatch: Stopwatch) -> None:
        """Measure its time."""
        self._stopwatch, (self._part,) = stopwatch, stopwatch.more(1)
