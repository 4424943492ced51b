"""An explanation as one self-contained page; its parts are in `page/`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from string import Template

from sase.planning.explain.complexity import complexity_lines
from sase.planning.explain.driven import declined, driven
from sase.planning.explain.forms import form_text
from sase.planning.explain.page.details import panel
from sase.planning.explain.page.flow import address, flow
from sase.planning.explain.page.history import history
from sase.planning.explain.page.markup import Markup, element, escaped, joined
from sase.planning.explain.page.query import query_pieces
from sase.planning.explain.value import ExplainedPlan
from sase.planning.plan.nodes import name_of
from sase.planning.quantities import counted, duration

NO_NUMBERS = "Nothing is known of the events, so all arrows are equally thin."
NUMBERS = "The width of an arrow is the number of rows, on a log scale."
OUTLINES = "Dashed lines are the width that was expected, where it differs."


def as_html(explanation: ExplainedPlan) -> str:
    """The page."""
    style, script = _file("page.css"), _file("page.js")
    return Template(_file("page.html")).substitute(
        title=escaped(f"Plan {explanation.recipe} · SASE"),
        recipe=escaped(explanation.recipe),
        summary=escaped(explanation.summary),
        facts=_facts(explanation),
        caption=escaped(_caption(explanation)),
        flow=flow(explanation),
        query=query_pieces(explanation),
        # The operators are numbered from the bottom up; the picture and the details follow this
        # order.
        panels=joined(panel(each, explanation) for each in explanation.operators),
        history=history(explanation),
        shown=escaped((explanation.worst or explanation.operators[0]).key),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _file(name: str) -> str:
    folder = files("sase.planning.explain.page")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash with which the page's content security policy allows the script."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _facts(explanation: ExplainedPlan) -> Markup:
    return element(
        "dl",
        *[
            element("div", element("dt", name), element("dd", value))
            for name, value in _known_facts(explanation)
        ],
        class_="facts",
    )


def _known_facts(explanation: ExplainedPlan) -> Iterator[tuple[str, str]]:
    expected, worst = explanation.expected_results, explanation.worst
    if expected is not None:
        about = f"about {counted(expected)} expected"
        found = explanation.results
        yield "Results", about if found is None else f"{counted(found)} ({about})"
    elif explanation.results is not None:
        yield "Results", counted(explanation.results)
    form = None if explanation.form is None else form_text(explanation.form)
    if form is not None:
        yield "Output", form
    if explanation.nanoseconds is not None:
        yield "Time", duration(explanation.nanoseconds)
    if worst is not None:
        factor = f" by a factor of {counted(worst.misestimate)}"
        yield (
            "Worst estimate",
            joined(
                [
                    element("a", name_of(worst.symbol, worst.branch), href=f"#{address(worst)}"),
                    factor,
                ]
            ),
        )
    if explanation.source:
        yield "Statistics", explanation.source
    if explanation.physical:
        yield "Driven", joined(element("div", line) for line in driven(explanation.physical))
        yield from (("Declined", line) for line in declined(explanation.physical, verbose=True))
    if explanation.split:
        yield "Parallel parts", explanation.split
    if explanation.complexity is not None:
        lines = complexity_lines(explanation.complexity)
        yield "Complexity", joined(element("div", line) for line in lines)
    yield from (("Note", note) for note in explanation.notes)


def _caption(explanation: ExplainedPlan) -> str:
    expected = any(each.expected for each in explanation.operators)
    measured = any(each.measured for each in explanation.operators)
    if not expected and not measured:
        return NO_NUMBERS
    return f"{NUMBERS} {OUTLINES}" if expected and measured else NUMBERS
