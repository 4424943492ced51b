"""Describe the form of a result: the size of a list of all matches, and alternatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sase.planning.collapse import FEW, collapsible
from sase.planning.cost import cost_of
from sase.planning.explain.value import ExplainedForm
from sase.planning.history_counts import ALL, MANY
from sase.planning.nodes import Operator
from sase.planning.preflight import bytes_of_a_match
from sase.planning.quantities import counted, size
from sase.planning.statistics import Statistics

# Forms without a list.
SETS = ("compressed", "count")
# The size of a list, in bytes, from which other forms are mentioned.
LARGE = 1 << 30


def explained_form(
    output: str, basic: Operator, plan: Operator, statistics: Statistics | None
) -> ExplainedForm:
    """The form of a query, given its basic plan and the plan that would list its matches."""
    found = collapsible(basic)
    is_count = output == "count"
    form = ExplainedForm(
        output,
        None,
        None,
        found.list_reasons if is_count else found.reasons,
        by_branch=found.by_branch and (is_count or not found.reasons),
        by_states=is_count and found.by_states,
    )
    if statistics is None:
        return form
    cost = cost_of(plan, statistics)
    taken = cost.results * bytes_of_a_match(plan, cost)
    return replace(form, matches=cost.results, bytes=taken)


def form_text(form: ExplainedForm) -> str | None:
    """A sentence on the form; None for a list that is not large."""
    if form.output in SETS:
        return f"{form.output}: {'; '.join(_of_set(form))}"
    if form.bytes is None or form.bytes <= LARGE:
        return None
    text = f"{form.output}: a list takes at least {size(form.bytes)}"
    if form.reasons:
        return f"{text}, and only a search finds the number: {form.reasons[0]}"
    return f'{text}: output="compressed", or --output count, holds and counts them without it'


def analyze_lists(output: str) -> str:
    """The reason why a form without a list is not analyzed."""
    text = f'output="{output}" is not analyzed'
    return f"{text}: what operators count is of a plan that lists its matches"


def _of_set(form: ExplainedForm) -> Iterator[str]:
    if form.histories == ALL:
        yield "the histories of merged runs are counted, and no single match is looked at"
    elif form.reasons:
        yield f"the matches are looked at one by one, since {'; '.join(form.reasons)}"
        if form.histories == MANY:
            yield f"of more than {FEW:,} the histories of merged runs are counted"
    elif form.by_branch:
        yield (
            "the matches of each branch are counted without looking at one: no two branches have a"
            " match in common"
        )
    elif form.by_states:
        yield "events are counted through the states of the pattern, and no match is looked at"
    else:
        yield "paths through a graph of events are counted, and no single match is looked at"
    if form.matches is not None and form.bytes is not None:
        number, amount = counted(form.matches), size(form.bytes)
        yield f"a list would have about {number} matches, and take at least {amount}"
    if not form.reasons or form.histories == ALL:
        yield "the operators are those of a list"
