"""Read attributes of events for diagnostics: truth of conditions, codes, Python values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
from sase.cached_property import cached_property
from sase.engine.blocks.block import Block, EventRange
from sase.engine.blocks.builder import BlockBuilder
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import EventColumn, Events
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import RowFilter, Vector, columns_needed
from sase.engine.expressions.layout import NANOSECOND
from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.expressions.operations import EXACT, FLOAT
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import measures_of

# Events decoded at a time.
PIECE = 1 << 18


class Attributes:
    """Reads attributes of events and evaluates conditions on one event, as the engine does."""

    def __init__(self, events: Events, schema: Schema, components: Sequence[BoundComponent]):
        self.events, self.schema = events, schema
        self._types = TypeDictionary(schema, components)
        self._coding = PlanDictionary(self._types)
        self._codes: dict[EquivalenceTest, Numbers] = {}

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
        if test not in self._codes:
            self._codes[test] = self.codes([replace(test, value=None)])
        return self._codes[test]

    def measures(self, window: BoundWindow, tests: Sequence[EquivalenceTest]) -> Numbers:
        """The window's measure of every event: time, position, or rank in its partition.

        An event without a key has the rank `NOTHING`.
        """
        ranked = tuple(tests) if window.kind is WindowKind.PARTITION_EVENTS else ()
        builder = BlockBuilder((), 0, self._coding, ranked, dense=False, every=True)
        found = [measures_of(each, window) for each in builder.blocks(self.events, PIECE)]
        return np.concatenate([np.empty(0, np.int64), *found])

    @cached_property
    def order(self) -> Numbers:
        """The rank of each event among those that are not simultaneous."""
        tie = self.events.tie
        return np.arange(len(self.events)) if tie is None else tie

    def agreeing(
        self, tests: Sequence[EquivalenceTest], places: Numbers, bound: Sequence[int]
    ) -> Mask:
        """Mark the events at some places that agree with those of a match under all tests.

        An event agrees with all if its type does not declare the attribute, and with none if it has
        NULL there. The fixed values of tests are not compared.
        """
        agree = np.ones(len(places), np.bool_)
        for codes in map(self.codes_of, tests):
            own, known = codes[places], max(codes[[*bound]].tolist())
            agree &= own != NOTHING
            agree &= (own == known) | (own == UNDECLARED) | (known == UNDECLARED)
        return agree

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


def of_types(events: Events, types: Collection[str] | None) -> Numbers:
    """The places of the events of certain types; of all that have one if these are None."""
    types = events.type_names if types is None else types
    admitted = np.array([*(name in types for name in events.type_names), False])
    return np.flatnonzero(admitted[events.types])


def types_of(components: Iterable[BoundComponent]) -> Collection[str] | None:
    """The types that some components admit; None if one admits any."""
    found = [each.types for each in components]
    return None if None in found else {name for types in found for name in types or ()}
