"""Export small batches to kernels, which read them in place.

Making pyarrow's column objects takes longer than all other work on a few hundred rows. So Arrow
describes the batch, and the description is proved in three steps, each of which reads only memory
that earlier steps have proved: a kernel finds where columns begin, and that the dictionary of types
is known; Arrow checks that their memory is long enough and their NULLs are counted; the kernel that
reads them checks that there are no NULLs.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.chunks import INTEGERS
from sase.engine.columns.arrow.gate import (
    ExportedBatch,
    Proof,
    are_numbers,
    fits_memory,
    is_flat,
    is_sound,
)
from sase.engine.columns.decode.batch_decoder import BatchDecoder, SourceColumn
from sase.engine.kernels.jit.arrow_memory import form_of
from sase.engine.kernels.scan.fused_scan import (
    CHILD,
    FORM,
    NOTHING_LACKS,
    OTHER,
    TYPES,
    BatchLayout,
    locate,
)

# Batches with more columns export only those that are read.
FEW = 12
# Up to this sum of rows and types, Arrow also proves the dictionary indexes, which is faster than
# the kernel.
FEW_INDEXES = 1 << 10


class BatchMemory:
    """Exports times, types and keys of the batches of a schema, and proves them."""

    def __init__(self, decoder: BatchDecoder, keys: tuple[SourceColumn, ...]) -> None:
        schema, read = decoder.schema, [each.at for each in (decoder.time, decoder.type, *keys)]
        others = [field.type for at, field in enumerate(schema) if at not in read]
        is_whole = len(schema) <= FEW and all(map(is_flat, others))
        self._selected = None if is_whole else read
        # How far the columns of a batch are proved.
        self.proof = Proof.FITTING if is_whole else Proof.READ
        if is_whole and all(map(are_numbers, others)):
            self.proof = Proof.WHOLE
        # The exported children that are read, and those that Arrow proves.
        self._read = read if is_whole else list(range(len(read)))
        self._type = self._read[TYPES]
        proved = range(len(schema)) if self.proof is Proof.WHOLE else self._read
        self._numbers = [at for at in proved if at != self._type]
        # For each column: its form, the address of its numbers in the last batch, and its child.
        self.columns: Numbers = np.zeros((len(read), 3), np.int64)
        self.columns[:, FORM] = [_form(schema.field(column).type) for column in read]
        self.columns[:, CHILD] = self._read

    def export(self, batch: pa.RecordBatch) -> ExportedBatch:
        """Export a batch, with all columns if they are few and flat."""
        return ExportedBatch(batch if self._selected is None else batch.select(self._selected))

    def lacks(self, exported: ExportedBatch, layout: BatchLayout) -> int:
        """Find and prove the columns of a layout; return `NOTHING_LACKS` or the problem."""
        lacks = locate(exported.address, layout.columns, layout.dictionary)
        if lacks == NOTHING_LACKS and not self._is_proved(exported.batch, len(layout.states)):
            return OTHER
        return lacks

    def _is_proved(self, batch: pa.RecordBatch, types: int) -> bool:
        """Whether a batch is sound, given that no column begins before its memory."""
        if self.proof is not Proof.FITTING and batch.num_rows + types <= FEW_INDEXES:
            return is_sound(batch)
        indexes = batch.column(self._type)
        has_bitmap = indexes.buffers()[0] is not None
        if has_bitmap and not is_sound(indexes.indices):
            return False
        return fits_memory(batch) and is_sound(batch.select(self._numbers))


def _form(kind: pa.DataType) -> int:
    """The form of a column's numbers, or of its dictionary's indexes."""
    kind = kind.index_type if pa.types.is_dictionary(kind) else kind
    stored = INTEGERS.get(kind.id, np.dtype(np.int64))
    return form_of(8 * stored.itemsize, is_signed=stored.kind == "i")
