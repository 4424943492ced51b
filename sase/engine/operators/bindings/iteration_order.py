"""The order of matches with repeated groups: variables in their groups, and sizes of iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings

# In place of a missing iteration: it comes before all others.
NONE = 0
LATEST = np.iinfo(np.int64).max


def ranks_of(components: Sequence[BoundComponent]) -> Numbers:
    """The rank of each variable in the text of the query, by variable and number in its group."""
    inside = [each.group.variables if each.group else () for each in components]
    ranks = np.zeros((len(components), max(map(len, inside), default=0) + 1), np.int64)
    places = {
        (slot, number): variable.span.start
        for slot, (component, variables) in enumerate(zip(components, inside, strict=True))
        for number, variable in enumerate(variables or (component,))
    }
    for rank, place in enumerate(sorted(places, key=lambda each: places[each])):
        ranks[place] = rank
    return ranks


def last_first(bindings: Bindings, ranked: Numbers) -> list[Numbers]:
    """For each match the ranks of its events and the sizes of its iterations, in reverse order."""
    sizes, last = bindings.sizes, np.cumsum(bindings.iterations)
    pairs = zip(bindings.begins, bindings.ends, last - bindings.iterations, last, strict=True)
    return [
        np.concatenate([ranked[begin:end][::-1], sizes[first:stop][::-1]])
        for begin, end, first, stop in pairs
    ]


def with_sizes(bindings: Bindings, ranked: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Events, their ranks, and ends for sorting matches; iteration sizes are compared last.

    The sizes are inserted before the events of each match, at events later than all others. All
    matches get the same number of them. So if one match is a suffix of another one, the shorter one
    still comes first.
    """
    totals = bindings.iterations
    most = int(totals.max(initial=0))
    ends = bindings.ends + most * np.arange(1, bindings.size + 1)
    events = np.full(len(bindings.events) + most * bindings.size, LATEST)
    ranks = np.full(len(events), NONE)
    lengths = bindings.ends - bindings.begins
    places = np.arange(len(bindings.events)) + most * np.repeat(
        np.arange(1, bindings.size + 1), lengths
    )
    events[places], ranks[places] = bindings.events, ranked
    # The sizes are right before the first event, the last iteration nearest to it.
    last = np.cumsum(totals)
    number = np.arange(len(bindings.sizes)) - np.repeat(last, totals)
    starts = np.repeat(ends - lengths, totals)
    ranks[starts + number] = bindings.sizes
    return events, ranks, ends
