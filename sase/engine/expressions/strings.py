"""Strings as codes: the interner of a plan, tables by code, and codes that a stream recycles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.binding.values.functions import FUNCTIONS
from sase.engine.columns.arrays import Mask, Numbers, grown
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.snapshots.layout import Array, Count, Declared, Texts
from sase.engine.snapshots.saved_state import Saved

# ---------------------------------------------------------------- text dictionary

# Texts kept before dead ones are searched.
ROOM = 1 << 10
# The most codes per text in use before dead ones are searched: a live text may have the last code.
SPARSEST = 4


class TextDictionary(Declared):
    """Codes of texts by the last event with each; free codes are given out first, least first."""

    layout = dict(
        texts=Texts(path=None),
        codes=Array(None, low=0, path=None),
        used=Array(None, path=None),
        most=Count(),
    )

    def __init__(self) -> None:
        # By code. `recycle` replaces the list, so a holder of the old one keeps its texts.
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}
        self._used = np.zeros(0, np.int64)
        # Free codes, the least last; and the reused ones.
        self._free: list[int] = []
        self._reused: list[int] = []
        self._most = ROOM

    def __len__(self) -> int:
        """The number of texts with a code."""
        return len(self._codes)

    def codes(self, texts: list[str], last: int) -> Numbers:
        """The codes of texts that events up to `last` use."""
        found = np.fromiter(map(self._code, texts), np.int64, len(texts))
        self.use(found, last)
        return found

    def use(self, codes: Numbers, last: int) -> None:
        """Mark codes as used by an event up to `last`."""
        self._make_room()
        self._used[codes] = last

    @property
    def is_full(self) -> bool:
        """Whether there are enough codes to make a search for dead ones worthwhile."""
        return len(self._codes) > self._most

    def recycle(self, horizon: int) -> None:
        """Free the codes of texts that no event from the horizon on has."""
        is_live = self._live(horizon)
        is_live[self._free] = False
        old, codes = self.texts, np.flatnonzero(is_live).tolist()
        self.texts = old[: codes[-1] + 1] if codes else []
        self._codes = {old[code]: code for code in codes}
        self._free = np.flatnonzero(~is_live[: len(self.texts)])[::-1].tolist()
        self._reused.clear()
        for code in self._free:
            self.texts[code] = ""
        self._most = max(ROOM, 2 * len(codes), len(self.texts) // SPARSEST)

    def _encoded(self) -> dict[str, Any]:
        self._make_room()
        codes = np.array(list(self._codes.values()), np.int64)
        return {"texts": self._codes, "codes": codes, "used": self._used[: len(self.texts)]}

    def _take(self, saved: Saved, values: Any) -> None:
        texts, codes, used = values.texts, values.codes, values.used
        # A code is that of one text, or free.
        saved.check(len(codes) == len(texts), "there is not a code for each text")
        saved.check(bool((codes < len(used)).all()), "there is no such code")
        is_free = np.ones(len(used), np.bool_)
        is_free[codes] = False
        is_once = np.count_nonzero(is_free) == len(used) - len(codes)
        saved.check(is_once, "two texts have a code")
        self._codes = dict(zip(texts, codes.tolist(), strict=True))
        self._used, self._free = used.copy(), np.flatnonzero(is_free)[::-1].tolist()
        self.texts[:] = [""] * len(used)
        for text, code in self._codes.items():
            self.texts[code] = text
        super()._take(saved, values)

    def _live(self, horizon: int) -> Mask:
        """Mark the codes of texts with an event from the horizon on."""
        self._make_room()
        return self._used[: len(self.texts)] >= horizon

    def _code(self, text: str) -> int:
        if self._free:
            return self._reused_code(text)
        code = self._codes.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def _reused_code(self, text: str) -> int:
        """The code of a text; a new text gets a free code."""
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = self._free.pop()
            self._reused.append(code)
            self.texts[code] = text
        return code

    def _make_room(self) -> None:
        if len(self.texts) > len(self._used):
            self._used = grown(self._used, 2 * len(self.texts))


# ---------------------------------------------------------------- strings

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
        """The tables with codes of other strings as entries."""
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
