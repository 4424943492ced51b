"""Encode state as bytes, check it when it is decoded, and migrate formats of older releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from math import prod
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.errors import SnapshotError

# ---------------------------------------------------------------- migrations

# Every change of the saved values, or of their meaning, makes a new format. After the first release
# the format of each release stays readable: a change comes with an entry of `MIGRATIONS`, which
# turns a decoded state into one of the next format. It makes none of the checks of a restore.

FORMAT = 19
# By format the migration to the next one. No format has been released yet.
MIGRATIONS: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


@cache
def release() -> str:
    """The version of this package, which is written into snapshots."""
    try:
        return version("sase")
    except PackageNotFoundError:  # the package is not installed
        return "an unreleased version"


def migrated(
    state: Any,
    migrations: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = MIGRATIONS,
    form: int = FORMAT,
) -> dict[str, Any]:
    """Migrate a decoded state to this version's format, or raise an error with its format."""
    if not isinstance(state, dict) or type(state.get("format")) is not int:
        raise SnapshotError("this is no snapshot: it does not say which form it has")
    found: dict[str, Any] = state
    while found["format"] != form:
        if found["format"] not in migrations:
            writer = found.get("version")
            by = f", written by SASE {brief(writer)}" if isinstance(writer, str) else ""
            raise SnapshotError(
                f"this snapshot has form {brief(found['format'])}{by}; this version reads form"
                f" {form}: restore it with the version that wrote it, or push the events again"
            )
        found = migrations[found["format"]](found)
    return found


# ---------------------------------------------------------------- codec

# A JSON header describes the values. An array in it has its type, its shape and its position in the
# bytes after the header. A checksum detects any change.

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
    """Decode the bytes that `to_bytes` returns."""
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
    """Decodes a header over the bytes of arrays, each of which is read once.

    So the decoded state is never much larger than the bytes.
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
            raise ValueError(f"an array of {brief(shape)} is longer than the snapshot")
        found = np.frombuffer(self._data, name, count, start).reshape(shape).copy()
        if name == "bool" and found.view(np.uint8).max(initial=0) > 1:
            raise ValueError("a truth value is neither 0 nor 1")
        return found

    @staticmethod
    def _name(item: Any) -> str:
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
            raise ValueError(f"{brief(item)} is no member")
        return item[0]
