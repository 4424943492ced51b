"""`sase replay`: from files and tables to the results of `sase run`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import sase
from sase.cli.main import main
from tests.spark.cases import multiset as counted

BEGIN = datetime.fromisoformat("2026-01-01T00:00:00")
EVENTS = pa.table(
    {
        "ts": pa.array([BEGIN + timedelta(seconds=n) for n in range(60)], pa.timestamp("us")),
        "type": ["A", "B", "C"] * 20,
        "id": [number * 7 // 5 % 4 for number in range(60)],
        "s": ["x", None, 'y, "z"'] * 20,
    }
)
QUERY = "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 30 seconds"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    monkeypatch.chdir(tmp_path)
    spark.catalog.clearCache()
    pyarrow.parquet.write_table(EVENTS, "events.parquet")


def replay(*arguments: str, events: str = "events.parquet") -> int:
    return main(["replay", "--events", events, *arguments])


def read(path: str) -> pa.Table:
    if Path(path).suffix == ".arrow":
        return pa.ipc.open_file(path).read_all()
    return pyarrow.parquet.read_table(path)


def multiset(table: pa.Table) -> object:
    return counted(table.to_pylist())


def expected(events: object = EVENTS, query: str = QUERY) -> object:
    return multiset(sase.match(query, events).to_arrow())


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize("out", ["found.arrow", "found/"])
def test_all_matches_in_a_file(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a file by its address, or by a strategy."""
    name = "events.parquet"
    if out == "found/":
        arguments = ["--strategy", "slice", "--slices", "3", "--plan", "basic"]
    else:
        name, arguments = (Path.cwd() / name).as_uri(), []
    assert replay("-q", QUERY, *arguments, "-o", out, events=name) == 0
    assert multiset(read(out)) == expected()
    outcome = capsys.readouterr().err
    count = len(sase.match(QUERY, EVENTS))
    rows = " in 60 rows" if name == "events.parquet" else ""  # those of an address are not counted
    assert f"{count} matches{rows}" in outcome
    assert f"on Spark: {out}" in outcome
    assert not list(Path().glob("*.partial"))


def test_text_is_the_text_of_run(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for format in ("csv", "jsonl"):
        assert main(["run", "-q", QUERY, "--events", "events.parquet", "-o", f"run.{format}"]) == 0
    assert replay("-q", QUERY, "--format", "csv") == 0
    printed = capsysbinary.readouterr().out
    assert replay("-q", QUERY, "-o", "found.jsonl") == 0
    for local, found in (("csv", printed), ("jsonl", Path("found.jsonl").read_bytes())):
        wanted = Path(f"run.{local}").read_bytes()
        assert sorted(found.splitlines()) == sorted(wanted.splitlines()) != []


def test_a_table_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    query = "EVENT SEQ(A a, C c) WITHIN 10 seconds RETURN a.ts AS begin, a.id, a.s, c.id"
    assert replay("-q", query, "--format", "table") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["begin", "a_id", "a_s", "c_id", "detected_at"]
    assert len(lines) == 2 + 20 + 1
    assert lines[2].split()[:5] == ["2026-01-01", "00:00:00", "0", "x", "2"]
    assert "more: write all of them with  -o FILE" in lines[-1]
    assert "matches in 60 rows" in err


def test_no_match(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("-q", "EVENT SEQ(A a, D d) WITHIN 5 seconds") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "0 matches in 60 rows" in err


def test_messages_of_workers_name_options_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    intervals = pa.table({"lo": [1, 2], "hi": [3, 9], "type": ["A", "B"]})
    pyarrow.parquet.write_table(intervals, "intervals.parquet")
    given = ["-q", "EVENT SEQ(A a, B b) WITHIN 4", "--time", "lo,hi", "--longest", "2"]
    assert replay(*given, events="intervals.parquet") == 1
    assert "it is more than 2 after `lo`, and --longest says that none" in capsys.readouterr().err


def test_the_first_matches(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("-q", QUERY, "--limit", "3", "-o", "found.parquet")
    assert replay(*arguments) == 2
    assert "LIMIT takes the first results" in capsys.readouterr().err
    assert replay(*arguments, "--seq", "id") == 0
    local = sase.match(QUERY, EVENTS, seq="id", limit=3).to_arrow()
    assert multiset(read("found.parquet")) == multiset(local)


def test_matches_that_do_not_overlap(capsys: pytest.CaptureFixture[str]) -> None:
    query = "EVENT SEQ(A a, C c) WHERE a.id < c.id WITHIN 9 seconds"
    arguments = ("-q", query, "--output", "non_overlap", "-o", "found.parquet")
    assert replay(*arguments, "--seq", "id") == 0
    local = sase.match(query, EVENTS, seq="id", output="non_overlap").to_arrow()
    assert multiset(read("found.parquet")) == multiset(local)
    assert f"{len(local)} matches in 60 rows" in capsys.readouterr().err
    explain = ("explain", "--spark", "--events", "events.parquet", "--output", "non_overlap")
    assert main([*explain, "--seq", "id", "-q", query]) == 0
    assert "non_overlap: of matches" in capsys.readouterr().out


@pytest.mark.parametrize("events", ["--events=events.parquet", "--events=s3a://a/b", "--table=t"])
@pytest.mark.parametrize(
    ("query", "more", "outcome"),
    [
        (QUERY, ["--limit=3"], "LIMIT takes the first results in the order of events"),
        (f"{QUERY} LIMIT 3", [], "LIMIT takes the first results in the order of events"),
        (QUERY, ["--output=non_overlap"], "non_overlap takes the first of matches"),
        ("EVENT SEQ(A a, C c) WITHIN 3 EVENTS", [], "a window in EVENTS counts them one by one"),
        (
            "EVENT A+ a[] WHERE strict_contiguity WITHIN 3 hours",
            [],
            "the events that strict_contiguity takes",
        ),
    ],
)
def test_what_lacks_an_order_is_told_before_spark_is_started(
    events: str,
    query: str,
    more: list[str],
    outcome: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sase.cli.replay.session", None)
    assert main(["replay", events, "-q", query, *more]) == 2
    err = capsys.readouterr().err
    assert outcome in err
    assert "simultaneous events with  --seq\n" in err


def test_columns_that_clash_in_csv_are_told_before_spark_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    events, out = tmp_path / "events.csv", tmp_path / "out.csv"
    events.write_text("ts,type,z,y_z\n1,A,1,2\n2,A,3,4\n")
    monkeypatch.setattr("sase.cli.replay.session", None)
    query = "EVENT SEQ(A x_y, A x) WITHIN 10"
    assert main(["replay", "--events", str(events), "-q", query, "-o", str(out)]) == 2
    assert "the result cannot have a column `x_y_z`" in capsys.readouterr().err


SERIES = "EVENT SEQ(A+ a[], C c) WHERE [id] WITHIN 50 seconds"


def test_the_number_of_matches(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("-q", SERIES, "--output", "count") == 0
    out, err = capsys.readouterr()
    assert int(out) == sase.match(SERIES, EVENTS, output="count") > 60
    assert f"{int(out):,} matches in 60 rows" in err
    assert replay("-q", SERIES, "--output", "count", "-o", "found.csv") == 2
    assert "-o does not go with --output count" in capsys.readouterr().err


def test_all_matches_as_a_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("-q", SERIES, "--output", "compressed", "-o", "found.parquet") == 0
    local = sase.match(SERIES, EVENTS, output="compressed")
    ends = local.to_arrow().sort_by("ts_end")
    first, most, *_ = capsys.readouterr().out.splitlines()
    assert first == f"{local.count():,} matches, {ends.num_rows} final events"
    assert most.startswith("most end at 2026-01-01 00:00:")
    found = read("found.parquet")
    assert found["count"].to_pylist() == [str(count) for count in ends["count"].to_pylist()]
    assert found["events"].to_pylist() == ends["events"].to_pylist()
    assert replay("-q", f"{SERIES} LIMIT 2", "--output", "compressed") == 2
    assert "LIMIT takes the first of all matches" in capsys.readouterr().err


# ---------------------------------------------------------------- inputs


def test_options_of_csv_are_those_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Tasks read with them, too."""
    lines = ["ts,type,id,p,v", "1,A,007,1,1", "2,A,7,1,2", "3,B,7,-,30", "4,B,07,1,N/A"]
    Path("ids.csv").write_text("\n".join(lines), encoding="utf-8")
    query = (
        "EVENT SEQ(A a, B b) WHERE [id] AND a.p > 0 AND b.v > a.v"
        " RETURN a.ts AS n, b.id AS id, b.p AS p"
    )
    more = ["--text", "id", "--null", "-", "--format", "jsonl"]
    assert replay("-q", query, *more, events="ids.csv") == 0
    printed = capsys.readouterr()
    (row,) = map(json.loads, printed.out.splitlines())
    assert (row["n"], row["id"], row["p"]) == (2, "7", None)
    said = "`v` is compared as text, since it holds 'N/A' beside numbers"
    assert printed.err.count(said) == 1


def test_csv_is_read_as_run_reads_it() -> None:
    """And folders give columns."""
    for day in (1, 2):
        Path(f"days/day={day}").mkdir(parents=True)
        pyarrow.csv.write_csv(EVENTS.slice(30 * (day - 1), 30), f"days/day={day}/part.csv")
    query = "EVENT SEQ(A a, C c) WHERE [id, day] AND a.s = 'x' WITHIN 30 seconds"
    assert replay("-q", query, "-o", "found.parquet", events="days") == 0
    assert main(["run", "-q", query, "--events", "days", "-o", "run.parquet"]) == 0
    found, local = read("found.parquet"), read("run.parquet")
    assert len(found) > 0
    # Spark has microseconds, where Arrow takes the unit that the text needs.
    assert multiset(found) == multiset(local.cast(found.schema))


def test_json_lines_are_read_as_run_reads_them() -> None:
    lines = [json.dumps({**row, "ts": row["ts"].isoformat()}) for row in EVENTS.to_pylist()]
    Path("events.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert replay("-q", QUERY, "-o", "found.jsonl", events="events.jsonl") == 0
    assert main(["run", "-q", QUERY, "--events", "events.jsonl", "-o", "run.jsonl"]) == 0
    found, local = (Path(name).read_text().splitlines() for name in ("found.jsonl", "run.jsonl"))
    assert sorted(found) == sorted(local) != []


def test_parquet_with_nanoseconds_and_unsigned_numbers() -> None:
    table = EVENTS.set_column(0, "ts", EVENTS["ts"].cast(pa.timestamp("ns")))
    table = table.append_column("u", EVENTS["id"].cast(pa.uint64()))
    table = table.append_column("v", EVENTS["id"].cast(pa.uint32()))
    pyarrow.parquet.write_table(table, "events.parquet")
    query = "EVENT SEQ(A a, C c) WHERE [u] AND a.v <= c.v WITHIN 30 seconds RETURN a.id, c.u, c.v"
    assert replay("-q", query, "-o", "found.parquet") == 0
    local = sase.match(query, table).to_arrow()
    found = read("found.parquet")
    assert len(found) == len(local) > 0
    names = ["a_id", "c_u", "c_v"]
    assert multiset(found.select(names)) == multiset(local.select(names))


def test_nanoseconds_that_spark_has_not_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    odd = EVENTS["ts"].cast(pa.timestamp("ns")).cast(pa.int64()).to_pylist()
    ts = pa.array([each + 1 for each in odd], pa.timestamp("ns"))
    pyarrow.parquet.write_table(EVENTS.set_column(0, "ts", ts), "events.parquet")
    assert replay("-q", QUERY) == 1
    outcome = capsys.readouterr().err
    assert "events.parquet: rows 0 to 59 have values that Spark has not" in outcome
    assert "Traceback" not in outcome


def test_a_window_without_a_unit_counts_integer_times(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = EVENTS.set_column(0, "ts", EVENTS["ts"].cast(pa.timestamp("ms")))
    pyarrow.parquet.write_table(table, "events.parquet")
    assert replay("-q", "EVENT SEQ(A a, C c) WHERE [id] WITHIN 30000") == 2
    assert "= write  WITHIN 30000 seconds" in capsys.readouterr().err
    assert replay("-q", QUERY, "-o", "found.parquet") == 0
    assert multiset(read("found.parquet")) == expected()


def test_a_table(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    spark.read.parquet(str(Path.cwd() / "events.parquet")).createOrReplaceTempView("readings")
    assert main(["replay", "--table", "readings", "-q", QUERY, "-o", "found.parquet"]) == 0
    assert multiset(read("found.parquet")) == expected()
    assert main(["replay", "--table", "reading", "-q", QUERY]) == 1
    assert "Spark gave up: " in capsys.readouterr().err


# ---------------------------------------------------------------- rows that are bad, options


def with_bad_rows() -> None:
    ts = [None if n in (6, 7) else value for n, value in enumerate(EVENTS["ts"].to_pylist())]
    table = EVENTS.set_column(0, "ts", pa.array(ts, pa.timestamp("us")))
    pyarrow.parquet.write_table(table, "events.parquet")


def test_a_bad_row_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with_bad_rows()
    assert replay("-q", QUERY, "-o", "found.csv") == 1
    outcome = capsys.readouterr().err
    assert "sase replay: error: a row is bad, {'ts': None" in outcome
    assert "Traceback" not in outcome
    assert "org.apache" not in outcome


def test_bad_rows_are_put_aside(capsys: pytest.CaptureFixture[str]) -> None:
    with_bad_rows()
    assert replay("-q", QUERY, "--on-bad-row", "quarantine", "--output", "count") == 0
    assert "2 rows could not be used: --quarantine FILE" in capsys.readouterr().err
    assert replay("-q", QUERY, "--quarantine", "bad.parquet", "-o", "found.parquet") == 0
    local = sase.match(QUERY, "events.parquet", on_bad_row="quarantine")
    assert multiset(read("found.parquet")) == multiset(local.to_arrow())
    assert sorted(read("bad.parquet")["id"].to_pylist()) == [0, 1]


def test_a_strategy_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("-q", "EVENT SEQ(A a, C c) WITHIN 3 s", "--strategy", "key") == 2
    assert "cannot be taken here" in capsys.readouterr().err


def test_one_task_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("-q", "EVENT SEQ(A a, C c) WHERE a.id < c.id LIMIT 0", "--seq", "id") == 0
    assert "sase: warning: one task searches all events" in capsys.readouterr().err
