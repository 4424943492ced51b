"""`sase check`: its input, output and status."""

import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from sase.cli.main import main

GOOD = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
BAD = "EVENT SEQ(A a, B b) WHERE c.x > 1"
SCHEMA = '[types.A]\nid = "integer"\n[types.B]\nid = "integer"\n'


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_a_good_query(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on standard output, a summary beside it."""
    assert main(["check", "-q", GOOD]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "1 text checked: no problems\n"


def test_a_bad_query(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole message, and exit status 2."""
    assert main(["check", "-q", BAD]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("error[unknown-variable]: no component of the pattern is called `c`\n")
    assert err == "1 text checked: 1 error\n"


def test_files_and_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text under its own name; a byte order mark is no part of it."""
    (tmp_path / "good.sase").write_text("\ufeff" + GOOD, encoding="utf-8")
    (tmp_path / "bad.sase").write_text(f"{GOOD};\n{BAD};\n{BAD}", encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    monkeypatch.chdir(tmp_path)
    assert main(["check", "good.sase", "bad.sase", "-"]) == 2
    out, err = capsys.readouterr()
    places = [line.strip() for line in out.splitlines() if "-->" in line]
    assert places == ["--> bad.sase:2:27", "--> bad.sase:3:27", "--> standard input:1:27"]
    assert err == "3 texts checked: 3 errors\n"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A versioned document with a place in lines, columns and offsets."""
    assert main(["check", "--format", "json", "-q", BAD]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    (file,) = document["files"]
    (diagnostic,) = file["diagnostics"]
    assert file["name"] == "query"
    assert diagnostic["code"] == "unknown-variable"
    assert diagnostic["severity"] == "error"
    assert diagnostic["start"] == {"line": 1, "column": 27, "offset": 26}
    assert diagnostic["end"] == {"line": 1, "column": 28, "offset": 27}


def test_a_warning_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown, and the exit status stays 0."""
    assert main(["check", "-q", "EVENT A a WHERE a.x = NULL"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("warning[comparison-with-null]")
    assert err == "1 text checked: 1 warning\n"


def test_a_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From TOML, from JSON, and wrong ones with their place."""
    toml, other = tmp_path / "schema.toml", tmp_path / "schema.json"
    toml.write_text(SCHEMA, encoding="utf-8")
    other.write_text('{"types": {"A": {"id": "integr"}}}', encoding="utf-8")
    assert main(["check", "--schema", str(toml), "-q", GOOD]) == 0
    assert main(["check", "--schema", str(toml), "-q", "EVENT A a WHERE a.di = 1"]) == 2
    assert "did you mean `id`?" in capsys.readouterr().out
    assert main(["check", "--schema", str(other), "-q", GOOD]) == 2
    assert "types.A.id: `integr` is not a type" in capsys.readouterr().err
    assert main(["check", "--schema", str(tmp_path / "none.toml"), "-q", GOOD]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_a_schema_from_events(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The columns of a file of events; the time column is found by its name."""
    table = pa.table({"timestamp": [1, 2], "event": ["A", "B"], "id": [1, 1]})
    path = tmp_path / f"events{suffix}"
    match suffix:
        case ".parquet":
            pyarrow.parquet.write_table(table, path)
        case ".arrow":
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
        case ".csv":
            path.write_text("timestamp,event,id\n1,A,1\n2,B,1\n", encoding="utf-8")
    assert main(["check", "--events", str(path), "-q", GOOD]) == 0
    assert main(["check", "--events", str(path), "-q", "EVENT A a WHERE a.di = 1"]) == 2
    assert main(["check", "--events", str(path), "-q", f"{GOOD} hours"]) == 2
    assert main(["check", "--events", str(path), "--time-unit", "s", "-q", f"{GOOD} hours"]) == 0
    assert "unit-of-integer-time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is no query"),
        (["-q", GOOD, "x.sase"], "files or -q TEXT, not both"),
        (["nowhere.sase"], "nowhere.sase cannot be read"),
        (["--schema", "a.toml", "--events", "b.csv", "-q", GOOD], "leave one of them out"),
        (["--events", "b.txt", "-q", GOOD], "there is no such file or folder"),
        (["--events", "b.csv", "-q", GOOD], "there is no such file or folder"),
    ],
)
def test_wrong_arguments(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit status 2 and a remedy."""
    monkeypatch.chdir(tmp_path)
    assert main(["check", *arguments]) == 2
    assert message in capsys.readouterr().err


LOGINS, TRADES = ("--input", "logins=logins.csv"), ("--input", "trades=trades.csv,time=at")
BOTH = (*LOGINS, *TRADES)
PAIR = "CREATE STREAM pairs AS FROM logins EVENT SEQ(Failure a, Success b) WITHIN 9"


@pytest.mark.parametrize(
    ("arguments", "script", "message"),
    [
        (BOTH, f"{PAIR}; FROM pairs, trades EVENT SEQ(pairs p, Buy b) WHERE b.price > 1", ""),
        (LOGINS, "FROM logins EVENT Failure a WHERE a.usr = 'x'", "did you mean `user`?"),
        (BOTH, f"{PAIR}; FROM trades EVENT B b WHERE b.user = 'x'", "no column `user`"),
        (LOGINS, f"{PAIR}; FROM pairz EVENT pairs p", "did you mean `pairs`?"),
        (LOGINS, f"{PAIR}; FROM trades EVENT Buy b", "there is no stream `trades`"),
        (BOTH, f"{PAIR}; EVENT Buy b", "FROM"),
        (("--input", "trades=trades.csv,types=Buy"), PAIR, "types=… are no part of a check"),
    ],
)
def test_inputs_of_a_script_have_schemas_of_their_own(
    arguments: tuple[str, ...],
    script: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logins.csv").write_text("ts,type,user\n1,Failure,ann\n", encoding="utf-8")
    Path("trades.csv").write_text("at,type,price\n1,Buy,2\n", encoding="utf-8")
    assert main(["check", *arguments, "-q", script]) == (2 if message else 0)
    printed = capsys.readouterr()
    assert message in printed.out + printed.err


def test_a_file_that_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The place of the byte that is no UTF-8."""
    path = tmp_path / "latin.sase"
    path.write_bytes(b"EVENT A\nWHERE name = 'M\xfcller'")
    assert main(["check", str(path)]) == 2
    assert "is not UTF-8: byte 23, in line 2" in capsys.readouterr().err


def test_colours_are_for_terminals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forced here; the text without them is the same."""
    main(["check", "-q", BAD])
    plain = capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["check", "-q", BAD])
    coloured = capsys.readouterr().out
    assert "\x1b[31m" in coloured
    for code in ("\x1b[31m", "\x1b[36m", "\x1b[1m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain
