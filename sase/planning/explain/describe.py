"""Build the explanation of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import groupby

from sase.binding.bound import BoundComponent
from sase.planning.branches import (
    PlacedOperator,
    branches_left_out,
    left_out_text,
    placed_operators,
)
from sase.planning.cost.cost import cost_of
from sase.planning.cost.tree_choice import comparison
from sase.planning.cost_values import Cost, OperatorCost
from sase.planning.driver import Stage
from sase.planning.explain.driven import PhysicalPath
from sase.planning.explain.explanation import Explanation
from sase.planning.explain.operators import OperatorText, duration_text, reasons, symbol_of
from sase.planning.explain.value import (
    Expected,
    ExplainedAlternative,
    ExplainedForm,
    ExplainedOperator,
    ExplainedStep,
    Measured,
)
from sase.planning.optimizer import Optimized
from sase.planning.plan.nodes import (
    Negation,
    Operator,
    Selection,
    Transformation,
    Union,
    Window,
    branches_of,
    chain,
    find,
)
from sase.planning.recipes import Recipe
from sase.planning.rewrites import REWRITES
from sase.planning.split import Split, split_of
from sase.planning.statistics import ALL_EVENTS, Statistics
from sase.source import NOWHERE, Span


def described(
    query: str,
    recipe: Recipe,
    made: Optimized,
    statistics: Statistics | None = None,
    *,
    notes: Sequence[str] = (),
    measured: Sequence[Measured] = (),
    results: int | None = None,
    nanoseconds: int | None = None,
    form: ExplainedForm | None = None,
    physical: tuple[PhysicalPath, ...] = (),
) -> Explanation:
    """The explanation of a plan; `measured` is by the number of operators."""
    joined = comparison(made.plan, statistics)
    union = find(made.plan, Union)
    if union is not None and not measured:
        notes = (*notes, *_left_out(union, statistics))
    operators = tuple(_operators(made.plan, statistics, measured))
    return Explanation(
        query,
        recipe.name,
        recipe.summary,
        operators,
        tuple(_steps(made.trace.stages)),
        tuple(
            tuple(
                ExplainedAlternative(str(each), each.cost.nanoseconds, each.is_taken)
                for each in choice
            )
            for choice in made.choices
        ),
        split_text(split_of(made.plan)),
        (*notes, *([joined] if joined is not None else [])),
        results,
        nanoseconds,
        statistics,
        form,
        physical,
    )


def _left_out(union: Union, statistics: Statistics | None) -> tuple[str, ...]:
    """A note on branches that cannot match these events, so that no run searches them."""
    if statistics is None or statistics.source != ALL_EVENTS:
        return ()
    known = [each.name for each in statistics.types if each.rows]
    return left_out_text(branches_left_out(union, known)) if known else ()


def _worded(plan: Operator) -> Iterator[tuple[Operator, OperatorText]]:
    """The operators of a plan from the bottom up, each with its description."""
    words = OperatorText.of(plan)
    return ((operator, words) for operator in reversed(chain(plan)))


def _operators(
    plan: Operator, statistics: Statistics | None, measured: Sequence[Measured | None]
) -> list[ExplainedOperator]:
    """Describe the operators from the bottom up; the page draws the last branch first.

    A branch that shares the scan of another branch has only the operators above the scan.
    """
    placed, found = placed_operators(plan), list[ExplainedOperator]()
    numbered = zip(placed, measured or [None] * len(placed), strict=True)
    for of_plan, group in groupby(numbered, key=lambda each: each[0].plan):
        words = OperatorText.of(of_plan)
        cost = Cost(()) if statistics is None else cost_of(of_plan, statistics)
        found += (
            _explained(each, words, cost, statistics, counted)
            for each, counted in group
            if each.branch is None or not _is_idle(each.operator)
        )
    return sorted(found, key=lambda each: -(each.branch or 0))


def _is_idle(operator: Operator) -> bool:
    """Return whether an operator passes the results of a branch unchanged."""
    return isinstance(operator, Transformation) and not (operator.having or operator.columns)


def _explained(
    placed: PlacedOperator,
    words: OperatorText,
    cost: Cost,
    statistics: Statistics | None,
    measured: Measured | None,
) -> ExplainedOperator:
    operator, name = placed.operator, type(placed.operator).__name__
    return ExplainedOperator(
        name,
        symbol_of(operator),
        words.algorithm(operator),
        tuple(words.details(operator)),
        tuple(reasons(operator, words, statistics)),
        tuple(sorted({(span.start, span.end) for span in _spans(operator, True)})),
        _expected(cost.operator(name)),
        measured,
        placed.branch,
    )


def _expected(cost: OperatorCost | None) -> Expected | None:
    if cost is None:
        return None
    return Expected(
        cost.rows_in, cost.rows_out, cost.nanoseconds, cost.bytes, cost.visited, cost.alive
    )


def _spans(value: object, is_top: bool = False) -> Iterator[Span]:
    """The widest ranges of the query text that an operator checks."""
    span = getattr(value, "span", NOWHERE)
    if isinstance(span, Span) and span != NOWHERE:
        if not getattr(value, "derived", False):
            yield span
        return
    if isinstance(value, tuple):
        for each in value:
            yield from _spans(each)
    elif isinstance(value, BoundComponent):
        for branch in value.group.branches if value.group else ():
            yield from _spans(branch.conjuncts)
    elif is_dataclass(value):
        for field in fields(value):
            # `tests` are all tests of the query, wherever they are decided.
            if not (is_top and field.name in ("input", "tests", "inferred")):
                yield from _spans(getattr(value, field.name))


def _steps(stages: Sequence[Stage]) -> Iterator[ExplainedStep]:
    new = _lines(stages[0].plan) if stages else {}
    for before, after in zip(stages, stages[1:], strict=False):
        assert after.step is not None
        # Most rewrites decline, and the description of thousands of conditions takes time.
        old, new = new, new if after.plan == before.plan else _lines(after.plan)
        changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        gone = [line for name in changed for line in old.get(name, ())]
        come = [line for name in changed for line in new.get(name, ())]
        had, has = set(gone), set(come)
        number = after.step.branch
        yield ExplainedStep(
            str(after.step.call),
            REWRITES[after.step.rewrite].summary,
            after.step.declined,
            tuple(line for line in gone if line not in has),
            tuple(line for line in come if line not in had),
            tuple(dict.fromkeys(name for _, name in changed)),
            None if number is None else number + 1,
        )


def _lines(plan: Operator) -> dict[tuple[int, str], list[str]]:
    """The operators of a plan as lines, by branch and name."""
    found: dict[tuple[int, str], list[str]] = {}
    for number, branch in enumerate(branches_of(plan)):
        operators = chain(branch)
        for place, (operator, words) in zip(
            reversed(range(len(operators))), _worded(branch), strict=True
        ):
            symbol = symbol_of(operator)
            texts = [words.algorithm(operator), *words.details(operator)]
            later = [each for each in operators[:place] if isinstance(each, Selection | Window)]
            if isinstance(operator, Negation) and later:
                texts.append(f"before {symbol_of(later[-1])}")
            found[number, type(operator).__name__] = [f"{symbol} {text}" for text in texts]
    return found


def split_text(split: Split) -> str:
    """The split of a plan in words."""
    ways = []
    if split.keys:
        ways.append("by " + ", ".join(test.attribute for test in split.keys))
    if split.before is not None:
        around = "before and after each" if split.after is not None else "before each"
        span = duration_text(split.before)
        if split.by_detection:  # the longest interval depends on the events
            span = f"{split.windows} × {span}" if split.windows > 1 else span
            span += " and twice the longest interval"
        ways.append(f"by slices of time with the {span} {around}")
    return ", or ".join(ways) or f"none: {split.reason}"
