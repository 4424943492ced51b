"""The program as a user calls it, in a folder of its own: the fixture `program`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pytest

EVENTS = "events.parquet"


class Ended(NamedTuple):
    """The exit code of a call, and its output on both streams."""

    code: int
    out: str
    said: str


@dataclass
class Program:
    """Calls the commands."""

    captured: pytest.CaptureFixture[str]

    def __call__(self, *words: str, events: pa.Table | None = None) -> Ended:
        """Call a command; give it `events` in a file."""
        from pyarrow import parquet

        from sase.cli.main import main

        if events is not None:
            parquet.write_table(events, EVENTS)
            words = (*words, "--events", EVENTS)
        try:
            code = main(words)
        except SystemExit as end:  # as argparse leaves
            assert isinstance(end.code, int)
            code = end.code
        return Ended(code, *self.captured.readouterr())
