"""Take values out of a state that was read, each of which is checked as it is taken.

Kernels index arrays by what a state holds, and a state is what someone kept in a store. So nobody
sees its values but by the methods of `Saved`: each says what may stand there, and raises a
`SnapshotError` that names the place where something else does. What hangs together is checked
beside, by `Saved.check`, where the operator restores it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from reprlib import repr as brief
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.errors import SnapshotError

Numbers: TypeAlias = NDArray[np.int64]
LEAST, MOST = -(2**63), 2**63 - 1
# Counters end here, so that sums of some stay within int64.
MOST_COUNTED = 2**60


@dataclass(frozen=True)
class LiveEvents:
    """The events that a state may name: numbers from `first` up to `end`.

    `positions` are the events of the stream, `is_done` says whether LIMIT is reached, after which
    nothing runs any more. `kinds` are the tags that values of an attribute may have up to, by name;
    those of which there are none have no values. `texts` are the codes of texts, which the values
    of some attributes are: by name of what types, or of all, which is None. `sizes` bound the codes
    of each key, and types are numbered up to `unknown_type`.
    """

    first: int = 0
    end: int = 0
    positions: int = 0
    is_done: bool = False
    kinds: Mapping[str, int] = field(default_factory=dict)
    text_attributes: Mapping[str, frozenset[int | None]] = field(default_factory=dict)
    texts: int = 0
    sizes: Mapping[Any, int] = field(default_factory=dict)
    unknown_type: int = 0

    @property
    def last(self) -> int:
        """The last event."""
        return self.end - 1

    def check_values(
        self,
        saved: Saved,
        name: str,
        tags: NDArray[Any],
        values: Numbers,
        types: NDArray[Any] | None = None,
    ) -> None:
        """Check values of an attribute, and their tags; `types` are those of the events."""
        most = self.kinds.get(name, 0)
        is_kind = (tags >= 0) & (tags <= most)
        saved.check(is_kind.all(), f"`{name[:40]}` has values of another kind")
        for code in self.text_attributes.get(name, ()):
            known = tags != 0
            if code is not None and types is not None:
                known &= types == code
            texts = values[known]
            is_text = (texts >= 0) & (texts < self.texts)
            saved.check(is_text.all(), f"`{name[:40]}` has codes of no text")


@dataclass(frozen=True)
class Saved:
    """A part of a state, the place where it stands, and the events that there are."""

    _value: Any
    place: str = "state"
    live: LiveEvents = LiveEvents()

    def of(self, live: LiveEvents) -> Saved:
        """The same with other events."""
        return Saved(self._value, self.place, live)

    def refuse(self, what: str) -> SnapshotError:
        """The error for this part."""
        return SnapshotError(f"this snapshot was changed: {self.place}: {what}")

    def check(self, holds: bool | np.bool_, what: str) -> None:
        """Refuse the state where something does not hold of this part."""
        if not holds:
            raise self.refuse(what)

    # ------------------------------------------------------------ parts

    def part(self, name: str | int) -> Saved:
        """A member of an object, or an item of a list."""
        if isinstance(name, int):
            is_there = isinstance(self._value, list) and 0 <= name < len(self._value)
        else:
            is_there = isinstance(self._value, dict) and name in self._value
        if not is_there:
            raise self.refuse(f"`{name}` is not there")
        place = f"{self.place}[{name}]" if isinstance(name, int) else f"{self.place}.{name}"
        return Saved(self._value[name], place, self.live)

    def parts(self, count: int | None = None) -> list[Saved]:
        """The items of a list, of which there may have to be so many."""
        if not isinstance(self._value, list):
            raise self.refuse(f"this is {brief(self._value)}, and not a list")
        if count is not None and len(self._value) != count:
            raise self.refuse(f"these are {len(self._value)}, and must be {count}")
        return [self.part(number) for number in range(len(self._value))]

    def members(self) -> Iterator[tuple[str, Saved]]:
        """The members of an object, by name."""
        if not isinstance(self._value, dict):
            raise self.refuse(f"this is {brief(self._value)}, and not an object")
        return ((name, self.part(name)) for name in self._value)

    @property
    def is_none(self) -> bool:
        """Whether nothing stands here."""
        return self._value is None

    # ------------------------------------------------------------ values

    def number(self, low: int = LEAST, high: int = MOST) -> int:
        """A number from one to another."""
        if type(self._value) is not int or not low <= self._value <= high:
            raise self.refuse(f"this is {brief(self._value)}, and not a number {_range(low, high)}")
        return self._value

    def count(self) -> int:
        """How many there are of something."""
        return self.number(0, MOST_COUNTED)

    def flag(self) -> bool:
        """True or false."""
        if type(self._value) is not bool:
            raise self.refuse(f"this is {brief(self._value)}, and neither true nor false")
        return self._value

    def text(self) -> str:
        """A text."""
        if type(self._value) is not str:
            raise self.refuse(f"this is {brief(self._value)}, and not a text")
        if not self._value.isascii() and any("\ud800" <= each <= "\udfff" for each in self._value):
            raise self.refuse("this text has half of a character")
        return self._value

    def texts(self) -> list[str]:
        """A list of texts that differ."""
        found = [part.text() for part in self.parts()]
        self.check(len(set(found)) == len(found), "a text is there twice")
        return found

    # ------------------------------------------------------------ arrays

    def array(
        self, *shape: int | None, low: int = LEAST, high: int = MOST, dtype: str = "int64"
    ) -> NDArray[Any]:
        """An array of a shape, None where any size will do, and of values in a range."""
        found = self._value
        if not isinstance(found, np.ndarray) or found.dtype != dtype:
            kind = found.dtype.name if isinstance(found, np.ndarray) else brief(found)
            raise self.refuse(f"this is {kind}, and not an array of {dtype}")
        fits = len(found.shape) == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
        )
        if not fits:
            raise self.refuse(f"this array is {found.shape}, and must be {shape}")
        if found.size and (low > LEAST or high < MOST):
            least, most = int(found.min()), int(found.max())
            if least < low or most > high:
                raise self.refuse(
                    f"there are numbers {_range(least, most)}, not {_range(low, high)}"
                )
        return found

    def events(self, *shape: int | None) -> Numbers:
        """An array of events."""
        return self.array(*shape, low=self.live.first, high=self.live.end - 1)

    def check_events(self, numbers: Numbers) -> None:
        """Refuse what are no events that there are."""
        if numbers.size:
            least, most = int(numbers.min()), int(numbers.max())
            if least < self.live.first or most >= self.live.end:
                events = _range(self.live.first, self.live.end - 1)
                raise self.refuse(f"there are events {_range(least, most)}, and may be {events}")


def _range(low: int, high: int) -> str:
    return f"from {low} to {high}"


def lists_of(heads: Numbers, following: Numbers, members: Numbers, saved: Saved) -> Numbers:
    """By member the list that it is in: each is in one, which begins at a head and ends.

    Kernels stop at -1 alone, so exactly that is the head of an empty list, and the end of others.
    `following` leads from an item to the next. All other items count for nothing, and no list may
    lead to one.
    """
    owners = np.full(len(following), -1, np.int64)
    is_member = np.zeros(len(following), np.bool_)
    is_member[members] = True
    begins = np.flatnonzero(heads != -1)
    after = following[members]
    sources, targets = members[after != -1], after[after != -1]
    entered = np.concatenate([heads[begins], targets])
    leads = (entered >= 0) & (entered < len(following))
    saved.check(bool(leads.all()), "a list leads nowhere")
    saved.check(
        len(entered) == len(members) and bool(is_member[entered].all()), "lists do not hold all"
    )
    is_entered = np.zeros(len(following), np.bool_)
    is_entered[entered] = True
    saved.check(np.count_nonzero(is_entered) == len(entered), "two lists meet")
    # Of each the one before it, again and again twice as far, until all are at their heads.
    back = np.arange(len(following))
    back[targets] = sources
    for _ in range(max(len(members), 1).bit_length() + 1):
        further = back[back]
        if np.array_equal(further, back):
            break
        back = further
    owners[heads[begins]] = begins
    found = owners[back[members]]
    saved.check(bool((found >= 0).all()), "a list has no beginning")
    return found
