"""Reasons for the form of an operator, from statistics of keys and conditions."""

from __future__ import annotations

from collections.abc import Iterator

from sase.binding.bound import EquivalenceTest
from sase.binding.text import condition_text
from sase.planning.explain.operators import OperatorText
from sase.planning.nodes import (
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
)
from sase.planning.quantities import counted, percentage
from sase.planning.statistics import Statistics
from sase.planning.window_cost import handed_on


def reasons(
    operator: Operator, words: OperatorText, statistics: Statistics | None
) -> Iterator[str]:
    """Sentences, most important first."""
    if statistics is None:
        return
    if isinstance(operator, SequenceScan | RunEvaluation) and operator.input is not None:
        near = percentage(handed_on(operator, operator.input, statistics))
        yield f"match windows hand on about {near} of the events of its types"
    match operator:
        case SequenceScan():
            yield from _of_scan(operator, words, statistics)
        case SequenceConstruction() | Selection():
            if isinstance(operator, SequenceConstruction) and operator.joins:
                yield from _of_tree(operator, statistics)
            for conjunct in operator.conditions:
                if len(conjunct.references) > 1:
                    text = condition_text(conjunct.condition, words.names)
                    share = statistics.selectivity(text)
                    if share is not None:
                        yield f"{text} lets {percentage(share)} pass"


def _of_tree(construction: SequenceConstruction, statistics: Statistics) -> Iterator[str]:
    """The component from which joins begin."""
    components = construction.input.components
    rows = [statistics.rows_of(each.types) for each in components]
    rarest = components[rows.index(min(rows))].variable
    yield f"the rarest is {rarest}, {percentage(min(rows) / max(statistics.rows, 1))} of all events"


def _of_scan(scan: SequenceScan, words: OperatorText, statistics: Statistics) -> Iterator[str]:
    for component in scan.components:
        share = statistics.admission(component.variable)
        if (
            share is not None
            and share < 1
            and any(c.references == (component.index,) for c in scan.conditions)
        ):
            yield f"{percentage(share)} of the events of {component.variable} pass"
    keys = [test for key in scan.partitions for test in key]
    if keys and len(scan.components) > 1:
        first, last = scan.components[0].variable, scan.components[-1].variable
        share = statistics.agreement([t.attribute for t in scan.partitions[0]], (first, last))
        removes = "" if share is None else f", removes {percentage(1 - share)} of candidate pairs"
        values = "; ".join(_values(test, words, statistics) for test in keys)
        yield f"partitioned on {values}{removes}"
    others = [test for test in scan.tests if test not in keys and test.value is None]
    if others:
        yield f"not on {'; '.join(_values(test, words, statistics) for test in others)}"


def _values(test: EquivalenceTest, words: OperatorText, statistics: Statistics) -> str:
    """An attribute with its number of values."""
    types = (name for component in words.levels for name in component.types or ())
    attributes = statistics.attributes(test.attribute, types)
    known = [each.distinct for each in attributes if each.distinct is not None]
    values = f": {counted(max(known))} values" if known else ""
    return f"{test.attribute}{values}"
