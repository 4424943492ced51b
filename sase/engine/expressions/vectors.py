"""The attributes of a block as vectors, for NumPy and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.types import Kind
from sase.engine.columns.arrays import Mask
from sase.engine.columns.events import EventColumn
from sase.engine.expressions.layout import tag_of
from sase.engine.expressions.strings import NO_CODE, Interner
from sase.engine.kernels.expressions.operations import NULL
from sase.engine.kernels.expressions.program import Columns
from sase.engine.kernels.jit.signatures import frozen

SECONDS_OF_A_DAY = 86400


@dataclass(frozen=True, eq=False)
class Vector:
    """An attribute as int64, or float64 without NaN; its valid rows; and the tag of the numbers.

    If types declare the attribute differently, there is a tag for each event.
    """

    values: NDArray[Any]
    tag: int | NDArray[np.uint8]
    valid: Mask | None = None

    @property
    def tags(self) -> NDArray[Any] | int:
        """The tag of each value, NULL where it is invalid; or one tag for all."""
        return self.tag if self.valid is None else np.where(self.valid, self.tag, NULL)

    def at(self, rows: slice | NDArray[np.int64]) -> Vector:
        """Select rows."""
        tag = self.tag if isinstance(self.tag, int) else self.tag[rows]
        return Vector(self.values[rows], tag, None if self.valid is None else self.valid[rows])


def vector_of(column: EventColumn, interner: Interner) -> Vector:
    """Convert a column of the input: strings to the plan's codes, days to seconds."""
    values = column.values
    if column.dictionary is not None:
        # One more entry for NULL: its code −1 selects the last.
        codes = np.append(interner.codes_of(column.dictionary.to_pylist()), NO_CODE)
        values = codes[values]
    elif column.type.kind is Kind.TIMESTAMP and column.type.resolution == "d":
        values = values * SECONDS_OF_A_DAY
    return Vector(values, tag_of(column.type), column.valid)


def columns_of(
    vectors: Sequence[Vector], types: NDArray[np.int16], tables: NDArray[np.int64]
) -> Columns:
    """Combine vectors into the columns of programs; a single one is not copied."""
    tags = np.empty((len(vectors), len(types)), np.uint8)
    cells = np.empty((len(vectors), len(types)), np.int64) if len(vectors) != 1 else None
    for place, vector in enumerate(vectors):
        tags[place] = vector.tags
        if cells is None:
            cells = bits_of(vector)[np.newaxis]
        else:
            cells[place] = bits_of(vector)
    assert cells is not None
    return Columns(frozen(cells), frozen(tags), frozen(types), frozen(tables))


def bits_of(vector: Vector) -> NDArray[np.int64]:
    """The values as int64; floats by their bits."""
    if vector.values.dtype == np.float64:
        return vector.values.view(np.int64)
    return np.asarray(vector.values, np.int64)
