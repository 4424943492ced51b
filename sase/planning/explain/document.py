"""An explanation as JSON data (docs/explain.md) and as a Graphviz graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import log10
from typing import Any

from sase.planning.explain.automaton import automaton_document, escaped
from sase.planning.explain.driven import declined, driven
from sase.planning.explain.value import VERSION, ExplainedForm, ExplainedOperator, ExplainedPlan
from sase.planning.quantities import counted

# ---------------------------------------------------------------- document


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
        "complexity": None
        if explanation.complexity is None
        else _members(
            explanation.complexity, kind="class", runs="runs_log10", matches="matches_log10"
        ),
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
        "ways": [
            {"method": each.method.name.lower(), "reasons": list(each.reasons)}
            for each in form.ways
        ],
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


# ---------------------------------------------------------------- dot


def as_dot(explanation: ExplainedPlan) -> str:
    """Operators as boxes; the width of arrows is the number of rows, on a log scale."""
    lines = ["digraph plan {", "  rankdir=BT", '  node [shape=box, style=rounded, fontname="sans"]']
    lines.append('  events [label="events", shape=plaintext]')
    names = {each.key: f"o{place}" for place, each in enumerate(explanation.operators)}
    for operator in explanation.operators:
        texts = [f"{operator.symbol}  {operator.algorithm}", *operator.details]
        label = "\\n".join(map(escaped, texts))
        lines.append(f'  {names[operator.key]} [label="{label}"]')
    lines.append('  results [label="results", shape=plaintext]')
    branches, common = explanation.branches, explanation.common
    for number, branch in enumerate(branches, 1):
        boxes = "; ".join(names[each.key] for each in branch)
        label = f"branch {number} of {len(branches)}"
        lines.append(f'  subgraph cluster_branch{number} {{ label="{label}"; {boxes} }}')
        lines += _arrows(branch, "events", names, names[common[0].key])
    lines += _arrows(common, None if branches else "events", names, "results")
    lines += _physical(explanation)
    return "\n".join([*lines, "}"])


def _arrows(
    operators: Sequence[ExplainedOperator], below: str | None, names: Mapping[str, str], above: str
) -> Iterator[str]:
    """The arrows into, between and out of consecutive operators."""
    places = [below, *(names[each.key] for each in operators), above]
    known = [operator.known for operator in operators]
    flows = [None if known[0] is None else known[0].rows_in]
    flows += [None if each is None else each.rows_out for each in known]
    for begin, end, flow in zip(places, places[1:], flows, strict=False):
        if begin is not None:
            yield f"  {begin} -> {end}{_attributes(flow)}"


def _physical(explanation: ExplainedPlan) -> list[str]:
    """A box around the operators that a fused path executes, and a note on the execution."""
    if not explanation.physical:
        return []
    first, *others = driven(explanation.physical)
    lines = [f"driven: {first}", *(f"  {each}" for each in others)]
    lines += [f"declined {line}" for line in declined(explanation.physical, verbose=True)]
    note = "".join(f"{escaped(line)}\\l" for line in lines)
    found = [f'  physical [label="{note}", shape=note]']
    paths = [path.name for path in explanation.physical if path.declined is None]
    if paths:
        boxes = "; ".join(f"o{place}" for place in range(len(explanation.operators)))
        label = escaped(", ".join(paths))
        found.append(f'  subgraph cluster_fused {{ label="{label}"; style=dashed; {boxes} }}')
    return found


def _attributes(flow: float | None) -> str:
    if flow is None:
        return ""
    return f' [label="{counted(flow)}", penwidth={1 + log10(max(flow, 1)):.1f}]'
