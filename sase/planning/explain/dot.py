"""An explanation as a Graphviz graph: the dataflow from the bottom up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log10

from sase.planning.explain.automaton import escaped
from sase.planning.explain.driven import declined, driven
from sase.planning.explain.value import ExplainedOperator, ExplainedPlan
from sase.planning.quantities import counted


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
    lines = [f"driven: {driven(explanation.physical)}"]
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
