"""The details of an operator: function, reasons, estimates, measurements, and history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sase.planning.explain.page.counters import counters
from sase.planning.explain.page.flow import address, worst_mark
from sase.planning.explain.page.history import step_body
from sase.planning.explain.page.markup import Markup, element, joined, listed
from sase.planning.explain.value import Expected, ExplainedOperator, ExplainedPlan, Measured
from sase.planning.quantities import counted, duration, size

FAR = 2.0  # from this factor on a cell is marked


def panel(operator: ExplainedOperator, explanation: ExplainedPlan) -> Markup:
    """The section of an operator."""
    heading = f"heading-{operator.key}"
    worst = [worst_mark(operator)] if operator is explanation.worst else []
    branch = "" if operator.branch is None else f" of branch {operator.branch}"
    return element(
        "section",
        element(
            "h3",
            element("span", operator.symbol, class_="symbol"),
            f" {operator.algorithm}",
            id=heading,
        ),
        element("p", element("code", operator.name), branch, " ", *worst, class_="name"),
        *_sections(operator, explanation),
        class_="panel",
        id=address(operator),
        aria_labelledby=heading,
    )


def _sections(operator: ExplainedOperator, explanation: ExplainedPlan) -> Iterator[Markup]:
    parts = [element("code", explanation.query[start:end]) for start, end in operator.parts]
    known = {"expected": operator.expected, "actual": operator.measured}
    figures = {name: each for name, each in known.items() if each}
    counted_by_it = operator.measured.counters if operator.measured else ()
    for title, body in (
        ("Its work", listed("ul", operator.details)),
        ("Why", listed("ul", operator.reasons)),
        ("From the query", listed("ul", parts, class_="parts")),
        (" and ".join(figures).capitalize(), _figures(figures)),
        ("Counters", counters(counted_by_it)),
        ("Rewrites that changed it", _history(operator, explanation)),
    ):
        if body:
            yield joined([element("h4", title), body])


def _figures(known: Mapping[str, Expected | Measured]) -> Markup:
    if not known:
        return Markup()
    columns = [*known, "factor"] if len(known) == 2 else known
    heads = [element("th", each, scope="col") for each in columns]
    head = element("thead", element("tr", element("td"), *heads))
    table = element("table", head, element("tbody", *_rows(list(known.values()))))
    return element("div", table, class_="figures")


def _rows(known: Sequence[Expected | Measured]) -> Iterator[Markup]:
    for name, member, shown in (
        ("rows in", "rows_in", counted),
        ("rows out", "rows_out", counted),
        ("time", "nanoseconds", duration),
        ("memory", "bytes", size),
        ("alive at a time", "alive", counted),
    ):
        values = [_value(each, member) for each in known]
        if not any(values) and member not in ("rows_in", "rows_out"):
            continue
        cells = [element("td", "" if each is None else shown(each)) for each in values]
        if len(values) == 2:
            # Estimated memory is that of the state; measured memory is that of reserved arrays.
            cells.append(element("td") if member == "bytes" else _factor(*values))
        yield element("tr", element("th", name, scope="row"), *cells)


def _value(known: object, member: str) -> float | None:
    """A number; over levels their sum."""
    value = getattr(known, member, None)
    return sum(value) if isinstance(value, tuple) else value


def _factor(expected: float | None, actual: float | None) -> Markup:
    if expected is None or actual is None:
        return element("td")
    factor = max(actual, 1) / max(expected, 1)
    is_far = factor >= FAR or factor <= 1 / FAR
    return element("td", f"× {counted(factor)}", class_="far" if is_far else None)


def _history(operator: ExplainedOperator, explanation: ExplainedPlan) -> Markup:
    """The rewrites that changed the operator, numbered as in the list of all."""
    steps = [
        element("li", step_body(step, operator.symbol), value=number)
        for number, step in enumerate(explanation.steps, 1)
        if operator.name in step.operators and step.branch == operator.branch
    ]
    return element("ol", *steps, class_="steps") if steps else Markup()
