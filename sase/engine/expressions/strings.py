"""Strings as codes: the interner of a plan, and tables by code for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.binding.functions import FUNCTIONS
from sase.engine.columns.arrays import Mask, grown
from sase.engine.expressions.text_dictionary import TextDictionary
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.snapshots.saved_state import Saved

NO_CODE = -1
# The initial number of columns of the tables, which is doubled when full.
CAPACITY = 64

NO_CELLS = np.zeros((0, CAPACITY), np.int64)
NO_TABLES = frozen(NO_CELLS)


class Table(NamedTuple):
    """A string function by name, or LIKE with its pattern."""

    name: str
    argument: str = ""


# The rank of a code by code point, and the code of a rank.
RANK, BY_RANK = Table("rank"), Table("by rank")
# Not a table: the strings that are sorted.
SORTED = Table("sorted")


class Interner(TextDictionary):
    """Codes of the strings of a plan and its events, and tables over them.

    Strings in the plan keep their codes. Others keep them as long as events with them are alive, or
    strings from which a function made them; `now` is the number of the latest event.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self._named: set[int] = set()
        self._numbers: dict[Table, int] = {}
        self._cells, self._shown = NO_CELLS, NO_TABLES
        # For each table: the codes below which it is complete, and the reused codes it has.
        self._done: dict[Table, tuple[int, int]] = {}
        self._ranked: list[int] = []

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of strings and of tables."""
        return len(self), len(self._numbers)

    def code(self, text: str) -> int:
        """The permanent code of a string in the plan."""
        code = self._code(text)
        self._named.add(code)
        return code

    def codes_of(self, texts: Iterable[str | None]) -> NDArray[np.int64]:
        """The codes of strings of events; `NO_CODE` for None."""
        given = [NO_CODE if text is None else self._code(text) for text in texts]
        codes = np.array(given, np.int64)
        self.use_now(codes)
        return codes

    def use_now(self, codes: NDArray[np.int64]) -> None:
        """Mark strings as used by events up to `now`."""
        if self.now:
            self.use(codes[codes != NO_CODE], self.now)

    def recycle(self, horizon: int) -> None:
        """Free the codes of strings that no event from the horizon on has."""
        self.tables()
        super().recycle(horizon)
        live = {*self._codes.values()}
        self._ranked = [code for code in self._ranked if code in live]
        ranks = (RANK, BY_RANK)  # always rewritten as a whole
        self._done = {each: self._last for each in self._done if each not in ranks}

    def _take(self, saved: Saved, values: Any) -> None:
        named = dict(self._codes)
        super()._take(saved, values)
        is_same = named.items() <= self._codes.items()
        saved.check(is_same, "the texts of this plan have other codes")

    def table(self, table: Table) -> int:
        """The number of a table, which is maintained from now on."""
        return self._numbers.setdefault(table, len(self._numbers))

    def tables(self) -> NDArray[np.int64]:
        """All requested tables, with a column for every code."""
        makers = self._makers
        # A function's result may be a new string for another function.
        while unfinished := [each for each in makers if self._done.get(each) != self._last]:
            for table in unfinished:
                self._extend(table)
        for table in self._numbers:
            if self._done.get(table) == self._last:
                continue
            if table in (RANK, BY_RANK):
                self._rank(table)
            else:
                self._extend(table)
        cells = self._room()
        if self._shown.base is not cells:
            self._shown = frozen(cells)
        return self._shown

    @property
    def _makers(self) -> list[Table]:
        """The tables whose entries are codes of other strings."""
        functions = ((table, FUNCTIONS.get(table.name)) for table in self._numbers)
        return [table for table, each in functions if each is not None and each.makes_text]

    @property
    def _last(self) -> tuple[int, int]:
        """The state of a table that is complete."""
        return len(self.texts), len(self._reused)

    def _live(self, horizon: int) -> Mask:
        is_live = super()._live(horizon)
        is_live[[*self._named]] = True
        makers, seen = [self._numbers[table] for table in self._makers], 0
        while makers and len(codes := np.flatnonzero(is_live)) > seen:
            seen = len(codes)
            is_live[self._cells[makers][:, codes]] = True
        return is_live

    def _new_codes(self, table: Table) -> NDArray[np.int64]:
        """The codes that a table lacks; they count as added."""
        start, reused = self._done.get(table, (0, len(self._reused)))
        self._done[table] = self._last
        again = np.array(self._reused[reused:], np.int64)
        codes = np.append(np.arange(start, len(self.texts)), again)
        return codes if start or not self._free else np.setdiff1d(codes, self._free)

    def _extend(self, table: Table) -> None:
        """Apply a function to the strings that its table lacks."""
        codes, function = self._new_codes(table), self._function(table)
        is_every = len(codes) == len(self.texts)  # all strings are new
        texts = self.texts[:] if is_every else map(self.texts.__getitem__, codes.tolist())
        found = [function(text) for text in texts]
        places = slice(len(found)) if is_every else codes
        self._room()[self._numbers[table], places] = found

    def _function(self, table: Table) -> Callable[[str], int]:
        function = FUNCTIONS.get(table.name)
        if function is None:
            pattern = like(table.argument)
            return lambda text: pattern.fullmatch(text) is not None
        of_text = function.value
        return (lambda text: self._code(of_text(text))) if function.makes_text else of_text

    def _rank(self, table: Table) -> None:
        """Sort the strings, most of which are in order, and write their ranks."""
        self._done[table] = self._last
        if len(new := self._new_codes(SORTED)):
            self._ranked += new.tolist()
            self._ranked.sort(key=self.texts.__getitem__)
        codes, ranks = np.array(self._ranked, np.int64), np.arange(len(self))
        cells = self._room()[self._numbers[table]]
        if table == RANK:
            cells[codes] = ranks
        else:
            cells[ranks] = codes

    def _room(self) -> NDArray[np.int64]:
        """The tables, enlarged for new strings and tables."""
        rows, columns = self._cells.shape
        count = len(self.texts)
        if count > columns or len(self._numbers) > rows:
            columns_now = 2 * count if count > columns else columns
            self._cells = grown(grown(self._cells, len(self._numbers)), columns_now, axis=1)
        return self._cells


def like(pattern: str) -> re.Pattern[str]:
    """Convert a LIKE pattern to a regular expression: `%` and `_` are wild, a backslash escapes.

    The text between two `%` is matched at its first place, without backtracking (an atomic group):
    a later place leaves less text for the rest. So each character is compared once for each such
    segment, however many wildcards there are.
    """
    first, *others = _segments(pattern)
    if not others:
        return re.compile(first, re.DOTALL)
    *inner, last = others
    middle = "".join(f"(?>.*?{segment})" for segment in inner if segment)
    return re.compile(f"{first}{middle}.*{last}", re.DOTALL)


def _segments(pattern: str) -> list[str]:
    """The regular expressions between `%`, each of fixed length."""
    segments = [""]
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        if part == "%":
            segments.append("")
        else:
            segments[-1] += "." if part == "_" else re.escape(part[-1])
    return segments
