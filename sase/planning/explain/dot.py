"""An explanation as a graph for Graphviz: the dataflow from the bottom up."""

from __future__ import annotations

from math import log10

from sase.planning.explain.value import ExplainedPlan
from sase.planning.physical import declined, executed
from sase.planning.quantities import counted
from sase.printable import printable


def as_dot(explanation: ExplainedPlan) -> str:
    """Operators as boxes; the arrows between them as wide as what flows, on a log scale."""
    lines = ["digraph plan {", "  rankdir=BT", '  node [shape=box, style=rounded, fontname="sans"]']
    lines.append('  events [label="events", shape=plaintext]')
    for place, operator in enumerate(explanation.operators):
        texts = [f"{operator.symbol}  {operator.algorithm}", *operator.details]
        label = "\\n".join(map(_escaped, texts))
        lines.append(f'  o{place} [label="{label}"]')
    names = ["events", *(f"o{place}" for place in range(len(explanation.operators))), "results"]
    lines.append('  results [label="results", shape=plaintext]')
    known = [operator.known for operator in explanation.operators]
    flows = [None if known[0] is None else known[0].rows_in]
    flows += [None if each is None else each.rows_out for each in known]
    for below, above, flow in zip(names, names[1:], flows, strict=False):
        lines.append(f"  {below} -> {above}{_attributes(flow)}")
    lines += _physical(explanation)
    return "\n".join([*lines, "}"])


def _physical(explanation: ExplainedPlan) -> list[str]:
    """A box around the operators that a fused path executes, and a note on what does."""
    if not explanation.physical:
        return []
    lines = [f"executed: {executed(explanation.physical)}"]
    lines += [f"declined {line}" for line in declined(explanation.physical, verbose=True)]
    note = "".join(f"{_escaped(line)}\\l" for line in lines)
    found = [f'  physical [label="{note}", shape=note]']
    paths = [path.name for path in explanation.physical if path.declined is None]
    if paths:
        boxes = "; ".join(f"o{place}" for place in range(len(explanation.operators)))
        label = _escaped(", ".join(paths))
        found.append(f'  subgraph cluster_fused {{ label="{label}"; style=dashed; {boxes} }}')
    return found


def _attributes(flow: float | None) -> str:
    if flow is None:
        return ""
    return f' [label="{counted(flow)}", penwidth={1 + log10(max(flow, 1)):.1f}]'


def _escaped(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
