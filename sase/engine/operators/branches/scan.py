"""The operators that search branches of a pattern: several that share a scan, or a single one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, ChosenColumns, Watermark
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.admission import PLACE, STATE, TIME, admit
from sase.engine.kernels.scan.stacks import TAG_AT, TAG_BITS
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.columnar import ColumnarBindings
from sase.engine.operators.bindings.unions import BranchLevels
from sase.engine.operators.contract import Context, Counters, HasBranches, OperatorState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.stopwatch import Stopwatch
from sase.planning.branches import SharedScan, missing_types
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import reading, variables_of

# Opens the operators of a scan.
Open: TypeAlias = Callable[[Context], list[OperatorState]]
MOST_TAGS = 1 << TAG_BITS


class BranchScan(HasBranches):
    """The operators of a shared scan, except those that make results.

    It finds the branch of a match by the types of its events. If the event buffer keeps no events,
    their numbers carry the types as `tags` while they are on stacks.
    """

    def __init__(
        self,
        shared: SharedScan,
        levels: list[BranchLevels],
        whole: Context,
        open_branch: Open,
    ) -> None:
        self._shared, self._levels, self._buffer = shared, levels, whole.buffer
        self.plan = plan = EnginePlan(
            shared.plan, whole.schema, options=whole.options, aggregates=whole.aggregates
        )
        cache = whole.cache.setdefault(("branch", shared.branches), {})
        names = variables_of(shared.plan)
        names |= {some[0].index: some[0].variable for some in shared.choices}
        context = replace(
            whole,
            components=plan.positives,
            negatives=plan.negatives,
            cache=cache,
            names=names,
        )
        *self.states, self.top = open_branch(context)
        self._view = _ScanView(plan)
        self._tells = _BranchTable.of(shared, levels, whole) if shared.levels else None
        self._stopwatch: Stopwatch | None = None
        self.parts = range(0)
        # Whether no later event can complete a match of its branches.
        self._is_left_out = False

    @property
    def branches(self) -> tuple[int, ...]:
        """The numbers of the branches."""
        return self._shared.branches

    @property
    def stacks(self) -> ActiveStacks | None:
        """The active instance stacks, if there are such: tags and fused scans need these."""
        scan = self.states[0]
        stacks = scan.stacks if isinstance(scan, SequenceScanState) else None
        return stacks if isinstance(stacks, ActiveStacks) and type(stacks) is ActiveStacks else None

    @property
    def can_tag(self) -> bool:
        """Whether there is room for tags, and stacks need no other facts of their events."""
        return (
            self.stacks is not None
            and len(self.plan.positives) + len(self.plan.negatives) <= TAG_AT
        )

    def tag(self) -> None:
        """Store the types of events as tags in their numbers, from the first event on."""
        assert self.stacks is not None
        if self._tells is not None:
            self.stacks.tagged = TAG_BITS
            self._view.types = self._shared.types

    @property
    def tells_branches(self) -> bool:
        """Whether it finds matches of several branches."""
        return self._tells is not None

    def states_of(self, names: tuple[str, ...]) -> Numbers:
        """The components that admit each type, as bits by code plus one; above them its tag."""
        return self._view.tagged_states(names)

    def leave_out(self, types: Collection[str]) -> None:
        """Stop the search if all later events are of these types, and a needed type is missing."""
        self._is_left_out = bool(missing_types(reading(self.plan.operators).components, types))

    def found(
        self, block: Block | None, types: NDArray[np.int16], watermark: Watermark
    ) -> Iterator[Bindings]:
        """The matches of a block, and those that time completes, in order.

        `types` are the codes of the input for the events of the block.
        """
        if self._is_left_out:
            return
        if block is not None:
            yield from self._through("push", self._view.of(block, types))
        yield from self._through("advance", watermark)

    def _through(self, step: str, argument: Any) -> Iterator[Bindings]:
        below: Iterator[Any] = iter(())
        for place, state in enumerate(self.states):
            taking = getattr(state, step)
            if self._stopwatch is None:
                below = taking(argument, below)
            else:
                below = self._stopwatch.timed(self.parts[place], taking, argument, below)
        for found in below:
            if found.size:
                yield self.united(found)

    def united(self, bindings: Any) -> Bindings:
        """Matches of the operators, by the variables of the whole pattern."""
        if self._tells is None:
            return self._levels[self.branches[0]].united(bindings)
        if self._view.types:
            return self._tells.by_tags(bindings)
        return self._tells.by_types(bindings, self._buffer.types[bindings & self._buffer.mask])

    def counted(self) -> Iterator[Counters]:
        """The counters of each operator."""
        return (state.counters() for state in self.states)

    def time_by(self, stopwatch: Stopwatch) -> None:
        """Measure the time of the operators."""
        self._stopwatch, self.parts = stopwatch, stopwatch.more(len(self.states))


@dataclass(frozen=True, eq=False)
class _BranchTable:
    """Finds the branch of matches by the types of their events.

    `variables` is by branch and level. `codes` and `tags` have a table for each level with a
    choice, by the code or the tag of a type. The sum of the table entries is the place in
    `branches`; with one level the entry is the branch itself.
    """

    branches: NDArray[np.int16]
    variables: Numbers
    count: int
    codes: dict[int, NDArray[np.int16]]
    tags: dict[int, NDArray[np.int16]]

    @classmethod
    def of(cls, shared: SharedScan, levels: list[BranchLevels], context: Context) -> _BranchTable:
        """The table of a shared scan."""
        variables = np.full((len(levels), len(shared.choices)), NOTHING)
        for number in shared.branches:
            variables[number] = levels[number].slots
        known = context.dictionary.type_dictionary.codes
        codes, tags = dict[int, NDArray[np.int16]](), dict[int, NDArray[np.int16]]()
        behind = 1
        for level in reversed(shared.levels):
            codes[level] = np.zeros(len(known) + 2, np.int16)
            tags[level] = np.zeros(MOST_TAGS, np.int16)
            for place, component in enumerate(shared.choices[level]):
                for name in component.types or ():
                    codes[level][known[name]] = behind * place
                    tags[level][shared.types.index(name)] = behind * place
            behind *= len(shared.choices[level])
        branches = np.array(shared.branches, np.int16)
        if len(codes) == 1:  # the entries are the branches themselves
            codes, tags = ({k: branches[v] for k, v in each.items()} for each in (codes, tags))
        return cls(branches, variables, levels[0].count, codes, tags)

    def by_types(self, rows: Numbers, types: NDArray[np.int16]) -> Bindings:
        """Sequences with the types of their events."""
        added = [adds.take(types[level], mode="wrap") for level, adds in self.codes.items()]
        return self._sequences(rows, added)

    def by_tags(self, rows: Numbers) -> Bindings:
        """Sequences of numbers with tags."""
        added = [adds.take(rows[level] & (MOST_TAGS - 1)) for level, adds in self.tags.items()]
        rows >>= TAG_BITS  # in place: construction has passed the array on, and does not hold it
        return self._sequences(rows, added)

    def _sequences(self, rows: Numbers, added: list[NDArray[np.int16]]) -> Bindings:
        branches = added[0] if len(added) == 1 else self.branches[sum(added)]
        one_each = [None] * len(rows)
        return ColumnarBindings([*rows], one_each, self.variables, self.count, branches=branches)


@dataclass
class _ScanView:
    """The view of a scan on blocks: the events that a component of it admits.

    With `types` the numbers of events are tagged with the place of their type among these.
    """

    plan: EnginePlan
    types: tuple[str, ...] = ()
    _states: tuple[tuple[str, ...], Numbers, Numbers] | None = field(default=None)

    def of(self, block: Block, types: NDArray[np.int16]) -> Block:
        """The events of a block that the scan admits, with its own components as states."""
        by_type, tags = self._by_type(block.events.type_names)
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
        if self.types:
            numbers = (numbers << TAG_BITS) | tags[types[chosen] + 1]
        columns = ChosenColumns(block, chosen)
        ts = room[TIME, :count]
        return Block(block.range, places, states, ts, positions, numbers, columns, ranks)

    def tagged_states(self, names: tuple[str, ...]) -> Numbers:
        """States by the code of a type plus one, with tags above them."""
        states, tags = self._by_type(names)
        return frozen(states | tags << TAG_AT)

    def _by_type(self, names: tuple[str, ...]) -> tuple[Numbers, Numbers]:
        if self._states is None or self._states[0] != names:
            components = (*self.plan.positives, *self.plan.negatives)
            by_type = states_by_type(components, names, every=self.plan.watches_all)
            known = {name: place for place, name in enumerate(self.types)}
            tags = np.array([0, *(known.get(name, 0) for name in names)], np.int64)
            self._states = names, frozen(by_type), tags
        return self._states[1:]
