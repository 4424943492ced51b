"""The query text in pieces, each with the operators that check it."""

from __future__ import annotations

from sase.planning.explain.page.markup import Markup, element, joined
from sase.planning.explain.value import ExplainedPlan


def query_pieces(explanation: ExplainedPlan) -> Markup:
    """The text; the script highlights the pieces of the selected operator."""
    parts = [(part, each.key) for each in explanation.operators for part in each.parts]
    text = explanation.query
    edges = sorted({0, len(text), *(edge for part, _ in parts for edge in part)})
    return joined(
        _piece(text[start:end], [name for (first, last), name in parts if first <= start < last])
        for start, end in zip(edges, edges[1:], strict=False)
    )


def _piece(text: str, names: list[str]) -> str:
    if not names:
        return text
    return element("span", text, data_operators=" ".join(dict.fromkeys(names)))
