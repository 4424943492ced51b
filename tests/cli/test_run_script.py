"""`sase run` of scripts: tables, lines and files for each statement; inputs by name; `--follow`."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sase.cli.follow import batches_of
from sase.cli.main import main
from sase.cli.messages import Progress
from tests.faults.processes import Programs

EVENTS = "ts,type,user\n1,Failure,ann\n2,Failure,ann\n5,Success,ann\n"
SCRIPT = """CREATE STREAM pairs AS EVENT SEQ(Failure a, Failure b) WHERE [user] WITHIN 60
RETURN Pair(a.user AS user, b.ts AS at);
FROM pairs, logins EVENT SEQ(Pair p, Success s) WHERE [user] WITHIN 600 RETURN s.ts AS at
"""
TABLES = """pairs: 1 match
user  at  detected_at
----  --  -----------
ann   2   2

query_2: 1 match
at  detected_at
--  -----------
5   5
"""
LINES = [
    {"query": "pairs", "user": "ann", "at": 2, "ts_start": 1, "ts_end": 2, "detected_at": 2},
    {"query": "query_2", "at": 5, "ts_start": 2, "ts_end": 5, "detected_at": 5},
]


# The memory of a process, in bytes, at each call.
GROWING = range(10**6, 10**9, 10**4)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logins.csv").write_text(EVENTS, encoding="utf-8")
    Path("rules.sase").write_text(SCRIPT, encoding="utf-8")


def run(*words: str) -> int:
    return main(["run", "rules.sase", *words])


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_table_for_each_statement(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--input", "logins=logins.csv") == 0
    printed = capsys.readouterr()
    assert printed.out == TABLES
    assert "sase: 2 matches of 2 statements in 3 rows, " in printed.err


def test_a_line_for_each_match(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--input", "logins=logins.csv", "--format", "jsonl") == 0
    assert lines(capsys.readouterr().out) == LINES


@pytest.mark.parametrize(
    ("words", "suffix"), [((), "parquet"), (("--format", "csv"), "csv"),
                          (("--format", "jsonl"), "jsonl")],
)  # fmt: skip
def test_a_file_for_each_statement(
    words: tuple[str, ...], suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--input", "logins=logins.csv", "-o", "found", *words) == 0
    assert sorted(os.listdir("found")) == [f"pairs.{suffix}", f"query_2.{suffix}"]
    assert f"sase: pairs: 1 match: found/pairs.{suffix}\n" in capsys.readouterr().err
    if suffix == "parquet":
        assert pq.read_table("found/query_2.parquet").column("at").to_pylist() == [5]


def test_a_file_also_where_nothing_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    script = "CREATE STREAM `a/b` AS EVENT Failure a WHERE a.user = 'bob'; EVENT Success s"
    Path("rules.sase").write_text(script, encoding="utf-8")
    assert run("--events", "logins.csv", "-o", "found") == 0
    assert pq.read_table("found/a%2Fb.parquet").num_rows == 0
    assert "a/b" not in capsys.readouterr().err


def test_the_input_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    text = SCRIPT.replace("pairs, logins", "pairs").replace("SEQ(Pair p, Success s)", "Pair s")
    Path("rules.sase").write_text(text, encoding="utf-8")
    assert run("--events", "logins.csv", "--format", "jsonl") == 0
    assert [each["query"] for each in lines(capsys.readouterr().out)] == ["pairs", "query_2"]


def test_an_input_of_imprecise_time(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tasks.csv").write_text("kind,lo,hi\nA,0,9\nB,0,9\n", encoding="utf-8")
    text = "FROM tasks EVENT SEQ(A a, B b) RETURN confidence AS sure"
    words = ["--input", "tasks=tasks.csv,time=lo,hi,type=kind", "--format", "jsonl"]
    assert main(["run", "-q", text, *words]) == 0
    assert '"sure": 0.45' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tasks=tasks.csv,tim=ts", "an input has no option `tim`: did you mean `time`?"),
        ("tasks=tasks.csv,time=ts,x=1", "an input has no option `x`: there are time, type, seq"),
        ("tasks=", "--input tasks= names no file"),
    ],
)  # fmt: skip
def test_an_input_that_is_misspelled(
    given: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "-q", "FROM tasks EVENT A a", "--input", given]) == 2
    assert message in capsys.readouterr().err


def test_inputs_differ_in_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    Path("calls.csv").write_text("at,kind,user\n3000,Call,ann\n3000,Call,bob\n", encoding="utf-8")
    Path("rules.sase").write_text(
        "FROM logins, calls EVENT SEQ(Failure a, Call b) WHERE [user] WITHIN 2 seconds", "utf-8"
    )
    calls = "calls=calls.csv,time=at,type=kind,time_unit=ms"
    words = ["--input", "logins=logins.csv,time_unit=s", "--input", calls, "--format", "jsonl"]
    assert run(*words) == 0
    (found,) = lines(capsys.readouterr().out)
    assert (found["a"]["ts"], found["b"]["user"]) == (2, "ann")


def test_followed_lines_name_their_statement(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, EVENTS.encode())
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert run("--input", "logins=-", "--follow") == 0
    printed = capsys.readouterr()
    assert lines(printed.out) == LINES
    assert "sase: query_2: 1 match\nsase: 2 matches of 2 statements in 3 rows\n" in printed.err


def test_followed_statements_warn_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "never.sase"
    script.write_text("EVENT SEQ(Failure a, Logout b) WHERE a.user = NULL OR b.ts > 1 WITHIN 9")
    reading, writing = os.pipe()
    os.write(writing, EVENTS.encode())
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["run", str(script), "--input", "logins=-", "--follow"]) == 0
    told = capsys.readouterr().err
    assert told.count("warning: `a.user = NULL`") == 1
    assert told.count("warning: no event of type `Logout` occurred") == 1


def test_the_script_and_events_on_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SCRIPT.encode())))
    assert main(["run", "-", "--input", "logins=logins.csv"]) == 0
    assert capsys.readouterr().out == TABLES
    assert main(["run", "-", "--input", "logins=-"]) == 2
    assert "cannot both come on standard input" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--threads", "0"], "threads=0: a run takes at least one thread"),
        (["--quarantine", "rules.sase"], "a script writes a file for each input: name a folder"),
        (["-o", "x", "--quarantine", "x/"], "-o and --quarantine both name x"),
        (["--output", "count"], "--output count does not go with a script"),
        (["--max-matches", "0"], "`pairs` has more than 0 match"),
        (["--max-matches", "0"], "or allow more with  --max-matches"),
        (["--follow", "--max-matches", "9"], "--max-matches does not go with --follow, which has"),
        (["--follow", "--timeout", "soon"], "timeout='soon': give a number of seconds"),
        (["--format", "csv"], "write a file for each with  -o FOLDER"),
        (["-o", "rules.sase"], "a script writes a file for each statement: name a folder"),
        (["--input", "logins"], "give it as NAME=PATH"),
        (["--input", "logins=logins.csv"], "--input logins is given twice"),
        (["--follow", "-o", "found"], "-o does not go with --follow of a script"),
        (["--follow", "--events", "logins.parquet"], "only lines of text can be followed"),
        (["--events", "missing.csv"], "missing.csv"),
        (["--input", "a=-", "--input", "b=-"], "two inputs cannot both come on standard input"),
    ],
)
def test_what_does_not_go(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--input", "logins=logins.csv", *words) in (1, 2)
    assert problem in capsys.readouterr().err
    assert not os.path.exists("found")


def test_an_error_names_the_place_in_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.sase").write_text(SCRIPT.replace("pairs, logins", "pears, logins"), "utf-8")
    assert run("--input", "logins=logins.csv", "--strict") == 2
    printed = capsys.readouterr()
    assert "error[unknown-stream]: there is no stream `pears`" in printed.err
    assert " --> rules.sase:3:6\n" in printed.err
    assert "did you mean `pairs`?" in printed.err
    assert printed.out == ""


@pytest.mark.parametrize("command", ["run", "explain", "why", "replay", "check"])
def test_an_error_of_a_statement_names_the_file(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rules.sase").write_text(SCRIPT.replace("a.user AS user", "a.nix AS user"), "utf-8")
    assert main([command, "rules.sase", "--input", "logins=logins.csv"]) == 2
    printed = capsys.readouterr()
    assert " --> rules.sase:2:15\n" in printed.err + printed.out


def test_an_error_of_a_query_names_what_it_came_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "EVENT SEQ(Failure a, Success b)\nWHERE a.nix = 1 WITHIN 9"
    Path("one.sase").write_text(query, "utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(query.encode())))
    for given in (["one.sase"], ["-q", query], ["-"]):
        assert main(["run", *given, "--events", "logins.csv"]) == 2
    told = capsys.readouterr().err
    places = [line for line in told.splitlines() if "-->" in line]
    assert places == [" --> one.sase:2:9", " --> query:2:9", " --> standard input:2:9"]


@pytest.mark.parametrize("words", [(), ("--follow",)])
def test_a_limit_is_for_the_only_result(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("rules.sase").write_text("EVENT Failure a; EVENT Success b", "utf-8")
    assert main(["run", "rules.sase", "--events", "logins.csv", "--limit", "1", *words]) == 2
    told = capsys.readouterr().err
    assert "several results, query_1, query_2, and one is expected here" in told
    assert "leave --limit out, and write  LIMIT 1  in the statements it is for" in told


def test_a_step_that_takes_too_much_memory_ends_what_follows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.write(writing, EVENTS.encode())
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr("sase.engine.pipeline.limits.resident_memory", iter(GROWING).__next__)
        words = ["--input", "logins=-", "--follow", "--max-memory", "1KB", "--timeout", "1h"]
        assert run(*words) == 1
    assert "the call to this matcher needs more than its max_memory of 1,000" in (
        capsys.readouterr().err
    )


def test_files_of_an_input_are_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    os.makedirs("found")
    assert run("--input", "logins=logins.csv", "-o", "found") == 0
    words = ["--input", "logins=found/pairs.parquet,time=at,type=user", "-o", "found"]
    assert run(*words) == 2
    assert "would be written over the events in found/pairs.parquet" in capsys.readouterr().err


def test_progress_is_told_by_statement() -> None:
    progress = Progress(None, ["a", "b"])
    progress.watch(1000, {"a": 1, "b": 20})
    assert progress.line().endswith("matches: b 20, a 1")
    progress.watch(1000, dict.fromkeys("abcdef", 1))
    assert progress.line().endswith("matches: a 1, b 1, c 1, d 1, all 6 6")


def test_followed_inputs_come_as_they_come() -> None:
    """Each reads on once its last output is used, and a fault of one is raised."""
    seen: list[str] = []

    def rows(name: str, count: int) -> Iterator[str]:
        for number in range(count):
            seen.append(f"{name}{number}")
            yield f"{name}{number}"

    found = []
    for name, each in batches_of({"p": rows("p", 3), "q": rows("q", 2)}):
        assert seen[-1] == each or f"{name}{int(each[1:]) + 1}" not in seen
        found.append((name, each))
    assert sorted(found) == [("p", "p0"), ("p", "p1"), ("p", "p2"), ("q", "q0"), ("q", "q1")]

    def broken() -> Iterator[str]:
        yield "r0"
        raise ValueError("a bad line")

    with pytest.raises(ValueError, match="a bad line"):
        list(batches_of({"p": rows("p", 1), "r": broken()}))


def test_two_files_are_followed(tmp_path: Path, forked: Programs) -> None:
    for name, kind in (("p", "A"), ("q", "B")):
        (tmp_path / f"{name}.csv").write_text(f"ts,type\n1,{kind}\n5,Z\n")
    text = "FROM p, q EVENT SEQ(A a, B b) RETURN a.ts AS one, b.ts AS two; FROM q EVENT B b"
    inputs = ["--input", f"p={tmp_path}/p.csv", "--input", f"q={tmp_path}/q.csv"]
    child = forked.begun("run", "-q", text, "--follow", *inputs)
    lines = [json.loads(child.stdout.readline()) for _ in range(2)]
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert sorted(line["query"] for line in lines) == ["query_1", "query_2"]


def test_the_first_matches_of_the_only_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.csv").write_text("ts,type\n1,A\n2,A\n3,A\n")
    text = "CREATE STREAM s AS EVENT A a; FROM s EVENT s x RETURN x.a_ts AS at"
    given = ["run", "--events", str(tmp_path / "p.csv"), "--format", "jsonl", "--limit", "2"]
    assert main([*given, "-q", text]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum('"query": "query_2"' in line for line in lines) == 2
    assert main([*given, "-q", f"{text}; EVENT A b"]) == 2
    assert "this script has several results" in capsys.readouterr().err


def test_the_only_statement_has_no_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over an input with a name it takes the options of a query, over several FILE alone."""
    query, inputs = "FROM logins EVENT SEQ(Failure a, Success b)", ["--input", "logins=logins.csv"]
    assert main(["run", "-q", query, *inputs, "--threads", "2", "-o", "found.jsonl"]) == 0
    assert "sase: 2 matches in 3 rows, " in capsys.readouterr().err
    assert len(lines(Path("found.jsonl").read_text("utf-8"))) == 2
    assert main(["run", "-q", query, *inputs, "-o", "found", "--quarantine", "bad"]) == 0
    assert "sase: 2 matches in 3 rows, " in (told := capsys.readouterr().err)
    assert ": found/query_1.parquet\n" in told
    assert [os.listdir(each) for each in ("found", "bad")] == [["query_1.parquet"], []]
    assert main(["run", "-q", "EVENT Failure a", "--events", "logins.csv", "-o", "found"]) == 2
    assert "-o found: the suffix names the format" in capsys.readouterr().err
    assert main(["run", "-q", query, *inputs, "--output", "count"]) == 0
    assert capsys.readouterr().out == "2\n"
    stream = "CREATE STREAM s AS EVENT SEQ(Failure a, Success b) LIMIT 1"
    assert main(["run", "-q", stream, "--events", "logins.csv", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith('"a_ts",')
    both = "FROM logins, more EVENT SEQ(Failure a, Success b) RETURN a.ts AS at"
    more = [*inputs, "--input", "more=logins.csv"]
    assert main(["run", "-q", both, *more, "-o", "both.jsonl"]) == 0
    assert len(lines(Path("both.jsonl").read_text("utf-8"))) == 8
    assert main(["run", "-q", both, *more, "--threads", "2", "-o", "two.jsonl"]) == 0
    assert Path("two.jsonl").read_bytes() == Path("both.jsonl").read_bytes()


def test_a_limit_of_every_statement_ends_what_follows(forked: Programs) -> None:
    text = "EVENT Failure a LIMIT 1; EVENT Success b LIMIT 1"
    child = forked.begun("run", "-q", text, "--events", "-", "--follow")
    child.stdin.write(EVENTS)
    child.stdin.flush()
    told = child.stderr.read()  # to its end, with its input still open
    child.communicate()
    assert child.returncode == 0
    assert "LIMIT was reached before the end of the events" in told
    assert "sase: 2 matches of 2 statements in 3 rows\n" in told


BAD = "ts,type,v\n1,A,1\nx,A,2\n3,A,bad\n4,B,5\n"
OVER_P = "FROM p EVENT A a WHERE a.v > 0; FROM p EVENT A b WHERE b.v > 1; FROM p EVENT B b"


def bad_rows(path: str) -> list[list[Any]]:
    table = pq.read_table(path).to_pylist() if path.endswith("parquet") else None
    rows = lines(Path(path).read_text("utf-8")) if table is None else table
    return [[r["sase_row"], r["sase_column"], str(r["ts"]), str(r["v"])] for r in rows]


def test_bad_rows_of_each_input_have_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.csv").write_text(BAD, encoding="utf-8")
    Path("q.csv").write_text("ts,type,v\n1,C,1\n", encoding="utf-8")
    os.makedirs("bad")
    Path("bad/q.parquet").write_text("of an earlier run", encoding="utf-8")
    words = [
        "run",
        "-q",
        f"{OVER_P}; FROM p, q EVENT C c",
        "--input",
        "p=p.csv",
        "--input",
        "q=q.csv",
    ]
    assert main([*words, "--quarantine", "bad"]) == 0
    assert os.listdir("bad") == ["p.parquet"]
    assert bad_rows("bad/p.parquet") == [[1, "ts", "x", "2"], [2, "v", "3", "bad"]]
    told = capsys.readouterr().err
    assert "sase: p: 2 rows could not be used: bad/p.parquet\n" in told
    assert "sase: q: no row was bad: bad/q.parquet of an earlier run is removed\n" in told
    assert main([*words, "--on-bad-row", "quarantine"]) == 0
    assert "p: 2 rows could not be used: --quarantine FOLDER writes" in capsys.readouterr().err


def test_a_statement_over_several_streams_has_bad_rows_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("p.csv").write_text(f"ts,type,v\n1,A,{2**60 + 1}\n2,A,3\n", encoding="utf-8")
    Path("q.csv").write_text("ts,type,v\n1,C,1.5\n", encoding="utf-8")
    words = ["--input", "p=p.csv", "--input", "q=q.csv", "--quarantine", "bad", "--format", "jsonl"]
    text = "FROM p, q EVENT SEQ(A a, C c) WHERE a.v > c.v"
    assert main(["run", "-q", text, *words]) == 0
    assert bad_rows("bad/query_1.jsonl") == [[0, "v", "1", str(2**60 + 1)]]
    assert "#" not in Path("bad/query_1.jsonl").read_text("utf-8")
    assert "sase: query_1: 1 row could not be used" in capsys.readouterr().err


def test_the_file_of_the_input_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.csv").write_text(BAD, encoding="utf-8")
    words = ["--events", "p.csv", "--quarantine", "bad"]
    assert main(["run", "-q", "EVENT A a; EVENT B b", *words]) == 0
    assert bad_rows("bad/events.parquet") == [[1, "ts", "x", "2"]]
    text = "CREATE STREAM pairs AS EVENT A a; CREATE STREAM events AS FROM pairs EVENT pairs p"
    assert main(["run", "-q", text, *words]) == 2
    assert "events is the file for --events" in capsys.readouterr().err


def test_bad_rows_that_are_followed_are_lines_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: Programs
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--quarantine", "bad", "--lateness", "1"]
    child = forked.begun("run", "-q", OVER_P, "--follow", "--input", "p=-", *options)
    for part in ("ts,type,v\nx,A,2\n", "1,A,1\n9,A,1\n", "9,A,bad\ny,A,2\n10,B,5\n20,B,5\n"):
        child.stdin.write(part)
        child.stdin.flush()
        if "1,A,1" in part:
            assert json.loads(child.stdout.readline())["query"] == "query_1"
    _, told = child.communicate()
    assert "sase: p: 3 rows could not be used: bad/p.jsonl\n" in told
    assert sorted(bad_rows(str(tmp_path / "bad/p.jsonl"))) == [
        [0, "ts", "x", "2"],
        [3, "v", "9", "bad"],
        [4, "ts", "y", "2"],
    ]


def test_what_an_input_lacks_is_said_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, time in (("logins", "ts"), ("trades", "day_of")):
        (tmp_path / f"{name}.csv").write_text(EVENTS.replace("ts", time, 1))
    inputs = [f"--input={each}={tmp_path / each}.csv" for each in ("logins", "trades")]
    text = "FROM logins EVENT Failure a; FROM trades EVENT Failure a"
    assert main(["run", "-q", text, *inputs]) == 2
    told = capsys.readouterr().err
    assert "--input trades: no column has a usual name for the time of events" in told
    assert "--input trades=PATH,time=COLUMN" in told
    assert main(["run", "-q", text, *inputs[:1], f"{inputs[1]},time=day_of"]) == 0
