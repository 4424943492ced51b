"""What rewrites of scans and stacks amount to where runs are evaluated instead (level 2)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import ConjunctClass, EquivalenceTest
from sase.planning.nodes import Operator, RunEvaluation, Transformation, exchanged, require
from sase.planning.rewrites.contract import Declined, Outcome
from sase.planning.traversal import attributes_read


def partition_runs(plan: Operator, *, on: str | None = None) -> Outcome:
    """Runs are kept by key: an event only comes to those that agree with it."""
    runs = require(plan, RunEvaluation)
    if runs.partitions:
        return Declined("the runs are partitioned already")
    if runs.is_alone:
        return Declined("a match is a single event")
    usable = _usable(runs)
    if on is not None:
        usable = tuple(test for test in usable if test.attribute == on)
    if not usable:
        return Declined("no equivalence test is on an attribute that every type declares")
    return exchanged(plan, replace(runs, partitions=usable))


def _usable(runs: RunEvaluation) -> tuple[EquivalenceTest, ...]:
    indexes = [component.index for component in runs.components]
    return tuple(
        test
        for test in runs.equivalences
        if test.value is None and all(test.declared[index] for index in indexes)
    )


def push_simple_conditions_to_runs(plan: Operator) -> Outcome:
    """What is on one event alone is decided once for it, and not once for each run."""
    runs = require(plan, RunEvaluation)
    simple = tuple(
        edge.conjunct
        for edge in runs.conditions
        if edge.conjunct.kind is ConjunctClass.SINGLE and edge.conjunct not in runs.simple
    )
    if not simple:
        return Declined("no condition is on one event alone")
    left = tuple(edge for edge in runs.conditions if edge.conjunct not in simple)
    return exchanged(plan, replace(runs, conditions=left, simple=runs.simple + simple))


def prune_columns_of_runs(plan: Operator) -> Outcome:
    """Time, type and `seq` are always read."""
    runs = require(plan, RunEvaluation)
    if runs.columns is not None:
        return Declined("they are pruned already")
    if require(plan, Transformation).columns is None:
        return Declined("the results show every attribute: there is no RETURN")
    return exchanged(plan, replace(runs, columns=attributes_read(plan)))
