"""Estimate the events, choices and sequences that a plan processes, from statistics.

Sequences of m components within a window T of a span D: events are anywhere in the span, so the
number of ordered tuples is the product of the rates times a volume,

    n1 · … · nm / D^m · (D · T^(m−1) / (m−1)! − (m−1) · T^m / m!)

which is the paper's formula (SASE 2006, section 5) if T is much less than D. It is multiplied by
the measured share of tuples that agree on the equivalence attributes, and by the selectivities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, factorial, prod

from sase.binding.bound import BoundComponent, BoundWindow, Conjunct, EquivalenceTest, WindowKind
from sase.binding.values.text import condition_text
from sase.cached_property import cached_property
from sase.planning.cost.selectivity import (
    absence,
    assumed,
    clear_since,
    conjunction,
    preceded,
    ratio,
    selectivity,
    shape_of,
)
from sase.planning.cost_values import BLOCK
from sase.planning.plan import negatives, nodes
from sase.planning.plan.basic import decided_at
from sase.planning.split import negations_of, window_of
from sase.planning.statistics import Statistics

# A component is rare if it has at most one in this many events.
FEW_ARE = 64
# The search for events near rare ones distinguishes this many keys.
KEYS_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class Cardinalities:
    """Cardinalities of a plan of sequences, over events with known statistics."""

    plan: nodes.Operator
    statistics: Statistics

    @cached_property
    def scan(self) -> nodes.SequenceScan:
        """The scan."""
        return nodes.require(self.plan, nodes.SequenceScan)

    @cached_property
    def construction(self) -> nodes.SequenceConstruction:
        """The construction."""
        return nodes.require(self.plan, nodes.SequenceConstruction)

    @cached_property
    def names(self) -> dict[int, str]:
        """The variables of components by their index."""
        return nodes.variables_of(self.plan)

    # ------------------------------------------------------------ events

    def admission(self, component: BoundComponent, conditions: Sequence[Conjunct]) -> float:
        """The share of the events of its types that passes the conditions on a component alone."""
        known = self.statistics.admission(component.variable)
        return prod(assumed(c.condition) for c in conditions) if known is None else known

    @cached_property
    def arrivals(self) -> tuple[float, ...]:
        """The events of each positive component that pass the scan."""
        if self.scan.nothing is not None:
            return tuple(0.0 for _ in self.scan.components)
        return tuple(
            self.statistics.rows_of(component.types)
            * (1.0 if self._late(component) else self.own(component))
            for component in self.scan.components
        )

    def own(self, component: BoundComponent) -> float:
        """The selectivity of the conditions on a single positive component, in any operator."""
        places = (*self.scan.conditions, *self._selected)
        own = [c for c in places if c.references == (component.index,) and not c.derived]
        return self.admission(component, own)

    def _late(self, component: BoundComponent) -> bool:
        """Whether conditions on a single component are decided after construction."""
        return any(c.references == (component.index,) for c in self._selected)

    @cached_property
    def _selected(self) -> tuple[Conjunct, ...]:
        """The conditions that the selection decides."""
        selection = nodes.find(self.plan, nodes.Selection)
        return () if selection is None else selection.conditions

    @cached_property
    def admitted(self) -> float:
        """The number of admitted events of all components, including negative ones."""
        negatives = (each for n in negations_of(self.plan) for each in n.components)
        types = [component.types for component in (*self.scan.components, *negatives)]
        if None in types:
            return float(self.statistics.rows)
        return self.statistics.rows_of({name for names in types for name in names or ()})

    # ------------------------------------------------------------ windows

    @cached_property
    def span(self) -> float:
        """The length of the stream, in the measure of the window."""
        window = window_of(self.plan)
        in_time = window is None or window.kind is WindowKind.TIME
        known = self.statistics.span if in_time else self.statistics.rows
        return float(max(known or self.statistics.rows, 1))

    def reach(self, window: BoundWindow | None) -> float:
        """The length of a window; without one, of the stream."""
        if window is None or window.size is None:
            return self.span
        size = float(window.size)
        if window.kind is WindowKind.PARTITION_EVENTS:
            size /= max(self.agreement(self.scan.tests, self.scan.components[:2]), 1e-12)
        return min(size, self.span)

    @cached_property
    def walked(self) -> float:
        """The length of the walk back: the window, and expired events that stacks still hold."""
        reach = self.reach(self.construction.window or self.scan.window)
        if self.construction.window is None:
            reach += BLOCK / 2 / max(self.statistics.rows, 1) * self.span
        return min(reach, self.span)

    def tuples(self, level: int, reach: float, last: int | None = None) -> float:
        """Ordered tuples of events from a level to the last (or another) one, within a window."""
        counts = self.arrivals[level:] if last is None else self.arrivals[level : last + 1]
        m, span = len(counts), self.span
        share = reach / span
        volume = share ** (m - 1) / factorial(m - 1) - (m - 1) * share**m / factorial(m)
        return prod(counts) * volume

    # ------------------------------------------------------------ agreement

    def agreement(
        self, tests: Sequence[EquivalenceTest], components: Sequence[BoundComponent]
    ) -> float:
        """How likely events of components agree on tests."""
        free = [test for test in tests if test.value is None]
        if not free or len(components) < 2:
            return 1.0
        variables = frozenset(component.variable for component in components)
        known = self._agreements.get((frozenset(test.attribute for test in free), variables))
        if known is not None:
            return known
        if len(free) > 1:
            return prod(self.agreement([test], components) for test in free)
        return self._pair(free[0], components) ** (len(components) - 1)

    @cached_property
    def _agreements(self) -> dict[tuple[frozenset[str], frozenset[str]], float]:
        """The measured agreements, by attributes and variables."""
        known = self.statistics.agreements
        return {(frozenset(a.attributes), frozenset(a.variables)): a.share for a in known}

    def _pair(self, test: EquivalenceTest, components: Sequence[BoundComponent]) -> float:
        """How likely two events agree on a test, from the statistics of the attribute."""
        types = (n for c in components for n in c.types or ())
        return self.statistics.pair_agreement(test.attribute, types)

    @cached_property
    def key(self) -> tuple[EquivalenceTest, ...]:
        """The key of the stacks in which construction walks."""
        return self.scan.partitions[0] if self.scan.partitions else ()

    def passing(self, conditions: Sequence[Conjunct]) -> float:
        """The selectivity of conditions on several events."""
        several = [c for c in conditions if len(c.references) > 1]
        single = prod(selectivity(c, self.names, self.statistics) for c in several)
        if len(several) < 2 or self._all_pass is None:
            return single
        is_all = len(several) == len(self._on_several)
        return self._all_pass if is_all else max(single, self._all_pass)

    @cached_property
    def _on_several(self) -> list[Conjunct]:
        """The conditions on several positive components."""
        every = (*self.construction.conditions, *self._selected)
        return [c for c in every if len(c.references) > 1]

    @cached_property
    def _all_pass(self) -> float | None:
        """The measured share that passes all of them."""
        for whole in conjunction(self._on_several, self.names):
            return self.statistics.selectivity(condition_text(whole.condition, self.names))
        return None

    # ------------------------------------------------------------ construction

    @cached_property
    def pushed(self) -> tuple[float, ...]:
        """The instances of each level: the events that end a sequence of all earlier levels."""
        levels = range(len(self.arrivals))
        return tuple(self.arrivals[level] * self._led_up_to(level) for level in levels)

    def _led_up_to(self, level: int, behind: int = 0) -> float:
        """How likely an event of a level ends a sequence of all levels before it.

        The sequence is in the window of the last of `behind` later events.
        """
        if self.scan.stacks is nodes.Stacks.NFA:
            return 1.0
        shape = self._shape(self.key, 1)
        return preceded(self._rates[:level], shape, behind) * self._clear[level]

    @cached_property
    def _rates(self) -> tuple[float, ...]:
        """The number of events of each level but the last in the window of an event of the next."""
        components, share = self.scan.components, self.walked / self.span
        return tuple(
            count * share * self.agreement(self.key, components[level : level + 2])
            for level, count in enumerate(self.arrivals[:-1])
        )

    @cached_property
    def _clear(self) -> tuple[float, ...]:
        """How likely negative components leave an event possible before an event of each level."""
        found = [1.0]
        for level, rate in enumerate(self._rates):
            # An event after the last one that forbids it, within the window.
            between = [n for n in self._bounding if n.after == level]
            absent = sum(self.in_window(n, 1) * self.passing(n.conditions) for n in between)
            found.append(found[-1] * clear_since(rate, absent))
        return tuple(found)

    def _shape(self, tests: Sequence[EquivalenceTest], events: int) -> float:
        """The shape of the distribution of keys on which this number of events agrees."""
        return shape_of(prod(map(self._unevenness, tests)), events)

    def _unevenness(self, test: EquivalenceTest) -> float:
        if test.value is not None:
            return 1.0
        types = (name for each in self.scan.components for name in each.types or ())
        return self.statistics.unevenness(test.attribute, types)

    @cached_property
    def visited(self) -> tuple[float, ...]:
        """The instances of each level that the walk visits."""
        last = len(self.arrivals) - 1
        found = [self.pushed[last]]
        for level in range(last - 1, -1, -1):
            behind, here = self.scan.components[level + 1 :], self.scan.components[level:]
            agreed = self.agreement(self.decided, behind)
            step = ratio(self.agreement(self.key, here), self.agreement(self.key, behind))
            passed = self.passing(self._decided_behind(level))
            count = self.tuples(level, self.walked) * agreed * step * passed
            above = (n for n in self._bounding if (n.after or 0) >= level)
            count *= self._left_by(above, last - level + 1)
            count *= self._led_up_to(level, last - level)
            if self.scan.stacks is nodes.Stacks.NFA:
                # The walk visits every cell, and every event of the stream made one.
                count *= ratio(self.statistics.rows, self.arrivals[level])
            found.append(count)
        return tuple(reversed(found))

    @cached_property
    def decided(self) -> tuple[EquivalenceTest, ...]:
        """The tests that are decided when a sequence is built."""
        return (*self.key, *self.construction.equivalences)

    @cached_property
    def built(self) -> float:
        """The sequences that construction yields."""
        count = self.tuples(0, self.walked)
        count *= self.agreement(self.decided, self.scan.components)
        count *= self.passing(self.construction.conditions)
        count *= self._left_by(self.construction.negations)
        limit = self.construction.limit
        return count if limit is None else min(count, float(limit))

    # ------------------------------------------------------------ joins of a tree

    @cached_property
    def rarest(self) -> int | None:
        """The level with the fewest events, if they are so rare that joins start from them."""
        window = window_of(self.plan)
        is_ranked = window is not None and window.kind is WindowKind.PARTITION_EVENTS
        negation = nodes.find(self.plan, nodes.Negation)
        sequences = self.construction.sequences + (negation.sequences if negation else ())
        if is_ranked or self.scan.input is not None or sequences:
            return None
        rows = [self.statistics.rows_of(each.types) for each in self.scan.components]
        is_rare = min(rows) * FEW_ARE <= self.statistics.rows
        return rows.index(min(rows)) if is_rare else None

    @cached_property
    def near(self) -> float:
        """The share of events near one of the rarest component: in its window, with equal key."""
        if self.rarest is None:
            return 1.0
        agreed = self.agreement(self.key[:1], self.scan.components[:2])
        return 1 - exp(-self._surrounding * min(agreed + 1 / KEYS_AT_ONCE, 1.0))

    @cached_property
    def covered(self) -> float:
        """The share of events in a window around one of the rarest component, of any key."""
        return 1 - exp(-self._surrounding)

    @cached_property
    def _surrounding(self) -> float:
        """The events of the rarest component in the windows before and after an event."""
        assert self.rarest is not None
        rare = self.scan.components[self.rarest]
        sides = (self.rarest > 0) + (self.rarest < len(self.scan.components) - 1)
        return self.statistics.rows_of(rare.types) * self.walked / self.span * sides

    def nearness(self, low: int, high: int | None = None) -> float:
        """The share of records of some levels that are near an event of the rarest component."""
        is_rare = self.rarest is not None and low <= self.rarest <= (low if high is None else high)
        return 1.0 if is_rare else self.near

    @cached_property
    def begun(self) -> float:
        """The share of pairs of the last join that no negative component before the start forbids.

        The join knows this of a pair before it tests the pair's events.
        """
        return self._left_by(n for n in self.construction.negations if n.after is None)

    @property
    def spares_tests(self) -> bool:
        """Whether a negative component before the start leaves fewer pairs to test."""
        several = any(len(c.references) > 1 for c in self.construction.conditions)
        return several and self.begun < 1

    def records(self, low: int, high: int) -> float:
        """The sequences of some levels that joins make; for one level its events."""
        count = self.tuples(low, self.walked, high)
        if low < high:
            count *= self.agreement(self.decided, self.scan.components[low : high + 1])
            count *= self.passing(self._decided_within(low, high))
            inner = [n for n in self._bounding if low <= (n.after or 0) < high]
            count *= self._left_by(inner, high - low + 1)
        return count

    def pairs(self, low: int, split: int, high: int) -> float:
        """The pairs that the join of two ranges of levels examines."""
        count = self.tuples(low, self.walked, high)
        count *= self.agreement(self.key, self.scan.components[low : high + 1])
        for first, last in ((low, split), (split + 1, high)):
            count *= self.passing(self._decided_within(first, last))
            inner = [n for n in self._bounding if first <= (n.after or 0) < last]
            count *= self._left_by(inner, last - first + 1)
        return count

    def _decided_within(self, low: int, high: int) -> list[Conjunct]:
        """The conditions of construction on events of some levels."""
        known = {each.index for each in self.scan.components[low : high + 1]}
        return [c for c in self.construction.conditions if known >= set(c.references)]

    def _decided_behind(self, level: int) -> list[Conjunct]:
        """The conditions of construction that are decided before an event of a level is chosen."""
        components = self.scan.components
        return [c for c in self.construction.conditions if decided_at(components, c) > level]

    # ------------------------------------------------------------ negation

    def forbidding(self, negative: negatives.NegativeComponent) -> float:
        """The events of a negative component that pass the conditions on it alone."""
        alone = [c for c in negative.conditions if len(c.references) == 1]
        rows = self.statistics.rows_of(negative.component.types)
        return rows * self.admission(negative.component, alone)

    @property
    def _bounding(self) -> list[negatives.NegativeComponent]:
        """The negative components that narrow the walk between two levels."""
        return [each for each in self.construction.negations if each.after is not None]

    def _left_by(
        self, negations: Iterable[negatives.NegativeComponent], components: int | None = None
    ) -> float:
        """The share of choices that several negative components leave."""
        return prod(self.survival(negative, components) for negative in negations)

    def survival(
        self, negative: negatives.NegativeComponent, components: int | None = None
    ) -> float:
        """The share of sequences that no event of a negative component forbids."""
        count = components or len(self.scan.components)
        passing = self.passing(negative.conditions)
        expected = self.in_window(negative, count) * passing
        shape = self._shape(negative.equivalences, count)
        return absence(expected, count, shape, varies=passing not in (0, 1))

    def in_window(self, negative: negatives.NegativeComponent, components: int) -> float:
        """The events of a window that agree with the last `components`, before conditions."""
        reach = self.reach(window_of(self.plan)) / self.span
        return self.forbidding(negative) * reach * self._agreeing(negative, components)

    def _agreeing(self, negative: negatives.NegativeComponent, components: int) -> float:
        """How likely an event agrees with the last `components` positive ones, which agree.

        Many sequences have frequent values, of which more events forbid, too.
        """
        tests, own, positives = negative.equivalences, negative.component, self.scan.components
        nearest = negative.around(positives)
        if min(components, len(nearest)) < 2:
            return self.agreement(tests, (positives[negative.after or 0], own))
        found = ratio(self.agreement(tests, (*nearest, own)), self.agreement(tests, nearest))
        if components > 2:
            two, three, others, every = (
                self.agreement(tests, positives[-count:])
                for count in (2, 3, components - 1, components)
            )
            found *= max(ratio(every * two, others * three), 1.0)
        return found
