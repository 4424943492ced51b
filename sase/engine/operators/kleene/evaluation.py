"""The common part of run evaluations: conditions, incoming events, counters, and time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.base.interface import option
from sase.binding.bound import BoundComponent, Condition, IterationConjunct, Part, When, WindowKind
from sase.binding.conditions.parts import with_values
from sase.engine.blocks.block import Block, Key, Watermark
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.result_memory import ResultMemory
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import Incoming
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.conditions import ScanFilter
from sase.engine.operators.contract import Context, Counters, bound_of, measures_of
from sase.engine.operators.kleene.match_room import MatchRoom, Written, bindings_of
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.terms import run_terms
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.resources import is_too_much
from sase.engine.snapshots.layout import Count, Declared, Number, Own, Row
from sase.engine.snapshots.saved_state import Saved
from sase.errors import BudgetError
from sase.lang.ast import StrategyName
from sase.planning.automaton.automaton import PatternState
from sase.planning.automaton.iteration_paths import is_of_negative, is_of_one_event
from sase.planning.plan.nodes import RunEvaluation

TOO_MANY = (
    "the runs of this query need more memory than there is: narrow its conditions, give it a"
    " smaller WITHIN, or a stricter strategy such as skip_till_next_match"
)
STRATEGIES = {
    StrategyName.SKIP_TILL_ANY_MATCH: nodes.ANY,
    StrategyName.SKIP_TILL_NEXT_MATCH: nodes.NEXT_MATCH,
    StrategyName.STRICT_CONTIGUITY: nodes.STRICT,
    StrategyName.PARTITION_CONTIGUITY: nodes.RANKED,
    StrategyName.EARLIEST_MAXIMAL: nodes.EARLIEST_MAXIMAL,
}


class RunAdmission:
    """The conditions on one event: on each of a component or a state, or on its first alone.

    The states are components by level, or all states of an automaton with groups. With `negatives`,
    its negative states are included, for an evaluation that also collects their events.
    """

    def __init__(
        self, node: RunEvaluation, context: Context, states: PatternStates, *, negatives: bool
    ) -> None:
        elements = states.states if node.has_groups else ()
        self.elements = (*elements, *states.negatives) if elements and negatives else elements
        flat = tuple(each.component for each in self.elements)
        self.context = replace(context, components=flat) if flat else context
        # If there is an input, match windows have decided the conditions on each event of a
        # component.
        always = _conditions_in(node, self.context, states, self.elements)
        first = [
            (each.component, each.condition)
            for each in node.simple
            if each.when is When.FIRST and each.component is not None
        ]
        self.always = ScanFilter(self.context, always if node.input is None or flat else ())
        self.first = ScanFilter(self.context, first)
        self.strategy, self._window = strategy_of(node), node.window
        # A single event agrees with itself, NULL or not.
        partitions = () if is_single(context) else node.partitions
        self.key = context.dictionary.key(partitions)
        counted = node.window is not None and node.window.kind is WindowKind.PARTITION_EVENTS
        self._is_ranked = counted or node.is_ranked
        self._by_type: tuple[tuple[str, ...], Numbers] | None = None

    @property
    def width(self) -> int:
        """The number of bits for the states of an event."""
        return self.context.levels

    @property
    def rejected(self) -> Counters:
        """The number of events that each condition rejected."""
        return {**self.always.rejected, **self.first.rejected}

    def incoming(self, block: Block) -> Incoming:
        """Return the events of a block with the states in which they may be bound."""
        block = self._viewed(block) if self.elements else block
        takes = self.always.states(block) & ((1 << self.width) - 1)
        begins = self.first.narrow(block, takes)
        keys, measures = block.codes(self.key), measures_of(block, self._window)
        spots = block.ranks if self.strategy == nodes.RANKED else block.positions
        assert spots is not None
        return Incoming(block.numbers, begins, takes, keys, measures, block.ties, spots)

    def _viewed(self, block: Block) -> Block:
        """Return the block with the states of the automaton instead of the states of components."""
        names = block.events.type_names
        if self._by_type is None or self._by_type[0] != names:
            self._by_type = names, states_by_type(self.context.components, names, every=False)
        view = copy.copy(block)
        view.states = self._by_type[1][block.events.types[block.rows].astype(np.int64) + 1]
        # The block may have ranks only because another branch counts by them.
        if block.ranks is not None and self._is_ranked:
            view.states[block.ranks == NOTHING] = 0
        return view


def is_single(context: Context) -> bool:
    """Whether a match is a single event, which shares no values with another event."""
    return context.is_alone and context.components[0].is_single


def strategy_of(node: RunEvaluation) -> int:
    """Return the strategy, which decides the events that runs may ignore."""
    if node.is_alone:
        return nodes.ANY
    return nodes.WATCHED if node.is_watched else STRATEGIES[node.strategy]


def conditions_on_each(
    node: RunEvaluation, context: Context, inner: Iterable[tuple[int, Condition]] = ()
) -> Iterator[tuple[int, Condition]]:
    """The conditions on each event of a component, with `inner` ones of groups and fixed values."""
    for conjunct in node.simple:
        if conjunct.when is not When.FIRST:
            assert conjunct.component is not None
            yield conjunct.component, conjunct.condition
    yield from inner
    for test in node.equivalences:
        if test.value is not None:
            yield from context.values(test, context.components)


def _conditions_in(
    node: RunEvaluation,
    context: Context,
    states: PatternStates,
    elements: Iterable[PatternState],
) -> Iterator[tuple[int, Condition]]:
    """The conditions on each event, also on the events of an element of iterations."""
    asked = ((each, conjunct) for each in elements for conjunct in states.conjuncts(each))
    inner = (
        (each.component.index, condition)
        for each, conjunct in asked
        if (condition := condition_on_one(conjunct, each)) is not None
    )
    return conditions_on_each(node, context, inner)


def condition_on_one(conjunct: IterationConjunct, state: PatternState) -> Condition | None:
    """Return a condition on single events of an element as a condition on a component."""
    is_alone = is_of_negative if state.component.negated else is_of_one_event
    if not is_alone(conjunct, state.slot):
        return None
    index = state.component.index
    return with_values(
        conjunct.condition, lambda each: replace(each, component=index, part=Part.EVENT, inner=None)
    )


@dataclass(frozen=True)
class RunCode:
    """A compiled pattern: its states, and its conditions on one event and on several."""

    node: RunEvaluation
    context: Context
    taken: TakenMatches | None
    states: PatternStates
    admission: RunAdmission
    program: SeriesProgram
    memory: ResultMemory

    @property
    def prunes(self) -> bool:
        """Whether a walk may end at the first event outside of the window."""
        if self.node.window is None:
            return False
        return not self.program.code.tests or not self.node.counts_in_partitions

    def check_memory(self, needed: int) -> None:
        """Refuse to allocate memory for runs if too little is left."""
        self.context.check(needed)
        if is_too_much(needed):
            is_any = strategy_of(self.node) == nodes.ANY
            without_runs = (
                f"; the default plan keeps no runs, and {option('output', 'compressed')} counts"
                " matches without a list of them"
            )
            raise BudgetError(TOO_MANY + without_runs * is_any)


class RunEvaluationBase(Declared):
    """The conditions, the counters, and the time of a run evaluation.

    If matches must not overlap those that are `taken`, each taken match ends runs. Joins decide all
    conditions on several events; other evaluations compile them.
    """

    layout = dict(
        seen=Count(),
        built=Count(),
        clock=Row(Number(), Number(0, "live.positions"), into=Watermark, path="_watermark"),
        taken=Own(path=None),
    )
    _room: MatchRoom

    def __init__(
        self,
        node: RunEvaluation,
        context: Context,
        taken: TakenMatches | None = None,
        *,
        negatives: bool = False,
        joins: bool = False,
    ) -> None:
        self.node, self._context, self._window, self._taken = node, context, node.window, taken
        tests = self._rest = [] if is_single(context) else list(node.tested)
        states = self._states = states_of(context, node, len(tests))
        self._admission = RunAdmission(node, context, states, negatives=negatives)
        terms = [] if joins else list(run_terms(node, states))
        self._program = SeriesProgram(
            context, tests, terms, states.moments, of_runs=True, states=states
        )
        self._memory = ResultMemory()
        self._code = RunCode(
            node, context, taken, states, self._admission, self._program, self._memory
        )
        self._seen = self._built = 0
        self._grew = False  # whether the last flush made the room larger
        self._watermark = Watermark(EARLIEST, 0)

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """Yield nothing: time completes no match."""
        self._watermark = watermark
        return iter(())

    @property
    def _bound(self) -> int:
        """The least measure of the first event of a later match; EARLIEST when time has ended."""
        return EARLIEST if self._watermark.is_final else bound_of(self._watermark, self._window)

    @property
    def key(self) -> Key:
        """The key that partitions the runs."""
        return self._admission.key

    @property
    def tests_each(self) -> bool:
        """Whether there are conditions on each event of a component."""
        return self._admission.always.has_tests

    def narrowed(self, block: Block, states: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Narrow the levels of events, as bits, by the conditions on each event of a component."""
        return self._admission.always.narrow_bits(block, states)

    def see(self, events: int) -> None:
        """Count events that a fused path reads."""
        self._seen += events

    def flushed(self, why: int) -> Iterator[Bindings]:
        """Yield the matches of a kernel that stopped; make room for a match that did not fit."""
        found = self._room.flush(why, self._formed)
        self._grew = found is None and why == nodes.FULL
        if found is not None:
            self._built = int(self._room.sizes[2])  # also matches that were not passed on
            chunk = self._context.options.chunk
            for begin in range(0, found.size, chunk):
                is_all = found.size <= chunk
                yield found if is_all else found[:, slice(begin, begin + chunk)]

    def _formed(self, written: Written) -> Bindings:
        """Make bindings of written matches.

        The room is passed this function for each call, and does not hold it: its arrays would be
        freed late, in a circle of references.
        """
        return bindings_of(written)

    def _end_overlapping(self, end: Callable[[Numbers, Numbers], None], why: int) -> None:
        """End the runs that overlap the matches taken since the last call."""
        if self._taken is None or not self._taken.are_told:
            return
        keys, lasts, taken = self._taken.told()
        end(keys, lasts)
        # A room that grew because no match fitted must not shrink again before one is written.
        if why == nodes.FULL and not self._grew:
            self._room.fit(taken, self._context.options.chunk)

    def _counted(self, bytes_held: int) -> Counters:
        """The counters of ANALYZE."""
        if not self._context.options.analyze:
            return {}
        return {
            "rejected_events": self._admission.rejected,
            "most_bytes": bytes_held + self._room.nbytes,
            "most_stored_bytes": self._context.buffer.size,
        }

    def _encoded(self) -> dict[str, Any]:
        return {} if self._taken is None else {"taken": self._taken}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._room.sizes[2] = self._built


def states_of(context: Context, node: RunEvaluation, tests: int) -> PatternStates:
    """Return the states of a pattern, which are the same for all executions of a plan."""
    key = PatternStates, node.components, tests
    return context.cached(key, lambda: PatternStates(node.components, tests, node.automaton))


def up_to_required(components: Sequence[BoundComponent], levels: Iterable[int]) -> int:
    """As bits, the levels up to the first that must have an event: one of them is bound next."""
    found = 0
    for level in levels:
        found |= 1 << level
        if components[level].minimum > 0:
            break
    return found


def wanted(taken: TakenMatches | None) -> int:
    """Return which of overlapping matches a kernel must write."""
    if taken is None:
        return nodes.ALL
    return nodes.FIRST_TAKEN if taken.are_told else nodes.FIRST_ALONE
