"""Text of which some rows cannot be read: the others can, and none is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import sase

GOOD = ["2026-01-01 00:00:00,A,1,5", "2026-01-01 00:00:01,B,1,7"]
HEAD = "timestamp,type,id,note"


def put_aside(path: Path, query: str) -> tuple[list[dict[str, int]], list[tuple[int, str]]]:
    found = sase.match(query, path, on_bad_row="quarantine")
    table = found.report.quarantined.to_pylist()
    assert found.report.bad == len(table)
    return found.rows.to_pylist(), [(row["sase_row"], row["sase_column"]) for row in table]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(0, id="at once"),
        pytest.param(50_000, id="when the types are clear", marks=pytest.mark.heavy),
    ],
)
def test_csv(before: int, tmp_path: Path) -> None:
    """The rows that fit are as good as in a file without the others, which are numbered, too.

    A column is text if any of its values is, for whoever compares it with its like alone.
    """
    first = [f"2025-01-01 00:00:00,C,{number},3" for number in range(before)]
    bad = ["yesterday,A,1,6", "2026-01-01 00:00:00,A", "2026-01-01 00:00:00,A,abc,3"]
    odd = "2026-01-01 00:00:02,C,1,text in a column that no query names"
    lines = [HEAD, *first, GOOD[0], *bad, GOOD[1], odd]
    path = tmp_path / "events.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    query = "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 1 hour"
    rows, aside = put_aside(path, query)
    assert rows == [{"a": before, "b": before + 4, "c": before + 5}]
    assert aside == [
        (before + 1, "timestamp"),
        (before + 2, "timestamp"),  # a line that is no row
    ]
    rows, aside = put_aside(path, query.replace("[id]", "[id] AND a.id > 0"))
    assert rows == [{"a": before, "b": before + 4, "c": before + 5}]
    assert aside[2:] == [(before + 3, "id")]
    with pytest.raises(sase.DataError):
        sase.match(query, path)


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(
        '{"ts": 1, "type": "A", "v": 1}\n'
        '{"ts": 2, "type": "A", "v": "x"}\n'
        '{"ts": 3, "type": "A", "v":\n'
        '{"ts": 4, "type": "B", "v": 2}\n',
        encoding="utf-8",
    )
    rows, aside = put_aside(path, "EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 9")
    assert rows == [{"a": 0, "b": 3}]
    assert aside == [(1, "v"), (2, "ts")]


def test_separators_of_lines_in_strings_of_json(tmp_path: Path) -> None:
    """Only the ends of lines in a file end lines."""
    path = tmp_path / "events.jsonl"
    odd = "one\u2028two\x85three"
    lines = ['{"ts": 1, "type": "A", "s": "' + odd + '", "v": 1}', '{"ts": 2, "v": "x"}']
    lines += ['{"ts": 3, "type": "B", "s": "' + odd + '", "v": 2}']
    path.write_text("\r\n".join(lines) + "\n", encoding="utf-8", newline="")
    rows, aside = put_aside(path, "EVENT SEQ(A a, B b) WHERE a.s = b.s AND a.v < b.v WITHIN 9")
    assert rows == [{"a": 0, "b": 2}]
    assert [row for row, _ in aside] == [1]


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    lines = ["ts,type,id", "1,A,1", "2,A,x\xe9", "3,B,1"]
    path.write_bytes("\n".join(lines).encode("latin-1"))
    rows, aside = put_aside(path, "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9")
    assert (rows, aside) == ([{"a": 0, "b": 2}], [(1, "id")])


@pytest.mark.heavy
def test_a_column_that_no_query_names_makes_no_row_bad(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    lines = ["ts,type,id,note", *(f"{n},A,{n},{n}" for n in range(100_000)), "100000,B,1,text"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert sase.match("EVENT B b WHERE b.id = 1", path).rows.to_pylist() == [{"b": 100_000}]
    with pytest.raises(sase.DataError, match="line 100002: `note` is 'text'"):
        sase.match("EVENT B b WHERE b.note = 1", path)


def test_parquet_that_is_truncated_cannot_be_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(sase.DataError, match="truncated"):
        sase.match("EVENT A a", path, on_bad_row="quarantine")


def reasons(path: Path, query: str = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9") -> list[str]:
    found = sase.match(query, path, on_bad_row="quarantine")
    return found.report.quarantined["sase_reason"].to_pylist()


def test_a_broken_line_changes_no_column(tmp_path: Path) -> None:
    """The types are those of the other lines, as they are without it."""
    path = tmp_path / "e.csv"
    good = "ts,type,id\n1,A,7\n2,B,7\n3,A,abc\n4,B,abc\n"
    for text, bad in ((good, []), (good + "6,A,x,y\n", [4])):
        path.write_text(text, encoding="utf-8")
        found = sase.match("EVENT SEQ(A a, B b) WHERE [id] WITHIN 9", path, on_bad_row="quarantine")
        assert found.rows.to_pylist() == [{"a": 0, "b": 1}, {"a": 2, "b": 3}]
        assert found.report.quarantined["sase_row"].to_pylist() == bad


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        ("e.csv", b"2,A,7,8", "expected 3 columns, got 4"),
        ("e.csv", b'2,"A,7', "expected 3 columns, got 2: a quote is opened and never closed"),
        ("e.csv", b"2,A,\xe9", "this is not UTF-8: say the encoding"),
        ("e.jsonl", b'{"ts": 2,', "this is no JSON: "),
        ("e.jsonl", b"[2]", "every line is an object, and this is [2]"),
        ("e.jsonl", b'{"ts": 2, "type": "A", "id": "\xe9"}', "this is not UTF-8"),
    ],
)
def test_reasons(name: str, line: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / name
    first = b"ts,type,id\n1,A,7" if name == "e.csv" else b'{"ts": 1, "type": "A", "id": "7"}'
    path.write_bytes(first + b"\n" + line + b"\n")
    (found,) = reasons(path)
    assert found.startswith(why)
    with pytest.raises(sase.DataError, match=r"line \d: "):
        sase.match("EVENT SEQ(A a, B b) WHERE [id] WITHIN 9", path)


def test_there_may_be_broken_lines_alone(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("ts,type,id\n1,A\n2,B,1,7\n", encoding="utf-8")
    assert reasons(path) == ["expected 3 columns, got 2", "expected 3 columns, got 4"]


SENSORS = ["time,type,sensor,celsius", "{},Start,7,20.5", "{},Stop,7,31", "{},Stop,7,NA"]
HOT = "EVENT SEQ(Start a, Stop b) WHERE [sensor] AND b.celsius > 30 WITHIN 1 hour"


@pytest.mark.parametrize(
    "times",
    [
        ["2026-01-01 00:00:00", "2026-01-01 00:00:01", "2026-01-01 00:00:02"],
        ["2026-01-01T00:00:00", "2026-01-01T00:00:01", "2026-01-01T00:00:02"],
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"],
        ["2026-01-01T00:00:00.250", "2026-01-01T00:00:00.500", "2026-01-01T00:00:02"],
        ["2026-01-01 00:00:00.000000001", "2026-01-01 00:00:00.000000002", "2026-01-01 00:00:02"],
        ["2026-01-01T00:00:00+01:00", "2026-01-01T00:00:01+01:00", "2026-01-01T00:00:02+01:00"],
        ["2026-01-01", "2026-01-02", "2026-01-03"],
        ["1.25", "2.5", "3"],
    ],
    ids=lambda times: times[0],
)
@pytest.mark.parametrize("name", ["sensors.csv", "sensors.jsonl"])
def test_times_are_what_they_are_without_the_bad_row(
    name: str, times: list[str], tmp_path: Path
) -> None:
    """Whatever they look like: an export has one NA among the numbers of another column."""
    lines = [line.format(time) for line, time in zip(SENSORS[1:], times, strict=True)]
    if name.endswith("jsonl"):
        lines = [as_json(line) for line in lines]
    else:
        lines.insert(0, SENSORS[0])
    path, good = tmp_path / name, tmp_path / f"good-{name}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    good.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    query = HOT.replace("1 hour", "2 days")
    rows, aside = put_aside(path, query)
    assert (rows, aside) == ([{"a": 0, "b": 1}], [(2, "celsius")])
    without, found = (sase.match(query, p, on_bad_row="quarantine") for p in (good, path))
    plan = sase.compile(query, path, on_bad_row="quarantine")
    for matches in (found, plan.run(path)):
        assert matches.to_pylist() == without.to_pylist()
        kinds = (each.to_arrow().schema.field("ts_start").type for each in (matches, without))
        assert next(kinds) == next(kinds)


def as_json(line: str) -> str:
    time, kind, sensor, celsius = line.split(",")
    quoted = celsius if celsius[0].isdigit() else f'"{celsius}"'
    time = time if time.count("-") < 2 else f'"{time}"'
    return f'{{"time": {time}, "type": "{kind}", "sensor": {sensor}, "celsius": {quoted}}}'


@pytest.mark.parametrize("name", ["e.csv", "e.csv.zst"])
@pytest.mark.parametrize("policy", ["error", "quarantine"])
def test_columns_of_one_name(name: str, policy: str, tmp_path: Path) -> None:
    """Nobody knows which is meant, whatever becomes of bad rows."""
    data = b"ts,type,s,s\n1,A,x,x\n2,B,x\n"
    path = tmp_path / name
    path.write_bytes(pa.compress(data, "zstd", asbytes=True) if name.endswith("zst") else data)
    with pytest.raises(sase.SchemaError, match="line 1: there are several columns `s`: rename all"):
        sase.match("EVENT SEQ(A a, B b)", path, on_bad_row=policy)
