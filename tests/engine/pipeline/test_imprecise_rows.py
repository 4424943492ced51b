"""Rows with two times in the reorder buffer and in blocks: by (lo, hi, row), late by lo."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.binding import Schema
from sase.binding.bound import BoundComponent
from sase.engine.blocks.builder import BlockBuilder
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.blocks.event_buffer import EventBuffer
from sase.engine.columns import Events, Loader, opened
from sase.engine.columns.arrow.input import Inputs
from sase.engine.pipeline import reorder_buffer
from sase.engine.pipeline.reorder_buffer import Arrived, ReorderBuffer
from sase.engine.snapshots import codec
from sase.engine.snapshots.saved_state import Saved

SCHEMA = Schema(time="lo", until="hi")
INTERVALS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=14)
Times = list[tuple[int, int]]


def table(times: Times, **more: Any) -> pa.Table:
    lo, hi = zip(*times, strict=True) if times else ((), ())
    return pa.table({"lo": pa.array(lo, pa.int64()), "hi": pa.array(hi, pa.int64()), **more})


def of_types(times: Times, types: str) -> tuple[Inputs, Events]:
    inputs = opened(table(times, type=list(types)))
    return inputs, Loader(SCHEMA, ("lo", "hi")).load(inputs)


def reordered(lateness: int | None) -> tuple[ReorderBuffer, Loader]:
    loader = Loader(SCHEMA, ("lo", "hi"))
    return ReorderBuffer(lateness, SCHEMA, loader.load), loader


def told(arrived: list[Arrived]) -> list[tuple[int, int, int]]:
    found = []
    for _, events, first, rows in arrived:
        order = np.arange(len(events)) if events.order is None else events.order
        numbers = order + first if rows is None else rows[order]
        assert events.until is not None
        found += list(zip(events.ts.tolist(), events.until.tolist(), numbers.tolist(), strict=True))
    return found


@given(INTERVALS, st.sampled_from([None, 0, 2]), st.integers(1, 5), st.integers(0, 14), st.data())
def test_rows_come_in_order_whatever_the_cuts(
    drawn: Times, lateness: int | None, size: int, saved_at: int, data: st.DataObject
) -> None:
    """A row is late if it lies before the greatest lo of all rows before, less the lateness."""
    times = [(lo, lo + length) for lo, length in drawn]
    buffer, loader = reordered(lateness)
    # With more pieces than these, small ones are made one.
    most = data.draw(st.sampled_from([1, 2, 4, reorder_buffer.MOST_PIECES]))
    found: list[tuple[int, int, int]] = []
    for begin in range(0, len(times), size):
        part = times[begin : begin + size]
        name = data.draw(st.sampled_from(["type", "kind"]))  # columns that change part the rows
        inputs = opened(table(part, type=["A"] * len(part), **{f"{name} of it": [0] * len(part)}))
        with mock.patch.object(reorder_buffer, "MOST_PIECES", most):
            found += told(buffer.push(inputs, loader.load(inputs), len(part)))
        assert all(lo < buffer.floor for lo, _, _ in found)
        if begin <= saved_at < begin + size:
            state = codec.from_bytes(codec.to_bytes(buffer.checkpoint()))
            buffer, loader = reordered(lateness)
            buffer.restore(Saved(state))
    found += told(buffer.finish())

    kept, greatest, late = [], -(2**62), []
    for row, (lo, hi) in enumerate(times):
        is_late = lo < greatest - (lateness or 0)
        (late if is_late else kept).append((lo, hi, row))
        greatest = max(greatest, lo)
    assert found == sorted(kept)
    assert buffer.late.table()["#row"].to_pylist() == [row for *_, row in late]


def test_a_row_waits_until_its_earliest_time_has_passed() -> None:
    buffer, loader = reordered(None)
    inputs = opened(table([(3, 9), (1, 2)], type=["A", "A"]))
    assert told(buffer.push(inputs, loader.load(inputs), 2)) == []
    assert buffer.due() == 4
    assert told(buffer.advance(3)) == []
    assert told(buffer.advance(4)) == [(3, 9, 0)]
    assert buffer.late.count == 1


@pytest.mark.parametrize("types", ["AAAA", "ABCA"])
def test_blocks_and_the_event_buffer_have_the_latest_times(types: str) -> None:
    _, events = of_types([(1, 9), (1, 2), (4, 4), (5, 7)], types)
    component = BoundComponent(0, "a", named=True, types=("A",))
    known = TypeDictionary(SCHEMA, (component,))
    coding = PlanDictionary(known, streaming=False)
    builder = BlockBuilder((component,), 1, coding, (), dense=True)
    buffer = EventBuffer(2)
    buffer.keep("ts")
    buffer.keep("until")
    blocks = list(builder.blocks(events, 3))
    for block in blocks:
        buffer.append_block(block)
    expected = [hi for (_, hi), name in zip([(1, 2), (1, 9), (4, 4), (5, 7)], _sorted(types),
                                            strict=True) if name == "A"]  # fmt: skip
    assert [hi for block in blocks for hi in block.until.tolist()] == expected
    assert buffer.numbers("until")[: len(expected)].tolist() == expected


def _sorted(types: str) -> str:
    """In the order of the stream, in which the second row is the first."""
    return types[1] + types[0] + types[2:]


def test_a_block_of_precise_time_has_one_time() -> None:
    schema = Schema()
    events = Loader(schema, ()).load(opened(pa.table({"ts": [1, 2], "type": ["A", "A"]})))
    component = BoundComponent(0, "a", named=True, types=("A",))
    coding = PlanDictionary(TypeDictionary(schema, (component,)), streaming=False)
    (block,) = BlockBuilder((component,), 1, coding, (), dense=True).blocks(events, 3)
    assert block.until is block.ts
