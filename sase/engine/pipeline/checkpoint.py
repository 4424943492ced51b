"""Save and restore the whole state of a pipeline, and check the positions of live events."""

from __future__ import annotations

from typing import Any

from sase.base.signature import signature, verify
from sase.binding.types import UNKNOWN, DataType, Kind
from sase.engine.blocks.key_texts import SharedTexts
from sase.engine.blocks.shared_conditions import ConditionsOf
from sase.engine.columns.decode.resolve import expected_of_type
from sase.engine.expressions.layout import tag_of
from sase.engine.kernels.expressions.operations import EXACT
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.limits import RunGuard, check_of, watch_of
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.stream_state import StreamState
from sase.engine.resources import Check
from sase.engine.results.row_history import restored as history_restored
from sase.engine.snapshots import codec
from sase.engine.snapshots.codec import FORMAT, migrated, release
from sase.engine.snapshots.saved_state import LiveEvents, Saved
from sase.errors import DataError, SaseError, SchemaError, SnapshotError
from sase.planning.engine_plan import EnginePlan

# ---------------------------------------------------------------- live events

# The greatest possible tag: that of 18 digits.
_MOST_EXACT = EXACT + 18


def live_events(pipeline: Pipeline, first: int, end: int, *, is_done: bool) -> LiveEvents:
    """The live events at positions `first` to `end` of a pipeline with restored dictionaries."""
    types = pipeline.types
    kinds = _kinds(pipeline)
    tags: dict[str, int] = {}
    texts: dict[str, frozenset[int | None]] = {}
    for (type_name, name), kind in kinds.items():
        tags[name] = max(tags.get(name, 0), _greatest_tag(pipeline, type_name, name, kind))
        if kind.kind is Kind.STRING:
            code = None if type_name is None else types.codes.get(type_name, types.unknown_type)
            texts[name] = texts.get(name, frozenset()) | {code}
    return LiveEvents(
        first,
        end,
        pipeline.at.events,
        is_done,
        tags,
        texts,
        len(pipeline.dictionary.texts.texts),
        pipeline.dictionary.sizes,
        types.unknown_type,
    )


def _kinds(pipeline: Pipeline) -> dict[tuple[str | None, str], DataType]:
    """The type in which each column was read: that of the schema where it is exact."""
    schema = pipeline.plan.schema
    return {
        (type_name, name): _read_as(expected_of_type(schema, type_name, name), came)
        for (type_name, name), came in pipeline.loader.known.items()
    }


def _greatest_tag(pipeline: Pipeline, type_name: str | None, name: str, kind: DataType) -> int:
    """The greatest tag of values; an open column of floats may have decimals, too."""
    is_open = expected_of_type(pipeline.plan.schema, type_name, name) == UNKNOWN
    if is_open and kind.kind is Kind.FLOAT:
        return _MOST_EXACT
    return min(tag_of(kind), _MOST_EXACT)


def _read_as(expected: DataType, came: DataType) -> DataType:
    is_vague = expected.resolution is None and expected.scale is None
    if expected == UNKNOWN or (is_vague and expected.kind is came.kind):
        return came
    return expected


# ---------------------------------------------------------------- checkpoint

# The operators are opened anew from the plan, which is not in the bytes. Then the saved states of
# the operators, dictionaries, buffers and warnings are put back. Nothing in the bytes is executed:
# see `codec`.

# Before a signature, and before the signed bytes.
_SIGNED, _SIGNATURE = b"SASE signed\n", 32


def checkpoint(pipeline: Pipeline, key: bytes | None = None) -> bytes:
    """Serialize the state of a pipeline between two pushes; with a key it is signed."""
    return signed(codec.to_bytes(_saved(pipeline)), key)


def signed(data: bytes, key: bytes | None) -> bytes:
    """Add a signature to a snapshot, if there is a key."""
    return data if key is None else _SIGNED + signature(data, key, SnapshotError) + data


def _saved(pipeline: Pipeline) -> dict[str, Any]:
    """The state as arrays and plain values."""
    state = pipeline.state
    state.check_whole()
    if state.is_finished:
        raise SaseError("this matcher is finished: there is nothing to go on from")
    if state.is_undelivered:
        raise SaseError("matches of the last push are not read yet: read them from the stream")
    if not pipeline.dictionary.streaming:
        raise SaseError(
            "this matcher was opened for events that are all there is: open one for a stream, with"
            "  plan.open()  , to take snapshots of it"
        )
    # Eviction makes the saved state smaller; the results are the same.
    pipeline.evict()
    pipeline.recycle_texts()
    return {
        "format": FORMAT,
        "version": release(),
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


def restored(
    plan: EnginePlan,
    data: bytes,
    key: bytes | None = None,
    guard: RunGuard | None = None,
    key_texts: SharedTexts | None = None,
    conditions: ConditionsOf | None = None,
    check: Check | None = None,
) -> Pipeline:
    """Restore a pipeline from a state of the same plan, signed with a key if one is given.

    Parts that it shares with other pipelines, such as the texts of keys, are restored before.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SnapshotError(f"a snapshot is bytes, and this is of type {type(data).__name__}")
    state = migrated(codec.from_bytes(verified(bytes(data), key)))
    saved = Saved(state)
    if saved.part("plan").text() != plan.fingerprint:
        raise SnapshotError(
            "this is the snapshot of another plan: restore it with the plan of the same query,"
            " compiled with the same schema and options, best kept beside it as  plan.to_json()"
        )
    pipeline = open_pipeline(
        plan,
        streaming=True,
        watch=watch_of(guard),
        check=check_of(guard) if check is None else check,
        key_texts=key_texts,
        conditions=conditions,
    )
    try:
        _fill(pipeline, saved)
    except (SchemaError, DataError) as problem:
        raise SnapshotError(
            f"this snapshot was changed: the rows that it holds are none of this plan: {problem}"
        ) from problem
    return pipeline


def passed_on(
    pipeline: Pipeline, plan: EnginePlan, key_texts: SharedTexts, conditions: ConditionsOf
) -> Pipeline:
    """Make a pipeline of another plan that continues where a pipeline of a stream is.

    The new plan may have another window, other types of last events, fewer conditions on these, and
    another order of results. It knows only the earlier events that the old window needed. The codes
    of types outside the schema differ from plan to plan, so all of these types have the same
    attributes.
    """
    shared: dict[str, Any] = {"key_texts": key_texts, "conditions": conditions}
    found = open_pipeline(plan, streaming=True, check=pipeline.check, **shared)
    _fill(found, Saved(codec.from_bytes(codec.to_bytes(_saved(pipeline)))))
    found.warnings.follow(pipeline.warnings)
    return found


def verified(data: bytes, key: bytes | None) -> bytes:
    """Check the signature of a snapshot, by a key if one is given, and remove it."""
    found, start = None, 0
    if data.startswith(_SIGNED):
        start = len(_SIGNED) + _SIGNATURE
        found = data[len(_SIGNED) : start]
    if key is not None:
        verify("snapshot", data[start:], found, key, SnapshotError)
    return data[start:]


def _fill(pipeline: Pipeline, saved: Saved) -> None:
    # Codes first: all other states contain codes, and rows are loaded again with them.
    pipeline.loader.restore(saved.part("loader"))
    pipeline.shape = pipeline.shape.with_types(pipeline.loader.known)
    pipeline.dictionary.restore(saved.part("coding"))
    pipeline.builder.restore(saved.part("front"))
    positions = pipeline.at.events
    oldest = saved.part("oldest").number(0, positions)
    operators = saved.part("operators").parts(len(pipeline.operators))
    left = operators[-1].part("left")
    is_done = not left.is_none and left.number() == 0
    first, end = oldest, positions
    if pipeline.keeps_events:
        store = saved.part("store")
        end = store.part("next").number(pipeline.at.numbers, pipeline.at.numbers)
        first = store.part("first").number(0, end)
    saved = saved.of(live_events(pipeline, first, end, is_done=is_done))
    pipeline.context.buffer.restore(saved.part("store"))
    for operator, state in zip(pipeline.operators, saved.part("operators").parts(), strict=True):
        operator.restore(state)
    _fill_around(pipeline, saved, oldest)


def _fill_around(pipeline: Pipeline, saved: Saved, oldest: int) -> None:
    """Restore the state outside the operators."""
    pipeline.warnings.restore(saved.part("notes"))
    pipeline.reorder_buffer.restore(saved.part("reorder"))
    if pipeline.quarantine is not None:
        pipeline.quarantine.total = saved.part("bad").count()
    last = saved.part("last")
    if pipeline.keeps_events:
        _check_positions(pipeline, saved, oldest)
    pipeline.state = StreamState(
        watermark=saved.part("time").number(),
        last=None if last.is_none else tuple(part.number() for part in last.parts()),
        oldest=oldest,
        evicted=saved.part("forgotten").number(0, saved.live.positions),
        history=history_restored(saved.part("history"), oldest, pipeline.load_again),
    )


def _check_positions(pipeline: Pipeline, saved: Saved, oldest: int) -> None:
    """Check that the rows of all live events are there."""
    buffer = pipeline.context.buffer
    if buffer.first < buffer.next:
        first = int(buffer.numbers("position")[buffer.first & buffer.mask])
        saved.part("store").check(first >= oldest, "an event is older than all rows")
