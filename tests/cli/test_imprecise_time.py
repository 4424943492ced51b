"""`--time lo,hi`: two columns of time, on every command that takes events."""

from pathlib import Path

import pytest

from sase.cli.main import main

QUERY = "EVENT SEQ(A a, B b) WHERE a.lo < 9 AND b.hi > 2 WITHIN 5 WITH CONFIDENCE > 0.5"


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.csv"
    path.write_text("lo,hi,type\n1,3,A\n2,4,B\n")
    return str(path)


# The output of each command for the two events, which match in six of their nine worlds.
SAID = {
    "run": "lo=1 hi=3  lo=2 hi=4  1         4       4            0.6666666666666666",
    "explain": "confidence in closed form, by polynomials between the bounds of time",
    "why": "WITH CONFIDENCE > 0.5        1",
    "check": "1 text checked: no problems",
}


@pytest.mark.parametrize("command", SAID)
def test_the_columns_are_taken(
    command: str, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "-q", QUERY, "--events", events, "--time", "lo,hi"]) == 0
    told = capsys.readouterr()
    assert SAID[command] in told.out + told.err


def test_a_schema_names_both(
    tmp_path: Path, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.toml"
    schema.write_text('time = ["lo", "hi"]\n')
    assert main(["run", "-q", QUERY, "--events", events, "--schema", str(schema)]) == 0
    assert SAID["run"] in capsys.readouterr().out


TOO_LONG = "it is more than 1 after `lo`, and --longest says that none is"


@pytest.mark.parametrize("command", ["run", "why"])
def test_how_long_an_interval_may_be(
    command: str, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [command, "-q", QUERY, "--events", events]
    assert main([*given, "--time", "lo,hi", "--longest", "2"]) == 0
    assert SAID[command] in capsys.readouterr().out
    assert main([*given, "--time", "lo,hi", "--longest", "1"]) == 1
    assert TOO_LONG in capsys.readouterr().err


def test_a_schema_says_how_long_an_interval_may_be(
    events: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["run", "-q", QUERY, "--events", events]
    schema = tmp_path / "schema.toml"
    schema.write_text('time = ["lo", "hi"]\ntime_unit = "s"\nlongest = "1 second"\n')
    assert main([*given, "--schema", str(schema)]) == 1
    assert TOO_LONG.replace("1", "1 second") in capsys.readouterr().err
    schema.write_text('time = ["lo", "hi"]\nlongest = "1 second"\n')
    assert main([*given, "--schema", str(schema)]) == 2
    assert f"{schema}: longest='1 second' has a unit" in capsys.readouterr().err


def test_how_long_an_interval_of_one_input_may_be(
    events: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "FROM one EVENT SEQ(A a, B b) WITHIN 5"
    given = ["run", "-q", text, "-o", str(tmp_path / "out")]
    assert main([*given, "--input", f"one={events},time=lo,hi,longest=2"]) == 0
    assert main([*given, "--input", f"one={events},time=lo,hi,longest=1"]) == 1
    assert "it is more than 1 after `lo`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ("lo,", "give one column, or the two"),
        ("lo,hi,x", "give one column, or the two"),
        ("lo,high", "there is no time column `high`: did you mean `hi`?"),
        ("lo,lo", "`lo` is given as the earliest and the latest time"),
    ],
)
def test_what_is_no_pair_of_columns(
    time: str, message: str, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "-q", QUERY, "--events", events, "--time", time]) == 2
    assert message in capsys.readouterr().err
