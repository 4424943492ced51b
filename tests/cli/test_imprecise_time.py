"""`--time lo,hi`: two columns of time, on every command that takes events."""

from pathlib import Path

import pytest

from sase.cli.main import main

QUERY = "EVENT SEQ(A a, B b) WHERE a.lo < 9 AND b.hi > 2 WITHIN 5 WITH CONFIDENCE > 0.5"
REFUSED = "imprecise time, by `lo` and `hi`, is not supported yet"


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.csv"
    path.write_text("lo,hi,type\n1,3,A\n2,4,B\n")
    return str(path)


@pytest.mark.parametrize("command", ["run", "explain", "why", "check"])
def test_the_columns_are_taken_and_the_query_refused_for_now(
    command: str, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "-q", QUERY, "--events", events, "--time", "lo,hi"]) == 2
    told = capsys.readouterr()
    assert REFUSED in told.out + told.err


def test_a_schema_names_both(
    tmp_path: Path, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "schema.toml"
    schema.write_text('time = ["lo", "hi"]\n')
    assert main(["run", "-q", QUERY, "--events", events, "--schema", str(schema)]) == 2
    assert REFUSED in capsys.readouterr().err


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
