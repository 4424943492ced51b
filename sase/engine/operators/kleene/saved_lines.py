"""Save lines key by key, and restore them; restoring computes all places again.

No number of a checkpoint is a place. Restored lines have the first rows, the list of one key after
the other, and each line has the least room in the heap for its events.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import line_store as store
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, in_order, linked

FIRST = store.FIRST_LINE // store.FIELDS
# The saved fields of a line, and of a key.
OF_LINE = [store.SIZE, store.START, store.TIE, store.SPOT, store.MET]
OF_KEY = [store.COUNT, store.RANK, store.BAR, store.UNTIL, store.TAKEN]


def saved_lines(lines: store.Lines, nodes: Numbers) -> dict[str, Numbers]:
    """Return the live lines, their events and nodes, and the fields of keys."""
    cells = lines.cells[: lines.counts[store.USED]].reshape(-1, store.FIELDS)
    keys = lines.keys.reshape(-1, store.KEY_FIELDS)
    heads, following = keys[:, store.HEAD] // store.FIELDS, cells[:, store.NEXT] // store.FIELDS
    live = in_order(heads, following, np.flatnonzero(cells[:, store.SIZE]))
    sizes = cells[live, store.SIZE]
    begins, events = np.cumsum(sizes) - sizes, np.empty(int(sizes.sum()), np.int64)
    for stored, at, is_there in (
        (lines.homes, live * store.FIELDS, sizes <= store.HOME),
        (lines.heap, cells[live, store.AT], sizes > store.HOME),
    ):
        into = _places(begins[is_there], sizes[is_there])
        events[into] = stored[_places(at[is_there], sizes[is_there])]
    own, known = cells[live][:, OF_LINE], keys[:, OF_KEY]
    return {"lines": own, "events": events, "nodes": nodes[live], "keys": known}


def restored(
    saved: Saved, values: Any, rows: int, series: int, most: int, heap: int
) -> store.Lines:
    """Return the lines of a checkpoint from the `values` read; the heap has at least `heap` words.

    A line has at most `most` events. The events after the level `series` belong to the series.
    """
    sizes, events, counts, count = (
        values.lines[:, 0],
        values.events,
        values.keys[:, 0],
        len(values.lines),
    )
    ranks = values.keys[:, 1]
    saved.check(bool(((ranks >= 0) & (ranks <= MOST_COUNTED)).all()), "a rank is none")
    fits = (sizes > 0) & (sizes <= min(most, len(events)))
    saved.check(bool(fits.all()), "a line has more events than there may be")
    saved.check(int(sizes.sum()) == len(events), "events are not those of the lines")
    saved.check_events(events)
    heads, following, owners = linked(saved, counts, count, FIRST)
    cells = np.zeros((rows, store.FIELDS), np.int64)
    own, rooms = cells[FIRST : FIRST + count], _rooms(sizes)
    own[:, OF_LINE] = values.lines
    own[:, store.NEXT], own[:, store.KEY] = following, owners * store.KEY_FIELDS
    own[:, store.NEXT][following != NOTHING] *= store.FIELDS
    own[:, store.AT] = np.cumsum(rooms) - rooms
    keys = np.zeros((len(counts), store.KEY_FIELDS), np.int64)
    keys[:, OF_KEY] = values.keys
    keys[:, store.HEAD] = np.where(heads == NOTHING, NOTHING, heads * store.FIELDS)
    is_outside = sizes <= series
    keys[:, store.OUTSIDE] = np.bincount(owners[is_outside], minlength=len(keys))
    is_long, begins, top = sizes > store.HOME, np.cumsum(sizes) - sizes, int(rooms.sum())
    room = np.empty(max(top + store.SMALLEST, heap), np.int64)
    long = _places(own[is_long, store.AT], sizes[is_long])
    room[long] = events[_places(begins[is_long], sizes[is_long])]
    homes = np.empty(rows * store.FIELDS + store.SLACK, np.int64)
    numbers, first_ones = np.arange(FIRST, FIRST + count), np.minimum(sizes, store.HOME)
    homes[_places(numbers * store.FIELDS, first_ones)] = events[_places(begins, first_ones)]
    made = np.zeros(store.COUNTS, np.int64)
    made[store.MADE : store.SPLIT + 1] = values.counts
    made[store.USED], made[store.TOP] = (FIRST + count) * store.FIELDS, top
    made[store.LONG], made[store.HELD] = sizes[sizes >= store.HOME].sum(), len(events)
    made[store.LIVE] = made[store.BEHIND] = count
    none, spare = np.full(store.SIZES, NOTHING, np.int64), np.empty(rows, np.int64)
    order = _order(numbers, events[begins])
    return store.Lines(cells.ravel(), homes, spare, keys.ravel(), room, none, order, made)


def _rooms(sizes: Numbers) -> Numbers:
    """Return the least room for each number of events; 0 if they are stored beside their line."""
    steps = np.maximum(np.ceil(np.log2(np.maximum(sizes / store.SMALLEST, 1))), 0)
    rooms = np.asarray(store.SMALLEST << steps.astype(np.int64), np.int64)
    return np.where(sizes > store.HOME, rooms, 0)


def _order(lines: Numbers, begins: Numbers) -> Numbers:
    """Return the ring of lines, ordered by their first events."""
    by_begin = np.argsort(begins)
    order = np.zeros((max(store.FEWEST_ENTRIES, 1 << len(lines).bit_length()), 2), np.int64)
    order[: len(lines)] = np.stack([lines[by_begin] * store.FIELDS, begins[by_begin]], axis=1)
    return order.reshape(-1)


def _places(begins: Numbers, sizes: Numbers) -> Numbers:
    """Return all places of ranges, one range after the other."""
    total = int(sizes.sum())
    shifts = np.repeat(begins - np.append(0, np.cumsum(sizes))[: len(sizes)], sizes)
    return np.asarray(np.arange(total) + shifts, np.int64)
