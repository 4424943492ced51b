"""`sase run`: from files to results, and the rest if it does not get to the end."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.cli.messages import Progress
from sase.engine.results import sinks
from sase.engine.results.batch import ResultBatch
from tests.faults.processes import Programs, Running

EVENTS = pa.table(
    {
        "ts": range(60),
        "type": ["A", "B", "C"] * 20,
        "id": [number * 7 // 5 % 4 for number in range(60)],
        "s": ["x", None, 'y, "z"'] * 20,
    }
)
QUERY = "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 30"
# More matches than anyone waits for.
HEAVY = pytest.mark.heavy
ENDLESS = "EVENT SEQ(A a, A b, A c, A d)"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(EVENTS, "events.parquet")


def run(*arguments: str) -> int:
    return main(["run", "--events", "events.parquet", *arguments])


def read(path: str) -> pa.Table:
    match Path(path).suffix:
        case ".parquet":
            return pyarrow.parquet.read_table(path)
        case ".csv":
            return pyarrow.csv.read_csv(path)
    return pa.ipc.open_file(path).read_all()


# ---------------------------------------------------------------- results


def test_a_table_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-q", QUERY) == 0
    out, err = capsys.readouterr()
    matches = sase.match(QUERY, EVENTS)
    lines = out.splitlines()
    assert lines[0].split() == ["a", "c", "ts_start", "ts_end", "detected_at"]
    assert len(lines) == 2 + min(20, len(matches)) + (len(matches) > 20)
    assert f"{len(matches)} matches in 60 rows" in err


def test_more_than_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-q", "EVENT SEQ(A a, C c)") == 0
    out, err = capsys.readouterr()
    assert "… and 190 more: write all of them with  -o FILE" in out
    assert "210 matches in 60 rows" in err


def test_no_match_and_a_type_that_never_occurs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-q", "EVENT SEQ(A a, D d) WITHIN 5") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "sase: warning: no event of type `D` occurred" in err
    assert "0 matches in 60 rows" in err


def test_events_of_the_same_time(capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow.parquet.write_table(EVENTS.set_column(0, "ts", [[n // 20 for n in range(60)]]), "t.pq")
    os.rename("t.pq", "events.parquet")
    query = "EVENT SEQ(A a, !(B b)) WITHIN 1"
    assert run("-q", query, "--output", "count") == 0
    out, err = capsys.readouterr()
    assert out == "20\n"
    assert err.count("100 % of the 40 events that the query sees share their time") == 1
    assert run("-q", query, "--output", "count", "--seq", "#row") == 0
    out, err = capsys.readouterr()
    assert out == "1\n"
    assert "warning" not in err


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_file_of_all_matches(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-q", QUERY, "-o", f"found{suffix}") == 0
    assert read(f"found{suffix}").to_pylist() == sase.match(QUERY, EVENTS).to_pylist()
    assert f": found{suffix}" in capsys.readouterr().err
    assert not Path(f"found{suffix}.partial").exists()


def test_csv_has_a_column_for_every_attribute(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("-q", QUERY, "-o", "found.csv") == 0
    assert run("-q", QUERY, "--format", "csv") == 0
    assert capsysbinary.readouterr().out == Path("found.csv").read_bytes()
    rows = read("found.csv").to_pylist()
    expected = sase.match(QUERY, EVENTS).to_pylist()
    assert [(row["a_ts"], row["c_s"], row["ts_end"]) for row in rows] == [
        (match["a"]["ts"], match["c"]["s"], match["ts_end"]) for match in expected
    ]


CLASHING = '{"ts": 1, "type": "A", "a_b": 1}\n{"ts": 2, "type": "B", "b": 2}\n'


@pytest.mark.parametrize(
    "to", [["-o", "n.csv"], ["--format", "csv"], ["--format", "csv", "--follow"]]
)
def test_names_that_clash_in_csv(to: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("clash.jsonl").write_text(CLASHING, encoding="utf-8")
    query = "EVENT SEQ(A x, B x_a) WITHIN 10"
    assert main(["run", "--events", "clash.jsonl", "-q", query, *to]) == 2
    out, err = capsys.readouterr()
    assert (out, "column-clash" in err, "RETURN … AS name" in err) == ("", True, True)
    assert not Path("n.csv").exists()
    assert main(["run", "--events", "clash.jsonl", "-q", query, "-o", "n.jsonl"]) == 0


def test_dots_do_not_clash_in_csv(capsys: pytest.CaptureFixture[str]) -> None:
    Path("dots.jsonl").write_text(CLASHING.replace("a_b", "a.b"), encoding="utf-8")
    query = "EVENT SEQ(A x, B `x.a`) WITHIN 10"
    assert main(["run", "--events", "dots.jsonl", "-q", query, "--format", "csv"]) == 0
    header, row = (line.split(",") for line in capsys.readouterr().out.splitlines())
    values = dict(zip(header, row, strict=True))
    assert (values['"x_a.b"'], values['"x.a_b"']) == ("1", "2")


def test_json_lines(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("-q", QUERY, "-o", "found.jsonl") == 0
    assert run("-q", QUERY, "--format", "jsonl") == 0
    text = Path("found.jsonl").read_bytes()
    assert capsysbinary.readouterr().out == text
    assert [json.loads(line) for line in text.splitlines()] == sase.match(QUERY, EVENTS).to_pylist()


@pytest.mark.parametrize("recipe", ["basic", "ais_windows", "optimized"])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_plans_and_threads(recipe: str, threads: str) -> None:
    assert run("-q", QUERY, "--plan", recipe, "--threads", threads, "-o", "found.parquet") == 0
    assert read("found.parquet").to_pylist() == sase.match(QUERY, EVENTS).to_pylist()


def test_what_is_said_of_the_events(capsys: pytest.CaptureFixture[str]) -> None:
    renamed = EVENTS.rename_columns(["when", "kind", "id", "s"])
    pyarrow.parquet.write_table(renamed, "events.parquet")
    Path("types.toml").write_text('Low = "id < 2"\nHigh = "id >= :least"\n', encoding="utf-8")
    query = "EVENT SEQ(Low a, High b) WHERE a.s = :s WITHIN 2 seconds LIMIT 1"
    said = ["--time", "when", "--time-unit", "s", "--types", "types.toml"]
    values = ["--param", "s=x", "--param", "least=2"]
    assert run("-q", query, *said, *values) == 0
    out, err = capsys.readouterr()
    assert "when=9 kind=A id=0 s=x" in out
    assert "LIMIT was reached before the end of the events" in err


def test_a_number_with_a_point_as_a_parameter_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    prices = pa.array([Decimal("19.99"), Decimal("20.00")], pa.decimal128(10, 2))
    pyarrow.parquet.write_table(
        pa.table({"ts": [1, 2], "type": ["A", "A"], "price": prices}), "events.parquet"
    )
    query = "EVENT A a WHERE a.price = :p"
    assert run("-q", query, "--param", "p=19.99", "--output", "count") == 0
    assert capsys.readouterr().out == "1\n"


def test_a_duration_as_a_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    query = "EVENT SEQ(A a, B b) WITHIN :w"
    said = ["-q", query, "--time-unit", "min", "--output", "count"]
    assert run(*said, "--param", "w=5 minutes") == 0
    found = sase.match(query, EVENTS, params={"w": "5 minutes"}, time_unit="min")
    assert capsys.readouterr().out == f"{len(found)}\n"
    assert len(found) == len(sase.match(query, EVENTS, params={"w": 5}))
    assert run(*said, "--param", "w=PT5M") == 2
    assert '--param w="5 minutes"' in capsys.readouterr().err


def test_names_that_were_found_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow.parquet.write_table(
        EVENTS.rename_columns(["time", "event", "id", "s"]), "events.parquet"
    )
    assert run("-q", QUERY, "--limit", "1") == 0
    err = capsys.readouterr().err
    assert "the time of events is taken from the column `time`" in err
    assert "the type of events is taken from the column `event`" in err


def test_events_without_a_type_column(capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow.parquet.write_table(EVENTS.drop_columns("type"), "events.parquet")
    assert run("-q", "EVENT SEQ(Reading a, Reading b) WITHIN 2", "--types", "Reading") == 0
    assert "59 matches in 60 rows" in capsys.readouterr().err
    assert run("-q", "EVENT Reading a") == 2
    assert "say which of ts, id, s it is with --type" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_messages_about_the_number_of_matches_name_options_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    compared = "EVENT SEQ(A a, C b) HAVING a.id < b.id"
    for query, *said in (
        (compared, "--output", "count"),
        ("EVENT SEQ(A a, B+ b[])",),
        ("EVENT SEQ(A a, B b)",),
    ):
        assert run("-q", query, *said, "--max-matches", "10") != 0
        err = capsys.readouterr().err
        assert "--max-matches" in err
        assert not re.search(r"max_matches|to_reader|estimate\(|output=", err)


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-q", "EVENT SEQ(A a B b)"], "error[missing-comma]"),
        (["-q", "EVENT A a WHERE a.di = 1"], "did you mean `id`"),
        (["-q", QUERY, "--plan", "pias"], "pais"),
        (["-q", QUERY, "--time", "tss"], "did you mean `ts`"),
        (["-q", QUERY, "--param", "x"], "NAME=VALUE"),
        (["-q", QUERY, "--types", "none.toml"], "none.toml cannot be read"),
        (["-q", QUERY, "--threads", "0"], "at least one thread"),
        (["-q", QUERY, "--limit", "-1"], "not negative"),
        (["-q", QUERY, "--max-matches", "-1"], "not negative"),
        (["-q", QUERY, "--max-matches", "-1", "--output", "count"], "not negative"),
        (["-q", QUERY, "--max-matches", "-1", "--output", "compressed"], "not negative"),
        (["-q", QUERY, "--param", "x=1"], "has no parameter :x; there is none"),
        (["-q", "EVENT A a WHERE a.id > :mins", "--param", "min=1"], "did you mean `mins`"),
        (["-q", "EVENT A a WHERE a.id > :x", "--param", "x=1", "--param", "x=2"], "given twice"),
        (["-q", QUERY, "--on-bad-row", "error", "--quarantine", "q.csv"], "leave one out"),
        (["-", "--events", "-"], "cannot both come on standard input"),
        (["-q", QUERY, "--output", "count", "-o", "n.csv"], "that prints a number"),
        (["-q", QUERY, "--output", "count", "--format", "csv"], "--format jsonl as JSON"),
        (["-q", QUERY, "--output", "compressed", "--format", "csv"], "-o FILE writes"),
        (["-q", QUERY, "--output", "count", "--follow"], "--output count does not go with"),
        (["events.csv.gz", "-q", QUERY], "events.csv.gz is a file of events, and a file with que"),
        (["events.parquet"], "name it with  --events events.parquet"),
        (["-q", "events.parquet"], "-q events.parquet: this is the path of a file"),
        (["-q", QUERY, "-o", "s3://bucket/found.csv"], "only files of this machine are written"),
        ([], "there is no query"),
        (["a.sase", "b.sase"], "cannot be read"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"A = '\xff'", "cannot be read"), (b"A = ", "this is not valid"), (b"A = 1", "`A` is 1")],
)
def test_a_file_of_types_that_is_none(
    content: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("types.toml").write_bytes(content)
    assert run("-q", QUERY, "--types", "types.toml") == 2
    assert message in capsys.readouterr().err


def test_the_form_of_the_output_is_known() -> None:
    with pytest.raises(sase.PlanError, match="did you mean `count`"):
        sase.match(QUERY, EVENTS, output="counts")
    with pytest.raises(sase.PlanError, match="give it to sase.match"):
        sase.compile(QUERY, EVENTS, output="count")


def test_the_number_of_matches(capsys: pytest.CaptureFixture[str]) -> None:
    number = len(sase.match(QUERY, EVENTS))
    assert run("-q", QUERY, "--output", "count") == 0
    assert capsys.readouterr().out == f"{number}\n"
    assert run("-q", QUERY, "--output", "count", "--format", "jsonl") == 0
    assert json.loads(capsys.readouterr().out) == {"count": number}


def test_a_summary_and_the_collapsed_form(capsys: pytest.CaptureFixture[str]) -> None:
    number = len(sase.match(QUERY, EVENTS))
    assert run("-q", QUERY, "--output", "compressed", "-o", "found.parquet") == 0
    assert f"{number:,} matches" in capsys.readouterr().out
    table = read("found.parquet")
    assert sum(table["count"].to_pylist()) == number
    assert table["rows"].type.names == ["a", "c"]


def test_matches_that_do_not_overlap(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-q", QUERY, "--output", "non_overlap", "--format", "jsonl") == 0
    apart = sase.match(QUERY, EVENTS, output="non_overlap")
    assert (
        0 < len(capsys.readouterr().out.splitlines()) == len(apart) < len(sase.match(QUERY, EVENTS))
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "found.xlsx"], "-o found.xlsx: the suffix names the format"),
        (["--quarantine", "found.txt"], "--quarantine found.txt: the suffix names the format"),
        (["-o", "nowhere/found.csv"], "-o nowhere/found.csv: there is no folder nowhere"),
        (["-o", "folder.csv"], "-o folder.csv: this is a folder"),
        (["-o", "found.csv", "--quarantine", "./found.csv"], "both name ./found.csv"),
    ],
)
def test_files_that_cannot_be_written(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which is said before anything is read, also if the events come one by one."""
    Path("folder.csv").mkdir()
    for more in [], ["--follow", "--events", "-"]:
        if more and "--quarantine" in arguments:
            continue
        assert run("-q", QUERY, *arguments, *more) == 2
        assert message in capsys.readouterr().err
        assert not list(Path().glob("found*"))


def test_a_query_in_place_of_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", QUERY, "--events", QUERY]) == 1
    assert "this is a query, and the path of events should stand here" in capsys.readouterr().err


def test_events_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-q", QUERY, "--events", "event.parquet") == 1
    assert "did you mean `events.parquet`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("events", "path"),
    [
        ("events.parquet", "events.parquet"),
        ("events.parquet", "./day/../events.parquet"),
        ("events.parquet", "link.parquet"),
        ("link.parquet", "events.parquet"),
        ("twin.parquet", "events.parquet"),
        ("*.parquet", "events.parquet"),
        ("day", "day/below/events.parquet"),
        ("day/**/*.parquet", "day/below/events.parquet"),
        ("day", "day/below/new.parquet"),
        ("day/**/*.parquet", "day/below/new.parquet"),
        ("even*.parquet", "events_found.parquet"),
    ],
)
@pytest.mark.parametrize("option", ["-o", "--quarantine"])
def test_events_are_not_written_over(
    events: str, path: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("link.parquet").symlink_to("events.parquet")
    Path("twin.parquet").hardlink_to("events.parquet")
    Path("day/below").mkdir(parents=True)
    Path("day/below/events.parquet").write_bytes(Path("events.parquet").read_bytes())
    assert run("-q", QUERY, "--events", events, option, path) == 2
    assert f"{option} {path} would be" in capsys.readouterr().err
    assert read("events.parquet") == EVENTS
    assert not Path(path).exists() or read(path) == EVENTS


def test_what_is_not_read_may_be_written_beside_the_events() -> None:
    Path("day/_found").mkdir(parents=True)
    Path("events.parquet").rename("day/events.parquet")
    for events, path in (("day", "day/_found/a.parquet"), ("day/e*.parquet", "day/found.parquet")):
        for _ in range(2):
            assert run("-q", QUERY, "--events", events, "-o", path) == 0


def test_the_other_files_that_are_read_are_not_written_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("types.csv").write_text("", encoding="utf-8")
    assert run("-q", QUERY, "--types", "types.csv", "-o", "types.csv") == 2
    assert "-o types.csv would be written over the file of --types" in capsys.readouterr().err
    Path("found.csv.partial").write_text(QUERY, encoding="utf-8")
    assert run("found.csv.partial", "-o", "found.csv") == 2
    assert "would be written over the query in found.csv.partial" in capsys.readouterr().err


def test_no_bound_is_negative() -> None:
    for output in "all", "count", "compressed":
        with pytest.raises(sase.PlanError, match="max_matches=-1: a number of matches is not neg"):
            sase.match(QUERY, EVENTS, max_matches=-1, output=output)
    with pytest.raises(sase.PlanError, match="not negative"):
        sase.compile(QUERY, EVENTS).run(EVENTS, max_matches=-1)


def test_no_bad_row_of_an_earlier_run_stays(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("bad.csv")
    for content, bad in (("ts,type\n1,A\n,A\n", 1), ("ts,type\n1,A\n2,A\n", 0)):
        Path("some.csv").write_text(content, encoding="utf-8")
        assert run("-q", "EVENT A a", "--events", "some.csv", "--quarantine", "bad.csv") == 0
        assert path.exists() == bool(bad)
        err = capsys.readouterr().err
        assert ("no row was bad: bad.csv of an earlier run is removed" in err) == (not bad)


def test_without_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    for form in ["--format", "csv"], [], ["--output", "count"], ["--follow", "--events", "-"]:
        assert run("-q", QUERY, *form) == 2
        assert "there is no standard output: name a file with  -o FILE" in capsys.readouterr().err
    assert run("-q", QUERY, "-o", "found.csv") == 0


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "arrow"])
def test_events_on_standard_input(
    format: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are read to the end, and may come in any order."""
    match format:
        case "csv":
            data = b"ts,type\n2,B\n1,A\n"
        case "jsonl":
            data = b'{"ts": 2, "type": "B"}\n{"ts": 1, "type": "A"}\n'
        case _:
            sink = sinks.FileSink(f"some.{format}", EVENTS.schema)
            sink.write_batch(EVENTS.to_batches()[0])
            sink.close()
            data = Path(f"some.{format}").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run("-q", "EVENT SEQ(A a, B b) WITHIN 5", "--events", "-") == 0
    said = "1 match in 2 rows" if format in ("csv", "jsonl") else "in 60 rows"
    assert said in capsys.readouterr().err


def test_standard_input_that_is_no_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = gzip.compress(b"ts,type\n1,A\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run("-q", "EVENT A a", "--events", "-") == 1
    assert "standard input is compressed with gzip" in capsys.readouterr().err


# ---------------------------------------------------------------- an end before the end


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_too_many_matches_leave_a_valid_partial_file(
    suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"found{suffix}").write_text("of an earlier run", encoding="utf-8")
    pyarrow.parquet.write_table(
        pa.table({"ts": range(3000), "type": ["A"] * 3000}), "events.parquet"
    )
    assert run("-q", "EVENT SEQ(A a, A b)", "--max-matches", "70000", "-o", f"found{suffix}") == 1
    err = capsys.readouterr().err
    assert "more than 70,000 matches" in err
    assert f"the rows written so far are in found{suffix}.partial" in err
    assert Path(f"found{suffix}").read_text(encoding="utf-8") == "of an earlier run"
    Path(f"found{suffix}.partial").rename(f"partial{suffix}")
    if suffix == ".jsonl":
        lines = Path("partial.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == 70_000
        assert json.loads(lines[-1])["a"]["type"] == "A"
    else:
        assert read(f"partial{suffix}").num_rows == 70_000


@pytest.mark.parametrize("threads", ["1", "3"])
def test_too_many_matches_name_the_events_of_the_last_that_is_written(
    threads: str, capsys: pytest.CaptureFixture[str]
) -> None:
    every = sase.match(QUERY, EVENTS).rows.to_pylist()
    assert len(every) > 3
    for most in (1, 3):
        arguments = ["--max-matches", str(most), "--threads", threads, "-o", "found.parquet"]
        assert run("-q", QUERY, *arguments) == 1
        rows = every[most - 1]
        err = capsys.readouterr().err
        assert (
            f"match {most} begins with input row {rows['a']} and ends with row {rows['c']}:" in err
        )
        written = pyarrow.parquet.read_table("found.parquet.partial")
        assert written.to_pylist() == sase.match(QUERY, EVENTS, limit=most).to_pylist()


def begun(forked: Programs, *arguments: str) -> Running:
    """The command in a process of its own, with streams that stay open."""
    return forked.begun("run", "--events", "events.parquet", *arguments)


def many_events() -> None:
    pyarrow.parquet.write_table(
        pa.table({"ts": range(5000), "type": ["A"] * 5000}), "events.parquet"
    )


def wait_for(path: str, size: int) -> None:
    deadline = time.monotonic() + 60
    while not (Path(path).exists() and os.path.getsize(path) > size):
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.05)


INTERRUPTED, TERMINATED = (signal.SIGINT, 130), (signal.SIGTERM, 143)


@pytest.mark.parametrize(
    ("number", "status"),
    [pytest.param(*INTERRUPTED, id="int"), pytest.param(*TERMINATED, id="term", marks=HEAVY)],
)
def test_a_signal_leaves_a_valid_partial_file(number: int, status: int, forked: Programs) -> None:
    many_events()
    process = begun(forked, "-q", ENDLESS, "-o", "found.parquet")
    wait_for("found.parquet.partial", 100_000)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == status, err
    assert "the rows written so far are in found.parquet.partial" in err
    assert "Traceback" not in err
    assert not Path("found.parquet").exists()
    Path("found.parquet.partial").rename("partial.parquet")
    assert read("partial.parquet").num_rows > 0


def test_an_interrupt_shows_what_was_found_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    many_events()
    every = sase.Matches.counted

    def interrupted(matches: sase.Matches, count: int, first: list[ResultBatch]) -> Iterator[int]:
        for seen in every(matches, count, first):
            yield seen
            if seen:
                raise KeyboardInterrupt

    monkeypatch.setattr(sase.Matches, "counted", interrupted)
    assert run("-q", ENDLESS) == 130
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 + 20
    assert re.search("interrupted: [0-9,]{5,} matches so far", err)


@pytest.mark.parametrize(
    "suffix", [".csv", ".parquet", *(pytest.param(s, marks=HEAVY) for s in (".jsonl", ".arrow"))]
)
def test_a_full_disk(suffix: str, forked: Programs) -> None:
    """Of text the whole lines are left; a file that cannot be closed is said to be none."""
    table = pa.table({"ts": range(5000), "type": ["A"] * 5000, "s": ['of "two"\nlines'] * 5000})
    pyarrow.parquet.write_table(table, "events.parquet")
    command = ["run", "--events", "events.parquet", "-q", ENDLESS, "-o", f"found{suffix}"]
    status, _, err = forked.run(*command, most=1 << 20)
    assert status == 1
    assert "Traceback" not in err
    assert not Path(f"found{suffix}").exists()
    partial = Path(f"found{suffix}.partial")
    if suffix in (".csv", ".jsonl"):
        assert f"the rows written so far are in {partial}" in err
    if "is not whole" in err:
        return
    if suffix == ".jsonl":
        assert all(map(json.loads, partial.read_text(encoding="utf-8").splitlines()))
    elif suffix == ".csv":
        with partial.open(encoding="utf-8", newline="") as file:
            text = file.read()
        assert text.endswith("\n")
        rows = list(csv.reader(text.splitlines(keepends=True)))
        assert len(rows) > 1000
        assert {len(row) for row in rows} == {len(rows[0])}
    else:
        partial.rename(f"partial{suffix}")
        assert read(f"partial{suffix}").num_rows


@pytest.mark.parametrize(
    ("number", "status"), [pytest.param(*INTERRUPTED, marks=HEAVY), TERMINATED]
)
def test_a_signal_tells_how_many_were_written(number: int, status: int, forked: Programs) -> None:
    many_events()
    process = begun(forked, "-q", ENDLESS, "--format", "csv")
    process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == status, err
    assert re.search("sase: interrupted: [0-9,]+ match(es)? so far", err)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "format", ["jsonl", *(pytest.param(each, marks=HEAVY) for each in ("table", "csv"))]
)
def test_a_closed_pipe(format: str, forked: Programs) -> None:
    if format != "table":
        many_events()
    process = begun(forked, "-q", ENDLESS, "--format", format, "--limit", "10000000")
    process.stdout.readline()
    err = process.left()
    assert process.returncode in (0, 141)
    assert "Traceback" not in err


# ---------------------------------------------------------------- progress


def test_progress_is_a_line_of_what_was_done() -> None:
    progress = Progress(total=4_000_000)
    progress.rows, progress.matches = 1_000_000, 12
    assert progress.line().startswith("██████░░░░░░░░░░░░░░░░░░  25%  1,000,000 rows, ")
    assert progress.line().endswith(" a second, 12 matches")
    assert Progress(None).line().startswith("0 rows, ")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_nanoseconds_that_python_has_no_times_for(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also inside of events and series; the command does without pandas, which would have some."""
    times = pa.array([1, 30 * 10**9 + 90], pa.timestamp("ns"))
    pyarrow.parquet.write_table(pa.table({"ts": times, "type": ["A", "B"]}), "events.parquet")
    for query in (
        "EVENT SEQ(A a, B b) RETURN b.ts - a.ts AS gap, b.ts AS at",
        "EVENT SEQ(A a, B+ b[])",
    ):
        assert run("-q", query, "--format", form) == 0
        out = capsys.readouterr().out
        assert "00:00:30.000000090" in out
        assert ("30.000000089" in out) == ("gap" in query)
