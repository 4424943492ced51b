"""An explanation as JSON data; docs/explain.md describes every member."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sase.planning.explain.automaton import automaton_document
from sase.planning.explain.value import VERSION, ExplainedForm, ExplainedOperator, ExplainedPlan


def as_document(explanation: ExplainedPlan) -> dict[str, Any]:
    """The whole explanation; unknown values are null."""
    worst = explanation.worst
    return {
        "version": VERSION,
        "query": explanation.query,
        "plan": {"name": explanation.recipe, "summary": explanation.summary},
        "statistics": explanation.source or None,
        "results": {"expected": explanation.expected_results, "actual": explanation.results},
        "nanoseconds": explanation.nanoseconds,
        "form": None if explanation.form is None else _form(explanation.form),
        "physical": [
            _members(path, name="path") | {"feed": path.feed.name.lower()}
            for path in explanation.physical
        ],
        "automata": [automaton_document(each) for each in explanation.automata],
        "split": explanation.split,
        "notes": list(explanation.notes),
        "worst_estimate": None if worst is None else worst.name,
        "worst_branch": None if worst is None else worst.branch,
        "operators": [_operator(each) for each in explanation.operators],
        "rewrites": [_members(step, rewrite="name") for step in explanation.steps],
        "choices": [
            [_members(each, calls="rewrites", is_taken="taken") for each in choice]
            for choice in explanation.choices
        ],
    }


def _form(form: ExplainedForm) -> dict[str, Any]:
    return {
        "output": form.output,
        "counts_paths": not form.reasons,
        "reasons": list(form.reasons),
        "counts_histories": form.histories,
        "counts_branches": form.by_branch,
        "counts_states": form.by_states,
        "list": None if form.matches is None else {"matches": form.matches, "bytes": form.bytes},
    }


def _operator(operator: ExplainedOperator) -> dict[str, Any]:
    expected, measured = operator.expected, operator.measured
    return {
        "name": operator.name,
        "symbol": operator.symbol,
        "algorithm": operator.algorithm,
        "details": list(operator.details),
        "reasons": list(operator.reasons),
        "query_parts": [list(part) for part in operator.parts],
        "expected": None if expected is None else _members(expected),
        "actual": None if measured is None else (
            _members(measured) | {"counters": _plain(dict(measured.counters))}
        ),
        "misestimate": None if expected is None or measured is None else operator.misestimate,
        "branch": operator.branch,
    }  # fmt: skip


def _members(value: Any, **names: str) -> dict[str, Any]:
    """The fields of a value as plain data, some under other names."""
    return {names.get(name, name): _plain(each) for name, each in asdict(value).items()}


def _plain(value: Any) -> Any:
    """Convert tuples to lists at all depths."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value
