"""Export small batches to kernels, which read them where they lie.

To make pyarrow's objects of the columns of a batch takes longer than all that is done with a few
hundred rows. So Arrow describes the batch, and what it says is proved in three steps, each of which
reads only what those before it have proved: where columns begin and that the dictionary of types is
a known one, by a kernel; that their memory is long enough and NULLs are counted, by Arrow; and that
there are none, by the kernel that reads them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrays import Numbers
from sase.engine.columns.batch_decoder import BatchDecoder, SourceColumn
from sase.engine.columns.chunks import INTEGERS
from sase.engine.columns.gate import (
    ExportedBatch,
    Proof,
    are_numbers,
    fits_memory,
    is_flat,
    is_sound,
)
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

# Of more columns than these only those that are read are exported.
FEW = 12
# Arrow proves so many indexes and values of a dictionary, which the kernel proves or are known, in
# less time than it takes to leave them out.
FEW_INDEXES = 1 << 10


class BatchMemory:
    """Exports times, types and keys of the batches of a schema, and proves them."""

    def __init__(self, decoder: BatchDecoder, keys: tuple[SourceColumn, ...]) -> None:
        schema, read = decoder.schema, [each.at for each in (decoder.time, decoder.type, *keys)]
        others = [field.type for at, field in enumerate(schema) if at not in read]
        is_whole = len(schema) <= FEW and all(map(is_flat, others))
        self._selected = None if is_whole else read
        # What is proved of the columns of a batch.
        self.proof = Proof.FITTING if is_whole else Proof.READ
        if is_whole and all(map(are_numbers, others)):
            self.proof = Proof.WHOLE
        # Where the columns are that are read, in what is exported, and those that are proved too.
        self._read = read if is_whole else list(range(len(read)))
        self._type = self._read[TYPES]
        proved = range(len(schema)) if self.proof is Proof.WHOLE else self._read
        self._numbers = [at for at in proved if at != self._type]
        # Of each column its form, where its numbers lie in the last batch, and which child it is.
        self.columns: Numbers = np.zeros((len(read), 3), np.int64)
        self.columns[:, FORM] = [_form(schema.field(column).type) for column in read]
        self.columns[:, CHILD] = self._read

    def export(self, batch: pa.RecordBatch) -> ExportedBatch:
        """Export a batch as a whole if its columns are few and flat."""
        return ExportedBatch(batch if self._selected is None else batch.select(self._selected))

    def lacks(self, exported: ExportedBatch, layout: BatchLayout) -> int:
        """Find and prove the columns of a layout; return what is lacking to read them."""
        lacks = locate(exported.address, layout.columns, layout.dictionary)
        if lacks == NOTHING_LACKS and not self._is_proved(exported.batch, len(layout.states)):
            return OTHER
        return lacks

    def _is_proved(self, batch: pa.RecordBatch, types: int) -> bool:
        """Whether a batch is sound, none of whose columns begins before its memory."""
        if self.proof is not Proof.FITTING and batch.num_rows + types <= FEW_INDEXES:
            return is_sound(batch)
        indexes = batch.column(self._type)
        has_bitmap = indexes.buffers()[0] is not None
        if has_bitmap and not is_sound(indexes.indices):
            return False
        return fits_memory(batch) and is_sound(batch.select(self._numbers))


def _form(kind: pa.DataType) -> int:
    """Return how the numbers of a column are stored, or the indexes into its dictionary."""
    kind = kind.index_type if pa.types.is_dictionary(kind) else kind
    stored = INTEGERS.get(kind.id, np.dtype(np.int64))
    return form_of(8 * stored.itemsize, is_signed=stored.kind == "i")
