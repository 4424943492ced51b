"""Load the events of one input, as a loader does that has seen no other."""

from __future__ import annotations

from collections.abc import Iterable

from sase.binding import Schema
from sase.engine.columns import Classify, Events, Loader


def load(
    events: object,
    schema: Schema,
    columns: Iterable[str],
    *,
    classify: Classify | None = None,
    on_bad_row: str = "error",
) -> Events:
    """The events with the columns named."""
    return Loader(schema, columns, classify=classify, on_bad_row=on_bad_row).load(events)
