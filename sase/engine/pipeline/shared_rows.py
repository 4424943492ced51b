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
    with them. The `loader` knows what the columns of all events have held.
    """

    loader: Loader
    events: Events
    rows: Numbers
    read: Callable[[], tuple[Inputs, Events]]
