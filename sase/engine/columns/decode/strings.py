"""Decode string columns into codes of one dictionary of distinct values."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding.types import STRING
from sase.cached_property import cached_property
from sase.engine.columns.arrays import cuts_of
from sase.engine.columns.arrow.chunks import INTEGERS, Chunk, joined, located, storage, valid
from sase.engine.columns.arrow.gate import identity
from sase.engine.columns.arrow.gather import gathered
from sase.engine.columns.decode.projection import WantedRows
from sase.engine.columns.events import EventColumn
from sase.engine.columns.kept_memory import reused

CodeType = type[np.int16] | type[np.int32]
# From MANY texts on a kernel encodes them instead of Arrow, if at most FEW are distinct and these
# take at most ROOM bytes; from HUGE texts on in any case.
MANY, FEW, ROOM, HUGE = 1 << 16, 1 << 10, 1 << 16, 1 << 18
# Texts encoded one by one.
TINY = 100
# Sizes of dictionaries that a kernel tests for distinct values.
LARGE, MOST = 1 << 13, 1 << 24
# Values that are worth a thread.
WORTH = 1 << 17
SMALL = 2**31 - 1  # bytes that the offsets of a plain string array can count
_Identity = tuple[object, ...]
Translation = NDArray[np.int32] | None  # None: every code stays as it is


class DistinctValues:
    """The distinct values of a column, as an Arrow array or a tuple, converted on demand."""

    def __init__(self, given: pa.Array | tuple[str, ...]) -> None:
        self._given = given

    def __len__(self) -> int:
        return len(self._given)

    @cached_property
    def dictionary(self) -> pa.Array:
        """The values as an Arrow array."""
        given = self._given
        return pa.array(given, pa.large_string()) if isinstance(given, tuple) else given

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The values as Python strings."""
        given = self._given
        return given if isinstance(given, tuple) else tuple(given.to_pylist())


NO_VALUES = DistinctValues(())


@dataclass
class Dictionaries:
    """The dictionaries of the last chunks, unified; batches often share theirs."""

    given: dict[_Identity, pa.Array] = field(default_factory=dict)  # keeps the memory alive
    mappings: dict[_Identity, Translation] = field(default_factory=dict)
    values: DistinctValues = NO_VALUES
    # Codes of texts encoded one by one, and `values` as long as it holds these.
    _codes: dict[str, int] = field(default_factory=dict)
    _values: DistinctValues | None = None

    def code(self, texts: list[str | None]) -> NDArray[np.int32]:
        """Encode a few texts: known values keep their codes, new ones get the next."""
        if self._values is not self.values or len(self._codes) > FEW:
            self._codes, self._values = {}, None
        codes, count = self._codes, len(self._codes)
        found = [-1 if text is None else codes.setdefault(text, len(codes)) for text in texts]
        if self._values is None or len(codes) > count:
            self.values = self._values = DistinctValues(tuple(codes))
            self.given, self.mappings = {}, {}
        return np.array(found, np.int32)

    def key(self, dictionary: pa.Array) -> _Identity | None:
        """Return the key of a dictionary that is known and has no NULL, else None."""
        key = identity(dictionary)
        return None if key not in self.mappings or lacks(self.mappings[key]) else key

    def add(self, given: dict[_Identity, pa.Array], *, is_distinct: bool, threads: int = 1) -> None:
        """Unify dictionaries, unless they are the known ones; a single one may be distinct."""
        if given.keys() == self.given.keys():
            return
        self.given = given
        if len(given) == 1 and (few := _few_values(*given.values())) is not None:
            self.mappings, self.values = dict.fromkeys(given), DistinctValues(few)
            return
        arrays = [array.cast(pa.large_string()) for array in given.values()]
        is_distinct = is_distinct or (len(arrays) == 1 and _are_distinct(arrays[0], threads))
        if is_distinct and len(arrays) == 1:
            self.mappings, self.values = dict.fromkeys(given), DistinctValues(arrays[0])
            return
        whole = pa.concat_arrays(arrays or [pa.array([], pa.large_string())]).dictionary_encode()
        places = whole.indices.fill_null(-1).to_numpy()
        ends = np.cumsum([len(array) for array in arrays])
        parts = np.split(places, ends[:-1])
        self.mappings = {key: _mapping(part) for key, part in zip(given, parts, strict=False)}
        self.values = DistinctValues(whole.dictionary)


def _few_values(dictionary: pa.Array) -> tuple[str, ...] | None:
    """Return the values of a small dictionary if they are distinct and not NULL."""
    if len(dictionary) > TINY:
        return None
    texts = dictionary.to_pylist()
    if None in texts or len({*texts}) < len(texts):
        return None
    return tuple(texts)


def _are_distinct(dictionary: pa.Array, threads: int) -> bool:
    """Whether many values are known to be distinct, in a tenth of the time that Arrow takes."""
    count = len(dictionary)
    if not LARGE <= count <= MOST or dictionary.null_count:
        return False
    from sase.engine.kernels.scan import text_hash  # Numba, which takes long

    ends, data = _ends_and_bytes(dictionary, np.int64)
    cuts, hashes = cuts_of(count, threads, WORTH), reused((count,))
    shares = len(cuts) - 1

    def written(share: int) -> None:
        text_hash.hash_texts(ends, data, cuts[share], cuts[share + 1], hashes)

    def are_of(share: int) -> bool:
        """Whether the values with hashes of a share are distinct."""
        entries, filled = reused((count,)), np.zeros(text_hash.BUCKETS + 1, np.int64)
        text_hash.put_in_buckets(hashes, share, shares, filled, entries)
        most = int(np.diff(filled, prepend=0).max())
        slots = np.empty(2 << most.bit_length(), np.int64)
        return bool(text_hash.are_distinct(ends, data, filled, entries, slots))

    if shares == 1:
        written(0)
        return are_of(0)
    with ThreadPoolExecutor(shares) as pool:
        list(pool.map(written, range(shares)))
        return all(pool.map(are_of, range(shares)))


def _ends_and_bytes(texts: pa.Array, width: Any) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1]
    return ends, np.frombuffer(data or b"", np.uint8)


def _mapping(places: NDArray[np.int32]) -> Translation:
    # A NULL or a duplicate has another place than its own.
    return None if (places == np.arange(len(places))).all() else places


def lacks(mapping: Translation) -> bool:
    """Whether a dictionary has a NULL; an identity mapping has none."""
    return mapping is not None and bool((mapping < 0).any())


def string_column(
    column: Sequence[Chunk],
    known: Dictionaries,
    threads: int = 1,
    wanted: WantedRows | None = None,
) -> EventColumn:
    """Decode a string column; many plain texts by threads, and only `wanted` ones if these are few.

    The others have any code.
    """
    arrays = [piece.array for piece in column]
    plain = any(array.type.id != _DICTIONARY for array in arrays)
    few = None
    if plain and wanted is not None and len({array.type for array in arrays}) == 1:
        few = wanted.few(2)  # values are gathered from arrays of one type
    if few is not None:
        column = located(gathered(arrays, few).chunks, 0)
    codes, values, may_lack = encoded(column, np.int32, known, threads)
    present = codes >= 0 if may_lack else None
    if present is not None and present.all():
        present = None
    if few is not None and wanted is not None:
        codes, present = wanted.spread(codes), None if present is None else wanted.spread(present)
    return EventColumn(STRING, codes, present, values.dictionary, plain=plain)


def encoded(
    column: Sequence[Chunk], dtype: CodeType, known: Dictionaries, threads: int = 1
) -> tuple[NDArray[Any], DistinctValues, bool]:
    """Return the codes of a column, its distinct values, and whether codes may be −1 (NULL).

    Indices are translated between dictionaries; no row's string is read. Codes are of `dtype`, or
    narrower as in the input. If there are more values than `dtype` counts, codes are wrong; the
    caller checks that.
    """
    if len(column) == 1 and len(column[0].array) <= TINY and column[0].array.type in _WIDTHS:
        found = known.code(column[0].array.to_pylist())
        return found.astype(dtype, copy=False), known.values, bool((found < 0).any())
    chunks, is_distinct = _with_dictionaries([piece.array for piece in column], threads)
    dictionaries = [chunk.dictionary for chunk in chunks]
    keys = [identity(dictionary) for dictionary in dictionaries]
    known.add(dict(zip(keys, dictionaries, strict=True)), is_distinct=is_distinct, threads=threads)
    indices, mappings = [chunk.indices for chunk in chunks], [known.mappings[key] for key in keys]
    parts = [codes_of(*each, dtype) for each in zip(indices, mappings, strict=True)]
    may_lack = any(index.null_count for index in indices) or any(map(lacks, mappings))
    given = np.result_type(*parts) if parts else np.dtype(dtype)
    is_narrower = given.kind == "i" and np.can_cast(given, dtype)
    return joined(parts, given if is_narrower else dtype), known.values, may_lack


def _with_dictionaries(
    arrays: list[pa.Array], threads: int
) -> tuple[list[pa.DictionaryArray], bool]:
    """Encode plain chunks; return also whether all were plain, so that values are distinct."""
    plain = [array for array in arrays if array.type.id != _DICTIONARY]
    if not plain:
        return arrays, False
    made = iter(_of_few(plain) or _of_many(plain, threads) or _by_arrow(plain))
    chunks = [array if array.type.id == _DICTIONARY else next(made) for array in arrays]
    return chunks, len(plain) == len(arrays)


def _by_arrow(plain: list[pa.Array]) -> list[pa.DictionaryArray]:
    is_plain = {array.type for array in plain} == {pa.string()}
    if not is_plain or sum(array.nbytes for array in plain) > SMALL:
        plain = [array.cast(pa.large_string()) for array in plain]
    if len(plain) == 1:
        return [plain[0].dictionary_encode()]
    chunks: list[pa.DictionaryArray] = pa.chunked_array(plain).dictionary_encode().chunks
    return chunks


def _of_few(plain: list[pa.Array]) -> list[pa.DictionaryArray] | None:
    """Encode many texts with few distinct ones by a kernel, in half the time; else None."""
    if any(array.type not in _WIDTHS for array in plain) or sum(map(len, plain)) < MANY:
        return None
    from sase.engine.kernels.scan.text_hash import (  # Numba, which takes long
        NO_TEXT,
        Texts,
        code_texts,
    )

    first, last, lengths, begins = np.zeros((4, FEW), np.int64)
    slots, room = np.full(4 * FEW, NO_TEXT, np.int16), np.zeros(ROOM, np.uint8)
    texts = Texts(slots, first, last, lengths, begins, room, np.zeros(2, np.int64))
    found = []
    for array in plain:
        ends, data, mask = _plain_texts(array)
        codes = np.empty(len(array), np.int16)
        if not code_texts(ends, data, mask, texts, codes):
            return None
        found.append(_with_nulls(codes, mask))
    count, filled = texts.sizes.tolist()
    buffers = [None, pa.py_buffer(np.append(begins[:count], filled)), pa.py_buffer(room)]
    dictionary = pa.Array.from_buffers(pa.large_string(), count, buffers)
    return [pa.DictionaryArray.from_arrays(codes, dictionary) for codes in found]


def _of_many(plain: list[pa.Array], threads: int) -> list[pa.DictionaryArray] | None:
    """Encode very many texts by a kernel with threads, in a third of the time; else None."""
    if sum(map(len, plain)) < HUGE:
        return None
    from sase.engine.columns.decode.value_codes import (  # Numba, which takes long
        PlainTexts,
        text_codes,
    )

    plain = [each if each.type in _WIDTHS else each.cast(pa.large_string()) for each in plain]
    texts = [PlainTexts(*_plain_texts(array)) for array in plain]
    found = text_codes(texts, threads)
    if found is None:
        return None
    indices = map(_with_nulls, found[0], [each.valid for each in texts])
    return [pa.DictionaryArray.from_arrays(each, found[1], safe=False) for each in indices]


def _plain_texts(array: pa.Array) -> tuple[NDArray[Any], NDArray[np.uint8], NDArray[np.uint8]]:
    """The offsets of texts, all bytes, and a validity byte for each text if some are NULL."""
    present = valid(array)
    mask = np.zeros(0, np.uint8) if present is None else present.view(np.uint8)
    return *_ends_and_bytes(array, _WIDTHS[array.type]), mask


def _with_nulls(codes: NDArray[Any], mask: NDArray[np.uint8]) -> pa.Array:
    """Convert codes to an Arrow array, NULL where the mask is 0; an empty mask means none."""
    return pa.array(codes, mask=mask == 0 if len(mask) else None)


_WIDTHS = {pa.string(): np.int32, pa.large_string(): np.int64}
_DICTIONARY = pa.dictionary(pa.int8(), pa.string()).id


def codes_of(index: pa.Array, mapping: Translation, dtype: CodeType) -> NDArray[Any]:
    """Translate the indices of a chunk with the mapping of its dictionary."""
    codes = storage(index, INTEGERS[index.type.id])
    if mapping is not None:
        # Indexes under NULLs are arbitrary, and a column of NULLs may have no values.
        codes = np.append(mapping, -1).astype(dtype).take(codes, mode="clip")
    present = valid(index)
    return codes if present is None else np.where(present, codes.astype(dtype), dtype(-1))


def is_unicode(text: str) -> bool:
    """Whether text has no surrogates, which stand for bytes that are not UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
