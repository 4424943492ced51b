"""The whole state of a matcher as bytes, and the matcher that goes on from them.

The operators are opened anew from the plan, which is not in the bytes; what they and all around
them had learnt is put back. Nothing in the bytes is run: see `saving`.
"""

from __future__ import annotations

from typing import Any

from sase.engine.pipeline import codec
from sase.engine.pipeline.codec import StateError
from sase.engine.pipeline.matcher import Matcher
from sase.engine.plan import EnginePlan
from sase.engine.results.row_history import restored as history_restored
from sase.errors import SaseError

# To be changed with every change of what any part saves, or of what it means.
FORMAT = 7


def snapshot(matcher: Matcher) -> bytes:
    """The state of a matcher between two pushes."""
    if matcher._is_finished:
        raise SaseError("this matcher is finished: there is nothing to go on from")
    if matcher._is_undelivered:
        raise SaseError("matches of the last push are not read yet: read them from the stream")
    if not matcher._context.dictionary.streaming:
        raise SaseError(
            "this matcher was opened for events that are all there is: open one for a stream, with"
            "  plan.open()  , to take snapshots of it"
        )
    # Less is left to save then; what comes out is the same.
    matcher._forget()
    context = matcher._context
    state = {
        "format": FORMAT,
        "plan": matcher._plan.fingerprint,
        "time": matcher._time,
        "last": matcher._last,
        "forgotten": matcher._forgotten,
        "oldest": matcher._oldest,
        "notes": matcher._notes.saved(),
        "front": matcher._front.checkpoint(),
        "loader": matcher._loader.saved(),
        "coding": context.dictionary.checkpoint(),
        "store": context.buffer.checkpoint(),
        "operators": [operator.checkpoint() for operator in matcher._operators],
        "history": matcher._history.checkpoint(matcher._oldest),
        "reorder": matcher._reorder.saved(),
        "bad": 0 if matcher._quarantine is None else matcher._quarantine.total,
    }
    return codec.to_bytes(state)


def restored(plan: EnginePlan, data: bytes) -> Matcher:
    """A matcher that goes on from a state of one of the same plan."""
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
    matcher = Matcher(plan, streaming=True)
    _fill(matcher, state)
    return matcher


def _fill(matcher: Matcher, state: dict[str, Any]) -> None:
    context = matcher._context
    # Codes first: all other states are in terms of them, and rows are loaded again with them.
    matcher._loader.restore(state["loader"])
    matcher.shape = matcher.shape.knowing(matcher._loader.known)
    context.dictionary.restore(state["coding"])
    context.buffer.restore(state["store"])
    matcher._front.restore(state["front"])
    for operator, saved in zip(matcher._operators, state["operators"], strict=True):
        operator.restore(saved)
    matcher._notes.restore(state["notes"])
    matcher._history = history_restored(state["history"], matcher._load_again)
    matcher._reorder.restore(state["reorder"])
    if matcher._quarantine is not None:
        matcher._quarantine.total = state["bad"]
    matcher._time, matcher._oldest = state["time"], state["oldest"]
    matcher._last = None if state["last"] is None else tuple(state["last"])
    matcher._forgotten = state["forgotten"]
