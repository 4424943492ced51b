"""Read the selected columns of all tables, one table after another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers, TypeCodes
from sase.engine.columns.arrow.chunks import Chunk, located
from sase.engine.columns.arrow.input import Chunks, Inputs, Origin
from sase.engine.columns.decode.quarantine import Faults

FEW_TYPES = 16
# From this number of rows on, a few wanted rows are decoded alone.
MANY = 1 << 16


class WantedRows:
    """The rows of `only` some types; None wants all."""

    def __init__(
        self, types: TypeCodes, names: tuple[str, ...], only: frozenset[str] | None
    ) -> None:
        self._types, self._names, self._only = types, names, only

    @cached_property
    def rows(self) -> Numbers | None:
        """The rows, ascending; None for all."""
        only = self._only
        if only is None or only.issuperset(self._names):
            return None
        codes = [code for code, name in enumerate(self._names) if name in only]
        if len(codes) > FEW_TYPES:
            return np.flatnonzero(np.isin(self._types, codes))
        # Comparing with each code is far faster than a lookup.
        is_wanted = np.zeros(len(self._types), np.bool_)
        for code in codes:
            is_wanted |= self._types == code
        return np.flatnonzero(is_wanted)

    def few(self, share: int) -> Numbers | None:
        """The rows if they are some, and at most one in `share` of many; else None."""
        rows, count = (self.rows, len(self._types)) if len(self._types) >= MANY else (None, 0)
        return rows if rows is not None and 0 < len(rows) <= count // share else None

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put values at the wanted rows; 0 at the others."""
        found = np.zeros(len(self._types), values.dtype)
        found[self.rows] = values
        return found


@dataclass(frozen=True, eq=False)
class Projection:
    """The number of rows of each table, and the chunks of its columns by name."""

    inputs: Inputs
    counts: tuple[int, ...]
    chunks: tuple[Mapping[str, Chunks], ...]
    # Bad rows found while columns are decoded.
    faults: Faults = field(default_factory=Faults)

    @cached_property
    def origin(self) -> Origin:
        """The first row of each table, and of each file of it."""
        parts = [
            (table.type_name, file, count if file is None else file.rows)
            for table, count in zip(self.inputs.tables, self.counts, strict=True)
            for file in table.files or [None]
        ]
        starts = accumulate((count for _, _, count in parts), initial=0)
        names, files = tuple(name for name, _, _ in parts), tuple(file for _, file, _ in parts)
        return Origin(names, tuple(starts)[: len(parts)], files)

    def note_misfits(self, read: Collection[str]) -> None:
        """Log the rows with values that coercion rejected, in columns that are read."""
        if not any([table.misfits for table in self.inputs.tables]):
            return
        for start, table in zip(self.origin.starts, self.inputs.tables, strict=True):
            for name in filter(read.__contains__, table.misfits):
                for why, rows in table.misfits[name]:
                    value = table.texts[name][int(rows[0])]
                    self.faults.refuse(name, rows + start, why, value)

    def column(self, name: str, within: Collection[int] | None = None) -> list[Chunk]:
        """Return a column of all tables; NULL in tables without it or not `within`."""
        found: list[Chunk] = []
        row = 0
        for number, (rows, chunks) in enumerate(zip(self.counts, self.chunks, strict=True)):
            has_it = name in chunks and (within is None or number in within)
            found += located(chunks[name] if has_it else [pa.nulls(rows)], row)
            row += rows
        return found


def project(inputs: Inputs, indexes: Sequence[Mapping[str, int]]) -> Projection:
    """Read the columns at these indexes, each table once."""
    found = [table.read(where) for table, where in zip(inputs.tables, indexes, strict=True)]
    counts, chunks = [rows for rows, _ in found], [chunks for _, chunks in found]
    return Projection(inputs, tuple(counts), tuple(chunks))
