"""The numbers of keys in loaded events, and whether a table must give them codes beforehand.

A table is read for each event, and codes that are computed from the numbers are not. But the state
of all codes takes memory, so the numbers must not be too far apart.
"""

from __future__ import annotations

from collections.abc import Callable
from math import expm1
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.types import Kind
from sase.engine.blocks.block import Tests
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers, TypeCodes, deduplicated
from sase.engine.kernels.scan.hashing import FACTOR
from sase.planning.cost_values import dense_bits

# Events with keys sampled for their range, at most a part of all. Events sampled for counts.
FEW, PART, SAMPLE = 1 << 15, 1 << 4, 1 << 13
# From MANY events on, only if distinct keys are below RANDOM of the events. If keys repeat soon,
# SOON times as often as at random, the bound is LOCAL.
MANY, RANDOM, LOCAL, SOON = 1 << 20, 3 / 4, 1 / 4, 16
# The rounds in which an estimate of the number of keys is corrected.
ROUNDS = 8


def estimated(events: Events, counted: Callable[[TypeCodes], int]) -> int:
    """How many events are `counted`, by the types of a sample."""
    types = np.ascontiguousarray(events.types[:: max(len(events) // SAMPLE, 1)][:SAMPLE])
    return len(events) * counted(types) // len(types) if len(types) else 0


def ranges_of(keys: list[NDArray[Any]]) -> Numbers:
    """The least and the greatest number of each key, if there are any."""
    if not len(keys[0]):
        return np.empty((len(keys), 0), np.int64)
    return np.array([(key.min(), key.max()) for key in keys], np.int64)


def numbers_of_keys(
    events: Events, tests: Tests, *, streaming: bool = False
) -> list[NDArray[Any]] | None:
    """The numbers of keys, if all are integers, or texts of one dictionary."""
    found: list[NDArray[Any]] = []
    for test in tests:
        column = events.columns.get(test.attribute)
        if column is None or column.valid is not None:
            return None
        is_coded = column.dictionary is not None
        if is_coded and streaming:  # where dictionaries are replaced
            return None
        if not is_coded and column.type.kind is not Kind.INTEGER:
            return None
        found.append(np.ascontiguousarray(column.keys))
    return found


def far_apart(events: Events, tests: Tests, block: int, codes: int, parts: int) -> list[str]:
    """The keys of more than a block that are too widely spread for codes without a table.

    The range is that of the first events. Up to `codes` are dense in any case, if the events are
    not searched in `parts`. None if the codes of a table would be too widely spread, too.
    """
    keys = None if len(events) <= block else numbers_of_keys(events, tests)
    if not keys:
        return []
    most = dense_bits(len(events) // parts, codes // parts)
    if sum(map(_bits_of, keys)) <= most or not _come_again(keys):
        return []
    columns = {test.attribute: events.columns[test.attribute] for test in tests}
    coded = [
        name
        for name, column in columns.items()
        if column.dictionary is None and _come_again([column.values])
    ]
    if len(columns) == 1 and len(events).bit_length() <= most:
        return coded
    bits = [
        _different(column.keys).bit_length() if name in coded else _bits_of(column.keys)
        for name, column in columns.items()
    ]
    return coded if sum(bits) <= most else []


def _bits_of(key: NDArray[Any]) -> int:
    """The bits of the range of the first events' numbers."""
    return (int(key[:FEW].max()) - int(key[:FEW].min())).bit_length()


def _different(key: NDArray[Any]) -> int:
    """The number of different numbers, estimated from a sample as if all were equally frequent."""
    sample = key[:: max(len(key) // SAMPLE, 1)][:SAMPLE]
    found = len(deduplicated(sample.astype(np.int64)))
    if len(sample) == len(key):
        return found
    # Of N numbers, equally frequent, a pair of events has the same once in N pairs. Then correct it
    # for events that meet more than one before.
    different = len(sample) ** 2 / (2 * (len(sample) - found) + 1)
    for _ in range(ROUNDS):
        different = found / -expm1(-len(sample) / different)
    return int(different * -expm1(-len(key) / different))


def _come_again(keys: list[NDArray[Any]]) -> bool:
    """Whether very many keys repeat so often in samples that a table of all keys pays.

    A key has several numbers. If each key is soon gone, a small table of the live keys does as
    well.
    """
    count = len(keys[0])
    if count < MANY:
        return True
    few = min(FEW, count // PART)
    apart = _mixed([key[:: count // few][:few] for key in keys])
    close = _mixed([key[:few] for key in keys])
    again, soon = (len(sample) - len(deduplicated(sample)) for sample in (apart, close))
    # If N keys are equally frequent, a pair of events has the same key once in N pairs.
    different = len(apart) ** 2 / (2 * again + 1)
    return bool(different < (LOCAL if soon > SOON * again else RANDOM) * count)


def _mixed(keys: list[NDArray[Any]]) -> Numbers:
    """Hash the numbers of each key to one number; collisions are rare."""
    mixed = keys[0].astype(np.int64)
    for key in keys[1:]:
        mixed = mixed * FACTOR + key.astype(np.int64)
    return mixed
