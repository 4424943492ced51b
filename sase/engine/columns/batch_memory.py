"""Locate the numbers of small batches for kernels that read them where they lie.

A kernel has no bounds checks, so nothing is located that is not proved.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sase.engine.columns.batch_decoder import BatchDecoder, SourceColumn
from sase.engine.columns.chunks import INTEGERS
from sase.engine.columns.gate import indexes_at, numbers_at
from sase.engine.kernels.jit.arrow_memory import form_of
from sase.engine.kernels.scan.fused_scan import ADDRESS, FORM, TYPES


class BatchMemory:
    """Locates times, types and keys in the batches of a schema, one at a time."""

    def __init__(self, decoder: BatchDecoder, keys: tuple[SourceColumn, ...]) -> None:
        read = [column.at for column in (decoder.time, decoder.type, *keys)]
        stored = [_stored(decoder.schema.field(column).type) for column in read]
        widths = [kind.itemsize for kind in stored]
        self._numbers = [(row, read[row], widths[row]) for row in range(len(read)) if row != TYPES]
        self._width = widths[TYPES]
        # Of each column its form, and where its numbers lie in the last batch.
        self.columns = np.zeros((len(read), 2), np.int64)
        self.columns[:, FORM] = [
            form_of(8 * kind.itemsize, is_signed=kind.kind == "i") for kind in stored
        ]

    def locate(self, batch: pa.RecordBatch, types: pa.DictionaryArray) -> bool:
        """Find the columns of a batch, of which `types` has a proved dictionary.

        Return whether each is proved, and without NULL.
        """
        columns, rows = self.columns, batch.num_rows
        address = indexes_at(types, self._width)
        if address is None or len(types) != rows:
            return False
        columns[TYPES, ADDRESS] = address
        for row, column, width in self._numbers:
            array = batch.column(column)
            address = numbers_at(array, width)
            if address is None or len(array) != rows:
                return False
            columns[row, ADDRESS] = address
        return True


def _stored(kind: pa.DataType) -> np.dtype[np.generic]:
    """Return how the numbers of a column are stored, or the indexes into its dictionary."""
    kind = kind.index_type if pa.types.is_dictionary(kind) else kind
    return INTEGERS.get(kind.id, np.dtype(np.int64))
