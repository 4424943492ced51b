"""(PAIS) Keep a stack for each value of one equivalence attribute (4.2.1)."""

from __future__ import annotations

from dataclasses import replace
from itertools import filterfalse

from sase.base.texts import did_you_mean
from sase.binding.bound import EquivalenceTest
from sase.planning.declined import PRUNED, Declined
from sase.planning.plan.nodes import (
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    Stacks,
    Transformation,
    exchanged,
    find,
    reading,
    require,
)
from sase.planning.rewrites.contract import Outcome
from sase.planning.rewrites.infer_equivalence_tests import implied_by
from sase.planning.statistics import Statistics


def partition_stacks(
    plan: Operator, *, on: str | None = None, statistics: Statistics | None = None
) -> Outcome:
    """The most selective test, or `on` an attribute, becomes the key of the stacks."""
    usable = partitionable(plan)
    if isinstance(usable, Declined):
        return usable
    if on is not None:
        usable = tuple(test for test in usable if test.attribute == on)
        if not usable:
            names = [test.attribute for test in tests_of(plan)]
            hint = did_you_mean(on, [name for name in names if name != on])
            return Declined(f"no test on `{on}` can decide a partition{''.join(hint)}")
    test = usable[0] if statistics is None else _most_selective(plan, usable, statistics)
    return keyed(plan, ((test,),), (test,))


def tests_of(plan: Operator) -> tuple[EquivalenceTest, ...]:
    """The written tests and the inferred ones."""
    scan = reading(plan)
    return (*scan.tests, *scan.inferred) if isinstance(scan, SequenceScan) else scan.tests


def partitionable(plan: Operator) -> tuple[EquivalenceTest, ...] | Declined:
    """The tests on which stacks may be partitioned: every admitted type declares them.

    Otherwise events without the value could agree: docs/semantics.md, Equivalence tests.
    """
    scan, tests = require(plan, SequenceScan), tests_of(plan)
    if scan.stacks is not Stacks.AIS:
        return Declined("only active instance stacks are partitioned")
    if scan.partitions:
        return Declined("the stacks are partitioned already")
    if require(plan, SequenceConstruction).elements:
        return Declined("negative components bound the walk already, by the key as it is")
    if not tests:
        return Declined("there is no equivalence test that all components are under")
    usable = tuple(test for test in tests if test.is_declared_by(scan.components))
    if not usable:
        lacking = ", ".join(f"`{test.attribute}`" for test in tests)
        return Declined(f"some type of the pattern may not declare {lacking}")
    return usable


def keyed(
    plan: Operator,
    partitions: tuple[tuple[EquivalenceTest, ...], ...],
    decided: tuple[EquivalenceTest, ...],
) -> Operator:
    """The plan with partitioned stacks, without the tests that partitions decide."""
    scan, selection = require(plan, SequenceScan), find(plan, Selection)
    plan = exchanged(plan, replace(scan, partitions=partitions))
    if selection is None:
        return plan
    known = frozenset(decided)
    equivalences = tuple(test for test in selection.equivalences if test not in known)
    conditions = tuple(filterfalse(implied_by(decided), selection.conditions))
    left = replace(selection, conditions=conditions, equivalences=equivalences)
    return exchanged(plan, left)


def partition_runs(plan: Operator, *, on: str | None = None) -> Outcome:
    """Runs are stored by key: an event only meets those that agree with it."""
    runs = require(plan, RunEvaluation)
    if runs.partitions:
        return Declined("the runs are partitioned already")
    if runs.is_alone:
        return Declined("a match is a single event")
    if require(plan, Transformation).prunes:
        return PRUNED
    free = [test for test in runs.equivalences if test.value is None]
    free = [test for test in free if on in (None, test.attribute)]
    usable = tuple(test for test in free if test.is_declared_by(runs.components))
    if not usable:
        return Declined("no equivalence test is on an attribute that every type declares")
    return exchanged(plan, replace(runs, partitions=usable))


def _most_selective(
    plan: Operator, tests: tuple[EquivalenceTest, ...], statistics: Statistics
) -> EquivalenceTest:
    """The test on which events agree most rarely, of those with statistics."""
    variables = [component.variable for component in require(plan, SequenceScan).components]

    def share(test: EquivalenceTest) -> float:
        known = statistics.agreement([test.attribute], variables)
        return 1.0 if known is None else known

    return min(tests, key=share)
