"""Memory that differs from its description is refused before any reading, by column and row."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.columns.arrow import gate
from sase.engine.columns.arrow.gate import Gate
from sase.errors import BindingError, DataError, SchemaError
from tests.engine.columns.layouts import containers

QUERY = "EVENT SEQ(A a, B b) WHERE [s] WITHIN 10"
RETURNED = f"{QUERY} RETURN a.s, b.s"
NOT_UTF8 = b"\xff\xfe"


def buffer(values: Any, kind: str) -> pa.Buffer:
    return pa.py_buffer(np.array(values, kind))


def bits(*values: int) -> pa.Buffer:
    return pa.py_buffer(np.packbits(values, bitorder="little"))


def texts(offsets: Any, data: bytes = b"abcd") -> pa.Array:
    buffers = [None, buffer(offsets, "i4"), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def coded(indexes: Any, kind: str, values: Any = ("x", "y"), **others: Any) -> pa.Array:
    plain = pa.array(indexes, kind, **others)
    values = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.DictionaryArray.from_arrays(plain, values, safe=False)


def view(length: int, number: int, offset: int, valid: pa.Buffer | None = None) -> pa.Array:
    """Four views, of which the last is of a text that is elsewhere."""
    short = np.array([1, ord("x"), 0, 0], np.int32)
    last = np.array([length, int.from_bytes(b"some", "little"), number, offset], np.int32)
    data = [
        valid,
        pa.py_buffer(np.concatenate([short, short, short, last])),
        pa.py_buffer(b"some text more"),
    ]
    return pa.Array.from_buffers(pa.string_view(), 4, data)


def runs(ends: Any, length: int = 4) -> pa.Array:
    children = [pa.array(ends, pa.int32()), pa.array(["x", "y", "z"])]
    kind = pa.run_end_encoded(pa.int32(), pa.string())
    return pa.Array.from_buffers(kind, length, [None], children=children)


HOSTILE = {
    "an index beyond int8": (
        coded([0, 1, 127, 0], "int8"),
        "row 2 (from 0): `s` is index 127 of a dictionary of 2 values",
    ),
    "a negative index": (
        coded([0, -(2**31), 1, 0], "int32"),
        "row 1 (from 0): `s` is index -2147483648 of a dictionary of 2 values",
    ),
    "an index without a sign": (
        coded([0, 0, 0, 2**64 - 1], "uint64"),
        "row 3 (from 0): `s` is index 18446744073709551615 of a dictionary of 2 values",
    ),
    "an index of no values": (
        coded([0, 0, 0, 0], "int16", pa.array([], pa.string())),
        "row 0 (from 0): `s` is index 0 of a dictionary of 0 values",
    ),
    "offsets that decrease": (
        texts([0, 3, 1, 2, 4]),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
    "offsets past the end": (
        texts([0, 1, 900, 2, 4]),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
    "negative offsets": (
        texts([0, -7, 1, 2, 4]),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
    "text that is not UTF-8": (
        texts([0, 1, 2, 4, 5], b"ab" + NOT_UTF8 + b"c"),
        "row 2 (from 0): `s` is not UTF-8: decode it",
    ),
    "a value that is not UTF-8": (
        pa.DictionaryArray.from_arrays(
            pa.array([0, 0, 1, 0], "int8"), texts([0, 1, 3], b"a" + NOT_UTF8)
        ),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description: of its"
        " dictionary, value 1 is"
        " not UTF-8",
    ),
    "a view beyond its buffer": (
        view(14, 0, 900),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
    "a view of no buffer": (
        view(14, 7, 0),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
    "a NULL that is a view beyond its buffer": (
        view(14, 0, 900, bits(1, 1, 1, 0)),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description: a NULL in it is a"
        " view of",
    ),
    "a NULL that is a view of no buffer": (
        view(14, 7, 0, bits(1, 1, 1, 0)),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description: a NULL in it is a"
        " view of",
    ),
    "a NULL that is a view of more than there is": (
        view(2**31 - 1, 0, 0, bits(1, 1, 1, 0)),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description: a NULL in it is a"
        " view of",
    ),
    "run ends out of order": (
        runs([3, 2, 4]),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
    "NULLs miscounted": (
        pa.Array.from_buffers(
            pa.string(), 4, [bits(1, 0, 1, 1), *texts([0, 1, 1, 2, 3]).buffers()[1:]], 3
        ),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
    "NULLs among indexes miscounted": (
        pa.DictionaryArray.from_buffers(
            pa.dictionary(pa.int8(), pa.string()),
            4,
            [bits(1, 0, 1, 1), buffer([0, 99, 1, 0], "i1")],
            pa.array(["x", "y"]),
            3,
        ),
        "rows 0 to 3 (from 0): the memory of `s` differs from its description",
    ),
}


def events(column: pa.Array, name: str = "s") -> pa.Table:
    """Four events, with a column of others' making."""
    columns = {"ts": pa.array([1, 2, 3, 4]), "type": pa.array(["A", "B", "A", "B"])}
    columns["s"] = pa.array(["x", "x", "y", "y"])
    return pa.table(columns | {name: column})


def streamed(table: pa.Table, changes: dict[int, int]) -> pa.RecordBatch:
    """A batch as it comes from a stream of Arrow in which some numbers are others."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = bytes(sink.getvalue())
    for number, other in changes.items():
        old, new = np.int64(number).tobytes(), np.int64(other).tobytes()
        assert old in data
        data = data.replace(old, new)
    return pa.ipc.open_stream(data).read_next_batch()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_read_is_proved(name: str) -> None:
    """Whatever it comes in, and also where each type has a table."""
    column, said = HOSTILE[name]
    table = events(column)
    for each in containers(table):
        with pytest.raises(DataError, match=re.escape(said)) as caught:
            sase.match(RETURNED, each)
        assert caught.value.column == "s"
    with pytest.raises(DataError, match=re.escape(f"in the events of type `A` {said}")):
        sase.match(RETURNED, {"A": table, "B": table})


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_read_is_believed(name: str) -> None:
    """Until somebody shows it."""
    column, said = HOSTILE[name]
    said = said.replace("`s`", "`x`")
    table = events(column, "x")
    for each, again in zip(containers(table), containers(table), strict=True):
        found = sase.match(RETURNED, again).to_pylist()
        assert [match["a_s"] for match in found] == ["x", "y"]
        with pytest.raises(DataError, match=re.escape(said)):
            sase.match(QUERY, each).to_pylist()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_push_is_proved(name: str) -> None:
    """And leaves the matcher as it was."""
    column, said = HOSTILE[name]
    bad = events(column).to_batches()[0]
    matcher = sase.compile(RETURNED, bad.schema).open()
    for _ in range(2):
        with pytest.raises(DataError, match=re.escape(said)):
            matcher.push(bad)
    assert matcher.rows == 0
    assert matcher.finish().to_pylist() == []


TYPES = pa.array(["A", "B"])
FUSED = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10"


def pushed(first: int, types: Any, ids: Any = (1, 1, 2, 2), **others: Any) -> pa.RecordBatch:
    kind = types if isinstance(types, pa.Array) else coded(types, "int8", TYPES)
    columns = {"ts": pa.array(range(first, first + 4)), "type": kind, "id": pa.array(ids)}
    return pa.record_batch(columns | others)


def test_a_fused_push_is_proved() -> None:
    """A kernel reads its memory, and continues afterwards as if nothing had been pushed."""
    good = pushed(0, [0, 1, 0, 1])
    matcher = sase.compile(FUSED, good.schema).open()
    assert len(matcher.push(good)) == len(matcher.push(pushed(10, [0, 1, 0, 1]))) == 2
    for index in (2, 127, -1, -128):
        with pytest.raises(
            DataError, match=f"row 2 .*`type` is index {index} of a dictionary of 2"
        ):
            matcher.push(pushed(20, [0, 1, index, 1]))
    miscounted = [bits(1, 1, 0, 1), buffer([0, 1, 99, 1], "i1")]
    kind = pa.dictionary(pa.int8(), pa.string())
    bad = pa.DictionaryArray.from_buffers(kind, 4, miscounted, TYPES, 3)
    with pytest.raises(DataError, match="the memory of `type` differs from its description"):
        matcher.push(pushed(20, bad))
    found = matcher.push(pushed(20, [0, 1, 0, 1]))
    assert found.rows.to_pylist() == [{"a": 8, "b": 9}, {"a": 10, "b": 11}]
    fused = {use.path: use.events for use in matcher.pipeline.fused}
    assert fused == {"fused scan": 4, "fused push": 8}


def test_small_pushes_are_kept_apart_from_unsound_ones() -> None:
    """A column that is not read is copied for nobody; a reader that shows it gets the error."""
    bad, said = HOSTILE["offsets past the end"]
    good = pa.array(["p", "q", "r", "s"])
    matcher = sase.compile(FUSED, pushed(0, [0, 1, 0, 1], x=good).schema).open()
    found = []
    for number in range(300):
        batch = pushed(20 * number, [0, 1, 0, 1], x=bad if number % 7 == 5 else good)
        found.append(matcher.push(batch))
        assert len(found[-1]) == 2
    assert found[4].to_pylist()[0]["a"]["x"] == "p"
    with pytest.raises(DataError, match=re.escape(said.partition(": ")[2].replace("`s`", "`x`"))):
        found[5].to_pylist()


def test_rows_that_wait_are_copied_and_so_proved() -> None:
    bad, said = HOSTILE["offsets past the end"]
    batch = pushed(0, [0, 1, 0, 1], x=bad)
    said = re.escape(said.replace("`s`", "`x`"))
    waiting = sase.compile(FUSED, batch.schema, lateness=5).open()
    for _ in range(2):
        with pytest.raises(DataError, match=said):
            waiting.push(batch)
    late = sase.compile(FUSED, batch.schema).open()
    late.push(pushed(100, [0, 1, 0, 1], x=pa.array(["p"] * 4)))
    with pytest.raises(DataError, match=said):
        late.push(batch)
    assert late.rows == 4
    quarantining = sase.compile(FUSED, batch.schema, on_bad_row="quarantine").open()
    with pytest.raises(DataError, match=said):
        quarantining.push(pushed(0, [0, 1, None, 1], x=bad))
    kept = sase.compile(FUSED, batch.schema).open()
    kept.push(batch)
    with pytest.raises(DataError, match=said):
        kept.snapshot()


# ---------------------------------------------------------------- memory that is too short

COUNT = 1234
LONG = {
    "ts": pa.array(range(COUNT)),
    "type": coded([n % 2 for n in range(COUNT)], "int16", ["A", "B"]),
    "s": pa.array([None if n % 5 == 0 else n % 7 for n in range(COUNT)], pa.int32()),
}


def test_lengths_beyond_the_memory() -> None:
    for more in (COUNT + 1, 8 * COUNT, 2**40):
        batch = streamed(pa.table(LONG), {COUNT: more})
        for each in (batch, pa.Table.from_batches([batch])):
            with pytest.raises(
                DataError, match=r"the memory of `\w+` differs from its description"
            ):
                sase.match(RETURNED, each)


def test_bitmaps_that_are_too_short() -> None:
    batch = streamed(pa.table(LONG), {(COUNT + 7) // 8: 3})
    with pytest.raises(
        DataError, match=r"the memory of `s` differs from its description: Buffer #0 too small"
    ):
        sase.match(RETURNED, batch)


# ---------------------------------------------------------------- the gate itself


def test_values_that_are_unusual_are_no_fault_of_memory() -> None:
    """Arrow would refuse some of them; under NULLs there may be any index."""
    number = pa.array([10**12 + 1], pa.int64())
    for kind in (pa.date64(), pa.time64("us")):
        Gate().prove("x", [number.view(kind)], 1)
    Gate().prove("x", [pa.array([99_999], pa.int32()).view(pa.time32("s"))], 1)
    many = pa.Array.from_buffers(pa.decimal128(2, 0), 1, [None, buffer([10**9, 0], "i8")])
    Gate().prove("x", [many], 1)
    under = [bits(1, 0), buffer([0, 99], "i1")]
    kind = pa.dictionary(pa.int8(), pa.string())
    Gate().prove("x", [pa.DictionaryArray.from_buffers(kind, 2, under, pa.array(["x"]))], 2)
    buffers = [bits(0, 1), buffer([1, 0, 1, 0], "i8")]
    miscounted = pa.Array.from_buffers(pa.decimal128(2, 0), 2, buffers, 2)
    with pytest.raises(DataError, match="it counts 2 NULLs, and has 1: write it anew"):
        Gate("write it anew").prove("x", [miscounted], 2)


SOUND = pa.array([None if n % 9 == 0 else "ab" * (n % 4) for n in range(1000)])


def with_long_memory(array: pa.Array, at: int, change: bytes, number: int) -> pa.Array:
    """The same texts with other bytes in one of their buffers."""
    data = [bytearray(each) for each in array.buffers()]
    data[number][at : at + len(change)] = change
    return pa.Array.from_buffers(
        array.type, len(array), [pa.py_buffer(bytes(each)) for each in data], array.null_count
    )


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_many_texts(kind: pa.DataType) -> None:
    """A column that is looked at as a whole is refused for the fault of each text by itself."""
    sound = SOUND.cast(kind)
    width = 8 if kind == pa.large_string() else 4
    umlauts = pa.array(["ü", None, "x" * 1000] * 200, kind)
    for good in (sound, sound.slice(7), sound.slice(990), umlauts, umlauts.slice(400)):
        Gate().prove("s", [good], len(good))
    for end in (1, 2**30, -1):
        bad = with_long_memory(sound, 500 * width, end.to_bytes(width, "little", signed=True), 1)
        with pytest.raises(
            DataError, match="the memory of `s` differs from its description: Offset"
        ):
            Gate().prove("s", [bad], len(bad))
    with pytest.raises(DataError, match=r"row \d+ \(from 0\): `s` is not UTF-8"):
        bad = with_long_memory(sound, 600, NOT_UTF8, 2)
        Gate().prove("s", [bad], len(bad))
    cut = pa.Array.from_buffers(
        kind, 600, [None, buffer([0, 1, *[2] * 599], f"i{width}"), pa.py_buffer("ü".encode())]
    )
    with pytest.raises(DataError, match=r"row 0 \(from 0\): `s` is not UTF-8"):
        Gate().prove("s", [cut], 600)
    with pytest.raises(DataError, match="NULLs"):
        miscounted = pa.Array.from_buffers(kind, 1000, sound.buffers(), 3)
        Gate().prove("s", [miscounted], 1000)


def test_a_dictionary_is_proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many batches share it, and again where another one comes."""
    proved = list[pa.Array]()
    prove = gate._prove

    def watched(array: pa.Array, *rest: Any) -> None:
        if not pa.types.is_dictionary(array.type):
            proved.append(array)
        prove(array, *rest)

    monkeypatch.setattr(gate, "_prove", watched)
    monkeypatch.setattr(gate, "FEW", -1)
    one, other = coded([0, 1], "int8"), coded([1, 0], "int8", ["y", "x"])
    known = Gate()
    for array in (one, one.slice(1), one.take(pa.array([0, 0, 1])), other, other, one):
        known.prove("s", [array, array], 2 * len(array))
    assert [array.to_pylist() for array in proved] == [["x", "y"], ["y", "x"], ["x", "y"]]


def test_names_that_are_not_utf_8() -> None:
    table = pa.table({"ts": [1], "type": ["A"], "name": [1]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = bytes(sink.getvalue()).replace(b"name", b"na\xffe")
    batch = pa.ipc.open_stream(data).read_next_batch()
    said = r"the name of column 2 \(from 0\) is not UTF-8: rename it"
    table = pa.Table.from_batches([batch])
    for each in (batch, table, table.to_reader()):
        with pytest.raises(SchemaError, match=said):
            sase.match("EVENT A a", each)
    with pytest.raises(SchemaError, match=said):
        sase.compile("EVENT A a", batch.schema)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_types_that_are_nested_too_deep(tmp_path: Path) -> None:
    """Arrow would take time and memory that grow with the square of the levels."""
    rows = [{"ts": n, "type": "AB"[n], "v": nested(64)} for n in range(2)]
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    query = "EVENT SEQ(A a, B b)"
    assert len(sase.match(query, pa.Table.from_pylist(rows)).to_pylist()) == 1
    assert len(sase.match(query, path).to_pylist()) == 1
    rows = [{**row, "v": nested(900)} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    said = "`v` is nested more than 64 levels deep: leave the column out, or give it as text"
    deep = pa.schema({"ts": pa.int64(), "type": pa.string(), "v": pa.array([nested(65)]).type})
    for given in path, deep, deep.empty_table():
        with pytest.raises(SchemaError, match=said):
            sase.compile(query, given)
    # Of dicts it is a column that nothing can read.
    (match,) = sase.match(query, rows).to_pylist()
    assert match["b"] == {"ts": 1, "type": "B"}
    with pytest.raises(BindingError, match="`a.v` is a value that conditions cannot read"):
        sase.match(f"{query} WHERE a.v = b.v", rows)


@pytest.mark.parametrize("zone", ["Nowhere/Land", "UTCUTC", "+25:99"])
def test_time_zones_that_are_not_known(zone: str) -> None:
    """They failed only where a moment was shown, with an exception of pytz."""
    times = pa.array([0, 1], pa.timestamp("us", zone))
    query, table = "EVENT SEQ(A a, B b) WITHIN 5 s", pa.table({"ts": times, "type": ["A", "B"]})
    said = re.escape(f"`ts` has the time zone {zone!r}, which is not known here: cast it")
    with pytest.raises(sase.DataError, match=said):
        len(sase.match(query, table))
    with pytest.raises(sase.DataError, match=said):
        sase.compile(query, table).open().push(table)
    known = table.set_column(0, "ts", times.cast(pa.timestamp("us", "+02:00")))
    assert len(sase.match(query, known).to_pylist()) == 1


def test_a_slice_of_lists_that_lie_behind_their_values() -> None:
    """Arrow counts the values that the rows of a slice need, and not where they begin."""
    columns = {
        "ts": pa.array([1, 2, 3, 4]).slice(0, 2),
        "type": pa.array(["A", "B", "A", "B"]).slice(0, 2),
        "s": pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
    }
    schema, array = pa.record_batch(columns).__arrow_c_array__()
    for address in addresses(array):
        ctypes.c_int64.from_address(address).value = 4
    batch = pa.RecordBatch._import_from_c_capsule(schema, array)
    matcher = sase.compile("EVENT SEQ(A a, B b) WITHIN 10 RETURN a.ts", batch.schema).open()
    for begin in (0, 2):
        matcher.push(batch.slice(begin, 2))
    with pytest.raises(DataError, match=r"its lists need 8 values, and it has 4"):
        matcher.snapshot()


def addresses(capsule: Any) -> list[int]:
    """Where Arrow's C interface describes a batch, and its columns: the lengths come first."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    batch = pointer(capsule, b"arrow_array")
    count, children = (ctypes.c_int64.from_address(batch + at).value for at in (32, 48))
    return [batch, *(ctypes.c_int64.from_address(children + 8 * n).value for n in range(count))]
