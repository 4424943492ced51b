"""Matches with repeated groups in the form that kernels need, and how they are replayed."""

from __future__ import annotations

import numpy as np

from sase.engine.kernels.runs.residual_checks import Iterations, Shape
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import Automaton


def iterations_of(bindings: Bindings, shape: Shape) -> Iterations:
    """The iterations of matches, in the form that kernels need."""
    counts, lasts = np.ascontiguousarray(bindings.counts), np.zeros_like(bindings.sizes)
    return Iterations(shape, bindings.slots, counts, bindings.sizes, bindings.kinds, lasts)


def shape_of(states: PatternStates, automaton: Automaton) -> Shape:
    """The states that replay matches."""
    groups, first, rows = list[int](), list[int](), list[list[int]]()
    widest = max(len(states.group(g).variables) for g in range(len(states.levels)))
    for level, component in enumerate(states.components):
        if component.group is None:
            groups.append(NOTHING)
            first.append(states.numbers[component.index])
            continue
        group = states.levels.index(level)
        groups.append(group)
        first.append(len(rows))
        for branch in states.automaton.groups[group].branches:
            row = [0] * widest
            for number in branch:
                row[states.states[number].slot] = number
            rows.append(row)
    return Shape(*automaton, np.array(groups), np.array(first), np.array(rows))
