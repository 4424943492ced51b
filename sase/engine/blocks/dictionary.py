"""The dictionaries of a plan: codes of types, texts and keys, and columns of blocks with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding import Schema
from sase.binding.bound import BoundComponent, EquivalenceTest
from sase.binding.types import Kind
from sase.engine.blocks.block import Block, Key, Tests
from sase.engine.blocks.key_dictionary import KeyDictionary
from sase.engine.blocks.key_texts import KeyTexts, SharedTexts, codes_of_few
from sase.engine.columns import EventColumn
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import Interner, Vector, vector_of
from sase.engine.expressions.layout import UNSCALED
from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.expressions.operations import INTEGER
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.layout import Declared, Each, Own
from sase.planning.physical.declarations import TypeDeclarations

# The most bits of dense codes for texts that plans share: each plan has few of them.
BITS_OF_SHARED = 10
# Strings that nothing refers to are kept for this many rounds.
ROUNDS = 8
# Dictionaries of up to this size plus a few times the values read are translated as a whole.
LARGE = 8


class TypeDictionary(TypeDeclarations):
    """The codes of the types that a plan knows, and their attributes; unknown types share one.

    All runs of a plan may share it, also runs in several threads.
    """

    def __init__(self, schema: Schema, components: Iterable[BoundComponent] = ()) -> None:
        super().__init__(schema, components)
        self.codes: Mapping[str, int] = {name: code for code, name in enumerate(self.names)}
        self.unknown_type = len(self.names)
        listed = schema.type_names or ()
        named = (code for name, code in self.codes.items() if name not in listed)
        # The types that the schema does not list: those that the query names, and all others.
        self.unlisted = (*named, self.unknown_type)
        self._declared: dict[str, Mask | None] = {}
        self._translation: tuple[tuple[str, ...], NDArray[np.int16]] | None = None

    def translation(self, names: tuple[str, ...]) -> NDArray[np.int16]:
        """The plan's code for each code of an input; the last is for events without a type."""
        known = self._translation  # another run may replace it in the meantime
        if known is None or known[0] != names:
            codes = [*(self.codes.get(name, self.unknown_type) for name in names), NOTHING]
            known = self._translation = (names, np.array(codes, np.int16))
        return known[1]

    def keeps(self, names: tuple[str, ...]) -> bool:
        """Whether an input's codes equal those of the plan."""
        found = self.translation(names)
        return bool((found[:-1] == np.arange(len(names))).all())

    def declare(self, attribute: str) -> Mask | None:
        """Whether each type declares an attribute, by code, unknown ones last; None if all do."""
        if attribute not in self._declared:
            found = np.array([self.declares(name, attribute) for name in [*self.names, None]])
            self._declared[attribute] = None if found.all() else found
        return self._declared[attribute]

    def mixes(self, attributes: Iterable[str]) -> bool:
        """Whether some of the attributes may have a scale."""
        tables = [self.schema.attributes(name) for name in self.schema.type_names or self.codes]
        known = [table for table in tables if table is not None]
        if len(known) < len(tables):
            return True
        kinds = ({table[name].kind for table in known if name in table} for name in attributes)
        return not all(found and found <= UNSCALED for found in kinds)


@dataclass
class _Translated:
    """A dictionary of strings, and the code of the plan for each of its values."""

    dictionary: Any
    codes: Numbers


class PlanDictionary(Declared):
    """Codes of strings and of keys, which last for a run.

    If the whole input has one dictionary for a column, its codes are keys. In a stream dictionaries
    change, so strings are identified by their text. The codes of key texts may be shared by all
    plans of an input.
    """

    layout = dict(texts=Own(path="texts"), keys=Each(Own(), path=None), key_texts=Own())

    def __init__(
        self,
        types: TypeDictionary,
        *,
        streaming: bool = False,
        key_texts: SharedTexts | None = None,
    ) -> None:
        self.type_dictionary, self.texts, self.streaming = types, Interner(), streaming
        self.shared_texts, self._key_texts = key_texts, KeyTexts(key_texts)
        self._keys: dict[Tests, Key] = {}
        self._key_codes: dict[Key, KeyDictionary] = {}
        self._translated: dict[tuple[str, str], _Translated] = {}
        # All events before this number are gone.
        self._horizon = 0
        # For each column a dictionary much larger than the first request for its values.
        self._large: dict[tuple[str, str], Any] = {}

    def types(self, block: Block) -> NDArray[np.int16]:
        """The type codes of the plan for a block's events."""
        events, known = block.events, self.type_dictionary
        given = events.types[block.rows]
        if known.keeps(events.type_names):
            return given.astype(np.int16, copy=False)
        return known.translation(events.type_names)[given]

    def vector(self, block: Block, attribute: str) -> Vector:
        """An attribute of a block's events; NULL if the type does not declare it."""
        events = block.events
        if attribute in events.columns:
            vector = self._vector_at(("", attribute), events.columns[attribute], block.rows)
        else:
            vector = self._by_type(block, attribute)
        declared = self._declared(block, attribute)
        if declared is None:
            return vector
        return Vector(
            vector.values, vector.tag, declared if vector.valid is None else vector.valid & declared
        )

    def raw_vector(self, block: Block, attribute: str) -> Vector:
        """An attribute for comparisons with constants; integers may have any width."""
        column = block.events.columns.get(attribute)
        is_declared = self.type_dictionary.declare(attribute) is None
        if column is None or column.type.kind is not Kind.INTEGER or not is_declared:
            return block.vector(attribute)
        valid = None if column.valid is None else column.valid[block.rows]
        return Vector(column.values[block.rows], INTEGER, valid)

    def key(self, tests: Tests) -> Key:
        """The key of some tests."""
        key = self._keys.get(tests)
        if key is None:
            key = self._keys[tests] = Key(tests)
            self._key_codes[key] = KeyDictionary(len(tests), streaming=self.streaming)
        return key

    def codes_of(self, key: Key) -> KeyDictionary:
        """The dictionary of a key."""
        return self._key_codes[key]

    def size(self, key: Key) -> int:
        """The bound of a key's codes."""
        return self._key_codes[key].size if key.tests else 1

    def codes(self, block: Block, key: Key) -> Numbers:
        """The codes of a block's events; with a single test also `UNDECLARED`."""
        vectors = [self._key(block, test) for test in key.tests]
        known = self._key_codes[key]
        if self.shared_texts is not None and any(self._is_text(block, t) for t in key.tests):
            known.bits = BITS_OF_SHARED
        codes = known.encode_vectors(vectors, block.numbers)
        if len(key.tests) == 1:
            # All types of its components declare the attributes of an inferred test.
            attribute = key.tests[0].attribute
            declared = None if key.tests[0].attributes else self._declared(block, attribute)
            if declared is not None:
                codes = np.where(declared, codes, UNDECLARED)
        return codes

    def recycle(self, horizon: int) -> None:
        """Recycle codes that no event from the horizon on has."""
        for codes in self._key_codes.values():
            codes.recycle(horizon)
        self._key_texts.recycle(horizon)
        self._horizon = horizon

    def recycle_texts(self) -> None:
        """Recycle codes of strings that no event has from the last horizon on."""
        for each in self._translated.values():
            self.texts.use_now(each.codes)
        self._translated.clear()
        self.texts.recycle(self._horizon)

    def end_round(self) -> None:
        """Recycle the codes of strings, once they are many, except those of the last few rounds.

        Nothing refers to these strings; recent ones are the most likely to come again.
        """
        self.texts.now += 1
        if self.texts.is_full:
            self._horizon = self.texts.now - ROUNDS
            self.recycle_texts()

    def _encoded(self) -> dict[str, Any]:
        """The codes of keys in the order of their first use."""
        return {"keys": [*self._key_codes.values()]}

    @property
    def sizes(self) -> dict[Key, int]:
        """The bound of the codes of each key."""
        return {key: self.size(key) for key in self._key_codes}

    def _declared(self, block: Block, attribute: str) -> Mask | None:
        by_type = self.type_dictionary.declare(attribute)
        return None if by_type is None else by_type[block.types]

    # ------------------------------------------------------------ attributes

    def _vector_at(
        self, name: tuple[str, str], column: EventColumn, places: slice | Numbers
    ) -> Vector:
        """The values of a column at some places."""
        if column.dictionary is None:
            return vector_of(column.take(places), self.texts)
        known, taken = self._translated.get(name), column.take(places)
        if known is None or known.dictionary is not column.dictionary:
            is_large = len(column.dictionary) > LARGE + 4 * len(taken.values)
            if is_large and self._large.get(name) is not column.dictionary:
                self._large[name] = column.dictionary  # encoded as a whole at the next request
                return self._vector_of_few(taken)
            if known is not None:
                self.texts.use_now(known.codes)
            codes = self.texts.codes_of(column.dictionary.to_pylist())
            known = _Translated(column.dictionary, np.append(codes, NOTHING))
            self._translated[name] = known
        return Vector(known.codes[taken.values], INTEGER, taken.valid)

    def _vector_of_few(self, column: EventColumn) -> Vector:
        """The codes of a few values, without encoding the whole dictionary of their column."""
        codes = codes_of_few(column.values, column.dictionary, self.texts.codes_of)
        return Vector(codes, INTEGER, column.valid)

    def _by_type(self, block: Block, attribute: str) -> Vector:
        """An attribute that has different kinds in the tables of several types."""
        events, count = block.events, len(block)
        values, tags = np.zeros(count, np.int64), np.zeros(count, np.uint8)
        given = events.types[block.rows]
        for code, type_name in enumerate(events.type_names):
            column = events.by_type.get((type_name, attribute))
            rows = np.flatnonzero(given == code)
            if column is None or not len(rows):
                continue
            vector = self._vector_at((type_name, attribute), column, block.places[rows])
            values[rows] = vector.values.view(np.int64)
            tags[rows] = vector.tags
        return Vector(values, tags, tags != 0)

    # ------------------------------------------------------------ keys

    def _is_text(self, block: Block, test: EquivalenceTest) -> bool:
        """Whether the values of a test are texts with lasting codes."""
        column = block.events.columns.get(test.attribute)
        is_coded = column is not None and column.dictionary is not None
        return is_coded and self.streaming and not test.attributes

    def _key(self, block: Block, test: EquivalenceTest) -> Vector:
        """The values that a test compares."""
        if test.attributes:
            return self._joined(block, test)
        attribute = test.attribute
        column = block.events.columns.get(attribute)
        if column is not None and column.type.kind is Kind.INTEGER and column.valid is None:
            values = column.keys[block.rows].astype(np.int64, copy=False)
            return Vector(values, INTEGER, self._declared(block, attribute))
        if column is None or column.dictionary is None:
            return block.vector(attribute)
        codes = column.values[block.rows].astype(np.int64)
        if self.streaming:
            codes = self._key_texts.codes(attribute, codes, column.dictionary, block.numbers)
        known = codes >= 0 if column.valid is not None else None
        declared = self._declared(block, attribute)
        if declared is not None:
            known = declared if known is None else known & declared
        return Vector(codes, INTEGER, known)

    def _joined(self, block: Block, test: EquivalenceTest) -> Vector:
        """The values of a test with a different attribute for each type."""
        values, tags = np.zeros(len(block), np.int64), np.zeros(len(block), np.uint8)
        for type_name, attribute in test.by_type:
            vector = block.vector(attribute)
            mine = block.types == self.type_dictionary.codes[type_name]
            values[mine] = np.ascontiguousarray(vector.values).view(np.int64)[mine]
            tags[mine] = np.broadcast_to(vector.tags, len(block))[mine]
        return Vector(values, tags, tags != 0)
