"""An explanation as plain data of JSON; docs/explain.md describes every member."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sase.planning.explain.value import VERSION, ExplainedForm, ExplainedOperator, ExplainedPlan


def as_document(explanation: ExplainedPlan) -> dict[str, Any]:
    """The whole explanation; what is not known is null."""
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
            {
                "path": path.name,
                "feed": path.feed.name.lower(),
                "summary": path.summary,
                "declined": path.declined,
                "events": path.events,
                "refused": path.refused,
                "matches": path.matches,
                "nanoseconds": path.nanoseconds,
            }
            for path in explanation.physical
        ],
        "split": explanation.split,
        "notes": list(explanation.notes),
        "worst_estimate": None if worst is None else worst.name,
        "operators": [_operator(each) for each in explanation.operators],
        "rewrites": [
            {
                "name": step.rewrite,
                "summary": step.summary,
                "declined": step.declined,
                "removed": list(step.removed),
                "added": list(step.added),
                "operators": list(step.operators),
            }
            for step in explanation.steps
        ],
        "choices": [
            [
                {"rewrites": each.calls, "nanoseconds": each.nanoseconds, "taken": each.is_taken}
                for each in choice
            ]
            for choice in explanation.choices
        ],
    }


def _form(form: ExplainedForm) -> dict[str, Any]:
    return {
        "output": form.output,
        "counts_paths": not form.reasons,
        "reasons": list(form.reasons),
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
        "expected": None if expected is None else _plain(asdict(expected)),
        "actual": None if measured is None else _plain(
            {**asdict(measured), "counters": dict(measured.counters)}
        ),
        "misestimate": None if expected is None or measured is None else operator.misestimate,
    }  # fmt: skip


def _plain(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value
