"""What a checkpoint may say of events: which there are, and what values and codes they have."""

from __future__ import annotations

from sase.binding.types import UNKNOWN, DataType, Kind
from sase.engine.columns.resolve import expected_of_type
from sase.engine.expressions.constants import tag_of
from sase.engine.kernels.expressions.operations import EXACT
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.snapshots.saved_state import LiveEvents

# The greatest tag there is: that of 18 digits.
_MOST_EXACT = EXACT + 18


def live_events(pipeline: Pipeline, first: int, end: int, *, is_done: bool) -> LiveEvents:
    """The events from one number to another of a pipeline whose dictionaries are restored."""
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
    """The type in which each column was read: that of the schema where that is exact."""
    schema = pipeline.plan.schema
    return {
        (type_name, name): _read_as(expected_of_type(schema, type_name, name), came)
        for (type_name, name), came in pipeline.loader.known.items()
    }


def _greatest_tag(pipeline: Pipeline, type_name: str | None, name: str, kind: DataType) -> int:
    """The greatest tag of values: an open column has floats where decimals came, too."""
    is_open = expected_of_type(pipeline.plan.schema, type_name, name) == UNKNOWN
    if is_open and kind.kind is Kind.FLOAT:
        return _MOST_EXACT
    return min(tag_of(kind), _MOST_EXACT)


def _read_as(expected: DataType, came: DataType) -> DataType:
    is_vague = expected.resolution is None and expected.scale is None
    if expected == UNKNOWN or (is_vague and expected.kind is came.kind):
        return came
    return expected
