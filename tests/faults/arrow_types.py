"""A process that judges a column of every type that pyarrow makes, each in a child of its own.

For each type a line of standard output says by which ways the child was killed, or raised an error
that is not ours, or found wrong matches."""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet

import sase
from sase.engine.results.row_history import MANY
from sase.engine.results.sinks import FileSink

TYPES = ("A", "B", "A", "B", "A", "B")
# Of each type two values, which the events have in this order.
ORDER = (0, 0, 1, None, 1, 0)
SHOWING = "EVENT SEQ(A a, B b) WITHIN 10"
UNREAD = f"{SHOWING} RETURN a.ts AS first, b.ts AS last"
KEY = "EVENT SEQ(A a, B b) WHERE [v] WITHIN 10"
CONDITION = "EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 10"
RETURNED = f"{SHOWING} RETURN a.v AS v, b.ts AS last"
SERIES = "EVENT SEQ(A+ a[], B b) WITHIN 10"


class Point(pa.ExtensionType):
    """A type of a user, with any storage."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "test.point")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, data: bytes) -> Point:
        return cls(storage)


def plain() -> Iterator[tuple[pa.DataType, list[Any]]]:
    """Types, each with two values."""
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        yield getattr(pa, name)(), [1, 2]
    for name in ("float16", "float32", "float64"):
        yield getattr(pa, name)(), [1.5, float("inf")]
    yield pa.bool_(), [True, False]
    for name in ("decimal32", "decimal64", "decimal128", "decimal256"):
        if hasattr(pa, name):
            yield getattr(pa, name)(9, 2), [Decimal("1.25"), Decimal(-7)]
            yield getattr(pa, name)(9, -2), [Decimal(100), Decimal(-700)]
    yield pa.decimal256(76, 0), [Decimal(10**70), Decimal(1)]
    yield pa.date32(), [date(2026, 1, 1), date(1, 1, 1)]
    yield pa.date64(), [date(2026, 1, 1), date(1, 1, 1)]
    yield pa.time32("s"), [time(1), time(23, 59, 59)]
    yield pa.time32("ms"), [time(1), time(23, 59, 59)]
    yield pa.time64("us"), [time(1), time(23, 59, 59)]
    yield pa.time64("ns"), [time(1), time(23, 59, 59)]
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Vienna", "+02:00"):
            yield pa.timestamp(unit, zone), [1, 2]
        yield pa.duration(unit), [timedelta(1), timedelta(-1)]
    yield pa.month_day_nano_interval(), [(1, 2, 3), (-1, 0, 5)]
    for name in ("binary", "large_binary", "binary_view"):
        yield getattr(pa, name)(), [b"\xff", b"a value of more than twelve bytes"]
    yield pa.binary(2), [b"ab", b"\xff\xff"]
    for name in ("string", "large_string", "string_view"):
        yield getattr(pa, name)(), ["x", "a text of more than twelve bytes"]
    for inner, values in (
        (pa.int64(), [1, None]), (pa.string_view(), ["x", None]), (pa.list_(pa.int8()), [[1], []]),
        (pa.struct({"a": pa.date32()}), [{"a": date(2026, 1, 1)}, None]),
        (pa.dictionary(pa.int8(), pa.string()), ["x", "y"]),
        (pa.month_day_nano_interval(), [(1, 2, 3), None]),
    ):  # fmt: skip
        for name in ("list_", "large_list", "list_view", "large_list_view"):
            yield getattr(pa, name)(inner), [values, []]
        yield pa.list_(inner, 2), [values, values[::-1]]
        yield pa.map_(pa.string(), inner), [[("a", values[0])], []]
        yield pa.struct({"x": inner, "y": pa.int8()}), [{"x": values[0], "y": 1}, {"y": None}]
    yield pa.list_(pa.int64(), 0), [[], []]
    yield pa.struct([]), [{}, {}]
    yield pa.null(), [None, None]


ROWS = len(ORDER)


def six(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Six events with values of a type."""
    return pa.array([None if each is None else values[each] for each in ORDER], kind)


def beyond(kind: pa.DataType, width: pa.DataType, value: int) -> pa.Array:
    """A value that Python does not have, beside one that it has."""
    return six([value, 1], width).view(kind)


def simple() -> Iterator[pa.Array]:
    for kind, values in plain():
        yield six(values, kind)
    yield beyond(pa.date32(), pa.int32(), 2**31 - 1)
    yield beyond(pa.date64(), pa.int64(), 86_400_000 * (2**31 - 1))
    for unit in ("s", "ms", "us"):
        for zone in (None, "UTC", "Europe/Vienna"):
            yield beyond(pa.timestamp(unit, zone), pa.int64(), 2**62)
        yield beyond(pa.duration(unit), pa.int64(), 2**62)
    yield beyond(pa.time64("ns"), pa.int64(), 86_399_999_999_999)
    yield beyond(pa.time64("us"), pa.int64(), 2**62)
    yield beyond(pa.time32("s"), pa.int32(), 2**30)
    yield beyond(pa.uint64(), pa.uint64(), 2**64 - 1)
    words = pa.py_buffer((b"\xff" * 31 + b"\x7f") * ROWS)
    yield pa.Array.from_buffers(pa.decimal256(76, 3), ROWS, [None, words])
    yield from unions()
    yield pa.RunEndEncodedArray.from_arrays([2, 3, 6], ["x", "y", None])


def unions() -> Iterator[pa.Array]:
    numbers, texts = six([1, 2], pa.int64()), six(["x", "y"], pa.string())
    codes = pa.array([0, 1, 0, 1, 0, 1], pa.int8())
    places = pa.array(range(ROWS), pa.int32())
    yield pa.UnionArray.from_sparse(codes, [numbers, texts])
    yield pa.UnionArray.from_dense(codes, places, [numbers, texts])
    odd = pa.array([5, 9] * 3, pa.int8())
    yield pa.UnionArray.from_dense(odd, places, [numbers, texts], ["n", "t"], [5, 9])
    runs = pa.RunEndEncodedArray.from_arrays([2, ROWS], ["x", "y"])
    yield pa.UnionArray.from_sparse(codes, [numbers, runs])


def upto(rows: int, kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(range(rows), kind or pa.int32())


WITHIN: dict[str, Callable[[pa.Array], pa.Array]] = {
    "struct": lambda a: pa.StructArray.from_arrays([a], ["x"]),
    "list": lambda a: pa.ListArray.from_arrays(upto(ROWS + 1), a),
    "fixed": lambda a: pa.FixedSizeListArray.from_arrays(a, 1),
    "list_view": lambda a: pa.ListViewArray.from_arrays(upto(ROWS), pa.array([1] * ROWS), a),
    "map": lambda a: pa.MapArray.from_arrays(upto(ROWS + 1), pa.array([*"klmnop"]), a),
    "dictionary": lambda a: pa.DictionaryArray.from_arrays(upto(ROWS, pa.uint8()), a),
    "runs": lambda a: pa.RunEndEncodedArray.from_arrays(
        pa.array(range(1, ROWS + 1), pa.int16()), a
    ),
    "sparse": lambda a: pa.UnionArray.from_sparse(pa.array([0] * ROWS, pa.int8()), [a]),
    "dense": lambda a: pa.UnionArray.from_dense(pa.array([0] * ROWS, pa.int8()), upto(ROWS), [a]),
    "point": lambda a: pa.ExtensionArray.from_storage(Point(a.type), a),
}
if hasattr(pa, "opaque"):
    WITHIN["opaque"] = lambda a: pa.ExtensionArray.from_storage(pa.opaque(a.type, "t", "v"), a)


def extensions() -> Iterator[pa.Array]:
    if hasattr(pa, "json_"):
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            yield pa.ExtensionArray.from_storage(pa.json_(kind), six(["1", "{}"], kind))
    if hasattr(pa, "uuid"):
        values = six([UUID(int=1).bytes, UUID(int=2).bytes], pa.binary(16))
        yield pa.ExtensionArray.from_storage(pa.uuid(), values)
    if hasattr(pa, "bool8"):
        yield pa.ExtensionArray.from_storage(pa.bool8(), six([1, 0], pa.int8()))
    tensor = pa.fixed_shape_tensor(pa.int32(), [2])
    yield pa.ExtensionArray.from_storage(tensor, six([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)))


def columns() -> dict[str, Callable[[], pa.Array]]:
    """How to make each."""
    found: dict[str, Callable[[], pa.Array]] = {}
    own = [*extensions()]
    for array in (*simple(), *own):
        found[f"{len(found)} {array.type}"] = partial(_same, array)
    for array in (six([1, 2], pa.int64()), six(["x", "y"], pa.string_view()), *own):
        for name, outer in WITHIN.items():
            found[f"{name} of {array.type}"] = partial(outer, array)
    for name, outer in WITHIN.items():  # of which Arrow's checks end the process
        found[f"{name} of point of {own[0].type}"] = partial(_nested, outer, own[0])
    return found


def _same(array: pa.Array) -> pa.Array:
    return array


def _nested(outer: Callable[[pa.Array], pa.Array], array: pa.Array) -> pa.Array:
    return outer(WITHIN["point"](array))


# ---------------------------------------------------------------- ways


def shown(matches: Any) -> list[dict[str, Any]]:
    """Results, read in every way that a user has."""
    matches.to_arrow().validate()
    repr(matches)
    matches.to_pandas()
    pickle.loads(pickle.dumps(matches))
    return [*matches]


def loaded(query: str, batch: pa.RecordBatch) -> Any:
    return shown(sase.match(query, batch))


def read(query: str, batch: pa.RecordBatch) -> Any:
    parts = [batch.slice(0, 2), batch.slice(2, 3), batch.slice(5)]
    return shown(sase.match(query, pa.RecordBatchReader.from_batches(batch.schema, parts)))


def typed(query: str, batch: pa.RecordBatch) -> Any:
    shown(sase.match(query, {"A": batch.slice(0, 3), "B": batch.slice(3)}))


def pushed(query: str, batch: pa.RecordBatch, **options: Any) -> Any:
    """In pushes, with a snapshot after each."""
    plan = sase.compile(query, batch.schema, **options)
    matcher, found = plan.open(), []
    for begin in range(0, ROWS, 2):
        found += matcher.push(batch.slice(begin, 2)).to_pylist()
        matcher = plan.restore(matcher.snapshot())
    return sorted(found + shown(matcher.finish()), key=_key)


def pushed_late(query: str, batch: pa.RecordBatch) -> Any:
    pushed(query, batch, lateness=2, on_bad_row="quarantine")


def pushed_often(query: str, batch: pa.RecordBatch) -> Any:
    """In enough pushes that the kept rows are merged."""
    matcher = sase.compile(query, batch.schema).open()
    for number in range(MANY + 2):
        times = pa.array(range(number, number + ROWS))
        matcher.push(batch.set_column(0, "ts", times).slice(0, 1))
    matcher.snapshot()
    shown(matcher.finish())


def from_file(query: str, batch: pa.RecordBatch) -> Any:
    with pa.OSFile("events.arrow", "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)
    shown(sase.match(query, "events.arrow"))


def from_parquet(query: str, batch: pa.RecordBatch) -> Any:
    try:
        pa.parquet.write_table(pa.table(batch), "events.parquet")
    except (pa.ArrowException, OSError):
        return  # which has no such type
    shown(sase.match(query, "events.parquet"))


def written(query: str, batch: pa.RecordBatch) -> Any:
    """To a file of each format."""
    for format in ("csv", "jsonl", "arrow", "parquet"):
        matches = sase.match(query, batch)
        schema, batches = matches.to_batches()
        try:
            sink = FileSink(f"results.{format}", schema)
            for each in batches:
                sink.write_batch(each)
            sink.close()
        except sase.DataError as problem:
            assert format in ("arrow", "parquet"), problem
            assert "write .jsonl" in str(problem)


def explained(query: str, batch: pa.RecordBatch) -> Any:
    str(sase.explain(query, batch, analyze=True)), str(sase.why(query, batch))


def as_time(query: str, batch: pa.RecordBatch) -> Any:
    shown(sase.match("EVENT SEQ(A a, B b)", batch, time="v"))


def as_type(query: str, batch: pa.RecordBatch) -> Any:
    shown(sase.match("EVENT SEQ(ANY a, ANY b) WITHIN 3", batch, type="v"))


def as_seq(query: str, batch: pa.RecordBatch) -> Any:
    shown(sase.match("EVENT SEQ(A a, B b) WITHIN 3", batch, seq="v"))


WAYS: dict[str, tuple[Callable[[str, pa.RecordBatch], Any], ...]] = {
    SHOWING: (
        loaded,
        read,
        typed,
        pushed,
        pushed_late,
        pushed_often,
        from_file,
        from_parquet,
        written,
        explained,
        as_time,
        as_type,
        as_seq,
    ),
    UNREAD: (loaded, read, pushed, pushed_late, pushed_often),
    KEY: (loaded, pushed, from_file),
    CONDITION: (loaded, pushed_late),
    RETURNED: (loaded, pushed, written),
    SERIES: (loaded, pushed_often),
}


def _key(row: dict[str, Any]) -> str:
    return str((row["detected_at"], row)) if "detected_at" in row else str(row)


def faults(column: pa.Array) -> Iterator[list[str]]:
    """The mistakes of each way: `begins` before it, so that an end of the process shows."""
    numbers = pa.array(range(1, ROWS + 1))
    batch = pa.record_batch({"ts": numbers, "type": pa.array(TYPES), "v": column})
    for query, ways in WAYS.items():
        expected = None
        for way in ways:
            yield [way.__name__, query, "begins"]
            try:
                found = way(query, batch)
            except sase.SaseError as problem:
                yield [way.__name__, query, "refused", str(problem)]
                continue
            except BaseException:
                yield [way.__name__, query, "FAILED", traceback.format_exc()]
                continue
            if found is not None:
                found = sorted(map(_key, found))
                if expected is not None and found != expected:
                    yield [way.__name__, query, "DIFFERS", f"{found} {expected}"]
                expected = found
            yield [way.__name__, query, "ok"]


def forked(make: Callable[[], pa.Array]) -> str:
    """The mistakes of a column, judged in a child: none, if there is no output."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with os.fdopen(writing, "w") as out, tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for each in faults(make()):
                print(json.dumps(each), file=out, flush=True)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        found = [json.loads(line) for line in lines]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    wrong = [" ".join(each) for each in found if each[2] in ("FAILED", "DIFFERS")]
    if status and found:  # making the column may end the process, too
        wrong.append(f"{status} at {' '.join(found[-1])}")
    return "\n".join(wrong)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as own:
        os.chdir(own)
        list(faults(six(["x", "y"], pa.string())))  # loads modules that all need
        os.chdir("/")
    part, parts, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    names = {name: make for name, make in columns().items() if not words or name in words}
    for name in [*names][part::parts]:
        print(json.dumps([name, forked(names[name])]), flush=True)
