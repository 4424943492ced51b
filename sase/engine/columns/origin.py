"""Where a row comes from, for the errors that name it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from sase.errors import DataError


class FilePart(NamedTuple):
    """Rows of a file, from one of its rows on, which has a number among the rows of all files."""

    path: str
    rows: int
    first: int = 0
    number: int = 0


@dataclass(frozen=True)
class Origin:
    """The inputs by their type names, those of files file by file, and where each begins."""

    names: tuple[str | None, ...]
    starts: tuple[int, ...]
    files: tuple[FilePart | None, ...]

    def error(self, row: int, column: str, value: object, why: str) -> DataError:
        """The error for a bad row: which it is, what is wrong, and what would be right."""
        written = "NULL" if value is None else str(value)
        return DataError(f"{self._place(row)}: `{column}` is {written}: {why}", row, column, value)

    def _place(self, row: int) -> str:
        at = bisect_right(self.starts, row) - 1
        name = self.names[at]
        of = "" if name is None else f" of `{name}`"
        file = self.files[at]
        if file is not None:
            return f"{file.path}, row {row - self.starts[at] + file.first} (from 0){of}"
        if self.starts[at] == 0:
            return f"row {row} (from 0){of}"
        return f"row {row} (from 0), which is row {row - self.starts[at]}{of}"
