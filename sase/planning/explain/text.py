"""An explanation as text for a terminal: the operators as a tree, results on top."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sase.planning.explain.numbers import counted, duration, size
from sase.planning.explain.value import ExplainedOperator, Explanation


def as_text(explanation: Explanation, *, verbose: bool = False) -> str:
    """The plan; `verbose` adds the rewrites and the alternatives."""
    lines = [f"plan {explanation.recipe}: {explanation.summary}", *_heading(explanation), ""]
    lines += [*tree(explanation), "", f"may be cut {explanation.split}"]
    declined = [step for step in explanation.steps if step.declined is not None]
    if verbose:
        lines += ["", *_rewrites(explanation), *_choices(explanation)]
    elif declined:
        names = ", ".join(step.rewrite for step in declined)
        lines.append(f"passed over: {names} (why: --verbose)")
    lines += [f"note: {note}" for note in explanation.notes]
    return "\n".join(line.rstrip() for line in lines)


def tree(explanation: Explanation) -> list[str]:
    """The operators alone."""
    return [
        line
        for depth, operator in enumerate(reversed(explanation.operators))
        for line in _operator(operator, depth, operator is explanation.worst)
    ]


def _heading(explanation: Explanation) -> Iterator[str]:
    if explanation.source:
        yield f"statistics from {explanation.source}"
    expected = explanation.expected_results
    told = [] if expected is None else [f"about {counted(expected)} expected"]
    if explanation.results is not None:
        told.append(f"{explanation.results:,} found")
    if explanation.nanoseconds is not None:
        told.append(f"in {duration(explanation.nanoseconds)}")
    if told:
        yield f"results: {', '.join(told)}"
    worst = explanation.worst
    if worst is not None:
        yield f"worst estimate: {worst.symbol}, by a factor of {counted(worst.misestimate)}"


def _operator(operator: ExplainedOperator, depth: int, is_worst: bool) -> Iterator[str]:
    lead = "   " * (depth - 1) + "└─ " if depth else ""
    yield f"{lead}{operator.symbol} {operator.algorithm}"
    indent = "   " * depth + "     "
    yield from (f"{indent}{detail}" for detail in operator.details)
    yield from (f"{indent}* {reason}" for reason in operator.reasons)
    if operator.expected is not None:
        yield f"{indent}expected: {', '.join(_expected(operator))}"
    if operator.measured is not None:
        mark = "  <-- worst estimate" if is_worst else ""
        yield f"{indent}actual: {', '.join(_measured(operator))}{mark}"
        yield from (f"{indent}  {line}" for line in _counters(operator))


def _expected(operator: ExplainedOperator) -> Iterator[str]:
    expected = operator.expected
    assert expected is not None
    yield f"{counted(expected.rows_in)} in"
    yield f"{counted(expected.rows_out)} out"
    if expected.alive:
        yield f"{counted(sum(expected.alive))} alive at a time"
    if expected.bytes >= 1:
        yield size(expected.bytes)
    yield duration(expected.nanoseconds)


def _measured(operator: ExplainedOperator) -> Iterator[str]:
    measured = operator.measured
    assert measured is not None
    yield f"{measured.rows_in:,} in"
    yield f"{measured.rows_out:,} out"
    if measured.bytes:
        yield size(measured.bytes)
    if measured.nanoseconds is not None:
        yield duration(measured.nanoseconds)


def _counters(operator: ExplainedOperator) -> Iterator[str]:
    assert operator.measured is not None
    for name, value in operator.measured.counters:
        text = _counter(value)
        if text:
            yield f"{name}: {text}"


def _counter(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_counter(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_counter, value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _rewrites(explanation: Explanation) -> Iterator[str]:
    yield "rewrites, in order:"
    for number, step in enumerate(explanation.steps, 1):
        if step.declined is not None:
            yield f"{number:3}. {step.rewrite}: declined: {step.declined}"
            continue
        yield f"{number:3}. {step.rewrite}: {step.summary}"
        yield from (f"       - {line}" for line in step.removed)
        yield from (f"       + {line}" for line in step.added)


def _choices(explanation: Explanation) -> Iterator[str]:
    for number, choice in enumerate(explanation.choices, 1):
        yield f"choice {number}, by the time of the whole plan:"
        for each in sorted(choice, key=lambda each: each.nanoseconds):
            taken = "taken" if each.is_taken else "     "
            yield f"  {taken} {duration(each.nanoseconds):>8}  {each.calls}"
