"""Matches with repeated groups as kernels take them, and how they are bound once more."""

from __future__ import annotations

import numpy as np

from sase.engine.kernels.groups.iteration_checks import GroupMatches, Shape
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import Automaton


def matches_of(found: GroupBindings) -> GroupMatches:
    """What kernels take of matches."""
    return GroupMatches(
        found.events,
        found.slots,
        found.ends,
        np.ascontiguousarray(found.lengths),
        np.ascontiguousarray(found.counts),
        found.sizes,
        found.branches,
        np.zeros(len(found.sizes), np.int64),
    )


def shape_of(states: PatternStates, automaton: Automaton) -> Shape:
    """How matches are bound again."""
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
