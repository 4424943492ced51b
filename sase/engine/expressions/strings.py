"""Strings as codes: the interner of a plan, and tables by code for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import grown
from sase.engine.kernels.jit.signatures import frozen

NO_CODE = -1
# The least number of columns of the tables; they double when they are full.
CAPACITY = 64

NO_CELLS = np.zeros((0, CAPACITY), np.int64)
NO_TABLES = frozen(NO_CELLS)


class Table(NamedTuple):
    """A function of strings; `argument` is the pattern of LIKE."""

    name: str
    argument: str = ""


LOWER, UPPER, LENGTH = Table("lower"), Table("upper"), Table("length")
# The rank of a code among all by code point, and the code of a rank.
RANK, BY_RANK = Table("rank"), Table("by rank")


class Interner:
    """Codes of all strings that a plan meets, which never change, and tables over them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}
        self._numbers: dict[Table, int] = {}
        self._cells, self._shown = NO_CELLS, NO_TABLES
        self._done: dict[Table, int] = {}
        self._ranked: list[int] = []

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of strings and of tables."""
        return len(self.texts), len(self._numbers)

    def code(self, text: str) -> int:
        """The code of a string."""
        code = self._codes.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def codes(self, texts: Iterable[str | None]) -> NDArray[np.int64]:
        """The codes of strings; `NO_CODE` for None."""
        return np.array([NO_CODE if t is None else self.code(t) for t in texts], np.int64)

    def checkpoint(self) -> list[str]:
        """The strings by code."""
        return list(self.texts)

    def can_restore(self, texts: list[str]) -> bool:
        """Whether the strings that the plan names have their codes among these."""
        return texts[: len(self)] == self.texts

    def restore(self, texts: list[str]) -> None:
        """Restore the codes of strings; those that the plan names have theirs already."""
        assert self.can_restore(texts)
        for text in texts[len(self) :]:
            self.code(text)

    def table(self, table: Table) -> int:
        """The number of a table, which is kept from now on."""
        return self._numbers.setdefault(table, len(self._numbers))

    def tables(self) -> NDArray[np.int64]:
        """All tables that were asked for, with a column for every code."""
        cases = [table for table in self._numbers if table in (LOWER, UPPER)]
        # A function may give a string that is new for another.
        while any(self._done.get(table, 0) < len(self) for table in cases):
            for table in cases:
                self._extend(table)
        for table in self._numbers:
            if table in (RANK, BY_RANK):
                self._rank(table)
            elif table not in cases:
                self._extend(table)
        cells = self._room()
        if self._shown.base is not cells:
            self._shown = frozen(cells)
        return self._shown

    def _extend(self, table: Table) -> None:
        """Apply a function to the strings that are new for it."""
        start, function = self._done.get(table, 0), self._function(table)
        found = [function(text) for text in self.texts[start:]]
        self._room()[self._numbers[table], start : start + len(found)] = found
        self._done[table] = start + len(found)

    def _function(self, table: Table) -> Callable[[str], int]:
        match table:
            case Table("lower"):
                return lambda text: self.code(text.lower())
            case Table("upper"):
                return lambda text: self.code(text.upper())
            case Table("length"):
                return len
        pattern = like(table.argument)
        return lambda text: pattern.fullmatch(text) is not None

    def _rank(self, table: Table) -> None:
        """Sort the strings, which mostly are in order, and write their ranks."""
        if self._done.get(table, 0) == len(self):
            return
        self._ranked += range(len(self._ranked), len(self))
        self._ranked.sort(key=self.texts.__getitem__)
        codes, ranks = np.array(self._ranked, np.int64), np.arange(len(self))
        cells = self._room()[self._numbers[table]]
        if table == RANK:
            cells[codes] = ranks
        else:
            cells[ranks] = codes
        self._done[table] = len(self)

    def _room(self) -> NDArray[np.int64]:
        """The tables, enlarged for new strings and tables."""
        rows, columns = self._cells.shape
        if len(self) > columns or len(self._numbers) > rows:
            columns_now = 2 * len(self) if len(self) > columns else columns
            self._cells = grown(grown(self._cells, len(self._numbers)), columns_now, axis=1)
        return self._cells


def like(pattern: str) -> re.Pattern[str]:
    """A pattern of LIKE as a regular expression: `%` and `_` are wild, a backslash escapes.

    What stands between two `%` is taken where it comes first, and never again (an atomic group): a
    later place leaves less to what follows. So each character is looked at once for each of one
    such segment, whatever the number of wildcards.
    """
    first, *others = _segments(pattern)
    if not others:
        return re.compile(first, re.DOTALL)
    *inner, last = others
    middle = "".join(f"(?>.*?{segment})" for segment in inner if segment)
    return re.compile(f"{first}{middle}.*{last}", re.DOTALL)


def _segments(pattern: str) -> list[str]:
    """The regular expressions of what `%` parts, each of one length."""
    segments = [""]
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        if part == "%":
            segments.append("")
        else:
            segments[-1] += "." if part == "_" else re.escape(part[-1])
    return segments
