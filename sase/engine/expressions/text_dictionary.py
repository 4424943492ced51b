"""Codes of texts in a stream; codes of texts without live events are reused."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import Mask, Numbers, grown
from sase.engine.snapshots.layout import Array, Count, Declared, Texts
from sase.engine.snapshots.saved_state import Saved

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
