"""An explanation and its output forms: text, plain data, a graph and a page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from sase.planning.explain.automaton import automata_dot, automata_text
from sase.planning.explain.document import as_document, as_dot
from sase.planning.explain.text import as_text
from sase.planning.explain.value import ExplainedPlan
from sase.printable import Documented


@dataclass(frozen=True, slots=True)
class Explanation(Documented, ExplainedPlan):
    """A plan from the bottom up, the rewrites that led to it, and facts about the events.

    `to_dict` returns its documented form (docs/explain.md). The page and the graph are made from
    it.

    Examples:
        >>> print(sase.explain("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10").to_automaton())
        automaton, skip_till_any_match: a run may ignore any event
            a: A
            b: B
            START -> a  begin
            a -> b      begin
            b -> END    match
    """

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, verbose: bool = False) -> str:
        """The plan as a tree; `verbose` adds the rewrites and the alternatives."""
        return as_text(self, verbose=verbose)

    def to_dict(self) -> dict[str, Any]:
        """All data as plain values for JSON; docs/explain.md describes it."""
        return as_document(self)

    def to_dot(self) -> str:
        """The plan as a graph for Graphviz."""
        return as_dot(self)

    def to_automaton(self) -> str:
        """The automaton of each branch: its states, and the conditions of each edge."""
        return automata_text(self.automata)

    def to_automaton_dot(self) -> str:
        """The automata as a graph for Graphviz."""
        return automata_dot(self.automata)

    def to_html(self) -> str:
        """The plan as a self-contained HTML page."""
        from sase.planning.explain.html import as_html

        return as_html(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.to_text())}</pre>"
