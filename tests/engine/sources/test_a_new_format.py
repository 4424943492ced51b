"""The format that docs/adding-a-format.md adds as an example works without changes."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sase
from sase.cli.main import main
from sase.engine.sources import formats, tail
from sase.engine.sources.formats.text import TextFormat

PAGE = (Path(__file__).parents[3] / "docs" / "adding-a-format.md").read_text(encoding="utf-8")
QUERY = "EVENT SEQ(Login a, Buy b) WHERE [client] AND b.price > 1 WITHIN 9"
GOOD = [
    'ts=1 type=Login client=7 agent="a browser"',
    "ts=2 type=Buy client=7 price=2",
    "ts=4 type=Buy client=7 price=2.5",
]
BAD = ["ts=3 type=Buy client=7 price=much", "no pairs", "ts=soon type=Buy client=7"]


def block(language: str, containing: str) -> str:
    """The block of code of the page that contains a text."""
    found = [part.split("```")[0] for part in PAGE.split(f"```{language}\n")[1:]]
    return next(each for each in found if containing in each)


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> TextFormat:
    """The format of the page, listed where the page lists it."""
    module = ModuleType("logfmt")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(block("python", "decode_rows"), vars(module))
    lines = [line for line in block("diff", "+ ").splitlines() if "import" not in line]
    (added,) = [line.strip("+ ,") for line in lines if line.startswith("+")]
    before = [line.strip(" ,") for line in lines[: lines.index(f"+    {added},")]][-1]
    made: TextFormat = eval(added, vars(module))
    known = list(formats.FORMATS)
    at = [f"{type(each).__name__}()" for each in known].index(before)
    known.insert(at + 1, made)
    monkeypatch.setattr(formats, "FORMATS", tuple(known))
    return made


def written(folder: Path, lines: list[str], name: str = "e.logfmt") -> Path:
    data = "\n".join(lines).encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["e.logfmt", "e.logfmt.gz"])
def test_its_files_are_read(name: str, tmp_path: Path) -> None:
    """Whatever type the first value of a column seems to have, and where rows lack some."""
    for path in (written(tmp_path, GOOD, name), tmp_path):
        found = sase.match(QUERY, path)
        assert found.rows.to_pylist() == [{"a": 0, "b": 1}, {"a": 0, "b": 2}]
        assert found.to_pylist()[0]["a"]["agent"] == "a browser"
        assert [row["b"]["price"] for row in found] == [2.0, 2.5]
        assert sase.match(QUERY.replace(">", "<"), path).rows.to_pylist() == []


def test_a_folder_may_give_a_column(tmp_path: Path) -> None:
    (tmp_path / "day=7").mkdir()
    path = written(tmp_path / "day=7", GOOD)
    assert [row["d"] for row in sase.match("EVENT Login a RETURN a.day AS d", path)] == [7]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (BAD[0], "e.logfmt, line 4: `price` is 'much', and was of another kind in the lines"),
        (BAD[1], "e.logfmt, line 4: this line is no list of name=value"),
        (BAD[2], "e.logfmt, line 4: `ts` is 'soon', and was of another kind in the lines"),
    ],
)
def test_a_bad_row_is_an_error(line: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, [*GOOD, line])
    with pytest.raises(sase.DataError) as problem:
        assert len(sase.match(QUERY, path)) > 0
    assert said in str(problem.value)


def test_bad_rows_are_put_aside(tmp_path: Path) -> None:
    path = written(tmp_path, [*GOOD[:2], *BAD, GOOD[2]])
    found = sase.match(QUERY, path, on_bad_row="quarantine")
    assert found.rows.to_pylist() == [{"a": 0, "b": 1}, {"a": 0, "b": 5}]
    aside = found.report.quarantined
    assert aside["sase_row"].to_pylist() == [2, 3, 4]
    assert aside["sase_column"].to_pylist() == ["price", "ts", "ts"]
    assert aside["ts"].to_pylist() == ["3", "no pairs", "soon"]
    assert aside["sase_reason"].to_pylist()[1] == "this line is no list of name=value"


@pytest.mark.parametrize("more", [[], ["--on-bad-row", "quarantine"]])
def test_it_can_be_followed(
    more: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chunks = [f"{line}\n".encode() for line in [*GOOD, BAD[1]]]
    monkeypatch.setattr(tail, "followed_lines", lambda *given: iter(chunks))
    events = str(tmp_path / "e.logfmt")
    query = f"{QUERY} RETURN b.price AS p".replace("AND b.price > 1 ", "")
    status = main(["run", "--follow", "--events", events, "-q", query, *more])
    out, err = capsys.readouterr()
    assert [json.loads(line)["p"] for line in out.splitlines()] == [2, 2.5]
    assert status == (0 if more else 1)
    if more:
        assert "1 row could not be used" in err
    else:
        assert "e.logfmt, line 4: `ts` is no pairs: this line is no list of name=value" in err


@pytest.mark.parametrize("command", ["check", "format", "run"])
@pytest.mark.parametrize("name", ["e.logfmt", "e.logfmt.gz"])
def test_the_command_line_knows_its_files(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, GOOD, name)
    assert main([command, str(path)]) == 2
    assert f"{path} is a file of events, and a file with queries" in capsys.readouterr().err


def test_messages_name_it(tmp_path: Path) -> None:
    (tmp_path / "e.txt").touch()
    with pytest.raises(sase.DataError, match=r"JSON lines \(.*\), logfmt \(.logfmt\), Arrow"):
        sase.match(QUERY, tmp_path / "e.txt")
