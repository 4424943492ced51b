"""(PAIS) Keep a stack for each value of one equivalence attribute (4.2.1)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import EquivalenceTest
from sase.planning.nodes import (
    Operator,
    Selection,
    SequenceScan,
    Stacks,
    exchanged,
    find,
    without_empty,
)


def partition_stacks(plan: Operator) -> Operator | None:
    """The first test that every component can be partitioned on leaves the selection."""
    usable = partitionable(plan)
    return keyed(plan, (usable[:1],), usable[:1]) if usable else None


def partitionable(plan: Operator) -> tuple[EquivalenceTest, ...]:
    """The tests on which the stacks may be partitioned: every type admitted declares them.

    Otherwise two events could agree without having the value (LANGUAGE.md section 3).
    """
    scan, selection = find(plan, SequenceScan), find(plan, Selection)
    if scan is None or selection is None or scan.stacks is not Stacks.AIS or scan.partitions:
        return ()
    positive = [component.index for component in scan.components]
    return tuple(
        test for test in selection.equivalences if all(test.declared[index] for index in positive)
    )


def keyed(
    plan: Operator,
    partitions: tuple[tuple[EquivalenceTest, ...], ...],
    decided: tuple[EquivalenceTest, ...],
) -> Operator:
    """The plan with partitioned stacks, and without the tests that the partitions decide."""
    scan, selection = find(plan, SequenceScan), find(plan, Selection)
    assert scan is not None and selection is not None
    left = tuple(test for test in selection.equivalences if test not in decided)
    return without_empty(
        exchanged(
            plan,
            replace(scan, partitions=partitions),
            replace(selection, equivalences=left),
        )
    )
