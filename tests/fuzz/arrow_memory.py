"""Batches of memory unlike its description: searched in any layout, or refused."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

import sase
from tests.fuzz import changes, driver

# The first byte of a document that is a stream in Arrow's format with changed bytes.
STREAM = b"\xff"
TYPES = {
    str(kind): kind
    for kind in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(), pa.string_view(),
        pa.binary(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.date32(), pa.date64(),
        pa.time32("s"), pa.duration("ms"), pa.decimal128(9, 2), pa.decimal64(9, 2), pa.null(),
    )
}  # fmt: skip
# Of these `from_buffers` reads offsets, before anyone can prove them.
OFFSETS = ("string", "large_string", "binary")
TEXTS, FLOATS = ("a text that is long", "é", "x", ""), (1.5, 2.0, -1.0, float("nan"))
QUERIES = (
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10",
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.id, b.s",
    "EVENT SEQ(A a, B b, A c) WHERE a.s = b.s AND c.f > 0 WITHIN 20 RETURN a.s, b.id, c.f",
    "EVENT SEQ(A a, !(B x), A b) WHERE [s] WITHIN 10",
    "EVENT SEQ(A+ a[], B b) WHERE a[i].f >= a[i-1].f WITHIN 10 RETURN count(a[]), b.s",
    "EVENT SEQ(A a, C? c, B b) WITHIN 10",
    "EVENT SEQ(A a, (SEQ(C c, B? b))+ g[]) WITHIN 5",
)


# ---------------------------------------------------------------- arrays as plain values


def described(array: pa.Array) -> dict[str, Any]:
    """An array as plain values: its type, lengths, and buffers as numbers of their width."""
    kind = array.type
    found = {"length": len(array), "nulls": array.null_count, "offset": array.offset}
    if pa.types.is_dictionary(kind):
        inner = described(array.indices)
        return (
            inner
            | {"kind": "dictionary", "index": inner["kind"]}
            | {"dictionary": described(array.dictionary)}
        )
    if pa.types.is_run_end_encoded(kind):
        children = [described(array.run_ends), described(array.values)]
        return found | {"kind": "runs", "buffers": [None], "children": children}
    if pa.types.is_list(kind):
        buffers = [_numbers(*each) for each in zip(array.buffers()[:2], ("u1", "i4"), strict=True)]
        children = [described(array.values)]
        return found | {"kind": "list", "buffers": buffers, "children": children}
    if pa.types.is_fixed_size_list(kind):
        children = [described(array.values)]
        buffers = [_numbers(array.buffers()[0], "u1")]
        return found | {
            "kind": "fixed", "size": kind.list_size, "buffers": buffers, "children": children
        }  # fmt: skip
    if pa.types.is_union(kind):
        children = [described(array.field(n)) for n in range(kind.num_fields)]
        widths = ("u1", "i1") if kind.mode == "sparse" else ("u1", "i1", "i4")
        buffers = [_numbers(*each) for each in zip(array.buffers(), widths, strict=False)]
        if kind.mode == "sparse":  # with fields that begin where it does
            found["offset"], own = 0, slice(array.offset, array.offset + len(array))
            buffers[1][1] = buffers[1][1][own]
        return found | {"kind": kind.mode, "buffers": buffers, "children": children}
    buffers = [
        _numbers(buffer, width)
        for buffer, width in zip(array.buffers(), _widths(array), strict=True)
    ]
    return found | {"kind": str(kind), "buffers": buffers}


def _widths(array: pa.Array) -> list[str]:
    """The parts of the buffers of an array."""
    kind = array.type
    if pa.types.is_null(kind):
        return ["u1"]
    if pa.types.is_boolean(kind):
        return ["u1", "u1"]
    if pa.types.is_string_view(kind):
        return ["u1", "i4", *["u1"] * (len(array.buffers()) - 2)]
    if pa.types.is_large_string(kind):
        return ["u1", "i8", "u1"]
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return ["u1", "i4", "u1"]
    return ["u1", f"i{min(kind.bit_width // 8, 8)}"]


def _numbers(buffer: pa.Buffer | None, width: str) -> Any:
    if buffer is None:
        return None
    whole = buffer.size // np.dtype(width).itemsize * np.dtype(width).itemsize
    return [width, np.frombuffer(buffer, np.uint8)[:whole].view(width).tolist()]


def built(found: dict[str, Any]) -> pa.Array:
    """The array that is described, as far as Arrow lets it be made."""
    buffers = [_buffer(each) for each in found["buffers"]]
    head = found["length"], buffers
    tail = found["nulls"], found["offset"]
    match found["kind"]:
        case "dictionary":
            values = built(found["dictionary"])
            kind = pa.dictionary(TYPES[found["index"]], values.type)
            return pa.DictionaryArray.from_buffers(kind, *head, values, *tail)
        case "runs":
            if any(child["offset"] < 0 for child in found["children"]):
                raise ValueError("what makes runs looks at their ends before anyone can prove them")
            ends, values = map(built, found["children"])
            kind = pa.run_end_encoded(ends.type, values.type)
            return pa.Array.from_buffers(kind, *head, *tail, [ends, values])
        case "list":
            if found["offset"] < 0:
                raise ValueError("what makes lists looks at the first offset")
            (values,) = map(built, found["children"])
            return pa.Array.from_buffers(pa.list_(values.type), *head, *tail, [values])
        case "fixed":
            (values,) = map(built, found["children"])
            return pa.Array.from_buffers(
                pa.list_(values.type, found["size"]), *head, *tail, [values]
            )
        case "sparse" | "dense" as mode:
            children = [built(each) for each in found["children"]]
            fields = [pa.field(str(n), each.type) for n, each in enumerate(children)]
            return pa.Array.from_buffers(pa.union(fields, mode), *head, *tail, children)
        case name:
            if name == "string_view" and found["buffers"][1:2] in ([], [None]):
                raise ValueError("what makes arrays of Python's does not survive that")
            if name in OFFSETS and found["offset"] < 0:
                raise ValueError("what makes arrays looks at the first offset")
            return pa.Array.from_buffers(TYPES[name], *head, *tail)


def _buffer(given: Any) -> pa.Buffer | None:
    if given is None:
        return None
    width, values = given
    return pa.py_buffer(np.array(values, np.int64).astype(width).tobytes())


# ---------------------------------------------------------------- documents


def make(number: int) -> bytes:
    """A way to run a query, and columns of which one or two were changed; or a changed stream."""
    random = Random(number)
    columns = _columns(random)
    how = {"query": random.randrange(len(QUERIES)), "way": random.randrange(len(WAYS))}
    if random.random() < 0.3:
        return STREAM + json.dumps(how).encode() + b"\n" + _stream(columns, random)
    found: dict[str, Any] = {name: described(array) for name, array in columns.items()}
    for _ in range(random.choice((0, 1, 1, 1, 2))):
        _change(random.choice(list(found.values())), random)
    return json.dumps(how | {"columns": found}).encode()


def _columns(random: Random) -> dict[str, pa.Array]:
    """Events, each column of a random layout."""
    rows = random.choice((0, 1, 8, 40, 40, 200))
    times = pa.array(sorted(random.randrange(3 * rows) for _ in range(rows)), pa.int64())
    texts = [random.choice(("A", "B", "C")) for _ in range(rows)]
    return {
        "ts": times.cast(random.choice((pa.int64(), pa.int32(), pa.timestamp("us")))),
        "type": _laid_out(texts, pa.string(), random),
        "id": _laid_out([random.randrange(4) for _ in range(rows)], pa.int64(), random),
        "s": _laid_out(_thinned(TEXTS, rows, random), pa.string(), random),
        "f": _laid_out(_thinned(FLOATS, rows, random), pa.float64(), random),
        "x": _other(rows, random),
    }


def _thinned(values: Sequence[Any], rows: int, random: Random) -> list[Any]:
    return [random.choice([*values, None]) for _ in range(rows)]


def _laid_out(values: list[Any], kind: pa.DataType, random: Random) -> pa.Array:
    """Values as a plain column, a dictionary, or runs; some as a slice of more."""
    before = random.choice((0, 0, 0, 3, 9))
    more = [*values[:1] * before, *values]
    array = pa.array(more, kind)
    if pa.types.is_string(kind):
        array = array.cast(random.choice((pa.string(), pa.large_string(), pa.string_view())))
    elif pa.types.is_integer(kind):
        array = array.cast(random.choice((pa.int64(), pa.int8(), pa.uint16(), pa.uint64())))
    match random.randrange(5):
        case 0 | 1 if not pa.types.is_string_view(array.type):
            index = random.choice((pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8()))
            coded = array.dictionary_encode()
            array = pa.DictionaryArray.from_arrays(coded.indices.cast(index), coded.dictionary)
        case 2:
            array = _runs(array)
    return array.slice(len(more) - len(values))


def _runs(array: pa.Array) -> pa.Array:
    ends = pa.array(range(1, len(array) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, array)


def _other(rows: int, random: Random) -> pa.Array:
    """A column that no query names, and some show."""
    kind = random.choice([*TYPES.values(), *_NESTED])
    if isinstance(kind, str):
        return _nested(kind, rows, random)
    if pa.types.is_null(kind):
        return pa.nulls(rows)
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or "string" in str(kind):
        return pa.array(["some text of it"] * rows, kind)
    if pa.types.is_boolean(kind):
        return pa.array([True, None] * rows, kind).slice(0, rows)
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(1)] * rows, kind)
    number = pa.int32() if kind in (pa.date32(), pa.time32("s")) else pa.int64()
    if pa.types.is_date64(kind):
        return pa.array([date(2026, 1, 31)] * rows, kind)
    return pa.array([1] * rows, number).cast(kind)


_NESTED = ("list", "fixed", "fixed", "sparse", "sparse", "dense", "dense", "runs")


def _nested(kind: str, rows: int, random: Random) -> pa.Array:
    """Lists, runs, or a union of numbers and of texts, views or runs."""
    if kind in ("list", "fixed"):
        return pa.array([[1, 2]] * rows, pa.list_(pa.int64(), 2 if kind == "fixed" else -1))
    texts = pa.array(["some text of it"] * rows, random.choice((pa.string(), pa.string_view())))
    texts = random.choice((texts, _runs(texts)))
    if kind == "runs":
        return _runs(texts) if texts.type.num_fields == 0 else texts
    codes = pa.array([random.randrange(2) for _ in range(rows)], pa.int8())
    children = [pa.array(range(rows), pa.int64()), texts]
    if kind == "sparse":
        return pa.UnionArray.from_sparse(codes, children)
    return pa.UnionArray.from_dense(codes, pa.array(range(rows), pa.int32()), children)


def _nodes(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield found
    inner = [*found.get("children", ()), *([found["dictionary"]] if "dictionary" in found else ())]
    for each in inner:
        yield from _nodes(each)


def _change(found: dict[str, Any], random: Random) -> None:
    """Change a number in a buffer of an array, a length, or leave out a buffer."""
    node = random.choice(list(_nodes(found)))
    full = [each for each in node["buffers"] if each is not None and each[1]]
    match random.randrange(8):
        case 0:
            name = random.choice(("length", "offset", "nulls"))
            node[name] = changes.number(node[name], random)
        case 1 if node["buffers"]:
            at = random.randrange(len(node["buffers"]))
            node["buffers"][at] = random.choice((None, ["u1", []], ["u1", [0] * 64]))
        case 2 if full:
            values = random.choice(full)[1]
            del values[random.randrange(len(values)) :]
        case 3 if node["kind"] in TYPES:
            node["kind"] = random.choice(list(TYPES))
        case _ if full:
            width, values = random.choice(full)
            at, limits = random.randrange(len(values)), np.iinfo(width)
            value = int(changes.number(values[at], random))
            values[at] = min(max(value, int(limits.min)), int(limits.max))


def _stream(columns: dict[str, pa.Array], random: Random) -> bytes:
    """Columns in Arrow's format of streams, of which some bytes are others."""
    sink = io.BytesIO()
    batch = pa.record_batch(columns)
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data = bytearray(sink.getvalue())
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(data))
        data[at] = random.choice((0, 1, 2, 4, 8, 16, 127, 128, 255, data[at] ^ 1))
    return bytes(data)


# ---------------------------------------------------------------- ways in


# Of series there may be more matches than can ever be shown.
MOST = 10_000


def _shown(matches: Any) -> None:
    """Ask for all that there is to know of matches."""
    matches.rows, matches.report, matches.to_arrow().validate()
    repr(matches)
    matches.to_pylist()


def _match(query: str, batch: pa.RecordBatch) -> None:
    _shown(sase.match(query, batch, limit=MOST))


def _match_table(query: str, batch: pa.RecordBatch) -> None:
    half = len(batch) // 2
    parts = [batch.slice(0, half), batch.slice(half), batch]
    _shown(sase.match(query, pa.Table.from_batches(parts), on_bad_row="quarantine", limit=MOST))


def _match_reader(query: str, batch: pa.RecordBatch) -> None:
    _shown(
        sase.match(
            query, pa.RecordBatchReader.from_batches(batch.schema, [batch, batch]), limit=MOST
        )
    )


def _match_types(query: str, batch: pa.RecordBatch) -> None:
    _shown(sase.match(query, {"A": batch, "B": batch}, limit=MOST))


def _push(query: str, batch: pa.RecordBatch, **options: Any) -> None:
    matcher = sase.compile(query, batch.schema, limit=MOST, **options).open()
    step = max(1, len(batch) // 3)
    for begin in range(0, len(batch), step):
        _shown(matcher.push(batch.slice(begin, step)))
    matcher.snapshot()
    _shown(matcher.finish())


def _push_late(query: str, batch: pa.RecordBatch) -> None:
    _push(query, batch, lateness=3, on_bad_row="quarantine")


def _push_many(query: str, batch: pa.RecordBatch) -> None:
    """Push each row, so that the kept rows are merged."""
    matcher = sase.compile(query, batch.schema, limit=MOST).open()
    for row in range(len(batch)):
        matcher.push(batch.slice(row, 1))
    _shown(matcher.finish())


def _explain(query: str, batch: pa.RecordBatch) -> None:
    str(sase.explain(query, batch, analyze=True, limit=MOST))
    str(sase.why(query, batch))


WAYS = (
    _match, _match, _match_table, _match_reader, _match_types, _push, _push_late, _push_many,
    _explain,
)  # fmt: skip
SLICING = (_match_table, _push, _push_late, _push_many)


def judge(document: bytes) -> str:
    """Run a query over the batch of a document, in the way that it says."""
    try:
        how, batch = _read(document)
    except (
        pa.ArrowException,
        OSError,
        OverflowError,
        ValueError,
        LookupError,
        TypeError,
        StopIteration,
    ):
        return "not made"
    way = WAYS[how["way"]]
    if way in SLICING and document[:1] != STREAM and any(each.offset < 0 for each in batch.columns):
        return "not made"  # which Arrow does not survive either, and no stream has
    way(_asked(QUERIES[how["query"]], batch), batch)
    return "opened"


def _asked(query: str, batch: pa.RecordBatch) -> str:
    """A query, with a unit in its window if times are moments."""
    at = batch.schema.get_field_index("ts")
    is_integer = at < 0 or not pa.types.is_timestamp(batch.column(at).type)
    return query if is_integer else re.sub(r"(WITHIN \d+)", r"\1 us", query)


def _read(document: bytes) -> tuple[dict[str, Any], pa.RecordBatch]:
    if document[:1] == STREAM:
        head, _, data = document[1:].partition(b"\n")
        return json.loads(head), pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()
    how = json.loads(document)
    columns = {name: built(found) for name, found in how["columns"].items()}
    return how, pa.record_batch(columns)


def warm() -> None:
    """Load the modules that the first documents would load."""
    batch = pa.record_batch(_columns(Random(2)))
    for query in QUERIES:
        for way in WAYS:
            try:
                way(_asked(query, batch), batch)
            except sase.SaseError:
                continue


TARGET = driver.Target(make, judge, ".columns", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.arrow_memory"]))
