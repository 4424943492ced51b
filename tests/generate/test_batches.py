"""A stream in batches is the stream drawn at once, however it is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from sase.generate import (
    GeneratorError,
    stock_events,
    stock_reader,
    uniform_events,
    uniform_reader,
)

Whole, Reader = Callable[..., pa.Table], Callable[..., pa.RecordBatchReader]
STREAMS: list[tuple[Whole, Reader, dict[str, Any]]] = [
    (uniform_events, uniform_reader, {"seed": 3}),
    (uniform_events, uniform_reader, {"domains": [1, 2**31, 2**31 - 1, 7], "types": 3}),
    (uniform_events, uniform_reader, {"domains": [], "type_layout": "string"}),
    (uniform_events, uniform_reader, {"type_skew": 1.2, "value_skew": 0.5}),
    (stock_events, stock_reader, {"seed": 3}),
    (stock_events, stock_reader, {"symbols": 40, "prices": 9, "moves": (0.1, 0.2, 0.7)}),
    (stock_events, stock_reader, {"symbols": 2**31 - 1, "type_layout": "string"}),
]


@pytest.mark.parametrize(("whole", "reader", "stream"), STREAMS)
@pytest.mark.parametrize("rows", [1, 7, 100, 299, 300, 301])
def test_batches_are_cuts_of_the_whole(
    whole: Whole, reader: Reader, stream: dict[str, Any], rows: int
) -> None:
    batches = list(reader(events=300, rows=rows, **stream))
    assert [len(batch) for batch in batches[:-1]] == [rows] * (len(batches) - 1)
    assert sum(len(batch) for batch in batches) == 300
    assert pa.Table.from_batches(batches).equals(whole(events=300, **stream))


@pytest.mark.parametrize(("whole", "reader", "stream"), STREAMS)
def test_no_events(whole: Whole, reader: Reader, stream: dict[str, Any]) -> None:
    assert reader(events=0, **stream).read_all().equals(whole(events=0, **stream))


@pytest.mark.parametrize("reader", [uniform_reader, stock_reader])
def test_what_is_wrong_is_said_before_the_first_batch(reader: Reader) -> None:
    with pytest.raises(GeneratorError, match="rows is 0, and should be at least 1"):
        reader(events=1, rows=0)
    with pytest.raises(GeneratorError, match="events is -1"):
        reader(events=-1)
