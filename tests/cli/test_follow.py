"""`sase run --follow`: matches are told while events are still being written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from sase.cli.main import main
from sase.engine.files.following import Following

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
CSV = ["ts,type,id", "1,A,1", "2,B,1", "3,A,2", "5,B,2"]
JSON = [
    '{"ts": "2026-01-01T00:00:00Z", "type": "A", "id": 1}',
    '{"ts": "2026-01-01T00:00:02Z", "type": "B", "id": 1}',
]


class Run:
    """The command as a process, whose input and output stay open."""

    def __init__(self, events: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sase", "run", "--follow", "--events", events, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def line(self) -> Any:
        """The next match, which is there before more is written."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        assert text, self.process.communicate()
        return json.loads(text)

    def end(self, number: int | None = None) -> tuple[int, str, str]:
        """The status and what is left of the output when the input ends or a signal comes."""
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        assert "Traceback" not in err
        assert self.process.returncode != -signal.SIGABRT, err
        return self.process.returncode, out, err


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    started: list[Run] = []
    yield started
    for run in started:
        run.process.kill()
        run.process.communicate()


def test_standard_input(runs: list[Run]) -> None:
    run = Run("-", "-q", QUERY)
    runs.append(run)
    run.write("\n".join(CSV[:3]) + "\n")
    assert run.line()["b"] == {"ts": 2, "type": "B", "id": 1}
    run.write(CSV[3] + "\n5,B")  # a line counts when its end has come
    run.write(",2\n")
    assert run.line()["ts_start"] == 3
    status, out, err = run.end()
    assert (status, out) == (0, "")
    assert "2 matches in 4 rows" in err


def test_a_file_that_grows(tmp_path: Path, runs: list[Run]) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(JSON[0] + "\n", encoding="utf-8")
    run = Run(str(path), "-q", f"{QUERY} seconds")
    runs.append(run)
    time.sleep(0.5)
    with path.open("a", encoding="utf-8") as file:
        file.write(JSON[1] + "\n")
    assert run.line()["ts_end"] == "2026-01-01T00:00:02+00:00"
    status, out, err = run.end(signal.SIGINT)
    assert (status, out) == (130, "")
    assert "1 match in 2 rows" in err


def test_late_rows(runs: list[Run]) -> None:
    rows = [*CSV, "4,A,3", "6,B,3"]
    for lateness, found in (([], 2), (["--lateness", "1"], 3)):
        run = Run("-", "-q", QUERY, *lateness)
        runs.append(run)
        run.write("\n".join(rows) + "\n")
        status, out, err = run.end()
        assert status == 0
        assert len(out.splitlines()) == found
        assert ("1 row was late" in err) == (not lateness)


def test_an_absence_is_known_when_the_input_ends(runs: list[Run]) -> None:
    run = Run("-", "-q", "EVENT SEQ(A a, !(B b)) WHERE [id] WITHIN 5", "--format", "csv")
    runs.append(run)
    run.write("\n".join([CSV[0], "1,A,1", "2,A,2", "3,B,1"]) + "\n")
    status, out, _ = run.end()
    assert status == 0
    assert out.splitlines()[1:] == ['2,"A",2,2,2,7']


def test_a_file_of_matches(tmp_path: Path, runs: list[Run]) -> None:
    for name, end, status in (("a", None, 0), ("b", signal.SIGTERM, 143)):
        out = tmp_path / f"{name}.parquet"
        run = Run("-", "-q", QUERY, "-o", str(out))
        runs.append(run)
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
        (CSV[:3], "x,B,1", "standard input, in lines 4 to 4"),
        (JSON, "no JSON", "standard input, in lines 3 to 3: line 1 of these is no JSON"),
        (JSON, "[1]", "is no object"),
        (JSON, '{"ts": 5, "type": "B", "id": 1}', "`ts` is '5': this is no moment"),
    ],
)
def test_lines_that_cannot_be_read(
    lines: list[str], bad: str, message: str, runs: list[Run]
) -> None:
    run = Run("-", "-q", QUERY if lines is not JSON else f"{QUERY} seconds")
    runs.append(run)
    run.write("".join(f"{line}\n" for line in lines))
    assert run.line()  # so these are read
    run.write(f"{bad}\n")
    status, _, err = run.end()
    assert status == 1
    assert message in err


def test_rows_that_lack_what_others_have(runs: list[Run]) -> None:
    """In whichever row of the lines that come together, and numbers without a fraction."""
    query = "EVENT SEQ(A a, B b) WHERE b.v > 3 WITHIN 5 s RETURN a.ts AS a, b.v AS v, b.w AS w"
    run = Run("-", "-q", query)
    runs.append(run)
    run.write('{"ts": 1.5, "type": "A", "w": "x"}\n{"type": "B", "ts": 2, "v": 5.5, "w": null}\n')
    found = run.line()
    assert (found["a"], found["v"], found["w"]) == (1_500_000, 5.5, None)
    run.write('{"type": "A", "ts": 20}\n')
    run.write('{"type": "B", "ts": 21, "v": 4, "more": 1}\n')
    found = run.line()
    assert (found["a"], found["v"], found["w"]) == (20_000_000, 4.0, None)


def test_what_is_not_read_may_be_anything(runs: list[Run]) -> None:
    """Also if it is something else in each row; what is read may not."""
    run = Run("-", "-q", "EVENT SEQ(A a, B b) WHERE b.v > 3 WITHIN 5 RETURN b.v AS v")
    runs.append(run)
    run.write('{"ts": 1, "type": "A", "v": 1, "w": 1, "u": null}\n')
    run.write('{"ts": 2, "type": "B", "v": 5, "w": 2}\n')
    assert run.line()["v"] == 5
    last = '{"ts": 12, "type": "B", "v": 6, "w": {"a": 1}, "u": 3}'
    run.write(f'{{"ts": 11, "type": "A", "w": [1]}}\n{last}\n')
    assert run.line()["v"] == 6
    run.write('{"ts": 13, "type": "B", "v": "x"}\n')
    status, _, err = run.end()
    assert status != 0
    assert "`v` has the type string here" in err


def test_bad_rows_are_put_aside(runs: list[Run]) -> None:
    """Those beside them count, also where all lines that come together are bad."""
    run = Run("-", "-q", f"{QUERY} seconds", "--on-bad-row", "quarantine")
    runs.append(run)
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


def test_bad_rows_of_csv_are_put_aside(runs: list[Run]) -> None:
    """Rows that are too short, or not of their columns; also among the first."""
    run = Run("-", "-q", "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5", "--on-bad-row", "quarantine")
    runs.append(run)
    run.write("\n".join([CSV[0], "1,A,1", "1,A", "2,B,1"]) + "\n")
    assert run.line()["b"]["ts"] == 2
    run.write("11,A,2\n11,A,x\nlate,B,2\n12,B\n13,B,2\n")
    assert run.line()["b"]["ts"] == 13
    status, _, err = run.end()
    assert status == 0
    assert "4 rows could not be used" in err


def test_a_mark_of_byte_order_is_no_part_of_a_name(runs: list[Run]) -> None:
    run = Run("-", "-q", "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5", "--on-bad-row", "quarantine")
    runs.append(run)
    run.write("\n".join([f"\ufeff{CSV[0]}", "1,A,1", "1,A", "2,B,1"]) + "\n")
    assert run.line()["b"]["ts"] == 2
    status, _, err = run.end()
    assert status == 0
    assert "1 row could not be used" in err


def test_the_first_line_may_be_bad(runs: list[Run]) -> None:
    run = Run("-", "-q", f"{QUERY} seconds", "--on-bad-row", "quarantine")
    runs.append(run)
    run.write("".join(f"{line}\n" for line in ["{no JSON", *JSON]))
    assert run.line()["b"]["id"] == 1
    status, _, err = run.end()
    assert status == 0
    assert "1 row could not be used" in err


def test_an_attribute_that_the_first_lines_lack(runs: list[Run]) -> None:
    """Whoever wrote no wrong name learns why it is not known."""
    run = Run("-", "-q", "EVENT SEQ(A a, B b) WHERE b.v > 3 WITHIN 5")
    runs.append(run)
    run.write('{"ts": 1, "type": "A"}\n')
    status, _, err = run.end()
    assert status == 2
    assert "the columns are those of the first lines of standard input: 1 row" in err
    assert "no column `v`" in err


def test_no_line_at_all(runs: list[Run]) -> None:
    run = Run("-", "-q", QUERY)
    runs.append(run)
    status, _, err = run.end()
    assert status == 1
    assert "ended before there was a line" in err


@pytest.mark.parametrize("option", ["--threads=2", "--max-matches=3", "--format=table"])
def test_options_that_need_an_end(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--follow", "--events", "-", "-q", QUERY, option]) == 2
    assert "does not go with --follow" in capsys.readouterr().err


def test_a_file_that_becomes_shorter(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("\n".join(CSV) + "\n", encoding="utf-8")
    rows = iter(Following(str(path), pause=0.01))
    assert next(rows).num_rows == 4
    path.write_text("ts\n", encoding="utf-8")
    with pytest.raises(Exception, match="has become shorter"):
        next(rows)
