"""`sase format`: to standard output, in place, and as a check."""

from pathlib import Path

import pytest

from sase.cli.main import main

ROUGH = "event seq(A a,B b) -- two\nwhere a.x=b.x and [id]"
SMOOTH = "EVENT SEQ(A a, B b)  -- two\nWHERE a.x = b.x AND [id]\n"


def test_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """The text in its layout, and nothing else."""
    assert main(["format", "-q", ROUGH]) == 0
    assert capsys.readouterr().out == SMOOTH


def test_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only changed files are written, permissions stay."""
    path = tmp_path / "query.sase"
    path.write_text(ROUGH, encoding="utf-8")
    path.chmod(0o640)
    assert main(["format", "-w", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == SMOOTH
    assert path.stat().st_mode & 0o777 == 0o640
    assert capsys.readouterr().err == f"{path} changed\n"
    assert main(["format", "-w", str(path)]) == 0
    assert capsys.readouterr().err == ""
    assert [other.name for other in tmp_path.iterdir()] == ["query.sase"]


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 where something would change, and nothing is written."""
    rough, smooth = tmp_path / "rough.sase", tmp_path / "smooth.sase"
    rough.write_text(ROUGH, encoding="utf-8")
    smooth.write_text(SMOOTH, encoding="utf-8")
    assert main(["format", "--check", str(smooth)]) == 0
    assert main(["format", "--check", str(rough), str(smooth)]) == 1
    assert capsys.readouterr().out == f"{rough} would change\n"
    assert rough.read_text(encoding="utf-8") == ROUGH


def test_a_broken_text_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2, the reason, and the other files are still formatted."""
    broken, rough = tmp_path / "broken.sase", tmp_path / "rough.sase"
    broken.write_text("EVENT SEQ(A a", encoding="utf-8")
    rough.write_text(ROUGH, encoding="utf-8")
    assert main(["format", "-w", str(broken), str(rough)]) == 2
    assert "unclosed-bracket" in capsys.readouterr().err
    assert broken.read_text(encoding="utf-8") == "EVENT SEQ(A a"
    assert rough.read_text(encoding="utf-8") == SMOOTH


@pytest.mark.parametrize(
    "arguments", [["-w", "-q", "EVENT A"], ["-w", "--check", "x.sase"], ["-w", "-"], []]
)
def test_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2 and one line that says why."""
    assert main(["format", *arguments]) == 2
    assert capsys.readouterr().err.startswith("sase format: error: ")


def test_examples_are_laid_out_well() -> None:
    """All but the one that shows the signs of the papers."""
    queries = Path(__file__).parents[2] / "examples" / "queries"
    names = sorted(str(p) for p in queries.glob("*.sase") if p.stem != "contamination")
    assert main(["format", "--check", *names]) == 0
