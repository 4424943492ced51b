"""`sase -v` and `sase --debug`: the records of the logger "sase" on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sase.base.log import LOG
from sase.printable import printable_message

# The least level of records by option.
LEVELS = {"-v": logging.INFO, "--debug": logging.DEBUG}


class _Lines(logging.Formatter):
    """Records as messages of the program, without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        return printable_message(f"sase: {super().format(record)}")


@contextmanager
def logged(option: str) -> Iterator[None]:
    """Print the records of this block."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    level = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(LEVELS[option])
    try:
        yield
    finally:
        LOG.setLevel(level)
        LOG.removeHandler(handler)
