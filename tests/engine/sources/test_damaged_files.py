"""Files with damaged bytes: an error names the file and a remedy, or they are searched."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
from sase.engine.sources.formats import json_lines
from sase.engine.sources.formats.parquet import UnsoundFooterError, check_footer
from sase.errors import DataError, SaseError, SchemaError
from tests.engine.columns.test_gate import HOSTILE, events

QUERY = "EVENT SEQ(A a, B b) WHERE [s] WITHIN 10"
RETURNED = f"{QUERY} RETURN a.ts"
LINES = b"ts,type,s\n" + b"".join(b"%d,%s,some text\n" % (n, b"AB"[n % 2 :][:1]) for n in range(99))


def written(path: Path, table: pa.Table) -> Path:
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize("name", [name for name in HOSTILE if "view" not in name])
def test_arrow_files_are_proved(tmp_path: Path, name: str) -> None:
    """Before anything is made of them; unread parts are believed."""
    column, said = HOSTILE[name]
    path = written(tmp_path / "e.arrow", events(column))
    with pytest.raises(DataError) as caught:
        sase.match(RETURNED, path)
    message = str(caught.value)
    assert message.startswith(f"{path}, {said.partition(': ')[0]}")
    assert "write the file anew" in message or "decode it" in message
    unread = written(tmp_path / "unread.arrow", events(column, "x"))
    assert len(sase.match(RETURNED, unread)) == 2
    with pytest.raises(DataError, match="`x`"):
        sase.match(QUERY, unread)


def test_arrow_files_of_several_types_and_folders(tmp_path: Path) -> None:
    """They are read by us: cast to one type, NULL where a file has no such column."""
    for day, kind in (("1", pa.int32()), ("2", pa.int64())):
        (tmp_path / f"day={day}").mkdir()
        ts = pa.array([int(day), int(day) + 2], kind)
        table = pa.table({"ts": ts, "type": ["A", "B"], "s": ["x", "x"]})
        written(tmp_path / f"day={day}/e.arrow", table.append_column(f"c{day}", ts))
    found = sase.match("EVENT A a", tmp_path).to_arrow()["a"].to_pylist()
    assert [(a["ts"], a["day"], a["c1"], a["c2"]) for a in found] == [
        (1, 1, 1, None),
        (2, 2, None, 2),
    ]
    assert [a["a_day"] for a in sase.match("EVENT A a RETURN a.day", tmp_path).to_pylist()] == [
        1,
        2,
    ]


def test_text_of_parquet_is_proved(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(events(HOSTILE["text that is not UTF-8"][0]), path)
    with pytest.raises(DataError, match="e.parquet, .*`s`.* not UTF-8"):
        sase.match(RETURNED, path)
    with pytest.raises(DataError, match="e.parquet, .*`s`.* not UTF-8"):
        sase.match("EVENT A a", path)
    assert len(sase.match("EVENT A a RETURN a.ts", path)) == 2


def with_cut_statistics(data: bytes, value: bytes) -> bytes:
    """A Parquet file with statistics that have a value of two bytes where there should be eight."""
    size = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - size], data[-8 - size : -8]
    cut = footer.replace(b"\x08" + value, b"\x02" + value[:2])
    assert len(cut) < len(footer)
    return body + cut + len(cut).to_bytes(4, "little") + data[-4:]


def test_statistics_of_parquet_that_are_cut_off(tmp_path: Path) -> None:
    """Python's reader of them would end the process; the reader of the rows names the mistake."""
    value = 0x1122334455667788
    table = pa.table({"ts": [value] * 4, "type": ["A", "B"] * 2, "s": ["x"] * 4})
    path = tmp_path / "e.parquet"
    pq.write_table(table, path)
    assert len(sase.match("EVENT A a", path)) == 2
    path.write_bytes(with_cut_statistics(path.read_bytes(), value.to_bytes(8, "little")))
    said = "e.parquet cannot be read: .*: it is damaged: write it anew"
    for options in ({}, {"on_bad_row": "quarantine"}):
        with pytest.raises(DataError, match=said):
            sase.match("EVENT A a", path, **options)
    with pytest.raises(DataError, match=said):
        sase.explain("EVENT A a", path, analyze=True)


@pytest.mark.parametrize("other", [b"\x1c\x15\x0c", b"\x1c\x15\x05"], ids=["texts", "no type"])
def test_a_column_of_another_type_than_the_schema_says(tmp_path: Path, other: bytes) -> None:
    """Python's reader of its statistics would end the process here, too."""
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"ts": [1, 2], "type": ["A", "A"]}), path)
    data = path.read_bytes()
    assert data.count(b"\x1c\x15\x04") == 1  # integers
    path.write_bytes(data.replace(b"\x1c\x15\x04", other))
    with path.open("rb") as file, pytest.raises(UnsoundFooterError, match="not of the type"):
        check_footer(pa.PythonFile(file))
    with pytest.raises(DataError, match="e.parquet"):
        sase.explain("EVENT A a", path, analyze=True)


def test_footers_are_gone_through(tmp_path: Path) -> None:
    """Of columns of all types, in files that others wrote as well."""
    columns = {
        "i": pa.array([1, None]), "b": pa.array([True, False]), "f": pa.array([1.5, 2.5], "f4"),
        "s": pa.array(["x", "y" * 300]), "l": pa.array([[1], []]), "d": pa.array([1.5, 2.5]),
        "n": pa.array([{"a": 1, "b": "x"}, None]), "t": pa.array([1, 2], pa.timestamp("ms")),
    }  # fmt: skip
    table = pa.table(columns).replace_schema_metadata({"k" * 200: "v" * 40_000})
    for options in ({}, {"use_deprecated_int96_timestamps": True}, {"write_statistics": False}):
        pq.write_table(table, tmp_path / "e.parquet", row_group_size=1, **options)
        with pa.OSFile(str(tmp_path / "e.parquet")) as file:
            check_footer(file)
    pq.write_table(table.select(["i"]), tmp_path / "e.parquet")
    data = (tmp_path / "e.parquet").read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    with pytest.raises(UnsoundFooterError, match="longer than the file"):
        check_footer(pa.BufferReader(data[:-8] + b"\xff" * 4 + b"PAR1"))
    half = data[-8 - size : -8 - size // 2]
    with pytest.raises(UnsoundFooterError, match="cut off"):
        check_footer(pa.BufferReader(half + len(half).to_bytes(4, "little") + b"PAR1"))


@pytest.mark.parametrize(
    ("suffix", "data", "said"),
    [
        (".gz", gzip.compress(LINES)[:-20], "Truncated|stream"),
        (".gz", gzip.compress(LINES).replace(b"\x1f\x8b", b"\x1f\x8c"), "incorrect header"),
        (".bz2", bz2.compress(LINES)[:60], "Truncated"),
        (".bz2", b"BZh9" + b"\0" * 60, "bz2"),
        (".zst", bytes(pa.Codec("zstd").compress(LINES, asbytes=True))[:-9], "Truncated|ZSTD"),
        (".zst", b"\x28\xb5\x2f\xfd" + b"\xff" * 60, "ZSTD"),
    ],
)
@pytest.mark.parametrize("kind", [".csv", ".jsonl"])
def test_streams_that_are_broken(
    tmp_path: Path, suffix: str, data: bytes, said: str, kind: str
) -> None:
    path = tmp_path / f"e{kind}{suffix}"
    path.write_bytes(data)
    for options in ({}, {"on_bad_row": "quarantine"}):
        with pytest.raises(DataError, match=f"(?s)e{kind}{suffix}.*({said}).*: write it anew"):
            sase.match(RETURNED, path, **options)


@pytest.mark.parametrize("options", [{}, {"on_bad_row": "quarantine"}])
def test_surrogates_in_json(tmp_path: Path, options: dict[str, Any]) -> None:
    """In a value, in a name, and beside columns that Arrow cannot read."""
    path = tmp_path / "e.jsonl"
    good = '{"ts": 1, "type": "A", "s": "x"}\n'
    for line in (
        '{"ts": 2, "type": "A", "s": "\\ud800"}',
        '{"ts": 2, "type": "\\udfff", "s": "x"}',
        '{"ts": 2, "type": "A", "s\\ud800": "x"}',
        '{"ts": "\\ud800", "type": "A", "s": "x"}',
        "[" * 100_000,
    ):
        path.write_text(good + line + "\n")
        try:
            found = sase.match("EVENT A a", path, **options).to_pylist()
        except SaseError as problem:
            assert "e.jsonl" in str(problem)
        else:
            assert found


def test_names_of_columns_that_are_not_utf_8(tmp_path: Path) -> None:
    table = pa.table({"ts": [1], "type": ["A"], "name": [1]})
    written(tmp_path / "e.arrow", table)
    pq.write_table(table, tmp_path / "e.parquet", store_schema=False)
    (tmp_path / "e.csv").write_bytes(b"ts,type,name\n1,A,1\n")
    for suffix in ("arrow", "parquet", "csv"):
        path = tmp_path / f"e.{suffix}"
        path.write_bytes(path.read_bytes().replace(b"name", b"na\xffe"))
        with pytest.raises((SchemaError, DataError), match=f"e.{suffix}.* is not UTF-8"):
            sase.match("EVENT A a", path)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("null", ["null", " \t null", "null {}", "\rnull", "\ufeffnull"])
def test_lines_of_null(
    suffix: str, null: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block that begins with one ends the process in Arrow; other values are said to be wrong."""
    good = ['{"ts": 1, "type": "A", "s": null}', '{"ts": 2, "type": "B", "s": "x"}']
    for size in json_lines.PIECE, 1, 7:
        monkeypatch.setattr(json_lines, "PIECE", size)
        for lines in [null, *good], [*good, null], ["", null]:
            data = "".join(f"{line}\n" for line in lines).encode()
            path = tmp_path / f"e{suffix}"
            path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
            with pytest.raises(SaseError):
                sase.match("EVENT SEQ(A a, B b)", path)
            if len(lines) > 2:
                found = sase.match("EVENT SEQ(A a, B b)", path, on_bad_row="quarantine")
                assert (len(found), found.report.bad) == (1, 1)
        path.write_text("\n".join(good), encoding="utf-8")
    with pytest.raises(DataError, match="line 1: every line is an object, and this is null"):
        (tmp_path / "n.jsonl").write_text("null\n" + "\n".join(good), encoding="utf-8")
        sase.match("EVENT SEQ(A a, B b)", tmp_path / "n.jsonl")


def test_footers_of_nested_columns_are_sound() -> None:
    """Histograms with as many levels as the nested column."""
    table = pa.table(
        {
            "n": [1, None],
            "list": [[1, None], None],
            "struct": [{"x": 1, "y": [{"z": "q"}]}, None],
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "deep": [{"z": {"w": [[1]]}}] * 2,
            "text": ["x", "y"],
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=1)
    check_footer(pa.BufferReader(sink.getvalue()))
