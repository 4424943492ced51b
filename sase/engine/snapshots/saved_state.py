"""Read values of a saved state, each with a check.

Kernels index arrays by numbers of the state, and a state comes from a store that others may write.
So its values are read only by the methods of `Saved`. Each states the valid values, and raises a
`SnapshotError` with the place for others. Conditions between values are checked by `Saved.check` in
the operator that restores them.
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
# The greatest value of a counter, so that sums of several stay within int64.
MOST_COUNTED = 2**60


@dataclass(frozen=True)
class LiveEvents:
    """The events that a state may refer to: numbers from `first` up to `end`.

    `positions` is the number of events of the stream; `is_done` says that LIMIT is reached, so that
    nothing runs any more. `kinds` are the greatest valid tags of attributes, by name; other
    attributes have no values. `texts` is the number of text codes. `text_attributes` are attributes
    with texts as values, in events of certain types or of all (None). `sizes` bound the codes of
    each key, and types are numbered up to `unknown_type`.
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
    """A part of a state, its place in it, and the events that it may refer to."""

    _value: Any
    place: str = "state"
    live: LiveEvents = LiveEvents()

    def of(self, live: LiveEvents) -> Saved:
        """The same part with other events."""
        return Saved(self._value, self.place, live)

    def refuse(self, what: str) -> SnapshotError:
        """The error for this part."""
        return SnapshotError(f"this snapshot was changed: {self.place}: {what}")

    def check(self, holds: bool | np.bool_, what: str) -> None:
        """Refuse the state if a condition on this part is false."""
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
        """The items of a list; with `count` the list must have this number of them."""
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
        """Whether there is no value here."""
        return self._value is None

    # ------------------------------------------------------------ values

    def number(self, low: int = LEAST, high: int = MOST) -> int:
        """A number between two bounds, both included."""
        if type(self._value) is not int or not low <= self._value <= high:
            raise self.refuse(f"this is {brief(self._value)}, and not a number {_range(low, high)}")
        return self._value

    def count(self) -> int:
        """A count."""
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
        """A list of distinct texts."""
        found = [part.text() for part in self.parts()]
        self.check(len(set(found)) == len(found), "a text is there twice")
        return found

    # ------------------------------------------------------------ arrays

    def array(
        self, *shape: int | None, low: int = LEAST, high: int = MOST, dtype: str = "int64"
    ) -> NDArray[Any]:
        """An array of a shape, with None for any size, and with values in a range."""
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
        """Refuse numbers of events that are not live."""
        if numbers.size:
            least, most = int(numbers.min()), int(numbers.max())
            if least < self.live.first or most >= self.live.end:
                events = _range(self.live.first, self.live.end - 1)
                raise self.refuse(f"there are events {_range(least, most)}, and may be {events}")


def _range(low: int, high: int) -> str:
    return f"from {low} to {high}"


def lists_of(heads: Numbers, following: Numbers, members: Numbers, saved: Saved) -> Numbers:
    """The list of each member. Each is in exactly one list, which begins at a head and ends.

    Kernels stop only at -1, so the head of an empty list, and the end of others, must be -1.
    `following` leads from an item to the next. Items that are no members are ignored, and no list
    may lead to one.
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
    # From each item to the one before, then twice as far each time, until all are at their heads.
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


def in_order(heads: Numbers, following: Numbers, members: Numbers) -> Numbers:
    """The members of lists, one list behind the other.

    `following` leads from a member to the next, or is -1; so is the head of an empty list.
    """
    back, steps = np.arange(len(following)), np.zeros(len(following), np.int64)
    sources = members[following[members] != -1]
    back[following[sources]], steps[following[sources]] = sources, 1
    # Of each the one before it, again and again twice as far, until all are at their heads.
    for _ in range(len(members).bit_length()):
        steps += steps[back]
        back = back[back]
    owners, begins = np.zeros(len(following), np.int64), np.flatnonzero(heads != -1)
    owners[heads[begins]] = begins
    owners = owners[back[members]]
    found: Numbers = members[np.lexsort((steps[members], owners))]
    return found


def linked(
    saved: Saved, counts: Numbers, members: int, first: int = 0
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the heads of lists of the given lengths, and of each member the next one and its list.

    Members are numbered list by list.
    """
    fits = (counts >= 0) & (counts <= members)
    saved.check(bool(fits.all()) and int(counts.sum()) == members, "lists do not hold all")
    ends, following = np.cumsum(counts), np.arange(first + 1, first + 1 + members)
    following[ends[counts > 0] - 1] = -1
    heads = np.where(counts > 0, first + ends - counts, -1)
    return heads, following, np.repeat(np.arange(len(counts)), counts)
