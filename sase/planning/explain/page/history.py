"""The history of a plan: all rewrites in order, and the alternatives of choices."""

from __future__ import annotations

from sase.planning.explain.page.markup import Markup, breaking, element, joined
from sase.planning.explain.value import ExplainedAlternative, ExplainedPlan, ExplainedStep
from sase.planning.quantities import duration


def history(explanation: ExplainedPlan) -> Markup:
    """Two collapsible parts of the page."""
    parts = []
    if explanation.steps:
        steps = [element("li", step_body(step)) for step in explanation.steps]
        applied = sum(step.declined is None for step in explanation.steps)
        title = f"All rewrites, in order: {applied} applied, {len(steps) - applied} passed over"
        parts.append(_opening(title, element("ol", *steps, class_="steps")))
    if explanation.choices:
        tables = [_choice(number, each) for number, each in enumerate(explanation.choices, 1)]
        parts.append(_opening(f"Choices: {len(tables)}", *tables))
    return joined(parts)


def step_body(step: ExplainedStep, symbol: str = "") -> Markup:
    """The changes of a rewrite, or why it declined; lines of one operator are marked."""
    branch = "" if step.branch is None else f"branch {step.branch}: "
    name = joined([branch, element("code", breaking(step.rewrite))])
    if step.declined is not None:
        because = element("span", f"passed over: {step.declined}", class_="declined")
        return joined([name, " ", because])
    lines = [_line("removed", "del", "−", line, symbol) for line in step.removed]
    lines += [_line("added", "ins", "+", line, symbol) for line in step.added]
    changes = [element("ul", *lines, class_="changes")] if lines else []
    return joined([name, element("p", step.summary), *changes])


def _line(word: str, name: str, sign: str, line: str, symbol: str) -> Markup:
    is_other = symbol and not line.startswith(f"{symbol} ")
    label = element("span", f"{word}: ", class_="unseen")
    shown = element("span", sign, aria_hidden="true")
    return element("li", label, shown, element(name, line), class_="other" if is_other else None)


def _choice(number: int, choice: tuple[ExplainedAlternative, ...]) -> Markup:
    rows = [
        element(
            "tr",
            element("td", duration(each.nanoseconds)),
            element("td", element("code", breaking(each.calls))),
            element("td", "taken" if each.is_taken else ""),
            class_="taken" if each.is_taken else None,
        )
        for each in sorted(choice, key=lambda each: each.nanoseconds)
    ]
    columns = ("time of the whole plan", "rewrites", "")
    head = [element("th", each, scope="col") if each else element("td") for each in columns]
    return element(
        "table",
        element("caption", f"Choice {number}"),
        element("thead", element("tr", *head)),
        element("tbody", *rows),
        class_="choice",
    )


def _opening(title: str, *body: str) -> Markup:
    return element("details", element("summary", element("h2", title)), *body)
