"""(WinSC) Check the window while sequences are built, instead of after (4.3)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import WindowKind
from sase.planning.nodes import (
    Operator,
    SequenceConstruction,
    Window,
    chain,
    exchanged,
    find,
    rebuilt,
)


def push_window_into_construction(plan: Operator) -> Operator | None:
    """The walk stops at the first event that is too old; the window operator goes."""
    construction, window = find(plan, SequenceConstruction), find(plan, Window)
    if construction is None or window is None or not _comparable(construction, window):
        return None
    pushed = exchanged(plan, replace(construction, window=window.window))
    return rebuilt([operator for operator in chain(pushed) if not isinstance(operator, Window)])


def _comparable(construction: SequenceConstruction, window: Window) -> bool:
    """Whether all that meets in the stacks is measured alike: positions in a partition are not."""
    if window.window.kind is not WindowKind.PARTITION_EVENTS:
        return True
    partitions = construction.input.partitions
    return bool(partitions) and set(partitions[0]) == set(construction.input.tests)
