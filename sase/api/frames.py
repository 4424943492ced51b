"""`df.sase.match(…)` for frames of pandas and of Polars, eager and lazy.

`import sase.frames` registers it for the libraries that are installed.
"""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from sase.api.matching import compile, match
from sase.binding.input_options import InputOptions

_COMPILED = {"params", *(field.name for field in fields(InputOptions))}


class FrameMatching:
    """The matches of queries in a frame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def match(self, query: str, **options: Any) -> Any:
        """Return the matches of a query; the options are those of `sase.match`."""
        return match(query, self._frame, **options)


class LazyMatching(FrameMatching):
    """The matches of queries in a lazy frame, of which only the needed columns are collected."""

    def match(self, query: str, **options: Any) -> Any:
        """Return the matches of a query; the options are those of `sase.match`."""
        needed = self.needed(query, **options)
        return match(query, needed.collect(), **options)

    def needed(self, query: str, **options: Any) -> Any:
        """Return the lazy frame of the columns that a query reads and its results show."""
        import polars

        schema = self._frame.collect_schema()
        empty = polars.DataFrame(schema=schema).to_arrow().schema
        given = {name: value for name, value in options.items() if name in _COMPILED}
        engine = compile(query, empty, **given).engine
        if engine.scan.columns is None:
            return self._frame
        return self._frame.select([name for name in schema.names() if name in engine.named])


def register() -> None:
    """Give `.sase` to the frames of the libraries that are installed."""
    if find_spec("pandas") is not None:
        import pandas

        pandas.api.extensions.register_dataframe_accessor("sase")(FrameMatching)
    if find_spec("polars") is not None:
        import polars

        polars.api.register_dataframe_namespace("sase")(FrameMatching)
        polars.api.register_lazyframe_namespace("sase")(LazyMatching)
