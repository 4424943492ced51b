"""Encode state as bytes: arrays and plain values, nothing that could be run when it is read.

A header of JSON describes the values; an array stands in it as its type, shape and place among the
bytes behind. Whatever was changed on the way is seen by the checksum.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np

from sase.errors import SaseError

MARK, DIGEST = b"SASE state 1\n", 32
_DTYPES = ("int64", "int16", "uint8", "bool")


class StateError(SaseError):
    """Bytes that are no state, or not one of this version."""


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
        raise StateError("this is no saved state, or one of another version of SASE")
    if data[len(MARK) : len(MARK) + DIGEST] != sha256(body).digest():
        raise StateError("this saved state is damaged: save it again")
    size = int.from_bytes(body[:8], "little")
    return _read(json.loads(body[8 : 8 + size]), memoryview(body)[8 + size :])


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


def _read(described: dict[str, Any], data: memoryview) -> Any:
    ((kind, content),) = described.items()
    match kind:
        case "array":
            name, shape, start = content
            count = int(np.prod(shape, dtype=np.int64))
            return np.frombuffer(data, name, count, start).reshape(shape).copy()
        case "dict":
            return {key: _read(each, data) for key, each in content}
        case "list":
            return [_read(each, data) for each in content]
    return content
