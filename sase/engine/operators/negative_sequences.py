"""The indexes of negations: lists of negative events, and matches of negative sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundWindow, Conjunct, ConjunctClass, WindowKind
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown, grown_ring
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups.negative_sequences import (
    CROWDED,
    DEPTH,
    DONE,
    FRESH,
    NUMBER,
    STATE,
    TRIED,
    Search,
    SequenceLists,
    forbid_by_sequences,
    insert_components,
)
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import BEGIN, FINISH, MOMENTS
from sase.engine.kernels.runs.residual_checks import Iterations
from sase.engine.kernels.scan.negation_index import (
    Gap,
    NegativeIndex,
    Stored,
    drop,
    insert,
)
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings, as_bindings, match_arrays
from sase.engine.operators.contract import Context, Sequences, measures_of, size_of, span_of
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.terms import terms_at
from sase.engine.snapshots.layout import Array, Declared
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.plan.negatives import NegativeComponent, NegativeElement, NegativeSequence
from sase.planning.plan.nodes import Negation

# ---------------------------------------------------------------- negative lists


class NegativeLists(Declared):
    """Events in lists by component, and by the key on which all events concerned agree.

    If lists are by time alone there is one key, and equivalence tests are checked in the gap.
    """

    layout = dict(
        **{
            name: Array("room", path=f"arrays.{name}", ring=0) for name in NegativeIndex._fields[:6]
        },
        heads=Array("lists", low=NOTHING, path="arrays.heads"),
        sizes=Array(2, low=0, high=MOST_COUNTED, path="arrays.sizes"),
    )
    # The number of lists of a key, and whether lists are always by key.
    count = 1
    is_keyed = False

    def __init__(self, element: NegativeElement, node: Negation, context: Context) -> None:
        window = node.window
        self._context, self._window = context, window
        self.is_end = element.before is None
        # A fixed value is a condition on the event.
        tests = [test for test in element.equivalences if test.value is None]
        by_time = node.by_time and not self.is_keyed
        keyed = () if by_time else tuple(test for test in tests if all(test.declared))
        self.rest = [test for test in tests if test not in keyed]
        self._key = context.dictionary.key(keyed)
        context.buffer.keep("tie")
        self._measure = context.keep_measure(window)
        self._key_row = context.buffer.keep_codes(self._key) if keyed else None
        # An event that does not declare a tested attribute has no rank in a partition.
        is_ranked = all(all(test.declared) for test in element.equivalences)
        self.gap = _gap(element, window, falls=is_ranked)
        arrays = [np.zeros(context.options.stack, np.int64) for _ in range(6)]
        ends = [np.full(self.count, NOTHING, np.int64), np.zeros(2, np.int64)]
        self.arrays = NegativeIndex._make([*arrays, *ends])
        # For ANALYZE: sequences probed, those forbidden, and the greatest size.
        self.probed = self.hit = self.most = 0

    @property
    def alive(self) -> int:
        """The number of events."""
        return int(self.arrays.sizes[0] - self.arrays.sizes[1])

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block."""
        raise NotImplementedError

    def is_at_end(self, bindings: Bindings) -> NDArray[np.bool_]:
        """Whether no event is bound after the element, for each match."""
        return np.asarray(bindings.lengths[self.gap.levels[0] + 1 :].sum(axis=0) == 0)

    def stored(self) -> Stored:
        """The columns of the event buffer that searches of the lists read."""
        store = self._context.buffer
        key = np.zeros(0, np.int64) if self._key_row is None else store.codes[self._key_row]
        return Stored(store.numbers("tie"), store.numbers(self._measure), key)

    def evict(self, bound: int) -> None:
        """Drop the events before a bound."""
        if bound > EARLIEST:
            drop(self.arrays, bound)

    def oldest(self) -> int | None:
        """The oldest event."""
        mask = len(self.arrays.row) - 1
        return int(self.arrays.row[self.arrays.sizes[1] & mask]) if self.alive else None

    # Whether the events of the lists are still in the event buffer.
    _needs_events = True

    def _take(self, saved: Saved, values: Any) -> None:
        count, tail = values.sizes.tolist()
        room = len(values.row)
        saved.check(len(values.heads) > 0, "there is no list")
        saved.check((values.heads < count).all(), "a list leads to no event")
        saved.check(tail <= count <= tail + room, "there are more events than places")
        numbers = np.arange(tail, count)
        alive = numbers & (room - 1)
        if self._needs_events:
            saved.check_events(values.row[alive])
        # Every pointer of a live event leads to an earlier one.
        pointers = (values.below[alive] < numbers) & (values.jump[alive] < numbers)
        saved.check(bool(pointers.all()), "an event leads to one that is not before it")
        # A pointer to a dead event becomes that to none.
        is_dead = np.ones(room, np.bool_)
        is_dead[alive] = False
        values.below[is_dead] = values.jump[is_dead] = NOTHING
        # Also for a missing key: index -1 is the last list.
        values.heads = grown(values.heads, max(2, len(values.heads)), NOTHING)
        super()._take(saved, values)
        self._make_room(0, self._list_count)

    @property
    def _list_count(self) -> int:
        """The number of lists of all keys so far; any of them may be searched."""
        return self._context.dictionary.size(self._key) * self.count

    def _arrivals(self, block: Block, states: Numbers, events: int) -> Arrivals:
        """The events of a block, after room was made for this number of events."""
        keys = block.codes(self._key)
        self._make_room(events, self._list_count)
        measures = measures_of(block, self._window)
        if self._window is not None and self._window.kind is WindowKind.PARTITION_EVENTS:
            measures = np.where(measures == NOTHING, EARLIEST, measures)
        return block.arrivals(states, keys, measures)

    def _make_room(self, events: int, lists: int) -> None:
        arrays = self.arrays
        if lists > len(arrays.heads):
            arrays = arrays._replace(heads=grown(arrays.heads, lists, NOTHING))
        needed = self.alive + events
        if needed > len(arrays.row):
            numbers = np.arange(arrays.sizes[1], arrays.sizes[0])
            room = 1 << (needed - 1).bit_length()
            rings = zip(NegativeIndex._fields[:6], arrays, strict=False)
            larger = {name: grown_ring(ring, room, numbers) for name, ring in rings}
            arrays = arrays._replace(**larger)
        self.arrays = arrays


class IndexedEvents(NegativeLists):
    """The index of a negative component."""

    def __init__(self, negation: NegativeComponent, node: Negation, context: Context) -> None:
        super().__init__(negation, node, context)
        self._bit = context.bit_of(negation.component.index)
        self.several = [
            conjunct.condition
            for conjunct in negation.conditions
            if not set(conjunct.references) <= {negation.component.index}
        ]

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block."""
        insert(self._arrivals(block, states, len(block)), self._bit, self.arrays)
        self.most = max(self.most, self.alive)


def _gap(element: NegativeElement, window: BoundWindow | None, *, falls: bool) -> Gap:
    """The place of an element; `falls` if measures fall along a key's list."""
    levels = [NOTHING if n is None else n for n in (element.after, element.before)]
    if window is None:
        bounds = [ANY_SPAN, EARLIEST, 0, 0, 1]
    else:
        falls = falls or window.kind is not WindowKind.PARTITION_EVENTS
        inclusive = window.inclusive
        bounds = [span_of(window), EARLIEST + (not inclusive), size_of(window), inclusive, falls]
    return Gap(np.array(levels, np.int64), np.array(bounds, np.int64))


# ---------------------------------------------------------------- negative sequences

# The first number of nodes and frames of a search.
ROOM = 16


class SequencesInGaps(NegativeLists):
    """A negative sequence that is searched in the gap of each match.

    Its components follow those of the match as further levels.
    """

    kernel: ClassVar[Callable[..., int]] = staticmethod(forbid_by_sequences)

    def __init__(self, node: NegativeSequence, negation: Negation, context: Context) -> None:
        self.count = len(node.components)
        super().__init__(node, negation, context)
        bits = [context.bit_of(each.index) for each in node.components]
        self._bits = frozen(np.array(bits, np.int64))
        joint = joint_context(node, context)
        first = self._first = self._levels(joint) - len(node.positives)
        self._lists = lists_of(node, first)
        moments = MOMENTS * (first + self.count)
        terms = [self._term(conjunct, term) for conjunct, term in terms_of(node, first)]
        self._program = self._make_program(joint, terms, moments)
        self._cells = self._program.cells(ROOM)
        self._search = Search(
            np.zeros(STATE, np.int64),
            np.zeros((ROOM, 2), np.int64),
            np.zeros(self.count, np.int64),
            np.zeros(2, np.int64),
        )

    def _levels(self, joint: Context) -> int:
        """The number of levels, with those of the sequence."""
        return joint.levels

    def _term(self, conjunct: Conjunct, term: Term) -> Term:
        """The form of a condition for programs."""
        return term

    def _make_program(self, joint: Context, terms: list[Term], moments: int) -> Any:
        """The program of the conditions."""
        return SeriesProgram(joint, self.rest, terms, moments, of_runs=True)

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block, each to the lists of its components."""
        arrivals = self._arrivals(block, states, len(block) * self.count)
        insert_components(arrivals, self._bits, self.arrays)
        self.most = max(self.most, self.alive)

    def forbid_sequences(self, sequences: Sequences, keep: NDArray[np.bool_]) -> None:
        """Clear `keep` for the sequences with a match of this one in their gap."""
        if keep.any():
            self.forbid(as_bindings(sequences), keep, at_end=self.is_end)

    def forbid(self, bindings: Bindings, keep: NDArray[np.bool_], *, at_end: bool) -> None:
        """Clear `keep` for the matches with a match of the sequence in their gap."""
        asked = int(np.count_nonzero(keep))
        self._make_room(0, self._context.dictionary.size(self._key) * self.count)
        self._search.state[NUMBER], self._search.state[DEPTH] = 0, FRESH
        why = CROWDED
        while why != DONE:
            why = self._search_gaps(bindings, keep, at_end=at_end)
            self._context.check(0)
            if why == CROWDED:
                self._make_nodes()
        self.probed += asked
        self.hit += asked - int(np.count_nonzero(keep))

    def _search_gaps(self, bindings: Any, keep: NDArray[np.bool_], *, at_end: bool) -> int:
        """Continue the search; return why it stopped."""
        bound = bindings.by_level()
        return self.kernel(
            self._program.machine(), self._iterations(bound), self._cells, match_arrays(bound),
            bindings.events, self._lists, self.arrays, self.gap, self.stored(), self._search,
            self._first, at_end, keep,
        )  # fmt: skip

    def _iterations(self, bound: Bindings) -> Iterations | None:
        """The iterations of matches with repeated groups."""
        return None

    @property
    def tried(self) -> int:
        """The number of events that were bound or rejected in gaps."""
        return int(self._search.state[TRIED])

    def _make_nodes(self) -> None:
        cells, frames = self._cells, self._search.frames
        self._cells = self._program.cells(2 * len(cells))
        self._cells[: len(cells)] = cells
        frames = np.append(frames, np.zeros_like(frames), axis=0)
        self._search = self._search._replace(frames=frames)


def joint_context(node: NegativeSequence, context: Context) -> Context:
    """The context in which the components of the sequence follow those of a match."""
    inside = node.positives
    others = tuple(each for each in context.negatives if each not in inside)
    cache = context.cache.setdefault(("negative sequence", node), {})
    return replace(
        context, components=(*context.components, *inside), negatives=others, cache=cache
    )


def lists_of(node: NegativeSequence, first: int) -> SequenceLists:
    """The lists of the components; levels of the sequence follow those of a match."""
    numbers = {each.index: number for number, each in enumerate(node.components)}
    absences, levels = [each for each in node.components if each.negated], _levels(node, first)
    # Each is before the first component after it.
    behind = [min(n for i, n in levels.items() if i > each.index) for each in absences]
    own = [numbers[each.index] for each in node.positives]
    places = [(numbers[each.index], n) for each, n in zip(absences, behind, strict=True)]
    return SequenceLists(
        len(node.components),
        frozen(np.array(own, np.int64)),
        frozen(np.array(places, np.int64).reshape(-1, 2)),
    )


def terms_of(node: NegativeSequence, first: int) -> Iterator[tuple[Conjunct, Term]]:
    """The conditions on several events with their moments; those on an absence come at the end."""
    levels = _levels(node, first)
    absences = [each.index for each in node.components if each.negated]
    must = next(each for each in node.positives if each.minimum > 0)
    for conjunct in node.together:
        if conjunct.component is None:
            yield conjunct, Term(conjunct.condition, MOMENTS * levels[must.index] + BEGIN)
        elif conjunct.kind is ConjunctClass.NEGATIVE:
            number = absences.index(conjunct.component)
            moment = MOMENTS * (first + len(levels) + number) + FINISH
            yield conjunct, Term(conjunct.condition, moment, judged=conjunct.component)
        else:
            for term in terms_at(conjunct, MOMENTS * levels[conjunct.component]):
                yield conjunct, term


def _levels(node: NegativeSequence, first: int) -> dict[int, int]:
    """The level of each component with events that forbid."""
    return {each.index: first + n for n, each in enumerate(node.positives)}
