"""Files of very many small batches of Arrow, and tables of such chunks, as if they had few."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.columns import opened
from sase.engine.columns.arrow import gather, input, small_chunks
from sase.engine.sources import open_files
from sase.engine.sources.formats.arrow import FEW, MANY

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 RETURN a.ts, b.s"
ROWS = 3 * FEW


def written(path: Path, table: pa.Table, rows: int) -> str:
    with pa.ipc.new_file(path, table.schema) as file:
        for batch in table.to_batches(max_chunksize=rows):
            file.write_batch(batch)
            file.write_batch(batch.slice(0, 0))
    return str(path)


def events() -> pa.Table:
    coded = pa.array([f"x{number % 5}" for number in range(ROWS)]).dictionary_encode()
    return pa.table(
        {
            "ts": range(ROWS),
            "type": ["A", "B"] * (ROWS // 2),
            "id": [number // 2 % 3 for number in range(ROWS)],
            "s": coded,
            "v": pa.array(["a text that is long"] * ROWS, pa.string_view()),
        }
    )


@pytest.mark.heavy
def test_small_batches_are_joined(tmp_path: Path) -> None:
    table = events()
    path = written(tmp_path / "events.arrow", table, 8)
    files = open_files(path, "ts")
    read = [each for _, each in files.batches(table.column_names)]
    assert pa.concat_tables(read).equals(table)
    assert sum(each.column(0).num_chunks for each in read) == 2 * ROWS // 8 // MANY
    found = sase.match(QUERY, path)
    assert found.to_arrow().equals(sase.match(QUERY, table).to_arrow())
    assert len(found) > ROWS // 2


def test_batches_of_great_dictionaries_are_not(tmp_path: Path) -> None:
    """To unify them would take as long for each batch."""
    codes = pa.DictionaryArray.from_arrays(
        pa.array([number % 7 for number in range(ROWS)], pa.int32()),
        pa.array(map(str, range(FEW + 1))),
    )
    table = events().append_column("great", codes)
    path = written(tmp_path / "events.arrow", table, 256)
    read = [each for _, each in open_files(path, "ts").batches(table.column_names)]
    assert pa.concat_tables(read).equals(table)
    assert sum(each.column(0).num_chunks for each in read) >= ROWS // 256


def test_what_is_wrong_is_told_by_its_row(tmp_path: Path) -> None:
    table = events().select(["ts", "type", "id"])
    indexes = pa.array([0] * 100 + [9] + [0] * (ROWS - 101), pa.int8())
    bad = pa.DictionaryArray.from_arrays(indexes, pa.array(["x", "y"]), safe=False)
    path = written(tmp_path / "events.arrow", table.append_column("s", bad), 8)
    with pytest.raises(sase.DataError, match=r"row 100 .*`s` is index 9 of a dictionary of 2"):
        sase.match(QUERY, path)


def in_chunks_of(table: pa.Table, rows: int) -> pa.Table:
    """The same table as many batches make it, with dictionaries of their own."""
    return pa.Table.from_batches(
        pa.record_batch([again(array) for array in batch.columns], batch.schema)
        for batch in table.to_batches(max_chunksize=rows)
    )


def again(array: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(array.type):
        return array
    return gather.indexed(array.dictionary_decode().dictionary_encode(), array.type)


@pytest.mark.parametrize("rows", [1, 2, 80])
def test_tables_of_small_chunks_are_joined_once_they_are_proved(rows: int) -> None:
    table = events().slice(0, 400 * rows)
    (given,) = opened(in_chunks_of(table, rows)).tables
    assert given.source.column("ts").num_chunks > input.MANY
    proved = given.proved({"ts", "type", "s"})
    chunks = [column.num_chunks for column in proved.source.columns]
    assert [count == 1 for count in chunks] == [True, True, False, True, False]
    assert proved.source.equals(table) or proved.source.cast(table.schema).equals(table)
    found = sase.match(QUERY, in_chunks_of(table, rows))
    assert found.to_arrow().equals(sase.match(QUERY, table).to_arrow())
    assert len(found)


def test_all_chunks_are_joined_that_are_decoded_and_can_be_copied() -> None:
    whole = events()
    table = pa.concat_tables([whole[:4], whole[4:]])
    for is_decoded, counts in ((False, [2, 2, 2, 2, 2]), (True, [1, 2, 1, 1, 2])):
        (proved,) = opened(table).proved(is_decoded=is_decoded).tables
        assert [column.num_chunks for column in proved.source.columns] == counts
        assert proved.source.equals(table)
        _, read = proved.read({"type": 1, "id": 2, "s": 3})
        assert [len(chunks) for chunks in read.values()] == [2, 1, 1]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.timestamp("ns"), pa.timestamp("s", "Asia/Tokyo")], ids=str
)
@pytest.mark.parametrize("values", [[1, 2, 3], [1, None, 3], []])
def test_numbers_and_times_are_joined_with_their_type(
    kind: pa.DataType, values: list[int | None]
) -> None:
    chunk = pa.array([0, *values], kind)[1:]
    given = pa.chunked_array([chunk] * 20)
    for joined in (small_chunks.concatenated(given), copied(given)):
        if joined is None:
            assert None in values
        else:
            joined.validate(full=True)
            assert joined.equals(given)
            assert joined.num_chunks == 1


def copied(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    whole = small_chunks.copied(column)
    return None if whole is None else pa.chunked_array([whole])


def test_indexes_of_one_dictionary_are_copied() -> None:
    values, indexes = pa.array(["x", "y", "z"]), pa.array([0, 1, 2, 1], pa.int16())
    one = pa.DictionaryArray.from_arrays(indexes, values, ordered=True)
    given = pa.chunked_array([one, one[1:3], one[:0], one[3:]])
    joined = copied(given)
    assert joined is not None
    assert joined.type == given.type
    assert joined.equals(given)
    other = pa.DictionaryArray.from_arrays(indexes, pa.array(["z", "y", "x"]), ordered=True)
    part = pa.DictionaryArray.from_arrays(indexes, values[:3][1:], ordered=True, safe=False)
    for each in (other, part):
        assert copied(pa.chunked_array([one, each])) is None


def test_only_chunks_of_numbers_without_null_are_copied() -> None:
    values = pa.array([1, None, 3, 4], pa.int32())
    assert copied(pa.chunked_array([values[2:]] * 2)).equals(pa.chunked_array([[3, 4, 3, 4]], "i4"))
    hidden = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array([7, None]))
    for chunk in (
        values, hidden, too_long(), numbers(-1), pa.array([True, False]),
        pa.array(["x"]), pa.array([[1]]), pa.nulls(2),
    ):  # fmt: skip
        assert copied(pa.chunked_array([chunk] * 2)) is None


def too_long() -> pa.Array:
    """Numbers that a stream of Arrow describes as more than it has."""
    batch, sink = pa.record_batch({"x": pa.array([0] * 321)}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    lengths = [(321 << 40 * more).to_bytes(8, "little") for more in (0, 1)]
    data = bytes(sink.getvalue()).replace(*lengths)
    found = pa.ipc.open_stream(data).read_next_batch().column(0)
    assert len(found) == 321 << 40
    return found


def test_what_arrow_cannot_join_stays_as_it_is() -> None:
    """Dictionaries that are great, or together too great for their indexes, and those of NULL."""
    greats = pa.DictionaryArray.from_arrays([0, 1], list(map(str, range(small_chunks.SMALL + 1))))
    many = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), [f"{n}", f"{n}x"])
        for n in range(200)
    ]
    void = pa.DictionaryArray.from_arrays([0, None], ["x", None])
    for column in ([greats] * 200, many, [void, greats.slice(0, 0)] * 100):
        given = pa.chunked_array(column)
        assert small_chunks.concatenated(given).equals(given)
    (kept,) = opened(pa.table({"d": pa.chunked_array(many)})).proved().tables
    assert kept.source.column("d").num_chunks == 200
    whole = [value for each in many for value in each.to_pylist()]
    assert kept.source.column("d").to_pylist() == whole


def test_an_unsound_chunk_among_many_is_named() -> None:
    """Before they are joined, by which Arrow would read its memory."""
    values = pa.array(["A", "B"])
    good = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), values)
    bad = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), values, safe=False)
    types = pa.chunked_array([good] * 200 + [bad] + [good] * 200)
    with pytest.raises(sase.DataError, match=r"row 401 .*`type` is index 9 of a dictionary of 2"):
        sase.match("EVENT SEQ(A a, B b) WITHIN 3", pa.table({"ts": range(802), "type": types}))


def numbers(offset: int) -> pa.Array:
    kept = pa.py_buffer(bytes(64))
    return pa.Array.from_buffers(pa.int64(), 2, [None, kept], offset=offset)


def codes(offset: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), numbers(offset), safe=False)


@pytest.mark.parametrize("made", [numbers, codes])
def test_what_one_call_of_arrow_overlooks_among_many_chunks(made: Any) -> None:
    """A negative offset, also that of a dictionary."""
    good, bad = made(1), made(-1)
    for chunks, is_sound in (([good] * 40, True), ([good] * 20 + [bad] + [good] * 20, False)):
        table = pa.table({"x": pa.chunked_array(chunks)})
        (given,) = opened(table).tables
        if is_sound:
            assert given.proved().source.column("x").num_chunks == 1
        else:
            with pytest.raises(sase.DataError, match=r"rows 40 to 41 .*`x`"):
                given.proved()
