"""Stacks for every equivalence attribute: the scan of Multi-PAIS (SASE 2006, 4.2.2, figure 5)."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import OutIntCubes, OutIntRows
from sase.engine.kernels.scan.stacks import (
    COUNT,
    DROPPED,
    MASK,
    REACH,
    TAIL,
    Arrivals,
    StackArrays,
    below,
    is_tied,
    latest_before,
    push,
)
from sase.engine.kernels.sentinels import NOTHING, window_start


class AttributeStacks(NamedTuple):
    """The stacks of the attributes except the first; they use the numbers of the first's stacks.

    By attribute and level: the tops by key, and at each place the instance below and the key.
    """

    heads: OutIntCubes
    below: OutIntCubes
    key: OutIntCubes


@kernel
def scan_all(
    arrivals: Arrivals, keys: OutIntRows, stacks: StackArrays, others: AttributeStacks, span: int
) -> None:
    """Push onto all stacks each arrival that matches an earlier event on all attributes."""
    mask = others.below.shape[2] - 1
    for i in range(arrivals.rows.shape[0]):
        key, measure = arrivals.keys[i], arrivals.measures[i]
        may_tie = is_tied(stacks, arrivals.ties, i)
        if key < 0 or not has_all_keys(keys, i):
            continue
        bound = window_start(measure, span)
        for level in range(stacks.cells.shape[0] - 1, -1, -1):
            if not (arrivals.states[i] >> level) & 1:
                continue
            rip, reach = NOTHING, measure
            if level > 0:
                rip = latest_before(stacks, level - 1, key, may_tie)
                if rip == NOTHING or not intersect(
                    stacks, others, keys, (i, level - 1, rip), bound
                ):
                    stacks.ends[DROPPED, level] += 1
                    continue
                reach = stacks.cells[level - 1, rip & stacks.ends[MASK, level - 1], REACH]
            number = stacks.ends[COUNT, level]
            instance = arrivals.rows[i], rip, measure, reach
            push(stacks, level, key, instance, may_tie)
            for other in range(keys.shape[0]):
                top = others.heads[other, level, keys[other, i]]
                others.below[other, level, number & mask] = top
                others.key[other, level, number & mask] = keys[other, i]
                others.heads[other, level, keys[other, i]] = number


@linked
def has_all_keys(keys: OutIntRows, i: int) -> bool:
    """Whether an event has a value of every other attribute."""
    known = True
    for other in range(keys.shape[0]):
        known = known and keys[other, i] >= 0
    return known


@linked
def intersect(
    stacks: StackArrays,
    others: AttributeStacks,
    keys: OutIntRows,
    at: tuple[int, int, int],
    bound: int,
) -> bool:
    """Whether some instance is in the stacks of all attributes: cross-attribute filtering."""
    i, level, instance = at
    own, mask, tail = stacks.ends[MASK, level], others.below.shape[2] - 1, stacks.ends[TAIL, level]
    for other in range(keys.shape[0]):
        if others.heads[other, level, keys[other, i]] < tail:
            return False
    while instance >= tail and stacks.cells[level, instance & own, REACH] >= bound:
        found = True
        for other in range(keys.shape[0]):
            found = found and others.key[other, level, instance & mask] == keys[other, i]
        if found:
            return True
        instance = below(stacks.cells[level, instance & own], instance)
    return False
