"""(De)serialise the whole state of a pipeline.

The operators are opened anew from the plan, which is not in the bytes; what they and all around
them had learnt is put back. Nothing in the bytes is run: see `saving`.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np

from sase.engine.pipeline import checkpoint as codec
from sase.engine.pipeline.fused.choose import open_pipeline
from sase.engine.pipeline.pipeline import Pipeline, StreamState
from sase.engine.plan import EnginePlan
from sase.engine.results.row_history import restored as history_restored
from sase.errors import SaseError

# To be changed with every change of what any part saves, or of what it means.
FORMAT = 8


def checkpoint(pipeline: Pipeline) -> bytes:
    """The state of a pipeline between two pushes."""
    state = pipeline.state
    if state.is_finished:
        raise SaseError("this matcher is finished: there is nothing to go on from")
    if state.is_undelivered:
        raise SaseError("matches of the last push are not read yet: read them from the stream")
    if not pipeline.dictionary.streaming:
        raise SaseError(
            "this matcher was opened for events that are all there is: open one for a stream, with"
            "  plan.open()  , to take snapshots of it"
        )
    # Less is left to save then; what comes out is the same.
    pipeline.evict()
    return codec.to_bytes(
        {
            "format": FORMAT,
            "plan": pipeline.plan.fingerprint,
            "time": state.watermark,
            "last": state.last,
            "forgotten": state.evicted,
            "oldest": state.oldest,
            "notes": pipeline.warnings.checkpoint(),
            "front": pipeline.builder.checkpoint(),
            "loader": pipeline.loader.checkpoint(),
            "coding": pipeline.dictionary.checkpoint(),
            "store": pipeline.context.buffer.checkpoint(),
            "operators": [operator.checkpoint() for operator in pipeline.operators],
            "history": state.history.checkpoint(state.oldest),
            "reorder": pipeline.reorder_buffer.checkpoint(),
            "bad": 0 if pipeline.quarantine is None else pipeline.quarantine.total,
        }
    )


def restored(plan: EnginePlan, data: bytes) -> Pipeline:
    """A pipeline that goes on from a state of one of the same plan."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise StateError(f"a snapshot is bytes, and this is of type {type(data).__name__}")
    state = codec.from_bytes(bytes(data))
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise StateError(
            "this is a state of another version of SASE, which this one cannot read: restore it"
            " with that version, or push the events again"
        )
    if state["plan"] != plan.fingerprint:
        raise StateError(
            "this is the snapshot of another plan: restore it with the plan of the same query,"
            " compiled with the same schema and options, best kept beside it as  plan.to_json()"
        )
    pipeline = open_pipeline(plan, streaming=True)
    _fill(pipeline, state)
    return pipeline


def _fill(pipeline: Pipeline, saved: dict[str, Any]) -> None:
    # Codes first: all other states are in terms of them, and rows are loaded again with them.
    pipeline.loader.restore(saved["loader"])
    pipeline.shape = pipeline.shape.with_types(pipeline.loader.known)
    pipeline.dictionary.restore(saved["coding"])
    pipeline.context.buffer.restore(saved["store"])
    pipeline.builder.restore(saved["front"])
    for operator, state in zip(pipeline.operators, saved["operators"], strict=True):
        operator.restore(state)
    pipeline.warnings.restore(saved["notes"])
    pipeline.reorder_buffer.restore(saved["reorder"])
    if pipeline.quarantine is not None:
        pipeline.quarantine.total = saved["bad"]
    pipeline.state = StreamState(
        watermark=saved["time"],
        last=None if saved["last"] is None else tuple(saved["last"]),
        oldest=saved["oldest"],
        evicted=saved["forgotten"],
        history=history_restored(saved["history"], pipeline.load_again),
    )


# ------------------------------------------------------------ as bytes

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
