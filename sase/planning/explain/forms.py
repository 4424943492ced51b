"""Describe the form of a result: the size of a list of all matches, and alternatives."""

from __future__ import annotations

from collections.abc import Iterator

from sase.base.interface import option
from sase.planning.cost.cost import cost_of
from sase.planning.cost.preflight import bytes_of_a_match
from sase.planning.counting import CountingWay
from sase.planning.explain.value import ExplainedForm
from sase.planning.plan.nodes import Operator
from sase.planning.quantities import counted, size
from sase.planning.statistics import Statistics

# Forms without a list.
SETS = ("compressed", "count")
# The size of a list, in bytes, from which other forms are mentioned.
LARGE = 1 << 30


def explained_form(
    output: str, ways: tuple[CountingWay, ...], plan: Operator, statistics: Statistics | None
) -> ExplainedForm:
    """The form of a result, how its matches are counted, and the size of a list of them."""
    if statistics is None:
        return ExplainedForm(output, None, None, ways)
    cost = cost_of(plan, statistics)
    return ExplainedForm(output, cost.results, cost.results * bytes_of_a_match(plan, cost), ways)


def form_text(form: ExplainedForm) -> str | None:
    """A sentence on the form; None for a list that is not large."""
    if form.output in SETS:
        return f"{form.output}: {'; '.join(_of_set(form))}"
    if form.bytes is None or form.bytes <= LARGE:
        return None
    text = f"{form.output}: a list takes at least {size(form.bytes)}"
    if form.reasons:
        return f"{text}, and only a search finds the number: {form.reasons[0]}"
    return f"{text}: {option('output', 'compressed')} holds and counts them without it"


def analyze_lists(output: str) -> str:
    """The reason why a form without a list is not analyzed."""
    text = f'output="{output}" is not analyzed'
    return f"{text}: the counters of operators are those of a plan that lists its matches"


def _of_set(form: ExplainedForm) -> Iterator[str]:
    yield " ".join(each.text for each in form.ways)
    if form.matches is not None and form.bytes is not None:
        number, amount = counted(form.matches), size(form.bytes)
        yield f"a list would have about {number} matches, and take at least {amount}"
    if not form.reasons:
        yield "the operators are those of a list"
