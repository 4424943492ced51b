"""`sase run --schema`: columns have the types of the schema, whatever their values seem to be."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from sase.cli.main import main

LINES = "when,kind,id,v\n1,A,007,5\n2,B,007,6\n3,A,7,\n4,B,7,2\n5,A,8,x\n6,B,8,3\n"
SCHEMA = """
time = "when"
type = "kind"
time_unit = "s"
[columns]
when = "integer"
kind = "string"
id = "string"
v = "integer"
"""
QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 10 s RETURN a.id AS id"
BY_VALUE = "EVENT SEQ(A a, B b) WHERE [id] AND a.v > 0 WITHIN 10 s RETURN a.id AS id"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text(LINES, encoding="utf-8")
    Path("schema.toml").write_text(SCHEMA, encoding="utf-8")


def run(query: str, *arguments: str) -> int:
    given = ["--events", "events.csv", "--schema", "schema.toml", "--format", "csv"]
    return main(["run", "-q", query, *given, *arguments])


def test_digits_are_text_where_the_schema_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(QUERY) == 0
    assert [line.split(",")[0] for line in capsys.readouterr().out.split()[1:]] == [
        '"007"',
        '"7"',
        '"8"',
    ]


def test_what_is_no_number_is_a_bad_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(BY_VALUE) == 1
    assert "`v` is 'x'" in capsys.readouterr().err
    assert run(BY_VALUE, "--on-bad-row", "quarantine") == 0
    out, err = capsys.readouterr()
    assert [line.split(",")[0] for line in out.split()[1:]] == ['"007"']
    assert "1 row could not be used" in err


@pytest.mark.parametrize("form", ["count", "non_overlap"])
def test_other_forms_go_by_the_schema(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "-q", QUERY, "--events", "events.csv", "--schema", "schema.toml"]
    assert main([*arguments, "--output", form]) == 0
    assert "3 matches in 6 rows" in capsys.readouterr().err


def test_what_the_schema_lacks_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("EVENT SEQ(A a, B b) WHERE a.w > b.v") == 2
    assert "error[unknown-attribute]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--time", "id"], "time='id' differs from the Schema"),
        (["--text", "id"], "leave text= out"),
        (["--types", "Trade"], "leave types= out"),
        (["--follow"], "--schema does not go with --follow, where the first lines decide"),
        (["--schema", "other.toml"], "other.toml cannot be read"),
    ],
)
def test_what_it_does_not_go_with(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(QUERY, *arguments) != 0
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_of_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"when": [1, 2], "kind": ["A", "B"], "id": ["1", "1"], "v": ["x", "y"]})
    pyarrow.parquet.write_table(table, "events.parquet")
    arguments = ["run", "-q", BY_VALUE, "--events", "events.parquet", "--schema", "schema.toml"]
    assert main(arguments) != 0
    err = capsys.readouterr().err
    assert "`v`" in err and "string" in err
