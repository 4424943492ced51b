"""A picture of the dataflow: operators as boxes, results on top, arrow widths by rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from sase.planning.explain.page.markup import Markup, element, joined
from sase.planning.explain.value import ExplainedOperator, ExplainedPlan
from sase.planning.quantities import counted, duration, percentage

# Pixels: the arrow width for one row, the growth per power of ten, the greatest width; height, head
# and barbs of an arrow.
ONE, TENFOLD, WIDEST, HEIGHT, HEAD, BARB = 3, 11, 124, 46, 13, 6
VISIBLE = 2  # smaller differences get no outline
DETAILS = 4  # the most details in a box


def flow(explanation: ExplainedPlan) -> Markup:
    """The picture, from the results on top down to the events."""
    times = dict(zip((o.key for o in explanation.operators), _times(explanation), strict=True))

    def boxes(operators: Sequence[ExplainedOperator]) -> Markup:
        """The boxes of consecutive operators, each with the arrow out of it."""
        return joined(
            part
            for each in reversed(operators)
            for part in (
                _arrow(*_rows(each, "rows_out")),
                _box(each, times[each.key], each is explanation.worst),
            )
        )

    middle, branches = [boxes(explanation.common)], explanation.branches
    for number, branch in enumerate(branches, 1):
        heading = element("p", f"branch {number} of {len(branches)}", class_="end")
        into = _arrow(*_rows(branch[0], "rows_in"))
        middle.append(element("div", heading, boxes(branch), into, class_="branch"))
    if branches:
        middle[1:] = [element("div", *middle[1:], class_="branches")]
    else:
        middle.append(_arrow(*_rows(explanation.operators[0], "rows_in")))
    return joined(
        [
            element("p", "results", class_="end"),
            element("div", *middle, class_="operators"),
            element("p", "events", class_="end"),
        ]
    )


def address(operator: ExplainedOperator) -> str:
    """The HTML id of an operator's details."""
    return f"operator-{operator.key}"


def worst_mark(operator: ExplainedOperator) -> Markup:
    """The mark of the operator with the worst estimate."""
    return element("span", f"worst estimate: × {counted(operator.misestimate)}", class_="worst")


def thickness(rows: float) -> float:
    """The width of an arrow, on a log scale."""
    return round(min(ONE + TENFOLD * log10(max(rows, 1)), WIDEST), 1)


def _rows(operator: ExplainedOperator, which: str) -> tuple[float | None, int | None]:
    """Estimated and counted rows."""
    expected, measured = operator.expected, operator.measured
    return (
        None if expected is None else getattr(expected, which),
        None if measured is None else getattr(measured, which),
    )


def _times(explanation: ExplainedPlan) -> list[Markup]:
    """The time of each operator and its share: measured if all are, otherwise estimated."""
    operators = explanation.operators
    for source, about in (("measured", ""), ("expected", "about ")):
        known = [getattr(each, source) for each in operators]
        times = [each.nanoseconds for each in known if each and each.nanoseconds is not None]
        if len(times) == len(operators) and sum(times) > 0:
            return [_bar(about + duration(time), time / sum(times)) for time in times]
    return [Markup()] * len(operators)


def _box(operator: ExplainedOperator, time: Markup, is_worst: bool) -> Markup:
    parts = [
        element("span", operator.symbol, class_="symbol"),
        element("span", operator.algorithm, class_="algorithm"),
        *[element("span", each, class_="detail") for each in _first(operator.details)],
    ]
    if is_worst:
        parts.append(worst_mark(operator))
    parts += [element("span", _spoken(operator), class_="unseen"), time]
    return element(
        "a",
        # Spaces, so that a screen reader separates them.
        joined(part for each in parts for part in (each, Markup(" "))),
        class_="operator",
        id=f"box-{operator.key}",
        href=f"#{address(operator)}",
    )


def _first(details: tuple[str, ...]) -> list[str]:
    if len(details) <= DETAILS:
        return list(details)
    return [*details[: DETAILS - 1], f"and {len(details) - DETAILS + 1} more"]


def _spoken(operator: ExplainedOperator) -> str:
    """The numbers of rows, for screen readers."""
    known = operator.known
    if known is None:
        return ""
    word = "" if operator.measured else "expected: "
    return f"{word}{counted(known.rows_in)} in, {counted(known.rows_out)} out"


def _bar(time: str, share: float) -> Markup:
    bar = element(
        "svg",
        element("rect", width=100, height=4, class_="whole"),
        element("rect", width=max(round(share * 100, 1), 0.5), height=4, class_="share"),
        viewBox="0 0 100 4",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    label = element("span", f"{time}, {percentage(share)} of the time")
    return element("span", bar, label, class_="time")


def _arrow(expected: float | None, actual: int | None) -> Markup:
    """An arrow upwards with its numbers; if both are known, the estimate is an outline."""
    rows = actual if actual is not None else expected
    wide = thickness(rows or 0)
    widest, shapes, labels = wide, [_shape(wide, rows)], []
    if rows is not None:
        about = "" if actual is not None else "about "
        labels.append(element("span", about + counted(rows), class_="rows"))
    if actual is not None and expected is not None:
        outlined = thickness(expected)
        if abs(outlined - wide) >= VISIBLE:
            widest = max(wide, outlined)
            shapes += _outline(outlined)
        is_exact = counted(expected) == counted(actual)
        about = "as expected" if is_exact else f"{counted(expected)} expected"
        labels.append(element("span", about, class_="expected"))
    half = widest / 2 + BARB
    picture = element(
        "svg",
        *shapes,
        width=f"{half * 2:g}",
        height=HEIGHT,
        viewBox=f"{-half:g} 0 {half * 2:g} {HEIGHT}",
    )
    return element(
        "div", picture, element("span", *labels, class_="label"), class_="arrow", aria_hidden="true"
    )


def _shape(wide: float, rows: float | None) -> Markup:
    """The arrow, centred."""
    side = wide / 2
    points = (
        f"{-side:g},{HEIGHT} {-side:g},{HEAD} {-side - BARB:g},{HEAD} 0,1"
        f" {side + BARB:g},{HEAD} {side:g},{HEAD} {side:g},{HEIGHT}"
    )
    return element("polygon", points=points, class_="nothing" if rows == 0 else "flowing")


def _outline(wide: float) -> list[Markup]:
    """The outline, with a lighter line below for contrast."""
    sides = "".join(f"M{side:g} {HEIGHT}V{HEAD}" for side in (-wide / 2, wide / 2))
    return [element("path", d=sides, class_=name) for name in ("halo", "outline")]
