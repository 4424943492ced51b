"""Where a row comes from, for the errors that name it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from sase.errors import DataError


@dataclass(frozen=True)
class Origin:
    """The inputs by their type names, and the row at which each begins."""

    names: tuple[str | None, ...]
    starts: tuple[int, ...]

    def error(self, row: int, column: str, value: object, why: str) -> DataError:
        """The error for a bad row: which it is, what is wrong, and what would be right."""
        written = "NULL" if value is None else str(value)
        return DataError(f"{self._place(row)}: `{column}` is {written}: {why}", row, column, value)

    def _place(self, row: int) -> str:
        at = bisect_right(self.starts, row) - 1
        name = self.names[at]
        of = "" if name is None else f" of `{name}`"
        if self.starts[at] == 0:
            return f"row {row} (from 0){of}"
        return f"row {row} (from 0), which is row {row - self.starts[at]}{of}"
