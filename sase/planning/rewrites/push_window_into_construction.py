"""(WinSC) Check the window while sequences are built, instead of after (4.3)."""

from __future__ import annotations

from dataclasses import replace

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
    if construction is None or window is None:
        return None
    pushed = exchanged(plan, replace(construction, window=window.window))
    return rebuilt([operator for operator in chain(pushed) if not isinstance(operator, Window)])
