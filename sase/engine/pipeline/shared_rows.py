"""The rows that concern one pipeline, of rows that were loaded once for several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sase.engine.columns import Events, Inputs, Loader
from sase.engine.columns.arrays import Numbers


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Events that concern a pipeline, of events that several pipelines share.

    `rows` are their row numbers in the tables of the input. `read` takes these rows out of the
    tables, and `none` returns tables without rows. The `loader` has the facts on the columns of all
    events. The events are at some `places` of the loaded `whole`, or are all of it. If
    `is_admitted`, the scan admits each event: no condition on single events is left to check.
    """

    loader: Loader
    events: Events
    rows: Numbers
    is_admitted: bool
    read: Callable[[], tuple[Inputs, Events]]
    none: Callable[[], tuple[Inputs, Events]]
    whole: Events
    places: Numbers | None
