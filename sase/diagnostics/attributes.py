"""Read attributes of events for diagnostics: truth of conditions, codes, Python values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sase.binding import Schema
from sase.binding.bound import (
    BoundComponent,
    BoundWindow,
    Condition,
    EquivalenceTest,
    Reference,
    WindowKind,
)
from sase.binding.types import TIMES, Kind
from sase.engine.blocks.block import Block, EventRange
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import EventColumn, Events
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import RowFilter, Vector, columns_needed
from sase.engine.expressions.constants import NANOSECOND
from sase.engine.kernels.expressions.operations import EXACT, FLOAT
from sase.engine.kernels.sentinels import NOTHING

# Events decoded at a time.
PIECE = 1 << 18


class Attributes:
    """Reads attributes of events and evaluates conditions on one event, as the engine does."""

    def __init__(self, events: Events, schema: Schema, components: Sequence[BoundComponent]):
        self.events, self.schema = events, schema
        self._types = TypeDictionary(schema, components)
        self._coding = PlanDictionary(self._types)

    def truth(self, condition: Condition, component: BoundComponent, places: Numbers) -> Mask:
        """Evaluate a condition on one component's event, for the events at some places."""
        known = self._types
        lacking = frozenset(
            need
            for need in columns_needed([condition])
            if component.types is None and known.unknown_types_lack(need[1])
        )
        test = RowFilter(condition, known.codes, self._coding.texts, lacking, known.unlisted)
        found = np.empty(len(places), np.bool_)
        for begin in range(0, len(places), PIECE):
            block = self._block(places[begin : begin + PIECE])
            vectors: Mapping[tuple[int, str], Vector] = {
                need: block.vector(need[1]) for need in test.columns
            }
            found[begin : begin + PIECE] = test.truth(vectors, block.types)
        return found

    def vector(self, attribute: str, places: Numbers) -> Vector:
        """Read an attribute of the events at some places; strings as codes."""
        return self._block(places).vector(attribute)

    def encoded(self, attribute: str, places: Numbers) -> EventColumn | None:
        """The dictionary-encoded column of a string attribute, of which no text is decoded."""
        column = self.events.columns.get(attribute)
        return None if column is None or column.dictionary is None else column.take(places)

    def text_of(self, code: int) -> str | None:
        """The text of a code in a vector of strings."""
        return None if code == NOTHING else self._coding.texts.texts[code]

    def count_nulls(self, reference: Reference, places: Numbers) -> int:
        """Count events with NULL in an attribute that their type declares."""
        lacking = reference.undeclared_by or ()
        declares = np.array([*(name not in lacking for name in self.events.type_names), True])
        places = places[declares[self.events.types[places]]]
        column = self.encoded(reference.attribute, places)
        read = self.vector(reference.attribute, places) if column is None else column
        return 0 if read.valid is None else int((~read.valid).sum())

    def values(self, attribute: str, places: Numbers, kind: Kind) -> list[Any]:
        """Read an attribute as Python values: times in nanoseconds, decimals as fractions."""
        if not len(places):
            return []
        column = self.encoded(attribute, places)
        if column is not None:
            texts = column.dictionary.to_pylist()
            return [None if code < 0 else texts[code] for code in column.values.tolist()]
        vector = self.vector(attribute, places)
        tags = np.broadcast_to(np.asarray(vector.tag), len(places)).tolist()
        valid = [True] * len(places) if vector.valid is None else vector.valid.tolist()
        numbers = vector.values.tolist()
        if not isinstance(vector.tag, int):  # mixed types: tags mark the floats
            floats = vector.values.view(np.float64).tolist()
            numbers = [
                f if tag == FLOAT else n for n, f, tag in zip(numbers, floats, tags, strict=True)
            ]
        make = self.text_of if kind is Kind.STRING else None
        return [
            None if not known else make(bits) if make else python_value(bits, tag, kind)
            for bits, tag, known in zip(numbers, tags, valid, strict=True)
        ]

    # ------------------------------------------------------------ partitions and windows

    def codes(self, tests: Sequence[EquivalenceTest]) -> Numbers:
        """The key codes of all events under tests, negative without a key."""
        block = self._block(np.arange(len(self.events)))
        return block.codes(self._coding.key(tuple(tests)))

    def codes_of(self, test: EquivalenceTest) -> Numbers:
        """The key codes of all events under a test, without its fixed value."""
        return self.codes([replace(test, value=None)])

    def measures(self, window: BoundWindow, tests: Sequence[EquivalenceTest]) -> Numbers:
        """The window's measure of every event: time, position, or rank in its partition."""
        if window.kind is WindowKind.TIME:
            return self.events.ts
        positions = np.arange(len(self.events))
        if window.kind is WindowKind.EVENTS:
            return positions
        codes = self.codes(tests)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order[:1]] - 1))
        lengths = np.diff(starts, append=len(order))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = positions - np.repeat(starts, lengths)
        return ranks

    def are_measured(self, window: BoundWindow, tests: Sequence[EquivalenceTest]) -> Mask:
        """Mark the events with a measure; a window per partition needs a key."""
        found = np.ones(len(self.events), np.bool_)
        if window.kind is WindowKind.PARTITION_EVENTS:
            found &= self.codes(tests) >= 0
        return found

    def _block(self, places: Numbers) -> Block:
        stretch = EventRange(self.events, 0, len(self.events), 0, 0)
        ts = self.events.ts[places]
        return Block(stretch, places, places, ts, places, places, self._coding)


def python_value(bits: Any, tag: int, kind: Kind) -> Any:
    """Convert a number, time or truth value of a vector to Python; a float is given as such."""
    if tag >= EXACT:
        exact = Fraction(bits, 10 ** (tag - EXACT))
        return int(exact * 10**NANOSECOND) if kind in TIMES else exact
    return bool(bits) if kind is Kind.BOOLEAN else bits


def of_types(events: Events, types: Collection[str]) -> Numbers:
    """The places of the events of certain types."""
    admitted = np.array([*(name in types for name in events.type_names), False])
    return np.flatnonzero(admitted[events.types])
