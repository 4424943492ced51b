"""Plans with all events through the operators, block by block, and whether stacks hold rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import sase
from sase.engine.operators.batch_stacks import WholeStacks


def unfused(plan: sase.Plan) -> sase.Plan:
    """The plan without fused paths."""
    return replace(plan, options=replace(plan.options, fused=False))


def whole_stacks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that is longer after each piece of a whole input with stacks of rows.

    There are stacks of rows if keys are many, or if one is a large number.
    """
    over, pieces = WholeStacks.push, list[int]()

    def watched(self: WholeStacks, *arguments: Any) -> Any:
        pieces.append(len(pieces))
        return over(self, *arguments)

    monkeypatch.setattr(WholeStacks, "push", watched)
    return pieces
