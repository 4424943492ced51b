"""Build the explanation of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

from sase.binding.bound import BoundComponent
from sase.planning.cost import cost_of
from sase.planning.cost_values import Cost, OperatorCost
from sase.planning.driver import Stage
from sase.planning.explain.driven import PhysicalPath
from sase.planning.explain.explanation import Explanation
from sase.planning.explain.operators import OperatorText, duration_text, symbol_of
from sase.planning.explain.reasons import reasons
from sase.planning.explain.value import (
    Expected,
    ExplainedAlternative,
    ExplainedForm,
    ExplainedOperator,
    ExplainedStep,
    Measured,
)
from sase.planning.left_out import branches_left_out, left_out_text
from sase.planning.nodes import (
    Negation,
    Operator,
    Selection,
    Transformation,
    Union,
    Window,
    branches_of,
    chain,
    find,
    name_of,
)
from sase.planning.optimizer import Optimized
from sase.planning.recipes import Recipe
from sase.planning.rewrites import REWRITES
from sase.planning.shared_scans import shared_scans
from sase.planning.split import Split, split_of
from sase.planning.statistics import ALL_EVENTS, Statistics
from sase.planning.tree_choice import comparison
from sase.source import NOWHERE, Span


def described(
    query: str,
    recipe: Recipe,
    made: Optimized,
    statistics: Statistics | None = None,
    *,
    notes: Sequence[str] = (),
    measured: Mapping[str, Measured] | None = None,
    results: int | None = None,
    nanoseconds: int | None = None,
    form: ExplainedForm | None = None,
    physical: tuple[PhysicalPath, ...] = (),
) -> Explanation:
    """The explanation of a plan; `measured` is by operator name."""
    cost = Cost(()) if statistics is None else cost_of(made.plan, statistics)
    measured, joined = measured or {}, comparison(made.plan, statistics)
    operators = tuple(
        _explained(operator, words, cost, statistics, measured)
        for operator, words in _worded(made.plan)
    )
    union = find(made.plan, Union)
    if union is not None:
        notes = (*notes, *_left_out(union, statistics, measured))
        operators = (*_of_branches(union, statistics, measured), *operators)
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


def _left_out(
    union: Union, statistics: Statistics | None, measured: Mapping[str, Measured]
) -> tuple[str, ...]:
    """A note on branches that cannot match these events, so that no run searches them."""
    if measured or statistics is None or statistics.source != ALL_EVENTS:
        return ()
    known = [each.name for each in statistics.types if each.rows]
    return left_out_text(branches_left_out(union, known)) if known else ()


def _worded(plan: Operator) -> Iterator[tuple[Operator, OperatorText]]:
    """The operators of a plan from the bottom up, each with its description."""
    words = OperatorText.of(plan)
    return ((operator, words) for operator in reversed(chain(plan)))


def _of_branches(
    union: Union, statistics: Statistics | None, measured: Mapping[str, Measured]
) -> Iterator[ExplainedOperator]:
    """The operators of all branches, last branch first, since it is drawn at the bottom.

    A scan shared by several branches is drawn below the first of them.
    """
    for shared in reversed(shared_scans(union)):
        first, *rest = shared.branches
        for number in reversed(rest):
            yield from _of_branch(number, [union.branches[number]], statistics, measured)
        yield from _of_branch(first, [shared.plan, union.branches[first]], statistics, measured)


def _of_branch(
    number: int,
    plans: Sequence[Operator],
    statistics: Statistics | None,
    measured: Mapping[str, Measured],
) -> Iterator[ExplainedOperator]:
    """The operators of a branch's plans; result operators only of the last plan."""
    for place, plan in enumerate(plans, 1):
        cost = Cost(()) if statistics is None else cost_of(plan, statistics)
        for operator, words in _worded(plan):
            is_top = isinstance(operator, Transformation)
            if is_top is (place == len(plans)) and not _is_idle(operator):
                yield _explained(operator, words, cost, statistics, measured, number + 1)


def _is_idle(operator: Operator) -> bool:
    """Whether it passes the results of a branch unchanged."""
    return isinstance(operator, Transformation) and not (operator.having or operator.columns)


def _explained(
    operator: Operator,
    words: OperatorText,
    cost: Cost,
    statistics: Statistics | None,
    measured: Mapping[str, Measured],
    branch: int | None = None,
) -> ExplainedOperator:
    name = type(operator).__name__
    return ExplainedOperator(
        name,
        symbol_of(operator),
        words.algorithm(operator),
        tuple(words.details(operator)),
        tuple(reasons(operator, words, statistics)),
        tuple(sorted({(span.start, span.end) for span in _spans(operator, True)})),
        _expected(cost.operator(name)),
        measured.get(name_of(name, branch)),
        branch,
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
        # Most rewrites decline, and describing thousands of conditions takes time.
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
        around = "before and after" if split.after is not None else "before"
        span = duration_text(split.before)
        if split.by_detection:  # the longest interval depends on the events
            span = f"{split.windows} × {span}" if split.windows > 1 else span
            span += " and twice the longest interval"
        ways.append(f"in slices of time that look {span} {around}")
    return " or ".join(ways) or f"not at all: {split.reason}"
