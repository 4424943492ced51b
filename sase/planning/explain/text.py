"""An explanation as text for a terminal: a tree of operators, results on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from sase.planning.explain.complexity import complexity_lines
from sase.planning.explain.driven import OF_OTHER_PLANS, driven
from sase.planning.explain.driven import declined as declined_drives
from sase.planning.explain.forms import form_text
from sase.planning.explain.value import Expected, ExplainedOperator, ExplainedPlan, Measured
from sase.planning.plan.nodes import name_of
from sase.planning.quantities import counted, duration, size
from sase.planning.rewrites.contract import (
    IS_PRECISE,
    KEPT_OUT,
    NONE_RARE,
    NOT_AT_HAND,
    NOT_KNOWN,
)
from sase.printable import printable

# Outcomes of rewrites that are not worth a line; None means applied.
_UNLIKELY = (NOT_KNOWN, NOT_AT_HAND, NONE_RARE, KEPT_OUT, IS_PRECISE)
_PASSED = (None, *OF_OTHER_PLANS, *(each.reason for each in _UNLIKELY))


def as_text(explanation: ExplainedPlan, *, verbose: bool = False) -> str:
    """The plan; `verbose` adds the rewrites and the alternatives."""
    lines = [f"plan {explanation.recipe}: {explanation.summary}", *_heading(explanation), ""]
    lines += [*tree(explanation), "", *physical_lines(explanation, verbose=verbose)]
    lines.append(f"parallel parts: {explanation.split}")
    lines += wrapped_complexity(explanation)
    declined = [step for step in explanation.steps if step.declined not in _PASSED]
    if verbose:
        lines += ["", *_rewrites(explanation), *_choices(explanation)]
    elif declined:
        names = ", ".join(dict.fromkeys(step.rewrite for step in declined))
        lines += wrap(
            f"rewrites that do not apply (--verbose says why): {names}", 100, subsequent_indent="  "
        )
    lines += [f"note: {note}" for note in explanation.notes]
    return "\n".join(printable(line).rstrip() for line in lines)


def tree(explanation: ExplainedPlan, *, facts: bool = True) -> list[str]:
    """The operators as a tree; without reasons and figures unless `facts`."""
    placed = list(_with_depths(explanation.operators))
    rails = _rails([depth for depth, _ in placed])
    return [
        printable(line)
        for (_, operator), (lead, below) in zip(placed, rails, strict=True)
        for line in (
            f"{lead}{operator.symbol} {operator.algorithm}",
            *(f"{below}{detail}" for detail in operator.details),
            *(_facts(operator, below, operator is explanation.worst) if facts else ()),
        )
    ]


def _rails(depths: Sequence[int]) -> Iterator[tuple[str, str]]:
    """The tree lines before the name of each operator, and before the lines below it."""
    for i, depth in enumerate(depths):
        goes_on = [_goes_on(depths[i + 1 :], level) for level in range(1, depth + 1)]
        above = "".join("│  " if more else "   " for more in goes_on[:-1])
        own = ("├─ " if goes_on[-1] else "└─ ") if depth else ""
        bar = "".join("│  " if more else "   " for more in goes_on)
        yield above + own, bar + "     "


def _goes_on(later: Sequence[int], level: int) -> bool:
    """Whether a later operator of this level has the same parent."""
    return next((depth == level for depth in later if depth <= level), False)


def _with_depths(
    operators: Sequence[ExplainedOperator],
) -> Iterator[tuple[int, ExplainedOperator]]:
    """The operators from the top down, with depths; branches begin below the union."""
    depth, above, last = -1, 0, None
    for operator in reversed(operators):
        if operator.branch is None:
            depth = above = depth + 1
        else:
            depth = depth + 1 if operator.branch == last else above + 1
        last = operator.branch
        yield depth, operator


def physical_lines(explanation: ExplainedPlan, *, verbose: bool = False) -> Iterator[str]:
    """The drives that read the events; `verbose` adds the fused operators and every reason."""
    if not explanation.physical:
        return
    first, *others = driven(explanation.physical)
    yield from wrap(f"driven: {first}", 100, subsequent_indent="    ")
    yield from (
        line for each in others for line in wrap(f"  {each}", 100, subsequent_indent="    ")
    )
    if verbose:
        yield from (f"  {p.name}: {p.summary}" for p in explanation.physical if not p.declined)
    for line in declined_drives(explanation.physical, verbose=verbose):
        yield from wrap(f"  declined {line}", 100, subsequent_indent="    ")


def wrapped_complexity(explanation: ExplainedPlan) -> Iterator[str]:
    """The complexity of the query, as lines."""
    if explanation.complexity is not None:
        for line in complexity_lines(explanation.complexity):
            yield from wrap(line, 100, subsequent_indent="    ")


def _heading(explanation: ExplainedPlan) -> Iterator[str]:
    if explanation.source:
        yield f"statistics from {explanation.source}"
    expected = explanation.expected_results
    known = [] if expected is None else [f"about {counted(expected)} expected"]
    if explanation.results is not None:
        known.append(f"{explanation.results:,} found")
    if explanation.nanoseconds is not None:
        known.append(f"in {duration(explanation.nanoseconds)}")
    if known:
        yield f"results: {', '.join(known)}"
    yield from form_lines(explanation)
    worst = explanation.worst
    if worst is not None:
        name = name_of(worst.symbol, worst.branch)
        yield f"worst estimate: {name}, by a factor of {counted(worst.misestimate)}"


def form_lines(explanation: ExplainedPlan) -> list[str]:
    """The description of the result's form, as lines."""
    text = None if explanation.form is None else form_text(explanation.form)
    return [] if text is None else wrap(printable(f"output {text}"), 100, subsequent_indent="  ")


def _facts(operator: ExplainedOperator, indent: str, is_worst: bool) -> Iterator[str]:
    """The reasons, estimates and measurements of an operator."""
    yield from (f"{indent}* {reason}" for reason in operator.reasons)
    if operator.expected is not None:
        yield f"{indent}expected: {', '.join(_expected(operator.expected))}"
    if operator.measured is not None:
        mark = "  <-- worst estimate" if is_worst else ""
        yield f"{indent}actual: {', '.join(_measured(operator.measured))}{mark}"
        yield from (f"{indent}  {line}" for line in _counters(operator.measured))


def _expected(expected: Expected) -> Iterator[str]:
    yield f"{counted(expected.rows_in)} in"
    yield f"{counted(expected.rows_out)} out"
    if expected.alive:
        yield f"{counted(sum(expected.alive))} alive at a time"
    if expected.bytes >= 1:
        yield size(expected.bytes)
    yield duration(expected.nanoseconds)


def _measured(measured: Measured) -> Iterator[str]:
    yield f"{measured.rows_in:,} in"
    yield f"{measured.rows_out:,} out"
    if measured.bytes:
        yield size(measured.bytes)
    if measured.nanoseconds is not None:
        yield duration(measured.nanoseconds)


def _counters(measured: Measured) -> Iterator[str]:
    for name, value in measured.counters:
        text = _counter(value)
        if text:
            yield f"{name.replace('_', ' ')}: {text}"


def _counter(value: Any) -> str:
    """A count, or counts by variable or condition, without zeros."""
    if isinstance(value, dict):
        known = ((key, _counter(each)) for key, each in value.items())
        return ", ".join(f"{key} {text}" for key, text in known if text)
    if isinstance(value, list | tuple):
        return " ".join(_counter(each) or "0" for each in value) if any(value) else ""
    return f"{value:,}" if value else ""


def _rewrites(explanation: ExplainedPlan) -> Iterator[str]:
    yield "rewrites, in order:"
    for number, step in enumerate(explanation.steps, 1):
        name = step.rewrite if step.branch is None else f"branch {step.branch}: {step.rewrite}"
        if step.declined is not None:
            yield f"{number:3}. {name}: declined: {step.declined}"
            continue
        yield f"{number:3}. {name}: {step.summary}"
        yield from (f"       - {line}" for line in step.removed)
        yield from (f"       + {line}" for line in step.added)


def _choices(explanation: ExplainedPlan) -> Iterator[str]:
    for number, choice in enumerate(explanation.choices, 1):
        yield f"choice {number}, by the time of the whole plan:"
        for each in sorted(choice, key=lambda each: each.nanoseconds):
            taken = "taken" if each.is_taken else "     "
            yield f"  {taken} {duration(each.nanoseconds):>8}  {each.calls}"
