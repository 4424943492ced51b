"""(De)serialise the whole state of a pipeline.

The operators are opened anew from the plan, which is not in the bytes; what they and all around
them had learnt is put back. Nothing in the bytes is run: see `codec`.
"""

from __future__ import annotations

from typing import Any

from sase.engine.pipeline import codec
from sase.engine.pipeline.codec import StateError
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
