"""The checks of sequences, made of codes and values of events by place."""

from __future__ import annotations

import numpy as np

from sase.binding.bound import All, Comparison, Condition, Part, Reference
from sase.binding.types import INTEGER
from sase.engine.expressions import ProgramLayout, lower_terms, make_stack
from sase.engine.kernels.expressions.checks import Checks
from sase.engine.kernels.expressions.operations import INTEGER as INTEGRAL
from sase.engine.kernels.expressions.operations import NULL
from sase.engine.kernels.expressions.program import Columns
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.sentinels import NOTHING

ROOM = 64  # events by place
LEVELS = 4  # of which the last may be a negative component


def lesser(pairs: list[tuple[int, int]]) -> Condition:
    found = [
        Comparison("<", *(Reference(INTEGER, level, Part.EVENT, "value") for level in pair))
        for pair in pairs
    ]
    return found[0] if len(found) == 1 else All(tuple(found))


def checks_of(
    codes: list[list[int]], values: list[int | None], by_level: list[list[tuple[int, int]]]
) -> Checks:
    """Tests with the codes of events by place, and the compared values at each level."""
    levels = range(LEVELS)
    layout = ProgramLayout(
        {(level, "value"): 0 for level in levels}, positions={n: n for n in levels}
    )
    lowered, entries = lower_terms([(lesser(pairs), layout) for pairs in by_level if pairs])
    left = iter(entries)
    starts = [next(left) if pairs else NOTHING for pairs in by_level] if entries else []
    columns = Columns(
        frozen(np.array([[value or 0 for value in values]], np.int64)),
        frozen(np.array([[NULL if value is None else INTEGRAL for value in values]], np.uint8)),
        frozen(np.zeros(ROOM, np.int16)),
        frozen(np.zeros((0, 0), np.int64)),
    )
    return Checks(
        ROOM - 1,
        frozen(np.arange(len(codes))),
        frozen(np.array(codes, np.int64).reshape(-1, ROOM)),
        frozen(np.array(starts, np.int64)),
        lowered.program,
        columns,
        make_stack(lowered.depth),
        np.zeros(LEVELS, np.int64),
    )
