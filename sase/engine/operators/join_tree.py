"""(Tree) Join the events of the components in pairs, in the order of a binary tree.

This is the tree of ZStream (SIGMOD 2009). A leaf buffers the events of one component.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from sase.binding.bound import WindowKind
from sase.engine.blocks.block import Block, Tests
from sase.engine.columns.arrays import Numbers, grown, grown_ring
from sase.engine.kernels.expressions.checks import Checks, Tally
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.joins import (
    AT,
    BELOW,
    COUNT,
    DONE,
    FIELDS,
    FIRST,
    FRESH,
    KEY,
    PASSED,
    TAIL,
    TRIED,
    Buffer,
    Join,
    evict_records,
    fill,
    fill_between,
    join_checked,
    join_counted,
    join_records,
)
from sase.engine.kernels.scan.stacks import ABSENCE, Absences, Arrivals
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import Context, Counters, Sequences, span_of
from sase.engine.operators.negative_chains import chains_of
from sase.engine.resources import Check
from sase.engine.snapshots.layout import SAME, Array, Blocks, Declared, Each, Number, Own, Record
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.plan.nodes import SequenceConstruction
from sase.planning.plan.trees import parts_of

# Events that are added to the leaves before the complete ones are joined.
ROUND = 1 << 14


class JoinBuffer(Declared):
    """The records of some levels: of a leaf, or of a join."""

    layout = dict(
        records=Array("records", SAME, path=None),
        count=Number("records", MOST_COUNTED, path=None),
        waiting=Number(0, "records", path=None),
    )

    def __init__(self, levels: int, room: int, *, is_right: bool) -> None:
        self.is_right = is_right
        self.buffer = Buffer(
            np.zeros((room, FIELDS + levels), np.int64),
            np.full(1, NOTHING, np.int64),
            np.zeros(4, np.int64),
        )
        self.most, self._bound = 0, EARLIEST

    @property
    def alive(self) -> int:
        """The number of records."""
        return int(self.buffer.ends[COUNT] - self.buffer.ends[TAIL])

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays, which only grow."""
        return self.buffer.cells.nbytes + self.buffer.heads.nbytes

    def live(self) -> Numbers:
        """A copy of the live records."""
        cells, _, ends = self.buffer
        found: Numbers = cells[np.arange(ends[TAIL], ends[COUNT]) & (len(cells) - 1)]
        return found

    def make_room(self, more: int, check: Check) -> None:
        """Make room for some more records; their bytes are checked before."""
        cells, ends = self.buffer.cells, self.buffer.ends
        self.most = max(self.most, self.alive)
        if self.alive + more > len(cells):
            room = 1 << (self.alive + more - 1).bit_length()
            check(room * cells[0].nbytes)
            numbers = np.arange(ends[TAIL], ends[COUNT])
            self.buffer = self.buffer._replace(cells=grown_ring(cells, room, numbers))

    def widen(self, keys: int) -> None:
        """Give every key below a bound a chain."""
        if keys > len(self.buffer.heads):
            self.buffer = self.buffer._replace(heads=grown(self.buffer.heads, keys, NOTHING))

    def evict(self, bound: int) -> None:
        """Drop the records that end before a bound, and those joined with all on their left."""
        self.most, self._bound = max(self.most, self.alive), bound
        evict_records(self.buffer, bound, self.is_right)

    def oldest(self) -> int | None:
        """The first event of the oldest record."""
        cells, tail = self.buffer.cells, int(self.buffer.ends[TAIL])
        return int(cells[tail & (len(cells) - 1), FIELDS]) if self.alive else None

    def link(self) -> None:
        """Link the chains of records that conjunctions have merged, after a restore."""
        cells, heads, ends = self.buffer
        for number in range(int(ends[TAIL]), int(ends[DONE])):
            cell = cells[number & (len(cells) - 1)]
            cell[BELOW] = heads[cell[KEY]]
            heads[cell[KEY]] = number

    def _encoded(self) -> dict[str, Any]:
        records, ends = self.live(), self.buffer.ends
        left = int(ends[COUNT] - max(ends[DONE], ends[TAIL]))
        waits = np.arange(len(records)) >= len(records) - left
        kept = records[:, FIRST] >= self._bound
        return {
            "records": records[kept],
            "count": ends[COUNT],
            "waiting": np.count_nonzero(waits & kept),
        }

    def _take(self, saved: Saved, values: Any) -> None:
        records, count, tail = values.records, values.count, values.count - len(values.records)
        saved.check_events(records[:, FIELDS:])
        is_key = (records[:, KEY] >= 0) & (records[:, KEY] < len(self.buffer.heads))
        saved.check(bool(is_key.all()), "there is no such key")
        room = max(len(self.buffer.cells), 1 << max(len(records) - 1, 0).bit_length())
        cells = np.zeros((room, records.shape[1]), np.int64)
        cells[np.arange(tail, count) & (room - 1)] = records
        # Chains are linked anew.
        ends = np.array([count, tail, tail, count - values.waiting])
        self.buffer = Buffer(cells, np.full_like(self.buffer.heads, NOTHING), ends)


class JoinTree(Declared):
    """The leaves and the joins of a tree, and the sequences that are not written yet."""

    layout = dict(
        buffers=Each(Own(), path=None),
        tried=Array(SAME, SAME, low=0, high=MOST_COUNTED, path=None),
        absences=Each(Record(last=Array("keys", SAME, SAME))),
        bound=Number(),
        blocks=Blocks(),
    )

    def __init__(self, tests: Tests, above: SequenceConstruction, context: Context) -> None:
        self.tests, self._key, self._context = tests, context.dictionary.key(tests), context
        self._room, self._span = context.options.stack, span_of(above.window)
        levels = context.levels
        self._parts = list(parts_of(above.joins))
        rights = {(part.split + 1, part.high) for part in self._parts}
        whole = [(level, level) for level in range(levels)]
        whole += [(part.low, part.high) for part in self._parts]
        self._buffers = {
            part: JoinBuffer(part[1] - part[0] + 1, self._room, is_right=part in rights)
            for part in whole
        }
        self._leaves = [self._buffers[level, level] for level in range(levels)]
        self._root = self._buffers[0, levels - 1]
        self._at = np.zeros((levels - 1, 3), np.int64)
        self._at[:, AT] = FRESH
        self._absences = [_absences(above, level, context) for level in range(levels)]
        self._least = EARLIEST + (above.window is None or not above.window.inclusive)
        self._bound = EARLIEST
        window = above.window
        self._compares = window is None or window.kind is not WindowKind.PARTITION_EVENTS
        # Events of a block that are not in the leaves yet, the current join, and sequences.
        self._arrivals: Arrivals | None = None
        self._next, self._step = 0, NOTHING
        self._found = np.zeros((levels, 0), np.int64)
        self._final = 0
        # An event that may forbid a start is in no leaf, but is needed as long as it is in the
        # window. By block this has the last measure and the first event.
        self._blocks: deque[tuple[int, int]] = deque()

    def push(self, block: Block, states: Numbers, measures: Numbers, span: int) -> None:
        """Take the events of a block; they are added to the leaves round by round."""
        arrivals = block.arrivals(states, block.codes(self._key), measures)
        self._widen(self._context.dictionary.size(self._key))
        self._arrivals, self._next = arrivals, 0
        if len(arrivals.rows) and self._absences[0] is not None:
            self._blocks.append((int(arrivals.measures[-1]), int(arrivals.rows[0])))

    def walk(self, checks: Checks | None, tally: Tally | None, out: Sequences, written: int) -> int:
        """Write sequences after those written, while there is room; return how many are written.

        It pauses after each piece of work.
        """
        if self._found.shape[1]:
            end: int = min(written + self._found.shape[1], out.shape[1])
            out[:, written:end] = self._found[:, : end - written]
            self._found = self._found[:, end - written :]
            return end
        if self._step != NOTHING:
            self._join(checks, tally)
        elif self._arrivals is not None:
            self._fill(self._arrivals)
        return written

    @property
    def is_paused(self) -> bool:
        """Whether there are more sequences to write or to search."""
        return self._arrivals is not None or self._step != NOTHING or self._found.shape[1] > 0

    def _fill(self, arrivals: Arrivals) -> None:
        """Add events to the leaves; a final event among them begins a round."""
        some = slice(self._next, self._next + ROUND)
        self._next += ROUND
        if self._next >= len(arrivals.rows):
            self._arrivals = None
        part = Arrivals._make(each[some] for each in arrivals)
        for level, (leaf, absences) in enumerate(zip(self._leaves, self._absences, strict=True)):
            leaf.make_room(int(np.count_nonzero(part.states & (1 << level))), self._context.check)
            if absences is None:
                fill(part, level, None, leaf.buffer)
            else:
                fill_between(part, level, absences, leaf.buffer)
        ends = self._leaves[-1].buffer.ends
        if ends[DONE] < ends[COUNT]:
            self._step, self._final = 0, int(ends[DONE])

    def _join(self, checks: Checks | None, tally: Tally | None) -> None:
        """Continue the current join; after the last one there are sequences."""
        low, split, high = self._parts[self._step]
        out = self._buffers[low, high]
        left, right = self._buffers[low, split], self._buffers[split + 1, high]
        out.make_room(max(self._room, out.alive), self._context.check)
        starts = out is self._root and self._absences[0] is not None
        final = NOTHING if high == len(self._leaves) - 1 else self._final
        place = (low, split, high, self._step)
        asked = Join(*place, self._span, final, self._compares, starts, self._least)
        finals = self._leaves[-1].buffer
        joins = join_checked if tally is None else join_counted
        if checks is None:
            joins = join_records
        parts = (left.buffer, right.buffer, finals, asked, self._at[self._step])
        is_done = joins(*parts, checks, None if checks is None else tally, out.buffer)
        if is_done:
            right.evict(EARLIEST)
            self._step += 1
        if self._step == len(self._parts):
            self._step, self._found = NOTHING, self._taken()

    def _taken(self) -> Sequences:
        """The sequences of a round, in the order of results."""
        # The records, their events, and a sorted copy.
        self._context.check(3 * self._root.alive * self._root.buffer.cells[0].nbytes)
        rows = np.ascontiguousarray(self._root.live()[:, FIELDS:].T)
        ends = self._root.buffer.ends
        ends[TAIL] = ends[DONE] = ends[COUNT]
        return rows[:, in_order(rows)]

    def evict(self, bound: int) -> None:
        """Mark the records that begin before `bound` as evictable."""
        self._bound = bound

    def free(self) -> int | None:
        """Free the records that can be part of no later sequence; return the oldest live event."""
        for each in self._buffers.values():
            each.evict(self._bound)
        while self._blocks and self._blocks[0][0] < self._bound:
            self._blocks.popleft()
        # A joined record begins with an event that is still in its leaf.
        oldest = [leaf.oldest() for leaf in self._leaves]
        oldest += [first for _, first in list(self._blocks)[:1]]
        return min((each for each in oldest if each is not None), default=None)

    def _widen(self, keys: int) -> None:
        """Give every key below a bound its chains."""
        for each in self._buffers.values():
            each.widen(keys)
        for level, absences in enumerate(self._absences):
            if absences is not None and keys > len(absences.last):
                grew = grown(absences.last, keys, EARLIEST)
                self._absences[level] = absences._replace(last=grew)

    def counters(self) -> Counters:
        """By leaf the events that were added, that were evicted, and that are alive."""
        for each in self._buffers.values():
            each.evict(self._bound)
        ends = np.array([leaf.buffer.ends for leaf in self._leaves])
        found = {
            "pushed": ends[:, COUNT].tolist(),
            "evicted": ends[:, TAIL].tolist(),
            "alive": (ends[:, COUNT] - ends[:, TAIL]).tolist(),
        }
        if not self._context.options.analyze:
            return found
        size = sum(each.nbytes for each in self._buffers.values())
        most = [leaf.most for leaf in self._leaves]
        return {**found, "most_alive": most, "most_bytes": size}

    def walked(self) -> Counters:
        """Final events, and by the level on the left of a join the pairs that it tried."""
        finals = int(self._leaves[-1].buffer.ends[DONE])
        return {"walks": finals, "visited": [*self._by_gap(TRIED), finals]}

    def flow(self, tally: Tally, rejected: list[int], built: int) -> Counters:
        """By the level on the left of a join the pairs that passed, and its most records."""
        finals = int(self._leaves[-1].buffer.ends[DONE])
        most = {part.split: self._buffers[part.low, part.high].most for part in self._parts}
        return {
            "passed": [*self._by_gap(PASSED), finals],
            "most_joined": [*(most[gap] for gap in sorted(most)), 0],
        }

    def _by_gap(self, field: int) -> list[int]:
        found = {part.split: int(at[field]) for part, at in zip(self._parts, self._at, strict=True)}
        return [found[gap] for gap in sorted(found)]

    def checkpoint(self) -> dict[str, Any]:
        """The live records, and the last events of negative components."""
        for each in self._buffers.values():
            each.evict(self._bound)
        return super().checkpoint()

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint, with chains of all keys."""
        self._widen(self._context.dictionary.size(self._key))
        super().restore(saved)

    def _encoded(self) -> dict[str, Any]:
        return {"buffers": [*self._buffers.values()], "tried": self._at[:, TRIED:]}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._at[:, TRIED:] = values.tried
        keys = [len(each.last) for each in self._absences if each is not None]
        saved.check(all(keys), "there is no key")


def in_order(rows: Sequences) -> Numbers:
    """The order of results for sequences that are in the order of their last events.

    Of sequences with the same last event the one with the latest event before comes first, and so
    on. The distances of events from the last one are packed into as few numbers as hold them, and
    these are sorted.
    """
    last = rows[-1]
    keys, room = list[Numbers](), 0
    for column in (np.cumsum(np.diff(last, prepend=last[:1]) != 0), *(last - rows[:-1])[::-1]):
        width = int(column.max(initial=0)).bit_length()
        if width > room:
            keys.append(column)
            room = 63 - width
        elif width:
            keys[-1] = keys[-1] << width | column
            room -= width
    return np.lexsort(keys[::-1]) if keys else np.arange(len(last))


def _absences(above: SequenceConstruction, level: int, context: Context) -> Absences | None:
    """The negative components before a level that the tree decides."""
    before = [negation for negation in above.negations if negation.before == level]
    if not before:
        return None
    bits = [context.bit_of(negation.component.index) for negation in before]
    return Absences(
        frozen(np.full(len(before), level, np.int64)),
        frozen(np.array(bits, np.int64)),
        np.full((1, len(before), ABSENCE), EARLIEST, np.int64),
        np.zeros(context.levels, np.int64),
        chains_of((), context),
    )
