"""Evaluate a sample as the engine does: which rows can be events of which components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import (
    BoundComponent,
    BoundWindow,
    Condition,
    Conjunct,
    ConjunctClass,
    EquivalenceTest,
    Part,
    When,
    WindowKind,
)
from sase.cached_property import cached_property
from sase.engine.blocks.builder import BlockBuilder
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.blocks.event_buffer import EventBuffer
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.operators.conditions import ScanFilter
from sase.engine.operators.contract import Context, span_of
from sase.engine.statistics.chains import Chains, RowGroups, SampleRows
from sase.engine.statistics.sampling import TIMES, Sample
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.negatives import NegativeSequence
from sase.planning.plan.nodes import chain
from sase.planning.split import negations_of, window_of

Tests = tuple[EquivalenceTest, ...]


def conjuncts(plan: EnginePlan) -> tuple[Conjunct, ...]:
    """Collect the conditions of the query from all operators."""
    if plan.runs is not None:
        edges = (edge.conjunct for edge in plan.runs.conditions)
        positive = [*plan.runs.simple, *plan.runs.early, *edges]
    else:
        operators = chain(plan.operators)
        positive = [c for each in operators for c in getattr(each, "conditions", ())]
    negative = (
        each.alone if isinstance(each, NegativeSequence) else each.conditions
        for each in negations_of(plan.operators)
    )
    return (*positive, *(conjunct for conditions in negative for conjunct in conditions))


class Population:
    """The rows with a type of the query, and which of them pass each component's conditions."""

    def __init__(self, plan: EnginePlan, sample: Sample, tests: Tests) -> None:
        self.plan, self.sample = plan, sample
        self.negations, self.conjuncts = negations_of(plan.operators), conjuncts(plan)
        components = (*plan.positives, *plan.negatives)
        self.coding = PlanDictionary(TypeDictionary(plan.schema, components))
        store = EventBuffer(1 << len(sample.events).bit_length())
        self.context = Context(
            plan.schema, plan.options, plan.positives, plan.negatives, self.coding, store
        )
        builder = BlockBuilder(components, len(plan.positives), self.coding, (), dense=True)
        (self.block,) = builder.blocks(sample.events, len(sample.events))
        self._simple = tuple(self._alone(tests))
        passing = ScanFilter(self.context, self._simple).states(self.block)
        self._admitted, self._standing = (
            {c: (states >> self.context.bit_of(c.index)) & 1 != 0 for c in components}
            for states in (self.block.states, passing)
        )
        self._first = dict(self._of_first_events(passing))
        self._rows = {False: self._some(is_local=False), True: self._some(is_local=True)}
        places = self.block.places
        is_time = self.window is not None and self.window.kind is WindowKind.TIME
        self._measures = (sample.events.ts if is_time else sample.positions)[places]
        self._undeclared: dict[Tests, Mask] = {}
        self._groups: dict[tuple[Tests, bool], RowGroups] = {}

    @cached_property
    def window(self) -> BoundWindow | None:
        """The window."""
        return window_of(self.plan.operators)

    @cached_property
    def components(self) -> tuple[BoundComponent, ...]:
        """All components in pattern order."""
        every = (*self.plan.positives, *self.plan.negatives)
        return tuple(sorted(every, key=lambda component: component.index))

    def _alone(self, tests: Tests) -> Iterator[tuple[int, Condition]]:
        """Yield the conditions on one component, and fixed values of tests, with its index."""
        for conjunct in self.conjuncts:
            # Not conditions on several events of a series, nor on its first one.
            is_several = conjunct.kind is ConjunctClass.SEVERAL or conjunct.when is When.FIRST
            if len(set(conjunct.references)) == 1 and not is_several:
                yield conjunct.references[0], conjunct.condition
        for test in tests:
            if test.value is not None:
                yield from self.context.values(test, self.components)

    def _of_first_events(self, passing: Numbers) -> Iterator[tuple[Conjunct, Mask]]:
        """Evaluate the conditions on the first event of a series for all its events."""
        for conjunct in self.conjuncts:
            if conjunct.kind is ConjunctClass.SINGLE and conjunct.when is When.FIRST:
                index = conjunct.references[0]
                own = ScanFilter(self.context, [(index, conjunct.condition)])
                states = own.narrow(self.block, passing)
                yield conjunct, (states >> self.context.bit_of(index)) & 1 != 0

    # ------------------------------------------------------------ admission

    def admission(self, component: BoundComponent) -> float | None:
        """The share of scattered rows of a component's types that pass its conditions."""
        is_sure = all(index != component.index for index, _ in self._simple)
        return self._share(self._standing[component], self._admitted[component], is_sure)

    def beginning(self) -> Iterator[tuple[Conjunct, float]]:
        """Yield the conditions on the first event of a series, with their shares."""
        for conjunct, passing in self._first.items():
            component = self.context.component(conjunct.references[0])
            share = self._share(passing, self._standing[component], is_sure=False)
            if share is not None:
                yield conjunct, share

    def _share(self, passing: Mask, among: Mask, is_sure: bool) -> float | None:
        """The share of scattered rows among some that pass."""
        seen = int(np.count_nonzero(among[self.scattered]))
        passed = int(np.count_nonzero(passing[self.scattered]))
        if not seen:
            return None
        if self.sample.is_all or is_sure:
            return passed / seen
        # Half a row is added to both outcomes: a sample never gives 0 or 1.
        return (passed + 0.5) / (seen + 1)

    def standing(self, component: BoundComponent, part: Part) -> Mask:
        """Mark the rows that can be an event of a component, or a part of its series."""
        found: Mask = self._standing[component]
        for conjunct, passing in self._first.items() if part is Part.FIRST else ():
            if conjunct.references[0] == component.index:
                found = found & passing
        return found

    @property
    def scattered(self) -> Numbers:
        """The scattered rows."""
        return self._rows[False].numbers

    def occurs(self, component: BoundComponent) -> bool:
        """Whether any scattered row can be an event of a component."""
        return bool(self._standing[component][self.scattered].any())

    def lacks(self, component: BoundComponent, tests: Tests) -> Mask:
        """Mark the possible events of a component with a type that lacks an attribute of tests."""
        lacking: Mask = self._lacking(tests)[self._standing[component]]
        return lacking

    def _lacking(self, tests: Tests) -> Mask:
        if tests not in self._undeclared:
            found = np.zeros(len(self.block), np.bool_)
            for test in tests:
                found |= self.codes((test,)) == UNDECLARED
            self._undeclared[tests] = found
        return self._undeclared[tests]

    def pooled(self, components: Sequence[BoundComponent], tests: Tests) -> Numbers:
        """The codes of all scattered rows that can be an event of any of these components."""
        rows = self.scattered
        stands = np.any([self._standing[each][rows] for each in components], axis=0)
        codes = self.codes(tests)[rows[stands]]
        return codes[codes >= 0]

    # ------------------------------------------------------------ codes and chains

    def codes(self, tests: Tests) -> Numbers:
        """The codes of the rows under all tests together."""
        return self.block.codes(self.coding.key(tests))

    @property
    def has_slices(self) -> bool:
        """Whether slices were drawn, which needs a window."""
        return len(self.sample.sizes) > 1

    @property
    def slices(self) -> int:
        """The number of slices, including the scattered rows as one."""
        return len(self.sample.sizes)

    def within_window(self, rows: Numbers) -> NDArray[np.float64]:
        """Weights of drawn chains, so that they represent all chains within a window.

        A chain longer than the window has weight 0. Short chains are drawn more often, since more
        of their places lie within a slice.
        """
        span = span_of(self.window)
        extents = self._measures[rows[-1]] - self._measures[rows[0]]
        return np.where(extents <= span, (span + 1.0) / (TIMES * span + 1.0 - extents), 0.0)

    def chains(
        self, components: Sequence[BoundComponent], tests: Tests, *, is_local: bool
    ) -> Chains:
        """Count chains of agreeing components, in slices or among scattered rows."""
        standing = [self._standing[each] for each in components]
        return Chains(self.groups(tests, is_local=is_local), standing)

    def all_chains(
        self, components: Sequence[BoundComponent], tests: Tests, *, is_local: bool
    ) -> Chains:
        """Count chains of components with types that declare the attributes of the tests."""
        rows = self._rows[is_local]
        declares = ~self._lacking(tests)[rows.numbers]
        if declares.all():
            return self.chains(components, (), is_local=is_local)
        rows = rows.among(declares)
        return Chains(RowGroups(rows, rows.slices), [self._standing[each] for each in components])

    def groups(self, tests: Tests, *, is_local: bool) -> RowGroups:
        """Group the rows of slices, or the scattered ones, by the keys of tests."""
        key = (tests, is_local)
        if key not in self._groups:
            self._groups[key] = self._grouped(tests, self._rows[is_local])
        return self._groups[key]

    def _grouped(self, tests: Tests, rows: SampleRows) -> RowGroups:
        if not tests:
            return RowGroups(rows, rows.slices)
        codes = self.codes(tests)[rows.numbers]
        rows, codes = rows.among(codes >= 0), codes[codes >= 0]
        return RowGroups(rows, rows.slices * (int(codes.max(initial=0)) + 1) + codes)

    def _some(self, *, is_local: bool) -> SampleRows:
        slices = self.sample.slices[self.block.places]
        numbers = np.flatnonzero((slices > 0) == is_local)
        slices, shares, weights = slices[numbers], self.sample.shares, self.sample.weights
        ties = self.sample.ties[self.block.places[numbers]]
        return SampleRows(numbers, slices, ties, shares[slices], weights[slices])
