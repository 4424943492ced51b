"""(AIS, PAIS) Active instance stacks, one for each level, or one for each level and key."""

# long because: the stacks are one state, and all kernels that use it are called here

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from sase.cached_property import cached_property
from sase.engine.blocks.block import Block, Tests
from sase.engine.columns.arrays import Numbers, copy_stretch, grown, grown_records, with_rooms
from sase.engine.kernels.expressions.checks import Checks, Tally
from sase.engine.kernels.jit.compiler import SharedTuple, address_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.construction import (
    FLOORS,
    FLOORS_OF_GAPS,
    FRESH,
    NO_FLOORS,
    VISITED,
    Walk,
    construct,
    construct_checked,
    construct_counted,
    construct_tallied,
)
from sase.engine.kernels.scan.fused_scan import (
    ALIVE_FROM,
    MOST_ALIVE,
    SINCE,
    BatchLayout,
    Calls,
    Counting,
    PushState,
    ScanInput,
    ScanRange,
    ScanResult,
    fused_scan,
    fused_scan_between,
    fused_scan_between_counted,
    fused_scan_counted,
    push_batch,
    push_batch_between,
    push_batch_between_counted,
    push_batch_counted,
    store_absences,
    store_state,
)
from sase.engine.kernels.scan.stacks import (
    ABSENCE,
    APART,
    BEFORE_TIE,
    COUNT,
    DROPPED,
    FIELDS,
    FIELDS_WITH_FLOOR,
    HEAD,
    LAST_TIE,
    LINK,
    LINKS,
    MASK,
    MOST_ROOM,
    REACH,
    RIP,
    ROW,
    TAIL,
    TOP,
    Absences,
    Arrivals,
    StackArrays,
    evict,
    free,
    scan,
    scan_between,
    tails_of,
)
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import Context, Counters, Sequences, span_of
from sase.engine.operators.negative_chains import chains_of
from sase.engine.snapshots.layout import SAME, Array, Blocks, Declared, Number, Record
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.plan.nodes import SequenceConstruction


class ActiveStacks(Declared):
    """The stacks, the walk through them, and the last events of negative components."""

    layout = dict(
        stacks=Record(
            cells=Array(SAME, None, SAME, ring=1),
            heads=Array(SAME, "keys", low=NOTHING),
            ends=Array(MASK, SAME),
            path=None,
        ),
        walk=Record(at=Array(2), levels=Array(2, SAME)),
        absences=Record(
            last=Array("keys", SAME, SAME),
            chains=Array("keys", SAME, SAME),
            path=None,
        ),
        bound=Number(),
        blocks=Blocks(),
    )

    def __init__(self, tests: Tests, above: SequenceConstruction, context: Context) -> None:
        self.tests, self._key, self._context = tests, context.dictionary.key(tests), context
        levels, room = context.levels, context.options.stack
        ends = np.zeros((MASK + 1, levels), np.int64)
        ends[LAST_TIE], ends[MASK] = EARLIEST, room - 1
        elements = above.elements
        self._fields = FIELDS_WITH_FLOOR if elements else FIELDS
        self.stacks = StackArrays(
            np.zeros((levels, room, self._fields), np.int64),
            np.zeros((1, HEAD * stacked(levels)), np.int64),
            ends,
        )
        self._absences = _absences(above, context) if elements else None
        self._walk = Walk(
            np.array([0, FRESH]), np.zeros((2, levels), np.int64), np.array(_bounds(above))
        )
        # The arguments of kernels of pushed batches, and their addresses.
        self._pushed: PushState | None = None
        self._addresses: tuple[int, int | None] = 0, None
        self._bound = EARLIEST
        # The number of tag bits in event numbers.
        self.tagged = 0
        # Events for which every level has room.
        self._left = room
        # An event that may forbid a start is in no stack, but is needed as long as it is in the
        # window. By block this has the last measure and the first event.
        self._has_start = any([each.before == 0 for each in elements])
        self._blocks: deque[tuple[int, int]] = deque()
        # For ANALYZE: the most instances alive at the end of a block, and the number of the first
        # live instance, even if those before it are not evicted yet.
        self._alive = np.zeros((2, levels), np.int64) if context.options.analyze else None

    def push(self, block: Block, states: Numbers, measures: Numbers, span: int) -> None:
        """Push the events of a block onto the stacks."""
        arrivals = block.arrivals(states, block.codes(self._key), measures)
        self._widen(self._context.dictionary.size(self._key))
        if len(arrivals.rows) > self._left:
            self._make_room(len(arrivals.rows))
        self._left -= len(arrivals.rows)
        if len(arrivals.rows):
            self.note_block(int(arrivals.rows[0]) >> self.tagged, int(arrivals.measures[-1]))
        if self._alive is not None:
            tails_of(self.stacks, self._alive[ALIVE_FROM], self._bound)
        self.scan(block, arrivals, span)
        if self._alive is not None:
            most, begin = self._alive
            np.maximum(most, self.stacks.ends[COUNT] - begin, out=most)

    def push_batch(
        self, batch: int, layout: BatchLayout, keys: int, after: tuple[int, int, int],
        counting: Counting | None, room: Numbers, out: Sequences,
    ) -> ScanResult:  # fmt: skip
        """Push an exported batch with keys below a bound, and write the sequences it completes.

        The batch comes `after` an event, given by time, position and tie.
        """
        self._widen(keys)
        if counting is None:
            kernel = push_batch if self._absences is None else push_batch_between
        else:
            kernel = push_batch_counted if self._absences is None else push_batch_between_counted
        while True:
            state = self._shared(layout, room, out)
            found = ScanResult(*kernel(batch, *state, counting, *after, self._bound))
            if found.lacks <= 0:
                self._left = 0
                return found
            self._make_room(found.lacks)

    @cached_property
    def _places(self) -> tuple[SharedTuple[PushState], SharedTuple[Absences]]:
        return SharedTuple(store_state), SharedTuple(store_absences)

    def _shared(self, layout: BatchLayout, room: Numbers, out: Sequences) -> tuple[int, int | None]:
        """The addresses of the arguments of kernels of pushed batches, stored anew if changed."""
        pushed, stacks = self._pushed, self.stacks
        if (
            pushed is None or pushed.layout is not layout or pushed.stacks is not stacks
            or pushed.room is not room or pushed.out is not out or pushed.walk is not self._walk
        ):  # fmt: skip
            self._pushed = PushState(layout, self._calls, stacks, self._walk, room, out)
            state, absences = self._places
            after = None if self._absences is None else absences.of(self._absences)
            self._addresses = state.of(self._pushed), after
        return self._addresses

    def push_columns(
        self, reading: ScanInput, keys: int, sought: ScanRange, counting: Counting | None,
        room: Numbers, out: Sequences,
    ) -> ScanResult:  # fmt: skip
        """Push columns of events and write the sequences they complete, up to a full buffer."""
        self._widen(keys)
        if counting is None:
            kernel = fused_scan if self._absences is None else fused_scan_between
        else:
            kernel = fused_scan_counted if self._absences is None else fused_scan_between_counted
        state = (self.stacks, self._absences, self._walk, counting)
        found = ScanResult._make(kernel(reading, sought, self._calls, *state, room, out))
        if found.lacks > 0:
            self._make_room(found.lacks)
        self._left = 0
        return found

    def counting(self, tally: Tally | None, clock: int) -> Counting | None:
        """The counters of ANALYZE of a fused scan, with a clock."""
        if tally is None or self._alive is None:
            return None
        return Counting(tally, self._alive, np.zeros(SINCE + 1, np.int64), clock)

    @cached_property
    def _calls(self) -> Calls:
        scans = scan if self._absences is None else scan_between
        walks = construct if self._alive is None else construct_tallied
        return Calls(address_of(scans), address_of(walks))

    @property
    def levels(self) -> int:
        """The number of components."""
        return len(self.stacks.cells)

    @property
    def gaps(self) -> tuple[Numbers, Numbers] | None:
        """Of negative components the level behind each gap, and the bit; None without any."""
        return None if self._absences is None else self._absences[:2]

    def note_whole(self, pushed: Numbers, dropped: Numbers, visited: Numbers) -> None:
        """Count by level the instances of a whole input, which other stacks held."""
        ends = self.stacks.ends
        ends[[COUNT, TAIL]] += pushed
        ends[DROPPED] += dropped
        self._walk.levels[VISITED] += visited
        self._walk.at[0] = ends[COUNT, -1]

    @property
    def numbers_of_key(self) -> int:
        """The numbers of the state of a key."""
        if self._absences is None:
            return int(self.stacks.heads.shape[1])
        return int(self.stacks.heads.shape[1] + self._absences.last[0].size)

    @property
    def bound(self) -> int:
        """Instances with a lower measure are evictable."""
        return self._bound

    def note_block(self, first: int, last: int) -> None:
        """Note that events from `first` on, with measures up to `last`, may forbid a start."""
        if self._has_start:
            self._blocks.append((last, first))

    def scan(self, block: Block, arrivals: Arrivals, span: int) -> None:
        """Push arrivals for which the stacks have room."""
        if self._absences is None:
            scan(arrivals, self.stacks, None, span)
        else:
            scan_between(arrivals, self.stacks, self._absences, span)

    def walk(self, checks: Checks | None, tally: Tally | None, out: Sequences, written: int) -> int:
        """Write the sequences that end in instances of the last level after those written.

        Return how many are written then; it may have paused although there is more, and room for
        it.
        """
        if not self.is_paused:
            return written
        if tally is None:
            walks = construct if checks is None else construct_checked
        else:
            walks = construct_tallied if checks is None else construct_counted
        return walks(self.stacks, self._walk, checks, tally, out, written)

    @property
    def is_paused(self) -> bool:
        """Whether there are more sequences to write or to search."""
        return bool(self._walk.at[0] < self.stacks.ends[COUNT, -1])

    def evict(self, bound: int) -> None:
        """Mark instances below `bound` as evictable."""
        self._bound = bound

    def free(self) -> int | None:
        """Free evicted instances; return the oldest live event."""
        oldest, blocks = free(self.stacks, self._bound), self._blocks
        while blocks and blocks[0][0] < self._bound:
            blocks.popleft()
        found = [] if oldest == NOTHING else [oldest >> self.tagged]
        return min([*found, blocks[0][1]] if blocks else found, default=None)

    def _widen(self, keys: int) -> None:
        """Give every key below a bound a stack."""
        if keys > self._keys:
            self.stacks = self.stacks._replace(heads=grown_records(self.stacks.heads, keys))
            if self._absences is not None:
                self._widen_absences(self._absences, keys)

    def _widen_absences(self, absences: Absences, keys: int) -> None:
        chains = absences.chains
        if len(chains.steps):
            chains = chains._replace(known=grown(chains.known, keys, EARLIEST))
        self._absences = absences._replace(last=grown(absences.last, keys, EARLIEST), chains=chains)

    def _make_room(self, events: int) -> None:
        """Make room for some more events at every level, and half as many again.

        All levels grow together: otherwise a level that is nearly full would cause the next growth,
        and so would each other level in turn.
        """
        evict(self.stacks, self._bound)
        ends = self.stacks.ends
        more = events + events // 2
        counts, tails = ends[COUNT].tolist(), ends[TAIL].tolist()
        before = [mask + 1 for mask in ends[MASK].tolist()]
        alive = list(map(int.__sub__, counts, tails))
        rooms = [1 << (each + more - 1).bit_length() for each in alive]
        rooms = list(map(max, before, rooms))
        if max(rooms) > MOST_ROOM:
            raise MemoryError(f"a component has more than {MOST_ROOM:,} events in the window")
        if rooms != before:
            cells = with_rooms(self.stacks.cells, before, rooms, tails, counts)
            self.stacks = self.stacks._replace(cells=cells)
            ends[MASK] = [room - 1 for room in rooms]
        self._left = min(map(int.__sub__, rooms, alive))

    def counters(self) -> Counters:
        """Instances by level: pushed, evicted, alive, and dropped by transition filtering."""
        ends = self.stacks.ends
        tails = ends[TAIL].copy()  # reading counters changes nothing
        tails_of(self.stacks, tails, self._bound)
        found = {
            "pushed": ends[COUNT].tolist(),
            "evicted": tails.tolist(),
            "alive": (ends[COUNT] - tails).tolist(),
            "filtered": ends[DROPPED].tolist(),
        }
        return found if self._alive is None else {**found, **self._analysis()}

    def _analysis(self) -> Counters:
        assert self._alive is not None
        found: Counters = {
            "most_alive": self._alive[MOST_ALIVE].tolist(),
            "most_bytes": self.nbytes,
        }
        if self._absences is not None:
            found["forbidden"] = self._absences.dropped.tolist()
        return found

    @property
    def nbytes(self) -> int:
        """The bytes of the allocated arrays, which only grow."""
        cells, heads, ends = self.stacks
        used = int((ends[MASK] + 1).sum()) * self._fields * cells.itemsize
        return used + sum(each.nbytes for each in (heads, ends, *self._known().values()))

    def _known(self) -> dict[str, Numbers]:
        """The last events of negative components, and the chains of negative sequences."""
        absences = self._absences
        if absences is None:
            return {}
        chains = {"chains": absences.chains.known} if len(absences.chains.steps) else {}
        return {"last": absences.last, **chains}

    def walked(self) -> Counters:
        """Walks, and instances visited by level; each one of the last level begins a walk."""
        walks = int(self._walk.at[0]) + int(self._walk.at[1] != FRESH)
        return {"walks": walks, "visited": [*self._walk.levels[VISITED, :-1].tolist(), walks]}

    def flow(self, tally: Tally, rejected: list[int], built: int) -> Counters:
        """By level the instances that passed, and the reasons for which their walks ended."""
        passed = np.array(self.walked()["visited"]) - rejected
        unfit = np.zeros_like(passed)
        unfit[0] = passed[0] - built
        passed -= unfit
        ended = np.append(passed[1:], 0) - tally.levels
        return {
            "passed": passed.tolist(),
            "unfit": unfit.tolist(),
            "forbidden": tally.levels.tolist(),
            "ended": ended.tolist(),
        }

    def _encoded(self) -> dict[str, Any]:
        rings = {"cells": self._rings(), "heads": self._tops(), "ends": self.stacks.ends[:MASK]}
        return {"stacks": rings, "absences": self._known()}

    def _take(self, saved: Saved, values: Any) -> None:
        part, (cells, heads, ends) = saved.part("stacks"), vars(values.stacks).values()
        counts = ends[:LAST_TIE]
        part.check(((counts >= 0) & (counts <= MOST_COUNTED)).all(), "counters are no counts")
        part.check((ends[BEFORE_TIE] <= ends[COUNT]).all(), "instances are before themselves")
        part.check(heads.shape[1] > 0, "there is no stack")
        part.check((heads < ends[COUNT, :, np.newaxis]).all(), "a head is no instance")
        for level in range(len(cells)):
            self._check_level(part, cells, ends, level)
        self._check_walk(saved.part("walk"), values.walk, int(ends[COUNT, -1]))
        # If the last instance of a stack is dead, its reach does not matter.
        tops = heads[: stacked(len(heads))]
        last = [rows[own & len(rows) - 1, REACH] for rows, own in zip(cells, tops, strict=False)]
        records = np.stack([tops + 1, np.stack(last)], axis=-1).swapaxes(0, 1)
        found = np.ascontiguousarray(records.reshape(heads.shape[1], -1))
        ends = np.append(ends, np.full((1, len(cells)), cells.shape[1] - 1), axis=0)
        self.stacks = StackArrays(cells, grown_records(found, len(found)), ends)
        if self._absences is not None:
            known, chains = vars(values.absences), self._absences.chains
            chains = chains._replace(known=known.pop("chains", chains.known))
            self._absences = self._absences._replace(**known, chains=chains)
        super()._take(saved, values)
        self._left = 0

    @property
    def _keys(self) -> int:
        return len(self.stacks.heads)

    def _rings(self) -> Numbers:
        """The instances of all levels in rings of one size."""
        cells, ends = self.stacks.cells, self.stacks.ends
        rings = np.zeros((len(cells), int(ends[MASK].max()) + 1, self._fields), np.int64)
        counts = ends[[COUNT, TAIL, MASK]].T.tolist()
        for old, new, (count, tail, mask) in zip(cells, rings, counts, strict=True):
            copy_stretch(old[: mask + 1], new, tail, count)
        return rings

    def _tops(self) -> Numbers:
        """The top of each stack by level and partition; the last level has none."""
        tops = np.full((self._context.levels, self._keys), NOTHING)
        stacks = stacked(len(tops))
        tops[:stacks] = self.stacks.heads.T[TOP::HEAD] - 1
        return tops

    def _check_level(self, saved: Saved, cells: Numbers, ends: Numbers, level: int) -> None:
        count, tail, room = ends[COUNT, level], ends[TAIL, level], cells.shape[1]
        saved.check(tail <= count <= tail + room, "there are more instances than places")
        numbers = np.arange(tail, count)
        alive = cells[level, numbers & (room - 1)]
        saved.check_events(alive[:, ROW] >> self.tagged)
        pointers = np.ones(len(alive), np.bool_)
        if level < stacked(len(cells)):
            pointers &= (alive[:, LINKS] & APART != 0) & (alive[:, LINKS] >> LINK != 0)
        if level:
            pointers &= alive[:, RIP] < ends[COUNT, level - 1]
        saved.check(pointers.all(), "an instance leads to one that is not before it")

    def _check_walk(self, saved: Saved, walk: Walk, count: int) -> None:
        """Check the walk: between pushes none is under way, unless LIMIT ended it."""
        last, visited = self._context.levels - 1, walk.levels[VISITED]
        is_over = walk.at[0] == count and walk.at[1] == FRESH
        is_left = saved.live.is_done and 0 <= walk.at[0] <= count and FRESH <= walk.at[1] <= last
        saved.check(is_over or is_left, "a walk is under way")
        saved.check(((visited >= 0) & (visited <= MOST_COUNTED)).all(), "counters are no counts")


def stacked(levels: int) -> int:
    """How many levels have stacks: all but the last, which no event points to."""
    return max(levels - 1, 1)


def _absences(above: SequenceConstruction, context: Context) -> Absences:
    """The negative components that construction decides."""
    count = len(above.negations)
    assert all([element.before is not None for element in above.elements])
    return Absences(
        frozen(np.array([negation.before for negation in above.negations], np.int64)),
        frozen(np.array([context.bit_of(n.component.index) for n in above.negations], np.int64)),
        np.full((1, count, ABSENCE), EARLIEST, np.int64),
        np.zeros(context.levels, np.int64),
        chains_of(above.sequences, context),
    )


def _bounds(above: SequenceConstruction) -> list[int]:
    """The bounds of the walk: see `Walk`."""
    span, elements = span_of(above.window), above.elements
    inclusive = above.window is not None and above.window.inclusive
    floors = NO_FLOORS
    if elements:
        is_start = any([element.before == 0 for element in elements])
        floors = FLOORS if is_start else FLOORS_OF_GAPS
    return [span, floors, span, EARLIEST + (not inclusive)]
