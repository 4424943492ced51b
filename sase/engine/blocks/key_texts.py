"""Codes of the texts of keys in a stream, for changing dictionaries.

Plans that read the same input share them: a text is looked up once for all plans that need it. It
is forgotten when none of them has a live event with it.

    plan 1   events 0 … 40 │ 41 … 90     marks: its events from 41 on were read in round 7
    plan 2   events 0 … 3  │ 4 … 9              those from 4 on in round 8
    texts    "ann" used in round 8, "bob" in round 5: no live event has it
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any
from weakref import WeakSet

import numpy as np

from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import TextDictionary
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.layout import Array, By, Count, Declared, IfThere, Number, Own
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved

# Dictionaries of up to this size plus a few times the values read are translated as a whole.
FEW = 64
# Up to this number of values are taken from a dictionary one by one.
SINGLE = 16
# Marks a value without a code; `NOTHING` is the code of NULL.
UNASKED = -2
# With more marks than this, a plan drops every second one.
MOST_MARKS = 1 << 10


def values_at(dictionary: Any, places: Numbers) -> list[str]:
    """The values of a dictionary at some places; a few are faster one by one."""
    if len(places) <= SINGLE:
        return [dictionary[place].as_py() for place in places.tolist()]
    texts: list[str] = dictionary.take(places).to_pylist()
    return texts


def codes_of_few(
    values: Numbers, dictionary: Any, codes_of: Callable[[list[str]], Numbers]
) -> Numbers:
    """The codes of a few values of a larger dictionary, each looked up once."""
    used, places = np.unique(values, return_inverse=True)
    codes = codes_of(values_at(dictionary, used[used >= 0]))
    nulls = [NOTHING] * (len(used) - len(codes))
    return np.append(nulls, codes).astype(np.int64)[places]


class _ReadDictionary:
    """The known codes of a dictionary's values; the last one is for NULL."""

    def __init__(self, dictionary: Any) -> None:
        self.dictionary = dictionary
        self.codes = np.full(len(dictionary) + 1, UNASKED)
        self.codes[-1] = NOTHING

    def read(self, values: Numbers, known: TextDictionary, now: int) -> Numbers:
        """The codes of values by their place in the dictionary."""
        found: Numbers = self.codes[values]
        is_new = found == UNASKED
        if is_new.any():
            asked = self._distinct(values[is_new])
            every = len(asked) == len(self.dictionary)
            texts = self.dictionary.to_pylist() if every else values_at(self.dictionary, asked)
            self.codes[asked] = known.codes(texts, now)
            found = self.codes[values]
        known.use(found[found != NOTHING], now)
        return found

    def _distinct(self, values: Numbers) -> Numbers:
        """Distinct places in the dictionary."""
        if len(values) <= SINGLE:
            return np.array(sorted({*values.tolist()}), np.int64)
        is_asked = np.zeros(len(self.codes), np.bool_)
        is_asked[values] = True
        return np.flatnonzero(is_asked)


class SharedTexts(Declared):
    """Codes of texts by attribute, for all plans that read an input: each is a `KeyTexts`."""

    layout = dict(round=Count(path="round"), texts=By("_restored", path=None))

    def __init__(self) -> None:
        self._known: dict[str, TextDictionary] = {}
        self._read: dict[str, _ReadDictionary] = {}
        # For each attribute a dictionary much larger than the first request for its values.
        self._large: dict[str, Any] = {}
        self._readers = WeakSet[KeyTexts]()
        # The number of requests for codes; it serves as a clock.
        self.round = 0
        self._lock = Lock()

    def join(self, reader: KeyTexts) -> None:
        """Keep the texts that a plan has marked."""
        with self._lock:
            self._readers.add(reader)

    def codes(self, attribute: str, values: Numbers, dictionary: Any) -> tuple[Numbers, int]:
        """Lasting codes for values of a dictionary, given by their places, and the round."""
        with self._lock:
            self.round += 1
            return self._codes(attribute, values, dictionary), self.round

    def _codes(self, attribute: str, values: Numbers, dictionary: Any) -> Numbers:
        known = self._known.setdefault(attribute, TextDictionary())
        read = self._read.get(attribute)
        if read is None or read.dictionary is not dictionary:
            is_large = len(dictionary) > FEW + 4 * len(values)
            if is_large and self._large.get(attribute) is not dictionary:
                self._large[attribute] = dictionary  # translated as a whole at the next request
                return codes_of_few(values, dictionary, partial(known.codes, last=self.round))
            self._large.pop(attribute, None)
            read = self._read[attribute] = _ReadDictionary(dictionary)
        return read.read(values, known, self.round)

    @property
    def is_full(self) -> bool:
        """Whether there are enough texts to look for dead ones."""
        return any([each.is_full for each in self._known.values()])

    def recycle(self) -> None:
        """Recycle the codes of texts of which no plan has a live event, once they are many."""
        if not self.is_full:
            return
        horizon = min((each.oldest for each in self._readers), default=self.round + 1)
        self._read.clear()  # may contain recycled codes
        for each in self._known.values():
            if each.is_full:
                each.recycle(horizon)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of texts of each attribute."""
        return {name: len(each) for name, each in self._known.items()}

    def _encoded(self) -> dict[str, Any]:
        return {"texts": {name: each.checkpoint() for name, each in self._known.items()}}

    def _restored(self, saved: Saved) -> None:
        for name, state in saved.members():
            self._known[name] = TextDictionary()
            self._known[name].restore(state)


class KeyTexts(Declared):
    """The key texts of a plan: its own, or those of an input that it shares with others."""

    layout = dict(
        marks=Array(None, 2, low=0, high=MOST_COUNTED, path=None),
        last=Number(NOTHING, MOST_COUNTED),
        own=IfThere(Own(), path=None),
    )

    def __init__(self, shared: SharedTexts | None = None) -> None:
        self._shared, self._is_alone = shared, shared is None
        # For some events the round in which they were read; and the last event.
        self._marks = deque[tuple[int, int]]()
        self._last = NOTHING

    @cached_property
    def _texts(self) -> SharedTexts:
        """The texts that it marks, from its first request for codes on."""
        texts = SharedTexts() if self._shared is None else self._shared
        texts.join(self)
        return texts

    def codes(self, attribute: str, values: Numbers, dictionary: Any, numbers: Numbers) -> Numbers:
        """Lasting codes for values of a dictionary, by their places, of events by number."""
        if not len(values):
            return values
        found, now = self._texts.codes(attribute, values, dictionary)
        first, self._last = int(numbers[0]), max(int(numbers[-1]), self._last)
        if not self._marks or self._marks[-1][0] < first:
            self._marks.append((first, now))
            if len(self._marks) > MOST_MARKS:
                self._marks = deque([*self._marks][::2])
        return found

    @property
    def oldest(self) -> int:
        """The first round in which a live event was read: texts not used since are dead."""
        return self._marks[0][1] if self._marks else self._texts.round + 1

    def recycle(self, horizon: int) -> None:
        """Release the texts of events before the horizon; of its own also the codes."""
        if self._last == NOTHING:
            return
        marks = self._marks
        while len(marks) > 1 and marks[1][0] <= horizon:
            marks.popleft()
        if self._last < horizon:
            marks.clear()
        if self._is_alone:
            self._texts.recycle()

    def _encoded(self) -> dict[str, Any]:
        """Shared texts are saved by their owner, and restored before."""
        marks = np.array([*self._marks], np.int64).reshape(-1, 2)
        return {"marks": marks, "own": self._texts if self._is_alone else None}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        marks = values.marks
        is_forward = bool((np.diff(marks, axis=0) > 0).all())
        saved.check(is_forward, "marks do not go forward")
        saved.check(not len(marks) or marks[-1, 1] <= self._texts.round, "a mark is to come")
        self._marks = deque((first, at) for first, at in marks.tolist())
