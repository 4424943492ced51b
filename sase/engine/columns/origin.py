"""The provenance of rows, for the errors that name them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

from sase.errors import DataError


class FilePart(NamedTuple):
    """`rows` of a file from its row `first` on, which is row `number` of all files."""

    path: str
    rows: int
    first: int = 0
    number: int = 0


@dataclass(frozen=True)
class Origin:
    """The type names of tables, and the parts of files that they are of, with their first rows."""

    names: tuple[str | None, ...]
    starts: tuple[int, ...]
    files: tuple[FilePart | None, ...]

    def error(self, row: int, column: str, value: object, why: str) -> DataError:
        """Return the error for a bad row: which it is, what is wrong, and what would be right."""
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
