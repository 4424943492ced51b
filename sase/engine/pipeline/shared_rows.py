"""Rows that were loaded once for several pipelines: those that concern one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sase.engine.columns import Events, Inputs, Loader
from sase.engine.columns.arrays import Numbers


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Events that concern a pipeline, of those that several share.

    `rows` are their numbers in the input, by their place in the tables that `read` takes out of it
    with them, and `none` leaves empty. The `loader` knows what the columns of all events have held.
    They are at some `places` of the `whole` that was loaded, or all of it.
    Where it `is_admitted` the scan admits each event: no condition on it alone is left to check.
    """

    loader: Loader
    events: Events
    rows: Numbers
    is_admitted: bool
    read: Callable[[], tuple[Inputs, Events]]
    none: Callable[[], tuple[Inputs, Events]]
    whole: Events
    places: Numbers | None
