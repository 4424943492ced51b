"""`df.sase.match(…)` for frames of pandas and of Polars, eager and lazy.

`import sase.frames` registers it for the libraries that are installed.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from sase.api.lazy_events import needed
from sase.api.matching import match
from sase.engine.sources import lazy_tables


class FrameMatching:
    """The matches of queries in a frame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def match(self, query: str, **options: Any) -> Any:
        """Return the matches of a query; the options are those of `sase.match`."""
        return match(query, self._frame, **options)


class LazyMatching(FrameMatching):
    """The matches of queries in a lazy frame, of which only the needed columns are collected."""

    def needed(self, query: str, **options: Any) -> Any:
        """Return the lazy frame of the columns that a query reads and its results show."""
        columns = needed(self._frame, query, **options)
        return self._frame if columns is None else lazy_tables.projected(self._frame, columns)


def register() -> None:
    """Give `.sase` to the frames of the libraries that are installed."""
    if find_spec("pandas") is not None:
        import pandas

        pandas.api.extensions.register_dataframe_accessor("sase")(FrameMatching)
    if find_spec("polars") is not None:
        import polars

        polars.api.register_dataframe_namespace("sase")(FrameMatching)
        polars.api.register_lazyframe_namespace("sase")(LazyMatching)
