"""Restore lines from a checkpoint: what kernels go on by is made anew from what was bound.

The lists of keys are checked. The heap is laid out anew, each line with the least room for its
events, so nothing is free in it, and no number of the checkpoint says where anything stands.
"""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import line_store as store
from sase.engine.kernels.kleene.run_nodes import LEVEL, PREVIOUS
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, lists_of

# What is counted besides what is made anew.
_COUNTED = slice(store.MADE, store.SPLIT + 1)


def saved_lines(lines: store.Lines) -> tuple[Numbers, Numbers, int]:
    """The lines that were ever used, the events of those that are alive, and the first free one.

    Those that are free are saved as a list.
    """
    cells = lines.cells[: lines.counts[store.USED]].reshape(-1, store.FIELDS).copy()
    is_live = cells[:, store.SIZE] > 0
    is_live[: store.FIRST_LINE // store.FIELDS] = False
    live = np.flatnonzero(is_live)
    sizes, begins = cells[live, store.SIZE], cells[live, store.AT]
    cells[live, store.AT] = ends = np.append(0, np.cumsum(sizes))[: len(live)]
    events = np.empty(int(sizes.sum()), np.int64)
    for stored, at, is_there in (
        (lines.homes, live * store.FIELDS, sizes <= store.HOME),
        (lines.heap, begins, sizes > store.HOME),
    ):
        into = _places(ends[is_there], sizes[is_there])
        events[into] = stored[_places(at[is_there], sizes[is_there])]
    spare = lines.spare[: lines.counts[store.FREE]]
    links = np.append(NOTHING, spare)
    cells[spare // store.FIELDS, store.NEXT] = links[:-1]
    return cells.reshape(-1), events, int(links[-1])


def restored_lines(
    saved: Saved, used: int, rows: int, series: int, most: int, heap: int
) -> store.Lines:
    """The lines of a checkpoint, in rows of which some are `used`, and a heap of so many words.

    A line has `most` events at most, of which those behind the level `series` are of that.
    """
    cells = saved.part("lines").array(used * store.FIELDS).reshape(used, store.FIELDS)
    keys = _keys(saved.part("keys"))
    counts = saved.part("counts").array(store.SAVED, low=NOTHING, high=MOST_COUNTED)
    first = store.FIRST_LINE // store.FIELDS
    saved.check(used >= first, "there is not a row for each line")
    live = _listed(saved, cells, keys, int(counts[store.FREE]))
    cells[live[0], store.KEY] = live[1] * store.KEY_FIELDS
    _count_outside(cells, keys, live, series)
    bound = _events(saved, cells, live[0], most)
    is_free = np.arange(used) >= first
    is_free[live[0]] = False
    free = np.flatnonzero(is_free)
    cells[free, store.SIZE] = 0
    spare = np.empty(rows, np.int64)
    spare[: len(free)] = free[::-1] * store.FIELDS
    sizes = cells[live[0], store.SIZE]
    top = int(_rooms(sizes).sum())
    room = np.empty(max(top + store.SMALLEST, heap), np.int64)
    is_long, begins = sizes > store.HOME, np.append(0, np.cumsum(sizes))[: len(sizes)]
    long = _places(cells[live[0], store.AT][is_long], sizes[is_long])
    room[long] = bound[_places(begins[is_long], sizes[is_long])]
    homes = np.empty(rows * store.FIELDS + store.SLACK, np.int64)
    first_ones = np.minimum(sizes, store.HOME)
    homes[_places(live[0] * store.FIELDS, first_ones)] = bound[_places(begins, first_ones)]
    made = np.zeros(store.COUNTS, np.int64)
    made[_COUNTED] = counts[_COUNTED]
    made[store.USED], made[store.TOP] = used * store.FIELDS, top
    made[store.FREE], made[store.LONG] = len(free), sizes[sizes >= store.HOME].sum()
    made[store.HELD], made[store.LIVE] = len(bound), len(live[0])
    table = np.empty((rows, store.FIELDS), np.int64)
    table[:used] = cells
    table[:first] = 0
    none = np.full(store.SIZES, NOTHING, np.int64)
    order = _order(live[0], bound[begins])
    made[store.BEHIND] = len(live[0])
    return store.Lines(table.reshape(-1), homes, spare, keys.reshape(-1), room, none, order, made)


def check_line_nodes(saved: Saved, nodes: Numbers, levels: int) -> None:
    """Check the nodes of lines: each knows its own event, and is before itself or the root."""
    level, before = nodes[:, LEVEL], nodes[:, PREVIOUS]
    saved.check(bool(((level >= NOTHING) & (level < levels)).all()), "there is no such level")
    is_there = (before >= 0) & (before < max(len(nodes), 1))
    saved.check(bool(is_there.all()), "a node leads nowhere")


def _keys(saved: Saved) -> Numbers:
    """What is known of keys, a row for each."""
    known = saved.array(None)
    saved.check(len(known) % store.KEY_FIELDS == 0, "there is not a row for each key")
    keys = known.reshape(-1, store.KEY_FIELDS)
    ranks = keys[:, store.RANK]
    saved.check(bool(((ranks >= 0) & (ranks <= MOST_COUNTED)).all()), "a rank is none")
    return keys


def _listed(saved: Saved, cells: Numbers, keys: Numbers, free: int) -> tuple[Numbers, Numbers]:
    """The lines in the lists of keys, with their keys; all others are in the list of free ones."""
    first = store.FIRST_LINE // store.FIELDS
    links = np.concatenate([keys[:, store.HEAD], np.array([free]), cells[first:, store.NEXT]])
    is_line = (links >= store.FIRST_LINE) & (links % store.FIELDS == 0)
    saved.check(bool(((links == NOTHING) | is_line).all()), "a list leads to no line")
    lines = np.arange(first, len(cells))
    heads = np.append(keys[:, store.HEAD], free)
    after = np.where(cells[:, store.NEXT] < 0, NOTHING, cells[:, store.NEXT] // store.FIELDS)
    heads = np.where(heads < 0, NOTHING, heads // store.FIELDS)
    owners = lists_of(heads, after, lines, saved)
    is_live = owners < len(keys)
    return lines[is_live], owners[is_live]


def _count_outside(
    cells: Numbers, keys: Numbers, live: tuple[Numbers, Numbers], series: int
) -> None:
    """Count the lines of each key, and those that have no event of the series yet."""
    lines, owners = live
    keys[:, store.COUNT] = np.bincount(owners, minlength=len(keys))
    is_outside = cells[lines, store.SIZE] <= series
    keys[:, store.OUTSIDE] = np.bincount(owners[is_outside], minlength=len(keys))


def _events(saved: Saved, cells: Numbers, lines: Numbers, most: int) -> Numbers:
    """The events of lines, one line behind the other, for which room is given."""
    heap = saved.part("heap").array(None)
    begins, sizes = cells[lines, store.AT], cells[lines, store.SIZE]
    saved.check(bool((sizes <= most).all()), "a line has more events than there may be")
    fits = (sizes > 0) & (begins >= 0) & (sizes <= len(heap)) & (begins <= len(heap) - sizes)
    saved.check(bool(fits.all()), "the events of a line are not in the heap")
    saved.check(int(sizes.sum()) <= len(heap), "lines have more events than there are")
    found = heap[_places(begins, sizes)]
    saved.check_events(found)
    cells[lines, store.AT] = np.append(0, np.cumsum(_rooms(sizes)))[: len(lines)]
    return found


def _rooms(sizes: Numbers) -> Numbers:
    """The room of the least extent for so many events each; none where they are beside a line."""
    steps = np.maximum(np.ceil(np.log2(np.maximum(sizes / store.SMALLEST, 1))), 0)
    rooms = np.asarray(store.SMALLEST << steps.astype(np.int64), np.int64)
    return np.where(sizes > store.HOME, rooms, 0)


def _order(lines: Numbers, begins: Numbers) -> Numbers:
    """The ring of lines, in the order of the events that they begin with."""
    by_begin = np.argsort(begins)
    order = np.zeros((max(store.FEWEST_ENTRIES, 1 << len(lines).bit_length()), 2), np.int64)
    order[: len(lines)] = np.stack([lines[by_begin] * store.FIELDS, begins[by_begin]], axis=1)
    return order.reshape(-1)


def _places(begins: Numbers, sizes: Numbers) -> Numbers:
    """All places of ranges, one range behind the other."""
    total = int(sizes.sum())
    shifts = np.repeat(begins - np.append(0, np.cumsum(sizes))[: len(sizes)], sizes)
    return np.asarray(np.arange(total) + shifts, np.int64)
