"""Encode state as bytes: arrays and plain values, nothing that could be run when it is read.

A header of JSON describes the values; an array stands in it as its type, shape and place among the
bytes behind. Whatever was changed on the way is seen by the checksum.
"""

from __future__ import annotations

import json
from hashlib import sha256
from math import prod
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.errors import SnapshotError

MARK, DIGEST = b"SASE state 1\n", 32
_DTYPES = ("int64", "int16", "uint8", "bool")
# The longest side of an array that has no elements.
_MOST_OF_NOTHING = 1 << 16


def to_bytes(state: Any) -> bytes:
    """Encode a state."""
    arrays: list[bytes] = []
    header = json.dumps(_described(state, arrays)).encode()
    body = len(header).to_bytes(8, "little") + header + b"".join(arrays)
    return MARK + sha256(body).digest() + body


def from_bytes(data: bytes) -> Any:
    """Decode what `to_bytes` wrote."""
    body = data[len(MARK) + DIGEST :]
    if data[: len(MARK)] != MARK:
        raise SnapshotError("this is no saved state, or one of another version of SASE")
    if data[len(MARK) : len(MARK) + DIGEST] != sha256(body).digest():
        raise SnapshotError("this saved state is damaged: save it again")
    size = int.from_bytes(body[:8], "little")
    try:
        return _Decoder(memoryview(body)[8 + size :]).value(json.loads(body[8 : 8 + size]))
    except (ValueError, RecursionError) as problem:  # a decode error is a ValueError
        raise SnapshotError(f"this is no saved state: {problem}") from problem


def _described(value: Any, arrays: list[bytes]) -> Any:
    match value:
        case np.ndarray():
            assert value.dtype.name in _DTYPES, value.dtype
            start = sum(map(len, arrays))
            arrays.append(np.ascontiguousarray(value).tobytes())
            return {"array": [value.dtype.name, list(value.shape), start]}
        case dict():
            return {"dict": [[key, _described(each, arrays)] for key, each in value.items()]}
        case list() | tuple():
            return {"list": [_described(each, arrays) for each in value]}
        case None | bool() | int() | float() | str():
            return {"value": value}
    raise TypeError(f"a state has no values of type {type(value).__name__}")


class _Decoder:
    """Decode a header over the bytes of arrays, each of which is read once.

    So what is decoded is never much larger than the bytes that it is decoded from.
    """

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def value(self, described: Any) -> Any:
        """Decode a value."""
        match described:
            case {"array": [str(name), [*shape], self._at]} if name in _DTYPES:
                return self._array(name, shape)
            case {"dict": [*items]}:
                return {self._name(item): self.value(item[1]) for item in items}
            case {"list": [*items]}:
                return [self.value(each) for each in items]
            case {"value": None | bool() | int() | float() | str() as value}:
                return value
        raise ValueError(f"{brief(described)} describes no value")

    def _array(self, name: str, shape: list[Any]) -> NDArray[Any]:
        most = max(len(self._data), _MOST_OF_NOTHING)
        if len(shape) > 3 or not all(type(size) is int and 0 <= size <= most for size in shape):
            raise ValueError(f"{brief(shape)} is no shape")
        count, start = prod(shape), self._at
        self._at += count * np.dtype(name).itemsize
        if self._at > len(self._data):
            raise ValueError(f"an array of {brief(shape)} is longer than what there is")
        found = np.frombuffer(self._data, name, count, start).reshape(shape).copy()
        if name == "bool" and found.view(np.uint8).max(initial=0) > 1:
            raise ValueError("a truth value is neither 0 nor 1")
        return found

    @staticmethod
    def _name(item: Any) -> str:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
            raise ValueError(f"{brief(item)} is no member")
        return item[0]
