"""Plans with all events through the operators, block by block."""

from __future__ import annotations

from dataclasses import replace

import sase


def unfused(plan: sase.Plan) -> sase.Plan:
    """The plan without fused paths."""
    return replace(plan, options=replace(plan.options, fused=False))
