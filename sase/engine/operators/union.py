"""(∪) Union: the matches of the branches of a pattern in one order, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain as chained
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, Key, Watermark
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Vector
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.admission import PLACE, STATE, TIME, admit
from sase.engine.kernels.scan.union_order import UnitedMatches, order_matches
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import (
    Checkpoint,
    Context,
    Counters,
    HasTimers,
    OperatorState,
    size_of,
)
from sase.engine.operators.transformation import TransformationState
from sase.engine.operators.union_bindings import (
    BranchLevels,
    UnionBindings,
    detection_by_branch,
    levels_of,
)
from sase.engine.operators.union_merge import BranchMerge
from sase.engine.plan import EnginePlan
from sase.engine.snapshots.saved_state import Saved
from sase.engine.stopwatch import Stopwatch
from sase.planning.nodes import Operator, Union, chain, name_of
from sase.planning.split import negations_of

NO_TYPES = np.empty(0, np.int16)
# How the operators of a branch are opened.
Open: TypeAlias = Callable[[Operator, Context], list[OperatorState]]


class UnionState:
    """A running union.

    The branches meet a block one after the other, and share what is known of its events. What they
    find is merged step by step. Some matches wait: where an absence is known only once its time has
    passed, for what comes before them; where one branch may give a match sooner than another, until
    all may have given it.
    """

    def __init__(self, node: Union, context: Context, open_branch: Open) -> None:
        self._context = context
        context.buffer.keep("ts")
        self._branches = [
            _Branch(levels, branch, context, open_branch)
            for levels, branch in zip(levels_of(node), node.branches, strict=True)
        ]
        # How long after its detection a match waits, if it does.
        self._delay = self._least_delay()
        self._waiting: UnionBindings | None = None
        self._block: Block | None = None
        self._seen = self._found = self._out = self._twice = 0

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
        found = [self._counted(each.found(block, types, watermark)) for each in self._branches]
        levels, chunk = self._context.levels, self._context.options.chunk
        if self._delay is None:
            merge = BranchMerge(found, levels, self._in_order, chunk)
            return chained.from_iterable(map(self._judged, merge.matches()))
        parts = [] if self._waiting is None else [self._waiting]
        self._waiting = None
        parts += chained.from_iterable(found)
        return self._due(UnionBindings.united(parts, levels), watermark) if parts else iter(())

    def _counted(self, found: Iterator[UnionBindings]) -> Iterator[UnionBindings]:
        for part in found:
            self._found += part.size
            yield part

    def _due(self, whole: UnionBindings, watermark: Watermark) -> Iterator[UnionBindings]:
        """The matches before which none can come any more; the others wait."""
        assert self._delay is not None
        if self._delay:  # the same match may be detected at several times
            whole = whole.at(np.sort(self._ordered(whole, np.zeros(whole.size, np.int64))))
        whole = whole.at(self._in_order(whole))
        if not watermark.is_final:
            bound = max(watermark.ts - self._delay, EARLIEST)
            count = int(np.searchsorted(self._detected(whole), bound))
            if count < whole.size:
                self._waiting = whole.at(slice(count, None))
            whole = whole.at(slice(0, count))
        return self._judged(whole) if whole.size else iter(())

    def _in_order(self, found: UnionBindings) -> Numbers:
        return self._ordered(found, self._detected(found))

    def _least_delay(self) -> int | None:
        plans = [each.plan for each in self._branches]
        windows = [window for plan in plans if (window := plan.postponed) is not None]
        if any(may_differ(one, other) for one, other in combinations(plans, 2)):
            return size_of(windows[0])
        # What is detected at the time of the watermark may still come.
        return 0 if any(window.inclusive for window in windows) else None

    def _ordered(self, found: UnionBindings, detected: Numbers) -> Numbers:
        """The places of matches in order, of the same ones that of the first branch."""
        is_by_branch = bool((np.diff(found.branches) >= 0).all())
        first = None if is_by_branch else np.argsort(found.branches, kind="stable")
        given, count = found if first is None else found.at(first), found.size
        order, spare, runs = (np.empty(count + 1, np.int64) for _ in range(3))
        is_new = np.empty(count, np.bool_)
        detected = detected if first is None else detected[first]
        matches = UnitedMatches(given.events, given.slots, given.ends, detected)
        order_matches(matches, order[:count], spare[:count], runs, is_new)
        kept = order[:count][is_new]
        self._twice += count - len(kept)
        return kept if first is None else first[kept]

    def _detected(self, found: UnionBindings) -> Numbers:
        """When each match is detected."""
        times, mask = self._context.buffer.numbers("ts"), self._context.buffer.mask
        branches = ((each.levels, each.plan) for each in self._branches)
        first, last = times[found.first & mask], times[found.last & mask]
        return detection_by_branch(found, first, last, branches)

    def _judged(self, found: UnionBindings) -> Iterator[UnionBindings]:
        """Filter by HAVING, and evaluate RETURN, each match by its branch."""
        if any(each.asks for each in self._branches):
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
        timed = (s for each in self._branches for s in each.states if isinstance(s, HasTimers))
        known = [state.next_timer() for state in timed]
        if self._waiting is not None:
            known.append(int(self._detected(self._waiting).min()) + (self._delay or 0) + 1)
        return min((each for each in known if each is not None), default=None)

    def horizon(self) -> int | None:
        """The oldest event that a branch needs, or of a match that waits."""
        known = [state.horizon() for each in self._branches for state in each.states]
        if self._waiting is not None:
            known.append(int(self._waiting.events.min()))
        return min((each for each in known if each is not None), default=None)

    def counters(self) -> Counters:
        """Events, what the branches find, and what of it is the same."""
        waiting = 0 if self._waiting is None else self._waiting.size
        return {
            "events": self._seen,
            "in": self._found,
            "same": self._twice,
            "waiting": waiting,
            "out": self._out,
        }

    def operators(self) -> Iterator[tuple[str, Counters]]:
        """The operators of all branches, and what they count."""
        for each in self._branches:
            yield from each.operators()

    def time_by(self, stopwatch: Stopwatch) -> None:
        """Have the operators of all branches timed."""
        for each in self._branches:
            each.time_by(stopwatch)

    def checkpoint(self) -> Checkpoint:
        """The states of all branches, and the matches that wait."""
        return {
            "branches": [[s.checkpoint() for s in each.states] for each in self._branches],
            "waiting": None if self._waiting is None else self._waiting.checkpoint(),
            "counts": [self._seen, self._found, self._twice, self._out],
            "judged": [each.counts for each in self._branches],
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        parts = saved.part("branches").parts(len(self._branches))
        for each, part in zip(self._branches, parts, strict=True):
            for state, own in zip(each.states, part.parts(len(each.states)), strict=True):
                state.restore(own)
        counts = [part.count() for part in saved.part("counts").parts(4)]
        self._seen, self._found, self._twice, self._out = counts
        judged = saved.part("judged").parts(len(self._branches))
        for each, part in zip(self._branches, judged, strict=True):
            each.counts = [own.count() for own in part.parts(2)]
        waiting = saved.part("waiting")
        if not waiting.is_none:
            levels = [each.levels for each in self._branches]
            self._waiting = UnionBindings.of_saved(waiting, levels)
            may_wait = self._delay is not None and self._waiting.size > 0
            waiting.check(may_wait, "no match waits here")


def may_differ(one: EnginePlan, other: EnginePlan) -> bool:
    """Whether two branches may give the same match, and detect it at different times."""
    if one.postponed is None and other.postponed is None:
        return False
    if all(any(n.before is None for n in negations_of(p.operators)) for p in (one, other)):
        return False  # both by the time of the first event
    return _may_give(one, other) and _may_give(other, one)


def _may_give(one: EnginePlan, other: EnginePlan) -> bool:
    """Whether a branch has every variable that is bound in each match of another."""
    own = {each.key for each in one.positives}
    return own >= {each.key for each in other.positives if each.minimum > 0}


class _Branch:
    """The operators of a branch, but for what makes its results, which is asked at last."""

    def __init__(
        self, levels: BranchLevels, root: Operator, shared: Context, open_branch: Open
    ) -> None:
        self.levels = levels
        self.plan = plan = EnginePlan(
            root, shared.schema, options=shared.options, aggregates=shared.aggregates
        )
        cache = shared.cache.setdefault(("branch", levels.branch), {})
        context = replace(shared, components=plan.positives, negatives=plan.negatives, cache=cache)
        self._view = _BranchView(plan)
        *self.states, top = open_branch(root, context)
        assert isinstance(top, TransformationState)
        self._top = top
        self.asks = plan.returned.having is not None or bool(plan.returned.columns)
        self.counts = [0, 0]
        self._stopwatch: Stopwatch | None = None
        self._parts = range(0)

    def found(
        self, block: Block | None, types: NDArray[np.int16], watermark: Watermark
    ) -> Iterator[UnionBindings]:
        """The matches of a block, and those that time completes, in the order of the branch.

        `types` are the codes of the input for the events of the block.
        """
        if block is not None:
            yield from self._through("push", self._view.of(block, types))
        yield from self._through("advance", watermark)

    def _through(self, step: str, argument: Any) -> Iterator[UnionBindings]:
        below: Iterator[Any] = iter(())
        for place, state in enumerate(self.states):
            taking = getattr(state, step)
            if self._stopwatch is None:
                below = taking(argument, below)
            else:
                below = self._stopwatch.timed(self._parts[place], taking, argument, below)
        for found in below:
            if found.size:
                yield self.levels.united(found)

    def judged(self, found: UnionBindings) -> tuple[NDArray[np.bool_], tuple[Numbers, ...]]:
        """Which matches HAVING accepts, and their columns of RETURN."""
        if self._stopwatch is None:
            keep, values = self._asked(found)
        else:
            keep, values = self._stopwatch.during(self._parts[-1], lambda: self._asked(found))
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

    def operators(self) -> Iterator[tuple[str, Counters]]:
        """The operators, and what they count; what makes results of the branch counts here."""
        kinds = (type(node).__name__ for node in reversed(chain(self.plan.operators)))
        names = [name_of(kind, self.levels.branch + 1) for kind in kinds]
        yield from zip(names, (state.counters() for state in self.states), strict=False)
        own = dict(zip(("in", "out"), self.counts, strict=True))
        yield names[-1], {key: own.get(key, each) for key, each in self._top.counters().items()}

    def time_by(self, stopwatch: Stopwatch) -> None:
        """Have the operators timed."""
        self._stopwatch, self._parts = stopwatch, stopwatch.more(len(self.states) + 1)


@dataclass
class _BranchView:
    """The blocks as a branch sees them: the events that some component of it admits."""

    plan: EnginePlan
    _states: tuple[tuple[str, ...], Numbers] | None = field(default=None)

    def of(self, block: Block, types: NDArray[np.int16]) -> Block:
        """The events of a block that the branch admits, with its own components as states."""
        by_type = self._by_type(block.events.type_names)
        room = np.empty((3, len(block) + 1), np.int64)
        count = admit(types, block.ts, by_type, 0, room)
        states = room[STATE, :count]
        chosen: slice | Numbers = slice(None) if count == len(block) else room[PLACE, :count]
        ranks = None if block.ranks is None else block.ranks[chosen]
        if ranks is not None and self.plan.ranked:
            states[ranks == NOTHING] &= -1 << len(self.plan.positives)
        places = block.places[chosen]
        positions = places if block.positions is block.places else block.positions[chosen]
        numbers = positions if block.numbers is block.positions else block.numbers[chosen]
        columns = _Chosen(block, chosen)
        ts = room[TIME, :count]
        return Block(block.range, places, states, ts, positions, numbers, columns, ranks)

    def _by_type(self, names: tuple[str, ...]) -> Numbers:
        if self._states is None or self._states[0] != names:
            components = (*self.plan.positives, *self.plan.negatives)
            by_type = states_by_type(components, names, every=self.plan.watches_all)
            self._states = names, frozen(by_type)
        return self._states[1]


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The columns of some events of a block, which are made once for all branches."""

    whole: Block
    chosen: slice | Numbers

    def types(self, block: Block) -> NDArray[np.int16]:
        """The type codes of the plan."""
        return self.whole.types[self.chosen]

    def vector(self, block: Block, attribute: str) -> Vector:
        """An attribute as a vector."""
        return self._at(self.whole.vector(attribute))

    def raw_vector(self, block: Block, attribute: str) -> Vector:
        """An attribute for comparisons with constants, of integers of any width."""
        return self._at(self.whole.raw_vector(attribute))

    def codes(self, block: Block, key: Key) -> Numbers:
        """The codes under a key."""
        return self.whole.codes(key)[self.chosen]

    def _at(self, vector: Vector) -> Vector:
        tag = vector.tag if isinstance(vector.tag, int) else vector.tag[self.chosen]
        valid = None if vector.valid is None else vector.valid[self.chosen]
        return replace(vector, values=vector.values[self.chosen], tag=tag, valid=valid)
