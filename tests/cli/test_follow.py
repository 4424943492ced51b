"""`sase run --follow`: matches are printed while events are still being written."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.engine.sources import tail
from sase.engine.sources.tail import TailReader
from tests.faults.processes import Programs, Running

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
CSV = ["ts,type,id", "1,A,1", "2,B,1", "3,A,2", "5,B,2"]
JSON = [
    '{"ts": "2026-01-01T00:00:00Z", "type": "A", "id": 1}',
    '{"ts": "2026-01-01T00:00:02Z", "type": "B", "id": 1}',
]


class Run:
    """The command as a process with open input and output."""

    def __init__(self, process: Running) -> None:
        self.process = process

    def write(self, text: str) -> None:
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def line(self) -> Any:
        """The next match, which is there before more is written."""
        text = self.process.stdout.readline()
        assert text, self.process.communicate()
        return json.loads(text)

    def end(self, number: int | None = None) -> tuple[int, str, str]:
        """The status and the rest of the output when the input ends or a signal comes."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate()
        assert "Traceback" not in err
        assert self.process.returncode is not None
        assert self.process.returncode != -signal.SIGABRT, err
        return self.process.returncode, out, err


Begin: TypeAlias = Callable[..., Run]


@pytest.fixture
def followed(forked: Programs) -> Iterator[Begin]:
    """A function that begins the command, which ends with the test at the latest."""
    runs = list[Run]()

    def begun(events: str, *arguments: str) -> Run:
        process = forked.begun("run", "--follow", "--events", events, *arguments)
        runs.append(Run(process))
        return runs[-1]

    yield begun
    for run in runs:
        if run.process.returncode is None:
            run.process.send_signal(signal.SIGKILL)
            run.process.communicate()


# The result of the command for lines that come in groups: status, output, messages.
Follow: TypeAlias = Callable[..., tuple[int, list[str], str]]
PUT_ASIDE = ("--on-bad-row", "quarantine")


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Follow:
    """The command in this process, which need not start for it."""
    return functools.partial(told, monkeypatch=monkeypatch, capsys=capsys)


def test_standard_input(followed: Begin) -> None:
    run = followed("-", "-q", QUERY)
    run.write("\n".join(CSV[:3]) + "\n")
    assert run.line()["b"] == {"ts": 2, "type": "B", "id": 1}
    run.write(CSV[3] + "\n5,B")  # a line counts when its end has come
    run.write(",2\n")
    assert run.line()["ts_start"] == 3
    status, out, err = run.end()
    assert (status, out) == (0, "")
    assert "2 matches in 4 rows" in err


def test_a_file_that_grows(tmp_path: Path, followed: Begin) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(JSON[0] + "\n", encoding="utf-8")
    run = followed(str(path), "-q", f"{QUERY} seconds")
    time.sleep(0.5)
    with path.open("a", encoding="utf-8") as file:
        file.write(JSON[1] + "\n")
    assert run.line()["ts_end"] == "2026-01-01T00:00:02+00:00"
    status, out, err = run.end(signal.SIGINT)
    assert (status, out) == (130, "")
    assert "1 match in 2 rows" in err


@pytest.mark.parametrize(
    "lines", [["ts,type", "1,1", "2,2"], ['{"ts": 1, "type": 1}', '{"ts": 2, "type": 2}']]
)
def test_types_that_are_integers(lines: list[str], follow: Follow) -> None:
    status, out, _ = follow(lines, "-q", "EVENT SEQ(`1` a, `2` b) RETURN b.type")
    assert status == 0
    assert [json.loads(line)["b_type"] for line in out] == [2]


def test_nested_columns(follow: Follow) -> None:
    lines = [
        '{"ts": 1, "type": "A", "user": {"id": 1}, "tags": []}',
        '{"ts": 2, "type": "B", "user": {"id": 1, "name": "x"}, "tags": ["new"]}',
        '{"ts": 3, "type": "B", "user": 7, "tags": ["new"]}',
        '{"ts": 4, "type": "B", "user": {"id": 1}, "tags": ["old"]}',
    ]
    query = (
        "EVENT SEQ(A a, B b) WHERE [user.id] AND b.tags[1] = 'new' RETURN b.tags AS t, a.user.id"
    )
    for chunks in (lines, ["\n".join(lines[:2]), *lines[2:]], ["\n".join(lines)]):
        status, out, err = follow(chunks, "-q", query, *PUT_ASIDE)
        assert status == 0 and "1 row could not be used" in err
        found = [json.loads(line) for line in out]
        assert [(row["t"], row["a_user_id"]) for row in found] == [(["new"], 1)]
    status, _, err = follow(lines, "-q", query)
    assert status == 1 and "line 3: `user` is 7: the column holds struct<id: int64" in err
    _, _, err = follow(lines, "-q", "EVENT SEQ(A a, B b) WHERE [usr.id]")
    assert "no line of standard input has `usr` yet" in err


def test_lists_of_values_of_several_kinds(follow: Follow) -> None:
    """The first list that has a type gives it; without one the column is of no use."""
    odd, plain = '{"ts": 1, "type": "A", "s": [1, "x"]}', '{"ts": 2, "type": "B", "s": [1]}'
    query = "EVENT SEQ(A a, B b) RETURN b.ts AS t"
    for lines in ([odd, plain], [odd, odd.replace("1, ", "2, ", 1).replace("A", "B")]):
        status, out, _ = follow(["\n".join(lines)], "-q", query, *PUT_ASIDE)
        assert (status, [json.loads(line)["t"] for line in out]) == (0, [2])
    status, _, err = follow(["\n".join([odd, plain])], "-q", "EVENT B b WHERE b.s[1] = 1")
    assert status == 1 and "line 1: `s`" in err


def test_late_rows(follow: Follow) -> None:
    rows = "\n".join([*CSV, "4,A,3", "6,B,3"])
    for lateness, found in (([], 2), (["--lateness", "1"], 3)):
        status, out, err = follow([rows], "-q", QUERY, *lateness)
        assert status == 0
        assert len(out) == found
        assert ("1 row was late" in err) == (not lateness)


def test_an_absence_is_known_when_the_input_ends(follow: Follow) -> None:
    query = "EVENT SEQ(A a, !(B b)) WHERE [id] WITHIN 5"
    rows = "\n".join([CSV[0], "1,A,1", "2,A,2", "3,B,1"])
    status, out, _ = follow([rows], "-q", query, "--format", "csv")
    assert status == 0
    assert out[1:] == ['2,"A",2,2,2,7']


def test_a_file_of_matches(tmp_path: Path, followed: Begin) -> None:
    for name, end, status in (("a", None, 0), ("b", signal.SIGTERM, 143)):
        out = tmp_path / f"{name}.parquet"
        run = followed("-", "-q", QUERY, "-o", str(out))
        run.write("\n".join(CSV) + "\n")
        if end is not None:
            deadline = time.monotonic() + 30
            while not Path(f"{out}.partial").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            time.sleep(0.2)
        assert run.end(end)[0] == status
        written = out if end is None else Path(f"{out}.partial")
        assert pyarrow.parquet.ParquetFile(written).read().num_rows == 2


@pytest.mark.parametrize(
    ("lines", "bad", "message"),
    [
        (CSV[:3], "\nx,B,1", "standard input, line 5: `ts` is x: the column holds integers"),
        (CSV[:3], "4,A,3\n4,B", "line 5: `ts` is 4,B: this line has 2 values, and there are 3"),
        (CSV[:3], "4,A,x", "standard input, line 4: `id` is x: the column holds integers"),
        (CSV[:3], "4,A,1\n,B,2", "standard input, line 5: `ts` is NULL: every event needs"),
        (JSON, "no JSON", "standard input, line 3: `ts` is no JSON: this line is no JSON"),
        (JSON, "[1]", "`ts` is [1]: this line is no object"),
        (JSON, '{"ts": 5, "type": "B", "id": 1}', "line 3: `ts` is 5: this is no moment"),
        (JSON, JSON[1] + '{"ts": 5, "type": "B", "id": 1}', "line 3: `ts` is"),
        (JSON, JSON[1].replace("1}", "[1]}"), "line 3: `id` is [1]: no condition can read it"),
        (JSON, JSON[1].replace("1}", "10000000000000000000}"), "beyond the integers of 64 bits"),
        (JSON, JSON[1].replace("1}", "true}"), "line 3: `id` is True: the column holds integers"),
        (CSV[:3], "4,A,18446744073709551615", "line 4: `id` is 18446744073709551615: it is beyond"),
        (CSV[:3], "4,A,1.5\n5,A,9007199254740993", "line 5: `id` is 9007199254740993: no float"),
    ],
)
def test_lines_that_cannot_be_read(
    lines: list[str],
    bad: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = QUERY if lines is not JSON else f"{QUERY} seconds"
    chunks = ["\n".join(lines), bad]
    status, found, err = told(chunks, "-q", query, monkeypatch=monkeypatch, capsys=capsys)
    assert len(found) == 1  # earlier lines are read
    assert status == 1
    assert message in err


@pytest.mark.parametrize("fraction", ["", "3,A,1.5\n"], ids=["integers", "floats"])
def test_great_integers_among_the_first_lines(
    fraction: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which Arrow takes for floats, as which two of them are one."""
    lines = f"{CSV[0]}\n1,A,1\n2,B,1\n{fraction}3,A,18446744073709551615\n4,B,18446744073709551614"
    settings = {"monkeypatch": monkeypatch, "capsys": capsys}
    status, found, err = told([lines], "-q", QUERY, "--on-bad-row", "quarantine", **settings)
    assert (status, len(found)) == (0, 1)
    assert "2 rows could not be used" in err
    status, _, err = told([lines], "-q", QUERY, **settings)
    assert status == 1
    assert f"line {4 + bool(fraction)}: `id` is 18446744073709551615: " in err


def test_rows_that_lack_what_others_have(followed: Begin) -> None:
    """In whichever row of the lines that come together, and numbers without a fraction."""
    query = "EVENT SEQ(A a, B b) WHERE b.v > 3 WITHIN 5 s RETURN a.ts AS a, b.v AS v, b.w AS w"
    run = followed("-", "-q", query)
    run.write('{"ts": 1.5, "type": "A", "w": "x"}\n{"type": "B", "ts": 2, "v": 5.5, "w": null}\n')
    found = run.line()
    assert (found["a"], found["v"], found["w"]) == (1_500_000, 5.5, None)
    run.write('{"type": "A", "ts": 20}\n')
    run.write('{"type": "B", "ts": 21, "v": 4, "more": 1}\n')
    found = run.line()
    assert (found["a"], found["v"], found["w"]) == (20_000_000, 4.0, None)


def test_what_is_not_read_may_be_anything(follow: Follow) -> None:
    """Also if it is of another kind in each row; a column that is read may not."""
    lines = [
        '{"ts": 1, "type": "A", "v": 1, "w": 1, "u": null}\n{"ts": 2, "type": "B", "v": 5, "w": 2}',
        '{"ts": 11, "type": "A", "w": [1]}\n{"ts": 12, "type": "B", "v": 6, "w": {"a": 1}, "u": 3}',
        '{"ts": 13, "type": "B", "v": "x"}',
    ]
    query = "EVENT SEQ(A a, B b) WHERE b.v > 3 WITHIN 5 RETURN b.v AS v"
    status, out, err = follow(lines, "-q", query)
    assert [json.loads(line)["v"] for line in out] == [5, 6]
    assert status == 1
    assert "standard input, line 5: `v` is x: the column holds integers" in err


def test_bad_rows_are_put_aside(followed: Begin) -> None:
    """Those beside them count, also where all lines that come together are bad."""
    run = followed("-", "-q", f"{QUERY} seconds", "--on-bad-row", "quarantine")
    run.write("".join(f"{line}\n" for line in JSON))
    assert run.line()["b"]["id"] == 1
    later = [line.replace("00:00:0", "00:01:0") for line in JSON]
    bad = ["no JSON", "[1]", '{"ts": 5, "type": "B", "id": 1}', '{"ts": "no", "type": "B"}']
    run.write("".join(f"{line}\n" for line in [bad[0], *later, *bad[1:]]))
    assert run.line()["a"]["ts"].startswith("2026-01-01T00:01:00")
    run.write(f"{bad[0]}\n")
    status, _, err = run.end()
    assert status == 0
    assert "5 rows could not be used" in err


def test_bad_rows_of_csv_are_put_aside(follow: Follow) -> None:
    """Rows that are too short, or not of their columns; also among the first."""
    first = "\n".join([CSV[0], "1,A,1", "1,A", "2,B,1"])
    rest = "11,A,2\n11,A,x\nlate,B,2\n12,B\n13,B,2"
    status, out, err = follow([first, rest], "-q", QUERY, *PUT_ASIDE)
    assert [json.loads(line)["b"]["ts"] for line in out] == [2, 13]
    assert status == 0
    assert "4 rows could not be used" in err


def test_bad_rows_are_written_as_they_come(follow: Follow, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    first = "\n".join([CSV[0], "1,A,1", "1,A", "2,B,1"])
    status, found, err = follow([first, "late,B,2"], "-q", QUERY, "--quarantine", str(bad))
    assert (status, len(found)) == (0, 1)
    rows = [json.loads(line) for line in bad.read_text(encoding="utf-8").splitlines()]
    assert [(each["sase_row"], each["ts"]) for each in rows] == [(1, "1,A"), (3, "late")]
    assert f"2 rows could not be used: {bad}" in err
    status, _, err = follow([first], "-q", QUERY, "--quarantine", "bad.parquet")
    assert (status, "name a file that ends in .jsonl" in err) == (2, True)


def test_a_mark_of_byte_order_is_no_part_of_a_name(follow: Follow) -> None:
    rows = "\n".join([f"\ufeff{CSV[0]}", "1,A,1", "1,A", "2,B,1"])
    status, (found,), err = follow([rows], "-q", QUERY, *PUT_ASIDE)
    assert json.loads(found)["b"]["ts"] == 2
    assert status == 0
    assert "1 row could not be used" in err


def test_the_first_line_may_be_bad(follow: Follow) -> None:
    rows = "\n".join(["{no JSON", *JSON])
    status, (found,), err = follow([rows], "-q", f"{QUERY} seconds", *PUT_ASIDE)
    assert json.loads(found)["b"]["id"] == 1
    assert status == 0
    assert "1 row could not be used" in err


def test_an_attribute_that_the_first_lines_lack(follow: Follow) -> None:
    """It is NULL until it comes, and whoever wrote a wrong name learns of it."""
    where = "(b.v > 3 OR b.v IS NULL) AND a.typ IS NULL"
    lines = [
        '{"ts": 1, "type": "A"}\n{"ts": 2, "type": "B"}',
        '{"ts": 3, "type": "B", "v": 1}\n{"ts": 4, "type": "B", "v": 4.5}',
    ]
    status, out, err = follow(lines, "-q", f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 5")
    assert [json.loads(line)["b"] for line in out] == [
        {"ts": 2, "type": "B", "v": None, "typ": None},
        {"ts": 4, "type": "B", "v": 4.5, "typ": None},
    ]
    assert status == 0
    assert "no line of standard input has `v` yet, which is NULL until one has it" in err
    assert "no line of standard input has `typ` yet, which is NULL" in err
    assert "did you mean `type`?" in err


def test_what_else_is_wrong_beside_an_attribute_that_is_lacking(follow: Follow) -> None:
    for lines in JSON, CSV:
        query = "EVENT SEQ(A a, B b) WHERE b.v > 3 AND a.id = 'x' WITHIN 5 s"
        status, _, err = follow(["\n".join(lines[:2])], "-q", query)
        assert status == 2
        assert "no column `v`" in err


HAVING_ID = ['{"ts": 2, "type": "A", "id": 1}', '{"ts": 3, "type": "B", "id": 1}']
NUMBERS = [
    ["ts,type,p\n1,A,10", "2,B,10.5", "3,B,11", "4,B,x"],
    [
        '{"ts": 1, "type": "A", "p": 10}',
        '{"ts": 2, "type": "B", "p": 10.5}',
        '{"ts": 3, "type": "B", "p": 11}',
        '{"ts": 4, "type": "B", "p": "x"}',
    ],
]


def told(
    chunks: Sequence[str | bytes], *arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> tuple[int, list[str], str]:
    """The result of the command for lines that come in groups: status, output, messages."""
    data = [chunk if isinstance(chunk, bytes) else f"{chunk}\n".encode() for chunk in chunks]
    monkeypatch.setattr(tail, "followed_lines", lambda *given: iter(data))
    status = main(["run", "--follow", "--events", "-", *arguments])
    out, err = capsys.readouterr()
    return status, out.splitlines(), err


@pytest.mark.parametrize("lines", NUMBERS, ids=["csv", "json"])
def test_numbers_of_several_kinds_go_together(
    lines: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever came first; a text among them is a bad row."""
    query = "EVENT SEQ(A a, B b) WHERE b.p >= a.p AND b.p + 1 > a.p WITHIN 5 RETURN b.p AS p"
    bad = f"line {5 if lines is NUMBERS[0] else 4}: `p` is x: the column holds integers"
    for more, status, said in (
        ([], 1, bad),
        (["--on-bad-row", "quarantine"], 0, "1 row could not be used"),
    ):
        for chunks in lines, [*lines[:2], "\n".join(lines[2:])]:
            found, out, err = told(
                chunks, "-q", query, *more, monkeypatch=monkeypatch, capsys=capsys
            )
            assert found == status
            assert said in err
            values = [json.loads(line)["p"] for line in out]
            assert values == ([10.5, 11] if chunks is lines or not status else [10.5])


@pytest.mark.parametrize(
    "lines",
    [
        ["ts,type,id\n1,A,", "2,A,1", "3,B,1"],
        ['{"ts": 1, "type": "A", "id": null}', *HAVING_ID],
        ['{"ts": 1, "type": "A"}', *HAVING_ID],
    ],
    ids=["csv", "null", "lacking"],
)
@pytest.mark.parametrize("suffix", [None, ".csv", ".parquet"])
def test_the_first_value_that_there_is_says_the_kind(
    lines: list[str],
    suffix: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / f"found{suffix}"
    query = "EVENT SEQ(A x, B y) WHERE [id] WITHIN 10 RETURN x.id AS id"
    given = ["-q", query] if suffix is None else ["-q", query, "-o", str(out)]
    status, found, err = told(lines, *given, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 0, err
    if suffix is None:
        assert json.loads(found[0])["id"] == 1
    elif suffix == ".csv":
        assert out.read_text(encoding="utf-8").splitlines()[1] == "1,2,3,3"
    else:
        assert pyarrow.parquet.read_table(out)["id"].to_pylist() == [1]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_file_takes_numbers_of_another_kind(
    suffix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also texts where there was nothing in the matches before, of an event or of several."""
    query = "EVENT SEQ(A a, B+ b[], C c) WITHIN 9"
    lines = [
        '{"ts": 1, "type": "A", "p": 10}\n{"ts": 2, "type": "B", "p": 1}',
        '{"ts": 3, "type": "C", "p": 1}',
        '{"ts": 4, "type": "C", "p": 1.5, "s": "x"}',
    ]
    out = tmp_path / f"found{suffix}"
    given = ["-q", query, "-o", str(out)]
    lines[0] = lines[0].replace('"p": 10', '"p": 10, "s": null')
    status, _, err = told(lines, *given, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 0, err
    assert [each.name for each in tmp_path.iterdir()] == [out.name]
    if suffix == ".csv":
        written = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
        assert [(row["c_p"], row["c_s"]) for row in written] == [("1", ""), ("1.5", "x")]
        return
    table = (
        pyarrow.parquet.read_table(out)
        if suffix == ".parquet"
        else pyarrow.ipc.open_file(out).read_all()
    )
    found = [(row["c"]["p"], row["c"]["s"], row["b"][0]["p"]) for row in table.to_pylist()]
    assert found == [(1, None, 1), (1.5, "x", 1)]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_file_does_not_take_values_of_another_kind(
    suffix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If no condition names the column; the written output stays readable."""
    out = tmp_path / f"found{suffix}"
    lines = ["ts,type,u\n1,A,9007199254740993\n2,B,3", "3,B,1.5"]
    given = ["-q", "EVENT SEQ(A a, B b) WITHIN 9", "-o", str(out)]
    status, _, err = told(lines, *given, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 1
    assert f"{out}: a column has one kind in such a file, and now there is another" in err
    assert f"the rows written so far are in {out}.partial" in err
    assert [each.name for each in tmp_path.iterdir()] == [f"{out.name}.partial"]
    if suffix == ".parquet":
        assert pyarrow.parquet.read_table(f"{out}.partial").num_rows == 1
    else:
        assert pyarrow.ipc.open_file(f"{out}.partial").read_all().num_rows == 1


@pytest.mark.parametrize(
    ("chunks", "place"),
    [
        ([b"ts,type,id\n1,A,\xff\n"], "line 2: `id` is \\xff"),
        ([b"ts,type,id\n1,A,x\n2,A,y\n", b"3,B,\xffx\n"], "line 4: `id` is \\xffx"),
        ([f"{JSON[0]}\n".encode(), b'{"ts": "\xff", "type": "A", "id": 1}\n'], "line 2: `ts` is"),
        ([b"ts,t\xffpe\n1,A\n"], "line 1"),
    ],
)
def test_what_is_not_utf8(
    chunks: list[bytes],
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = f"{QUERY} seconds" if chunks[0].startswith(b"{") else QUERY
    status, _, err = told(chunks, "-q", query, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 1
    assert f"standard input, {place}" in err
    assert "this is not UTF-8: convert it" in err


def test_surrogates_of_json_in_a_bad_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    r"""JSON has them by their numbers, as in `"\\ud800"`, and they are no text."""
    lines = [JSON[0], JSON[1].replace('"B"', r'"\ud800"')]
    query = ["-q", f"{QUERY} seconds"]
    status, _, err = told(lines, *query, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 1
    assert r"line 2: `type` is \ud800" in err
    query += ["--on-bad-row", "quarantine"]
    status, _, err = told(lines, *query, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 0
    assert "1 row could not be used" in err


def test_columns_of_one_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["ts,type,id,id", "1,A,x,x"]
    status, _, err = told(lines, "-q", QUERY, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 2
    assert "standard input: there are several columns `id`: rename all but one" in err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(b"ts,type\n1,A\n") + b"\n", "is compressed with gzip"),
        ("ts,type\n1,A\n".encode("utf-16"), "is UTF-16: give lines of text, made with  iconv"),
        ("ts,type\n1,A\n".encode("utf-16-le"), "is no text: give lines of CSV or JSON in UTF-8"),
    ],
    ids=["gzip", "utf16", "nuls"],
)
def test_standard_input_that_is_no_text(
    data: bytes, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = told([data], "-q", QUERY, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 1
    assert said in err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ok.csv.gz", "lines of a compressed file are not known as they come"),
        ("ok.parquet", "only lines of text can be followed, such as CSV and JSON"),
        ("ok.arrow", "only lines of text can be followed, such as CSV and JSON"),
        (".", "this is a folder"),
    ],
)
def test_files_that_cannot_be_followed(
    name: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--follow", "--events", name, "-q", QUERY]) == 2
    assert told in capsys.readouterr().err


def test_what_is_said_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chunks = ["\n".join(CSV[:3]), CSV[3]]
    given = {"monkeypatch": monkeypatch, "capsys": capsys}
    err = told(chunks, "-q", QUERY, "--limit", "1", **given)[2]
    assert "sase: LIMIT was reached before the end of the events" in err
    assert "1 match in 2 rows" in err
    assert "1 match in 1 row\n" in told(["ts,type\n1,A"], "-q", "EVENT A a", **given)[2]


def test_events_of_the_same_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The note that they share it comes once, at the latest at the end, and the row orders them."""
    given: dict[str, Any] = {"monkeypatch": monkeypatch, "capsys": capsys}
    warning = "sase: warning: 100 % of the {} events that the query sees share their time"
    few = ["ts,type,id", "1,A,1", "1,B,1", "2,B,1"]
    _, found, err = told(["\n".join(few)], "-q", QUERY, **given)
    assert [json.loads(each)["ts_end"] for each in found] == [2]
    assert err.count("sase: warning: 67 % of the 3 events that the query sees share") == 1
    _, found, err = told(["\n".join(few)], "-q", QUERY, "--seq", "#row", **given)
    assert [json.loads(each)["ts_end"] for each in found] == [1, 2]
    assert "warning" not in err
    many = ["ts,type,id"] + [f"{n // 2},{'AB'[n % 2]},{n}" for n in range(2000)]
    pieces = ["\n".join(many[begin : begin + 100]) for begin in range(0, 2001, 100)]
    _, _, err = told(pieces, "-q", QUERY, **given)
    assert err.count("warning") == 1
    assert warning.format("2,000") not in err


def test_moments_of_finer_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chunks = ["ts,type,id\n2026-01-01 00:00:01,A,1", "2026-01-01 00:00:02.5,B,1"]
    given = ["-q", f"{QUERY} seconds"]
    status, found, _ = told(chunks, *given, monkeypatch=monkeypatch, capsys=capsys)
    assert (status, json.loads(found[0])["ts_end"]) == (0, "2026-01-01T00:00:02.500000")


def test_what_must_be_known_from_the_beginning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chunks = ['{"ts": 1, "type": "A"}', '{"ts": 2, "type": "B", "n": "b"}']
    given = ["-q", "EVENT SEQ(A a, B b) WHERE a.n < b.n WITHIN 5"]
    status, _, err = told(chunks, *given, monkeypatch=monkeypatch, capsys=capsys)
    assert status == 2
    assert "let them have a value in each column that the query names" in err
    assert "`a.n` is a string, which `<` must know" in err


def test_tabs(tmp_path: Path) -> None:
    path = tmp_path / "events.tsv"
    path.write_text("ts\ttype\n1\tA\n", encoding="utf-8")
    assert next(iter(TailReader(str(path)))).to_pylist() == [{"ts": 1, "type": "A"}]


def test_no_line_at_all(followed: Begin) -> None:
    run = followed("-", "-q", QUERY)
    status, _, err = run.end()
    assert status == 1
    assert "ended before there was a line" in err


@pytest.mark.parametrize("option", ["--threads=2", "--max-matches=3", "--format=table"])
def test_options_that_need_an_end(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--follow", "--events", "-", "-q", QUERY, option]) == 2
    assert "does not go with --follow" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--timeout=1e-9", "--max-memory=some"])
def test_limits_that_are_none(option: str, followed: Begin) -> None:
    run = followed("-", "-q", QUERY, option)
    run.write("\n".join(CSV) + "\n")
    status, _, err = run.end()
    assert (status, "give a number of" in err) == (2, True), err


@pytest.mark.slow
def test_each_step_has_its_time(tmp_path: Path, followed: Begin) -> None:
    """And matches of steps before stay as a whole file."""
    out = tmp_path / "found.csv"
    # For each A all triples of C before it are looked at, of which few are right.
    query = "EVENT SEQ(C c, C d, C e, A a) WHERE c.id + d.id + e.id < a.id WITHIN 1000000"
    query += " RETURN a.id AS n"
    first = "ts,type,id\n1,C,0\n1,C,0\n2,C,0\n3,C,0\n4,A,1\n"
    rows = pyarrow.csv.read_csv(io.BytesIO(first.encode()))
    # Or the time would go by while kernels are compiled.
    assert len(sase.compile(query, rows.schema).open().push(rows)) == 2
    run = followed("-", "-q", query, "--timeout", "3s", "-o", str(out))
    run.write(first)
    deadline = time.monotonic() + 60
    while not (tmp_path / "found.csv.partial").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    many = "".join(f"{ts},C,9\n" for ts in range(5, 6000))
    with suppress(BrokenPipeError):
        run.write(many)
        run.write("".join(f"{ts},A,1\n" for ts in range(6000, 6100)))
    status, _, err = run.end()
    assert (status, "the call to this matcher takes longer than its timeout of 3 s" in err) == (
        1, True
    ), err  # fmt: skip
    assert not out.exists()
    assert (tmp_path / "found.csv.partial").read_text().split() == [
        '"n","ts_start","ts_end","detected_at"', "1,1,4,4", "1,1,4,4"
    ]  # fmt: skip


# ---------------------------------------------------------------- a name, and its files


class Tail:
    """The events of a followed file, and the notes on it."""

    def __init__(self, path: Path, *lines: str) -> None:
        self.path, self.said = path, list[str]()
        write(path, *lines)
        self.reader = TailReader(str(path), pause=0.01, judges=True, say=self.said.append)
        self.reader.judge("ts", ["ts", "type"], ["ts", "type", "id"])
        self._rows = iter(self.reader)

    def take(self, count: int) -> list[int]:
        """The times of a number of further rows."""
        found: list[int] = []
        while len(found) < count:
            batch = next(self._rows)
            found += batch["ts"].to_pylist()
        return found


def write(path: Path, *lines: str) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def add(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


FORMS = {"events.csv": "{0},A,1", "events.jsonl": '{{"ts": {0}, "type": "A", "id": 1}}'}


@pytest.fixture(params=FORMS)
def tailed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Tail, list[str], Any]:
    """A file with one read row, another beginning of such a file, and a function for a row."""
    header = [CSV[0]] if request.param == "events.csv" else []
    row = FORMS[request.param].format
    tailed = Tail(tmp_path / request.param, *header, row(1))
    assert tailed.take(1) == [1]
    return tailed, header, row


def test_a_file_that_is_rotated(tailed: tuple[Tail, list[str], Any], tmp_path: Path) -> None:
    """The old one is read to its end, where the last line may lack one, and then the new one."""
    tail, header, row = tailed
    for turn in range(1, 4):
        old = tail.path.rename(tmp_path / f"old.{turn}")
        add(old, row(10 * turn) + "\n" + row(10 * turn + 1))
        write(tail.path, *header, row(10 * turn + 2))
        assert tail.take(3) == [10 * turn, 10 * turn + 1, 10 * turn + 2]
        add(tail.path, row(10 * turn + 3) + "\n")
        assert tail.take(1) == [10 * turn + 3]
        assert len(tail.said) == turn
        assert tail.said[-1] == f"{tail.path} is another file now, which is read from its beginning"


def test_a_file_that_is_truncated(tailed: tuple[Tail, list[str], Any]) -> None:
    """By a program that copies it and empties it, then the writer continues without a header."""
    tail, header, row = tailed
    for turn, begin in enumerate(([], header), 1):
        with ThreadPoolExecutor(1) as other:
            rest = other.submit(tail.take, 2)
            write(tail.path)
            wait_for(lambda turn=turn: len(tail.said) == turn)
            add(tail.path, "".join(f"{line}\n" for line in [*begin, row(2), row(3)]))
            assert rest.result(60) == [2, 3]
        assert tail.said == [f"{tail.path} was truncated: it is read from its beginning"] * turn


def test_a_file_that_is_deleted(tailed: tuple[Tail, list[str], Any]) -> None:
    """And comes back; lines written to the one without a name are read until then."""
    tail, header, row = tailed
    with tail.path.open("a", encoding="utf-8") as writer, ThreadPoolExecutor(1) as other:
        tail.path.unlink()
        writer.write(row(2) + "\n")
        writer.flush()
        assert tail.take(1) == [2]
        rest = other.submit(tail.take, 1)
        wait_for(lambda: tail.said)
        write(tail.path, *header, row(3))
        assert rest.result(60) == [3]
    missing = f"{tail.path}: No such file or directory: waiting for a file of this name"
    assert tail.said == [
        missing,
        f"{tail.path} is another file now, which is read from its beginning",
    ]


def test_lines_are_counted_in_each_file(tailed: tuple[Tail, list[str], Any]) -> None:
    tail, header, row = tailed
    tail.path.unlink()
    write(tail.path, *header, row(2))
    tail.take(1)
    assert tail.reader.line_of(0) == len(header) + 1
    add(tail.path, row(3) + "\n" + row(4) + "\n")
    tail.take(2)
    assert tail.reader.line_of(1) == len(header) + 3


def test_a_new_file_with_other_columns(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "events.csv", CSV[0], "1,A,1")
    assert tail.take(1) == [1]
    tail.path.unlink()
    write(tail.path, "type,ts,id", "A,2,1")
    with pytest.raises(
        sase.DataError, match="the columns are type, ts, id now, and were ts,type,id"
    ):
        tail.take(1)


def test_a_pipe_with_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ends when its writer does."""
    path = tmp_path / "events"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as other:
        other.submit(write, path, *CSV)
        assert main(["run", "--follow", "--events", str(path), "-q", QUERY]) == 0
    assert "2 matches in 4 rows" in capsys.readouterr().err


def test_the_program_says_that_a_file_is_another_one(tmp_path: Path, followed: Begin) -> None:
    path = tmp_path / "events.csv"
    write(path, *CSV[:4])
    run = followed(str(path), "-q", QUERY)
    assert run.line()["ts_end"] == 2
    path.rename(tmp_path / "old.csv")
    write(path, CSV[0], CSV[4])
    assert run.line()["ts_end"] == 5
    status, _, err = run.end(signal.SIGTERM)
    assert (status, f"sase: {path} is another file now" in err) == (143, True), err


@pytest.mark.parametrize("begin", ["", "ts,type,id\n1,A,1\n", '{"ts": 1, "type": "A", "id": 1}\n'])
def test_a_long_line_is_no_long_message(begin: str, tmp_path: Path, follow: Follow) -> None:
    long = "x" * 900_000
    given = f"{begin}{long},A,1" if begin.startswith("ts") else f'{begin}{{"ts": 1, "type": {long}'
    status, _, err = follow([given], "-q", QUERY)
    assert status == 1
    assert len(err) < 2000
    assert "xxx … xxx" in err


@pytest.mark.parametrize(
    "chunks",
    [
        ["ts,type\nx,A\n1,A\n2,B"],
        ["ts,type\nx,A\n", "1,A\n2,B"],
        ['{"ts": "x", "type": "A"}\n{"ts": 1, "type": "A"}\n{"ts": 2, "type": "B"}'],
        ['{"ts": "x", "type": "A"}\n', '{"ts": 1, "type": "A"}\n{"ts": 2, "type": "B"}'],
    ],
)
def test_a_bad_time_among_the_first_lines(
    chunks: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["-q", "EVENT SEQ(A a, B b)", "--on-bad-row"]
    set_up: dict[str, Any] = {"monkeypatch": monkeypatch, "capsys": capsys}
    status, found, err = told(chunks, *given, "quarantine", **set_up)
    assert (status, json.loads(found[0])["ts_end"]) == (0, 2)
    assert "1 row could not be used" in err
    assert told(chunks, *given, "error", **set_up)[0] != 0


def test_a_column_without_a_time_is_no_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["-q", "EVENT A a", "--on-bad-row", "quarantine"]
    chunks = ["ts,type\n" + "x,A\n" * 101, "1,A"]
    status, _, err = told(chunks, *given, monkeypatch=monkeypatch, capsys=capsys)
    assert (status, "the time column `ts` has the type string" in err) == (2, True)
