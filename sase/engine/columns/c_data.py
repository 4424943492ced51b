"""Export small batches to kernels by Arrow's C data interface.

To make pyarrow's objects of the columns of a batch takes longer than all that is done with a few
hundred rows.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa

from sase.engine.columns.batch_decoder import BatchDecoder, SourceColumn
from sase.engine.columns.chunks import INTEGERS
from sase.engine.kernels.jit.arrow_memory import FIELDS, form_of
from sase.engine.kernels.scan.fused_scan import CHILD, FORM

# Of more columns than these only those that are needed are exported.
FEW = 12

# The address in a capsule of the name that Arrow gives to that of a batch.
NAME = b"arrow_array"
_address_in = ctypes.pythonapi.PyCapsule_GetPointer
_address_in.restype, _address_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class BatchView:
    """The C struct in which Arrow describes a batch while a kernel reads it."""

    def __init__(self) -> None:
        self._array = np.zeros(FIELDS, np.int64)
        self.address = self._array.ctypes.data
        # The capsule of Arrow, which releases the memory of the batch when it goes.
        self._capsule: object = None

    def export(self, batch: pa.RecordBatch) -> None:
        """Describe a batch without copying anything of its columns."""
        _, self._capsule = batch.__arrow_c_array__()
        ctypes.memmove(self.address, _address_in(self._capsule, NAME), self._array.nbytes)

    def release(self) -> None:
        """Release what the description holds."""
        self._capsule = None


class BatchExport(BatchView):
    """Describes batches of a schema, one at a time."""

    def __init__(self, decoder: BatchDecoder, keys: tuple[SourceColumn, ...]) -> None:
        super().__init__()
        columns = [column.at for column in (decoder.time, decoder.type, *keys)]
        is_wide = len(decoder.schema) > FEW
        self._selected = columns if is_wide else None
        places = range(len(columns)) if is_wide else columns
        forms = [_form(decoder.schema.field(column).type) for column in columns]
        # Of each column its form, where its numbers lie in the last batch, and its place.
        self.columns = np.zeros((len(columns), 3), np.int64)
        self.columns[:, FORM], self.columns[:, CHILD] = forms, places

    def export(self, batch: pa.RecordBatch) -> None:
        """Describe the columns that are needed, or all if they are few."""
        super().export(batch if self._selected is None else batch.select(self._selected))


def _form(kind: pa.DataType) -> int:
    """Return how the numbers of a column are stored, or the indices into its dictionary."""
    kind = kind.index_type if pa.types.is_dictionary(kind) else kind
    stored = INTEGERS.get(kind.id, np.dtype(np.int64))
    return form_of(8 * stored.itemsize, is_signed=stored.kind == "i")
