"""Generate the readings of a small shop, in which some items skip the counter."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sase.generate import batches as arguments
from sase.generate.batches import Int64s, TypeLayout, check_layout, type_column

Tags = Literal["string", "integer"]

TYPES = ("SHELF-READING", "COUNTER-READING", "EXIT-READING")
SHELF, COUNTER, EXIT = range(3)
HOUR = 3_600_000_000  # in microseconds, as the times are
OPENING = datetime(2026, 1, 1, 8, tzinfo=UTC)


class Shop(NamedTuple):
    """The readings of a shop in time order, and the tags of the stolen items."""

    table: pa.Table
    stolen: frozenset[str] | frozenset[int]

    def answers(self) -> pa.Table:
        """The tags of the stolen items as the one column `tag_id`, sorted."""
        return pa.table({"tag_id": pa.array(sorted(self.stolen), self.table["tag_id"].type)})


def retail_events(
    *,
    items: int,
    thefts: int,
    shelved_again: int = 0,
    hours: int = 12,
    start: datetime = OPENING,
    tags: Tags = "string",
    seed: int = 0,
    type_layout: TypeLayout = "int8",
) -> Shop:
    """Readings of items with `ts`, `type` and `tag_id`, at a shelf, the counter and the exit.

    `thefts` items skip the counter. `shelved_again` items, stolen or not, are put back and read at
    a shelf twice. The first readings spread over `hours`; an item leaves within three hours of its
    first reading. Each item has its own tag.
    """
    items = arguments.whole("items", items, 0, 2**31 - 1)
    thefts = arguments.whole("thefts", thefts, 0, items)
    shelved_again = arguments.whole("shelved_again", shelved_again, 0, items)
    hours = arguments.whole("hours", hours, 1, 24 * 36_525)
    opening = arguments.moment("start", start)
    arguments.one_of("tags", tags, get_args(Tags))
    check_layout(type_layout, len(TYPES))
    rng = np.random.default_rng(arguments.whole("seed", seed))

    is_stolen = rng.permutation(items) < thefts
    is_back = rng.permutation(items) < shelved_again
    item, place, ts = _walks(
        rng, opening + rng.integers(0, hours * HOUR, items), is_stolen, is_back
    )
    order = np.argsort(ts, kind="stable")
    table = pa.table(
        {
            "ts": pa.array(ts[order], pa.timestamp("us", "UTC")),
            "type": type_column(place[order], TYPES, type_layout),
            "tag_id": _tag(item[order], tags),
        }
    )
    return Shop(table, frozenset(_tag(np.flatnonzero(is_stolen), tags).to_pylist()))


def _walks(
    rng: np.random.Generator,
    seen: Int64s,
    is_stolen: npt.NDArray[np.bool_],
    is_back: npt.NDArray[np.bool_],
) -> tuple[Int64s, Int64s, Int64s]:
    """Item, place and time of all readings; each less than an hour after the item's last one."""
    always = np.ones(len(seen), dtype=np.bool_)
    items, places, times = [], [], []
    for place, here in (SHELF, always), (SHELF, is_back), (COUNTER, ~is_stolen), (EXIT, always):
        read = np.flatnonzero(here)
        items.append(read)
        places.append(np.full(len(read), place))
        times.append(seen[read])
        seen = seen + np.where(here, rng.integers(1, HOUR, size=len(seen)), 0)
    return np.concatenate(items), np.concatenate(places), np.concatenate(times)


def _tag(items: Int64s, tags: Tags) -> pa.Array:
    """The tags of items: their numbers, or a T and at least six digits."""
    if tags == "integer":
        return pa.array(items)
    digits = pc.utf8_lpad(pc.cast(pa.array(items), pa.string()), 6, "0")
    return pc.binary_join_element_wise("T", digits, "")
