"""What the engine finds in patterns with repeated groups, in the form of the naive matcher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

import sase
from sase.binding import binder
from sase.binding.bound import BoundComponent
from sase.engine.operators.group_bindings import GroupBindings
from sase.engine.operators.group_evaluation import GroupEvaluationState
from sase.engine.operators.transformation import TransformationState
from sase.lang.parser import parse_query
from tests import naive
from tests.engine.groups.queries import Drawn

Found = list[Any]


def expected(drawn: Drawn) -> Found:
    """The matches, by the naive matcher."""
    return [_tuples(each.events) for each in naive.match(parse_query(drawn.text), drawn.rows)]


def _tuples(rows: Any) -> Any:
    return tuple(map(_tuples, rows)) if isinstance(rows, list | tuple) else rows


def matched(drawn: Drawn, plan: str, **options: Any) -> Found:
    """The matches, in one go."""
    with _recorded() as found:
        count = len(sase.match(drawn.text, drawn.rows, plan=plan, **options))
    assert count == len(found)
    return found


def pushed(drawn: Drawn, plan: str, cuts: Sequence[int], *, restored: bool) -> Found:
    """The matches of rows that are pushed in pieces, by a matcher that may be restored."""
    with _recorded() as found:
        whole = sase.compile(drawn.text, drawn.rows, plan=plan)
        matcher = whole.open()
        for begin, end in zip((0, *cuts), (*cuts, len(drawn.rows)), strict=True):
            matcher.push(drawn.rows[begin:end])
            if restored:
                matcher = whole.restore(matcher.snapshot())
        matcher.finish()
    return found


@contextmanager
def _recorded() -> Iterator[Found]:
    """What operators hand to results, while the language refuses the pattern."""
    found, components = Found(), list[BoundComponent]()
    make, begin = TransformationState.result, GroupEvaluationState.__init__

    def result(self: Any, sequences: Any) -> Any:
        results = make(self, sequences)
        found.extend(_matches(results.positions, components))
        return results

    def started(self: Any, node: Any, context: Any) -> None:
        components[:] = node.components
        begin(self, node, context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binder, "_refuse_repeated", lambda scope: None, raising=False)
        patch.setattr(TransformationState, "result", result)
        patch.setattr(GroupEvaluationState, "__init__", started)
        yield found


def _matches(bindings: GroupBindings, components: Sequence[BoundComponent]) -> Iterator[Any]:
    at = iteration = 0
    for match in range(bindings.size):
        columns, group = [], 0
        for level, component in enumerate(components):
            if component.group is None:
                end = at + int(bindings.lengths[level, match])
                columns.append(tuple(bindings.events[at:end].tolist()))
                at = end
                continue
            iterations = []
            for _ in range(int(bindings.counts[group, match])):
                end = at + int(bindings.sizes[iteration])
                events = list(zip(bindings.slots[at:end], bindings.events[at:end], strict=True))
                numbers = [each.index for each in component.group.variables if not each.negated]
                iterations.append(
                    tuple(tuple(int(e) for s, e in events if s == number) for number in numbers)
                )
                at, iteration = end, iteration + 1
            columns.append(tuple(iterations))
            group += 1
        yield tuple(columns)
