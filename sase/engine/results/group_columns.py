"""Columns of repeated groups: a list of iterations, each a struct of the variables inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from sase.binding.bound import BoundComponent
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.gather import taken_values
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.bindings.unions import UnionBindings
from sase.engine.results.arrow_columns import list_offsets


def group_column(
    positions: Bindings,
    level: int,
    number: int,
    component: BoundComponent,
    shown: Callable[[BoundComponent, Numbers], pa.Array],
) -> pa.ListArray:
    """The iterations of the pattern's group `number`; `shown` converts events."""
    assert component.group is not None
    events, _ = positions.of_level(level)
    if isinstance(positions, UnionBindings):
        iterations = positions.known_iterations
        slots, counts = iterations.inner[positions.slots == level], iterations.counts(level)
        sizes = iterations.sizes[iterations.owners == level]
    else:
        assert isinstance(positions, GroupBindings)
        by_level = positions.by_level()
        slots, _ = Bindings(by_level.slots, by_level.ends, by_level.lengths).of_level(level)
        counts = positions.counts[number]
        sizes = positions.sizes[_of_group(positions.counts, number)]
    iteration = np.repeat(np.arange(len(sizes)), sizes)
    fields = {
        each.variable: _field(each, slots == each.index, events, iteration, len(sizes), shown)
        for each in component.group.variables
        if not each.negated
    }
    structs = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    return pa.ListArray.from_arrays(list_offsets(np.cumsum(counts), len(sizes)), structs)


def rows_of_iterations(
    positions: Bindings, level: int, number: int, component: BoundComponent
) -> pa.ListArray:
    """The row numbers of a group's iterations."""
    numbers = partial(pa.array, type=pa.int64())
    return group_column(positions, level, number, component, lambda _, rows: numbers(rows))


def row_type(component: BoundComponent) -> pa.DataType:
    """The type of the row numbers of a repeated group."""
    assert component.group is not None
    kinds = [
        (each.variable, pa.list_(pa.int64()) if each.is_series else pa.int64())
        for each in component.group.variables
        if not each.negated
    ]
    return pa.list_(pa.struct(kinds))


def _of_group(counts: Numbers, number: int) -> Numbers:
    """The places of one group's iterations among those of all, which are in order of matches."""
    groups, matches = counts.shape
    owners = np.repeat(np.tile(np.arange(groups), matches), counts.T.reshape(-1))
    return np.flatnonzero(owners == number)


def _field(
    variable: BoundComponent,
    is_own: np.typing.NDArray[np.bool_],
    events: Numbers,
    iteration: Numbers,
    iterations: int,
    shown: Callable[[BoundComponent, Numbers], pa.Array],
) -> pa.Array:
    """The events of a variable in each iteration: one or NULL, or a list."""
    own, of = events[is_own], iteration[is_own]
    values = shown(variable, own)
    if variable.is_series:
        ends = np.cumsum(np.bincount(of, minlength=iterations))
        return pa.ListArray.from_arrays(list_offsets(ends, len(own)), values)
    places = np.full(iterations, -1)
    places[of] = np.arange(len(own))
    return taken_values(values, places, places < 0)
