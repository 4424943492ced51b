"""Strings as codes: the interner of a plan, tables by code, and codes that a stream recycles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    """A string function by name with its literals, or LIKE with its pattern.

    `place` is the number of literals before the string. A function that makes strings has a
    `level`: it is applied to strings of events and of the plan, of level 0, and to those that were
    made by as many functions, one of the other.
    """

    name: str
    literals: tuple[Any, ...] = ()
    place: int = 0
    level: int | None = None


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
        # For each table: the codes below which it is complete, and the reused and lowered codes
        # that it has.
        self._done: dict[Table, tuple[int, int, int]] = {}
        self._ranked: list[int] = []
        # By code: how many functions made the string at least; and the codes that now need fewer.
        self._levels = np.zeros(0, np.int64)
        self._lowered: list[int] = []

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of strings and of tables."""
        return len(self), len(self._numbers)

    def code(self, text: str) -> int:
        """The permanent code of a string in the plan."""
        code = self._code(text)
        self._named.add(code)
        self._lower(np.array([code], np.int64), 0)
        return code

    def codes_of(self, texts: Iterable[str | None]) -> NDArray[np.int64]:
        """The codes of strings of events; `NO_CODE` for None."""
        given = [NO_CODE if text is None else self._code(text) for text in texts]
        codes = np.array(given, np.int64)
        self._lower(codes[codes != NO_CODE], 0)
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
        self._lowered.clear()
        self._grow_levels()
        self._levels[len(self.texts) :] = 0
        self._levels[self._free] = 0
        live = {*self._codes.values()}
        self._ranked = [code for code in self._ranked if code in live]
        ranks = (RANK, BY_RANK)  # always rewritten as a whole
        self._done = {each: self._last for each in self._done if each not in ranks}

    def _encoded(self) -> dict[str, Any]:
        """The strings but for those that functions made, which make them again."""
        self._grow_levels()
        kept = {text: code for text, code in self._codes.items() if not self._levels[code]}
        codes = np.array(list(kept.values()), np.int64)
        return super()._encoded() | {"texts": kept, "codes": codes}

    def _take(self, saved: Saved, values: Any) -> None:
        named = {text: code for text, code in self._codes.items() if code in self._named}
        self._done.clear()
        self._ranked.clear()
        self._lowered.clear()
        self._levels[:] = 0
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
        return [table for table in self._numbers if table.level is not None]

    @property
    def _last(self) -> tuple[int, int, int]:
        """The state of a table that is complete."""
        return len(self.texts), len(self._reused), len(self._lowered)

    def _live(self, horizon: int) -> Mask:
        is_live = super()._live(horizon)
        is_live[[*self._named]] = True
        makers, seen = [self._numbers[table] for table in self._makers], 0
        while makers and len(codes := np.flatnonzero(is_live)) > seen:
            seen = len(codes)
            made = self._cells[makers][:, codes]
            is_live[made[made != NO_CODE]] = True
        return is_live

    def _new_codes(self, table: Table) -> NDArray[np.int64]:
        """The codes that a table lacks; they count as added."""
        start, reused, lowered = self._done.get(table, (0, *self._last[1:]))
        self._done[table] = self._last
        again = self._reused[reused:] + (self._lowered[lowered:] if table != SORTED else [])
        codes = np.append(np.arange(start, len(self.texts)), np.array(again, np.int64))
        return codes if start or not self._free else np.setdiff1d(codes, self._free)

    def _extend(self, table: Table) -> None:
        """Apply a function to the strings that its table lacks."""
        codes, function = self._new_codes(table), self._function(table)
        if table.level is not None:
            self._grow_levels()
            is_above = self._levels[codes] > table.level
            self._room()[self._numbers[table], codes[is_above]] = NO_CODE
            codes = codes[~is_above]
        is_every = len(codes) == len(self.texts)  # all strings are new
        texts = self.texts[:] if is_every else map(self.texts.__getitem__, codes.tolist())
        places = slice(len(codes)) if is_every else codes
        self._room()[self._numbers[table], places] = function(texts)

    def _made(self, texts: list[str | None], level: int) -> NDArray[np.int64]:
        """The codes of strings that a function made; `NO_CODE` for NULL."""
        is_new = [text is not None and text not in self._codes for text in texts]
        given = [NO_CODE if text is None else self._code(text) for text in texts]
        codes = np.array(given, np.int64)
        self._lower(codes[codes != NO_CODE], level)
        self._levels[codes[is_new]] = level
        return codes

    def _lower(self, codes: NDArray[np.int64], level: int) -> None:
        """Note that strings have at most a level; tables lack those that had a greater one."""
        self._grow_levels()
        lowered = codes[self._levels[codes] > level]
        if len(lowered):
            self._levels[lowered] = level
            self._lowered += lowered.tolist()

    def _grow_levels(self) -> None:
        if len(self.texts) > len(self._levels):
            self._levels = grown(self._levels, 2 * len(self.texts))

    def _function(self, table: Table) -> Callable[[Iterable[str]], ArrayLike]:
        """The entries of a table for some strings; `NO_CODE` for NULL."""
        function = FUNCTIONS.get(table.name)
        if function is None:
            pattern = like(*table.literals)
            return lambda texts: [pattern.fullmatch(text) is not None for text in texts]
        before, after = table.literals[: table.place], table.literals[table.place :]
        vector, value = function.vector, function.value

        def values(texts: Iterable[str]) -> list[Any]:
            if vector is not None:
                return vector(list(texts), *after)
            return [value(*before, text, *after) for text in texts]

        if table.level is None:
            return values
        level = table.level + 1
        return lambda texts: self._made(values(texts), level)

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
