"""The types of the columns of files: by all of their values, and as far as a query names them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.engine.pipeline.batch import run

QUERY = "EVENT SEQ(A x, B y) WHERE [id] WITHIN 10 RETURN x.id"
# More bytes than those by which Arrow finds out types.
MANY = 60_000
Lines = list[dict[str, object]]


def csv(path: Path, rows: Lines, names: list[str]) -> Path:
    lines = [",".join("" if row[n] is None else str(row[n]) for n in names) for row in rows]
    path = path.with_suffix(".csv")
    path.write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    return path


def jsonl(path: Path, rows: Lines, names: list[str]) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def stream(value: object, *last: object) -> Lines:
    """Rows with one value, and then others."""
    first: Lines = [{"ts": n, "type": "C", "id": n, "p": value} for n in range(MANY)]
    rest: Lines = [
        {"ts": MANY + n, "type": "AB"[n % 2], "id": 1, "p": each} for n, each in enumerate(last)
    ]
    return first + rest


@pytest.mark.parametrize("write", [csv, pytest.param(jsonl, marks=pytest.mark.heavy)])
@pytest.mark.parametrize(("value", "last"), [(10, (10.5, 11)), (None, (5, 7)), (None, (0.25, 0.5))])
def test_types_are_those_of_all_values(
    write: Callable[[Path, Lines, list[str]], Path],
    value: object,
    last: tuple[float, ...],
    tmp_path: Path,
) -> None:
    rows = stream(value, *last)
    query = "EVENT SEQ(A x, B y) WHERE [id] AND x.p < y.p WITHIN 10 RETURN x.p AS p, y.p AS r"
    big = write(tmp_path / "big", rows, list(rows[0]))
    small = write(tmp_path / "small", [rows[0], *rows[MANY:]], list(rows[0]))
    for path in (big, small):
        found = sase.match(query, path)
        assert [(row["p"], row["r"]) for row in found] == [last]
        shown = sase.match(query.partition(" RETURN")[0], path)
        assert [(row["x"]["p"], row["y"]["p"]) for row in shown] == [last]
    in_pieces = run(sase.compile(query, big).engine, big, held=0)
    assert [(row["p"], row["r"]) for row in in_pieces] == [last]


def test_text_among_numbers_makes_a_column_text_in_files_of_any_size(tmp_path: Path) -> None:
    rows = stream(3, "abc", "abc")
    big = csv(tmp_path / "big", rows, list(rows[0]))
    small = csv(tmp_path / "small", [rows[0], *rows[MANY:]], list(rows[0]))
    for path, row in ((big, MANY), (small, 1)):
        query = "EVENT SEQ(A x, B y) WHERE [p] WITHIN 10 RETURN x.p AS p"
        assert [each["p"] for each in sase.match(query, path)] == ["abc"]
        # Where only numbers make sense, the text is in bad rows.
        query = "EVENT C x WHERE x.p > 2 LIMIT 1"
        with pytest.raises(sase.DataError, match=f"line {row + 2}: `p` is 'abc'"):
            sase.match(query, path)
        found = sase.match(query, path, on_bad_row="quarantine")
        assert len(found) == 1
        assert found.report.quarantined["sase_row"].to_pylist() == [row, row + 1]
        plan = sase.compile(query, path, on_bad_row="quarantine")
        assert plan.run(path).report.bad == 2


def test_a_key_of_json_may_come_late(tmp_path: Path) -> None:
    rows = stream(None, None, None)
    for row in rows[:MANY]:
        del row["p"]
    rows[-1]["p"] = 5
    path = jsonl(tmp_path / "e", rows, [])
    found = sase.match("EVENT SEQ(A x, B y) WHERE y.p > 4 WITHIN 10 RETURN y.p AS p", path)
    assert [row["p"] for row in found] == [5]
    (shown,) = sase.match("EVENT SEQ(A x, B y) WHERE [id] WITHIN 10", path)
    assert shown["y"]["p"] == 5


# ---------------------------------------------------------------- columns that are not named


def parquet(path: Path, **columns: object) -> None:
    pyarrow.parquet.write_table(pa.table(columns), path)


def test_files_may_differ_in_what_no_query_names(tmp_path: Path) -> None:
    for name in ("csv", "parquet", "jsonl"):
        (tmp_path / name).mkdir()
    (tmp_path / "csv/1.csv").write_text("ts,type,id,note\n1,A,1,5\n", encoding="utf-8")
    (tmp_path / "csv/2.csv").write_text("ts,type,id,note\n2,B,1,x\n", encoding="utf-8")
    parquet(tmp_path / "parquet/1.parquet", ts=[1], type=["A"], id=[1], note=[5])
    parquet(tmp_path / "parquet/2.parquet", ts=[2], type=["B"], id=[1], note=["x"])
    jsonl(tmp_path / "jsonl/1", [{"ts": 1, "type": "A", "id": 1, "note": 5}], [])
    jsonl(tmp_path / "jsonl/2", [{"ts": 2, "type": "B", "id": 1, "note": "x"}], [])
    for name in ("csv", "parquet", "jsonl"):
        assert [row["x_id"] for row in sase.match(QUERY, tmp_path / name)] == [1]
        shown = sase.match(QUERY.partition(" RETURN")[0], tmp_path / name)
        assert shown.rows.to_pylist() == [{"x": 0, "y": 1}]
    by_note = QUERY.replace("[id]", "x.note = '5' AND y.note = 'x'")
    assert len(sase.match(by_note, tmp_path / "csv")) == 1
    said = r"`note` is int64 in .*1\.parquet and string in"
    with pytest.raises(sase.SchemaError, match=said):
        sase.match(by_note, tmp_path / "parquet")
    tables = {"A": tmp_path / "parquet", "B": tmp_path / "parquet"}
    assert len(sase.match("EVENT SEQ(A x, B y) WHERE [id]", tables)) == 1
    with pytest.raises(sase.BindingError, match="`x.note` is a value that conditions cannot read"):
        sase.match("EVENT A x WHERE x.note = '5'", tables)


def test_lines_may_differ_in_what_no_query_names(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    lines = ['{"ts": 1, "type": "A", "id": 1, "note": 5}']
    lines += ['{"ts": 2, "type": "B", "id": 1, "note": "x"}']
    path.write_text("\n".join(lines), encoding="utf-8")
    assert len(sase.match(QUERY, path)) == 1
    with pytest.raises(sase.DataError, match="line 2: `note` is 'x', and was of another kind"):
        sase.match("EVENT A x WHERE x.note = 5", path)
    path = tmp_path / "e.csv"
    path.write_bytes("ts,type,id,note\n1,A,1,é\n2,B,1,x\n".encode("latin-1"))
    assert len(sase.match(QUERY, path)) == 1
    with pytest.raises(sase.DataError, match="line 2: `note` is not UTF-8"):
        sase.match("EVENT A x WHERE x.note = 'x'", path)


def test_text_may_be_in_dictionaries_in_some_files(tmp_path: Path) -> None:
    for number, kind in enumerate([pa.dictionary(pa.int8(), pa.string()), pa.large_string()]):
        types = pa.array(["AB"[number]]).cast(kind)
        parquet(tmp_path / f"{number}.parquet", ts=[number], type=types, id=[1])
    parquet(tmp_path / "2.parquet", ts=[2], type=["B"], id=[1])
    assert sase.match(QUERY, tmp_path).rows.to_pylist() == [{"x": 0, "y": 1}, {"x": 0, "y": 2}]


# ---------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("times", "bad"),
    [
        (("1", "foo", "5"), "foo"),
        (("1.5", "2026-01-01", "3"), "2026-01-01"),
        (("2026-01-01T00:00:00Z", "2026-01-01T00:00:01", "2026-01-01T00:00:02Z"), ":01"),
    ],
)
def test_a_time_that_is_none_of_its_column(
    times: tuple[str, str, str], bad: str, tmp_path: Path
) -> None:
    lines = ["ts,type,id", *(f"{t},{k},1" for t, k in zip(times, "ABB", strict=True))]
    path = tmp_path / "e.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    query = "EVENT SEQ(A x, B y) WHERE [id] RETURN x.id"
    with pytest.raises(sase.DataError) as problem:
        sase.match(query, path)
    assert (problem.value.row, problem.value.column) == (1, "ts")
    assert bad in str(problem.value)
    found = sase.match(query, path, on_bad_row="quarantine")
    assert found.rows.to_pylist() == [{"x": 0, "y": 2}]
    (aside,) = found.report.quarantined.to_pylist()
    assert (aside["sase_row"], aside["sase_column"], aside["ts"]) == (1, "ts", times[1])
    if "Z" in times[0]:
        for said in (str(problem.value), aside["sase_reason"]):
            assert "this moment has no zone, and others do" in said


# ---------------------------------------------------------------- text that means NULL


DELAYS = ["ts,type,flight,delay", "1,Departure,LH1,9", "2,Arrival,LH1,30", "{},Arrival,LH1,{}"]
LATER = "EVENT SEQ(Departure a, Arrival b) WHERE [flight] AND b.delay > a.delay WITHIN 10"


def delays(path: Path, *missing: str) -> Path:
    lines = [*DELAYS[:3], *(DELAYS[3].format(ts, text) for ts, text in enumerate(missing, 3))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_numbers_that_a_few_values_make_text_are_told(tmp_path: Path) -> None:
    """As text 30 is less than 9; with `null` they are numbers again, also in quotes."""
    path = delays(tmp_path / "flights.csv", "N/A", "n. a.", "N/A")
    found = sase.match(LATER, path)
    (warning,) = found.report.warnings
    assert warning.startswith("`delay` is compared as text, since it holds 'N/A', 'n. a.' beside")
    in_pieces = run(sase.compile(LATER, path).engine, path, held=0)
    assert (len(in_pieces), in_pieces.report.warnings) == (len(found), (warning,))
    null = ["N/A", "n. a."]
    assert f"null={null!r}" in warning
    quoted = delays(tmp_path / "quoted.csv", "N/A", '"N/A"', "n. a.")
    for events in (path, quoted):
        plan = sase.compile(LATER, events, null=null)
        again = sase.Plan.from_json(plan.to_json())
        for matches in (sase.match(LATER, events, null=null), plan.run(events), again.run(events)):
            assert matches.rows.to_pylist() == [{"a": 0, "b": 1}]
            assert matches.report.warnings == ()
    typed = {"Departure": path, "Arrival": path}
    assert len(sase.match(LATER.replace("[flight] AND ", ""), typed, null=null)) == 1


def test_every_way_tells_of_numbers_that_are_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once each: sets and numbers of matches, explanations, comparisons, and followed files."""
    path = delays(tmp_path / "flights.csv", "N/A")
    said = "`delay` is compared as text, since it holds 'N/A' beside numbers"
    for output in "count", "compressed":
        (warning,) = sase.match(LATER, path, output=output).report.warnings
        assert warning.startswith(said)
    assert str(sase.why(LATER, path)).count(said) == 1
    for words in (["run"], ["run", "--output", "count"], ["why"], ["compare"]):
        assert main([*words, "--events", str(path), "-q", LATER]) == 0
        assert "".join(capsys.readouterr()).count(said) == 1
    for more, count in ([], 1), (["--null", "N/A"], 0):
        with path.open() as lines:
            monkeypatch.setattr("sys.stdin", lines)
            assert main(["run", "--follow", "--events", "-", "-q", LATER, *more]) == 0
        assert capsys.readouterr().err.count(said) == count


def test_what_is_text_or_no_number_anyway_is_not_told(tmp_path: Path) -> None:
    """Names, many values that are no numbers, and columns that only results show."""
    path = delays(tmp_path / "flights.csv", *"abcdefghi")
    assert sase.match(LATER, path).report.warnings == ()
    path = delays(tmp_path / "flights.csv", "N/A")
    query = "EVENT SEQ(Departure a, Arrival b) WHERE [flight] RETURN b.delay AS delay"
    assert sase.match(query, path).report.warnings == ()


def test_null_is_for_csv(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "e", [{"ts": 1, "type": "A"}], [])
    with pytest.raises(sase.SchemaError, match="only CSV has text in place of a missing value"):
        sase.match("EVENT A a", path, null="N/A")
    with pytest.raises(sase.PlanError, match="for files of text, and these events are none"):
        sase.match("EVENT A a", [{"ts": 1, "type": "A"}], null="N/A")
    for wrong in (5, None, [5]):
        with pytest.raises(sase.PlanError, match="give a text such as"):
            sase.match("EVENT A a", path, null=wrong)


# ---------------------------------------------------------------- numbers that are text


TAGS = "ts,type,id,zip\n1,A,007,01\n2,A,7,1\n3,B,7,01\n4,A,{0},1\n5,B,{1},1\n"
SAME = "EVENT SEQ(A a, B b) WHERE [id]"


@pytest.fixture
def tags(tmp_path: Path) -> Path:
    """Identifiers of which no two are one number, unless zeros in front say nothing."""
    path = tmp_path / "tags.csv"
    path.write_text(TAGS.format(2**64 - 1, 2**64 - 2), encoding="utf-8")
    return path


@pytest.mark.parametrize("options", [{}, {"on_bad_row": "quarantine"}, {"output": "compressed"}])
def test_a_column_is_text_on_request(tags: Path, options: dict[str, Any]) -> None:
    with pytest.raises(sase.DataError, match='as text with  text="id"'):
        sase.match(SAME, tags)
    matches = sase.match(SAME, tags, text="id", **options)
    rows = matches.to_arrow().to_pylist() if options.get("output") is None else list(matches)
    assert [(row["a"]["id"], row["b"]["id"]) for row in rows] == [("7", "7")]
    if "output" not in options:
        assert rows[0]["b"]["zip"] == 1
        assert matches.report.warnings == ()
        shown = sase.match(SAME, tags, text=["id", "zip"], **options).to_pylist()
        assert [row["b"]["zip"] for row in shown] == ["01"]


def test_a_plan_reads_text_where_its_schema_has_it(tags: Path) -> None:
    """Compiled for the file, for a schema, stored, in pieces, and for tables of each type."""
    kinds = {"ts": pa.int64(), "type": pa.string(), "id": pa.string(), "zip": pa.int64()}
    for plan in (sase.compile(SAME, tags, text="id"), sase.compile(SAME, pa.schema(kinds))):
        for each in (plan, sase.Plan.from_json(plan.to_json())):
            assert each.run(tags).rows.to_pylist() == [{"a": 1, "b": 2}]
        assert run(plan.engine, tags, held=0).rows.to_pylist() == [{"a": 1, "b": 2}]
    typed = sase.match(SAME, {"A": tags, "B": tags}, text="id")
    assert {match["a"]["id"] for match in typed} == {"7"}


def test_every_command_reads_text(
    tags: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--events", str(tags), "-q", SAME, "--text", "id"]
    for command in (["run"], ["why"], ["compare"], ["explain"], ["plans"], ["check"]):
        assert main([*command, *words]) == 0, command
    monkeypatch.chdir(tags.parent)
    with tags.open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        assert main(["run", "--follow", *words, "--events", "-"]) == 0
    out, err = capsys.readouterr()
    assert '"id": "7"' in out
    assert "compared as text" not in err
    words = ["check", "--events", str(tags), "-q", "EVENT A a WHERE a.id > 1"]
    assert (main(words), main([*words, "--text", "id"])) == (0, 2)


def test_a_moment_is_text_on_request(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("ts,type,day\n1,A,2026-01-31\n2,B,2026-01-31T00:00\n", encoding="utf-8")
    query = "EVENT SEQ(A a, B b) WHERE a.day = b.day"
    assert (len(sase.match(query, path)), len(sase.match(query, path, text="day"))) == (1, 0)


def test_text_is_for_columns_of_csv(tmp_path: Path, tags: Path) -> None:
    lines = jsonl(tmp_path / "e", [{"ts": 1, "type": "A", "id": 1}], [])
    with pytest.raises(sase.SchemaError, match="only columns of CSV are read as text on demand"):
        sase.match("EVENT A a", lines, text="id")
    with pytest.raises(sase.PlanError, match="for files of text, and these events are none"):
        sase.match("EVENT A a", [{"ts": 1, "type": "A", "id": 1}], text="id")
    with pytest.raises(sase.SchemaError, match="there is no column `idd`; did you mean `id`"):
        sase.match(SAME, tags, text="idd")
    with pytest.raises(sase.SchemaError, match="`id` is int64 by its schema: say string there"):
        sase.compile(
            SAME, pa.schema({"ts": pa.int64(), "type": pa.string(), "id": pa.int64()}), text="id"
        )
    with pytest.raises(sase.PlanError, match="give the name of a column, or a list of names"):
        sase.match(SAME, tags, text=5)
