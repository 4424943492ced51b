"""Dictionary codes of texts with few distinct values, and a test of whether all texts are distinct.

Hash tables. Of each distinct text the first and last eight bytes are kept as words: these and the
length settle most comparisons.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import word_at
from sase.engine.kernels.jit.signatures import Bytes, Ints, Layout, Offsets, OutBytes, OutInts
from sase.engine.kernels.scan.hashing import FACTOR, mixed_with

OutCodes = Annotated[NDArray[np.int16], Layout("int16", 1, writable=True)]

NO_TEXT = -1
# Places in `sizes`: distinct texts, and their bytes.
COUNT, FILLED = range(2)
# The factor of the last word, and the bits kept of the hash.
LAST_FACTOR, MIXED = 0x2545F4914F6CDD1D, 2**63 - 1
WORD = 8
# Texts per prefetch of slots; probes after which texts are assumed to collide on purpose.
PIECE, MOST_SLOTS = 1 << 8, 1 << 7
# The first bits of a hash are the bucket of a text, so a share, the part of one thread, has whole
# buckets. The bits that an entry keeps are enough to tell most texts apart.
ROW_BITS, PART_SHIFT, BUCKETS = 32, 31, 1 << 10
BUCKET_SHIFT = 52


class Texts(NamedTuple):
    """The code in each slot; by code first and last word, length, and offset of the bytes."""

    slots: OutCodes
    first: OutInts
    last: OutInts
    lengths: OutInts
    begins: OutInts
    bytes: OutBytes
    sizes: OutInts


@kernel
def code_texts(offsets: Offsets, data: Bytes, valid: Bytes, texts: Texts, codes: OutCodes) -> bool:
    """Write the codes of valid texts; return false if room ran out."""
    for row in range(codes.shape[0]):
        if valid.shape[0] > 0 and valid[row] == 0:
            codes[row] = NO_TEXT
            continue
        begin, end = int(offsets[row]), int(offsets[row + 1])
        first = word_of(data, begin, min(end, begin + WORD))
        last = first if end - begin <= WORD else word_of(data, end - WORD, end)
        slot = ((first * FACTOR + last * LAST_FACTOR + end - begin) & MIXED) >> 40
        while True:
            slot &= texts.slots.shape[0] - 1
            code = int(texts.slots[slot])
            if code == NO_TEXT:
                code = add_text(texts, data, begin, end, first, last)
                if code == NO_TEXT:
                    return False
                texts.slots[slot] = code
                break
            if (
                texts.first[code] == first
                and texts.last[code] == last
                and texts.lengths[code] == end - begin
                and (end - begin <= 2 * WORD or is_same(texts, code, data, begin))
            ):
                break
            slot += 1
        codes[row] = code
    return True


@kernel
def hash_texts(offsets: Offsets, data: Bytes, begin: int, end: int, hashes: OutInts) -> None:
    """Write the hashes of the texts from `begin` to `end`, none of which is NULL."""
    for row in range(begin, end):
        hashes[row] = hash_of(data, int(offsets[row]), int(offsets[row + 1]))


@kernel
def put_in_buckets(hashes: Ints, share: int, shares: int, ends: OutInts, entries: OutInts) -> None:
    """Write the texts with hashes in a share, bucket by bucket, and the end of each bucket.

    `ends` are zeros, one more than `BUCKETS`. An entry has a part of the hash, and the row of the
    text plus one.
    """
    for row in range(hashes.shape[0]):
        bucket = hashes[row] >> BUCKET_SHIFT
        ends[bucket + 1] += bucket * shares // BUCKETS == share
    for bucket in range(BUCKETS):
        ends[bucket + 1] += ends[bucket]
    # Each end is that of the bucket before until its entries are written.
    for row in range(hashes.shape[0]):
        bucket = hashes[row] >> BUCKET_SHIFT
        if bucket * shares // BUCKETS == share:
            entries[ends[bucket]] = (hashes[row] >> PART_SHIFT) << ROW_BITS | (row + 1)
            ends[bucket] += 1


@kernel
def are_distinct(offsets: Offsets, data: Bytes, ends: Ints, entries: Ints, slots: OutInts) -> bool:
    """Whether the texts in buckets are known to be distinct.

    The `slots` of one bucket stay in the cache. They are a power of two: twice its entries.
    """
    begin = 0
    for end in ends[:BUCKETS]:
        size = 1
        while size < 2 * (end - begin):
            size *= 2
        mask = size - 1
        slots[:size] = 0
        for place in range(begin, end):
            entry = entries[place]
            slot, probes = entry >> ROW_BITS & mask, 0
            while slots[slot] != 0:
                probes += 1
                known = slots[slot]
                if known >> ROW_BITS == entry >> ROW_BITS and is_equal(
                    offsets, data, row_of(entry), row_of(known)
                ):
                    return False
                if probes == MOST_SLOTS:
                    return False
                slot = (slot + 1) & mask
            slots[slot] = entry
        begin = end
    return True


@inlined
def row_of(entry: int) -> int:
    """The row of an entry."""
    return (entry & ((1 << ROW_BITS) - 1)) - 1


@inlined
def hash_of(data: Bytes, begin: int, end: int) -> int:
    """A hash of the bytes and the length of a text."""
    mixed = end - begin
    for at in range(begin, end, WORD):
        mixed = mixed_with(mixed, word_of(data, at, min(end, at + WORD)))
    return mixed


@linked
def is_equal(offsets: Offsets, data: Bytes, row: int, other: int) -> bool:
    """Whether two texts have the same bytes."""
    begin, known = int(offsets[row]), int(offsets[other])
    length = int(offsets[row + 1]) - begin
    same = int(offsets[other + 1]) - known == length
    for place in range(length * same):
        same = same and data[begin + place] == data[known + place]
    return same


@inlined
def word_of(data: Bytes, begin: int, end: int) -> int:
    """Up to eight bytes as an integer; missing bytes are zero."""
    if begin + WORD <= data.shape[0]:
        word = word_at(data, begin)
        return word if end - begin == WORD else word & ((1 << WORD * (end - begin)) - 1)
    word = 0
    for place in range(end - 1, begin - 1, -1):
        word = (word << 8) | int(data[place])
    return word


@linked
def add_text(texts: Texts, data: Bytes, begin: int, end: int, first: int, last: int) -> int:
    """Add a text; return its code, or `NO_TEXT` without room."""
    code, filled = texts.sizes[COUNT], texts.sizes[FILLED]
    if code == texts.first.shape[0] or filled + end - begin > texts.bytes.shape[0]:
        return NO_TEXT
    texts.first[code], texts.last[code] = first, last
    texts.lengths[code], texts.begins[code] = end - begin, filled
    for place in range(end - begin):
        texts.bytes[filled + place] = data[begin + place]
    texts.sizes[COUNT], texts.sizes[FILLED] = code + 1, filled + end - begin
    return int(code)


@linked
def is_same(texts: Texts, code: int, data: Bytes, begin: int) -> bool:
    """Whether a text equals that of a code with the same length, first and last word."""
    known = texts.begins[code]
    for place in range(WORD, texts.lengths[code] - WORD):
        if texts.bytes[known + place] != data[begin + place]:
            return False
    return True
