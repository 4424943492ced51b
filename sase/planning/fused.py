"""Which walks one kernel takes from columns to results, by what their plan says alone.

The engine decides it by the plan and by the events (`sase/engine/pipeline/fused`), and does no less
of it than is expected here: it leaves events to the operators for keys with NULLs, say.
"""

from __future__ import annotations

from sase.binding.bound import WindowKind
from sase.planning import nodes


def is_fused(plan: nodes.Operator) -> bool:
    """Whether a plan tells events apart by type and key alone, and each sequence is a result."""
    top, *below = nodes.chain(plan)
    if not isinstance(top, nodes.Transformation) or len(below) != 2:
        return False
    construction, scan = below
    if not isinstance(construction, nodes.SequenceConstruction):
        return False  # negation above runs
    assert isinstance(scan, nodes.SequenceScan)
    is_output = top.having or top.columns or top.limit is not None or top.non_overlapping
    checks = (construction.conditions, construction.equivalences, scan.conditions, scan.nothing)
    windows = (scan.window, construction.window)
    is_ranked = any(each and each.kind is WindowKind.PARTITION_EVENTS for each in windows)
    is_plain = scan.stacks is nodes.Stacks.AIS and not construction.joins and not is_ranked
    return is_plain and not is_output and not any(checks) and _has_plain_key(scan)


def _has_plain_key(scan: nodes.SequenceScan) -> bool:
    """Whether stacks are of one key, of attributes that bear one name and have any value."""
    if len(scan.partitions) > 1:
        return False
    return not any(
        test.attributes or test.value is not None for key in scan.partitions for test in key
    )
