"""The tutorial and the home page: their commands, code and SQL give the output under them."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sase
from tests.repo.source import ROOT
from tests.repo.test_readme import COMPILING, timeless

PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(step: int | None = None) -> list[tuple[str, str]]:
    """The language and the text of each block of the page, or of a step."""
    steps = re.split(r"^## \d\. ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return BLOCK.findall("".join(steps) if step is None else steps[step])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples and the query that the page saves."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (saved,) = (text for language, text in blocks() if language == "sql")
    (tmp_path / "unchecked.sase").write_text(saved, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cut(block: str) -> tuple[str, str]:
    """The command of a block, which ends with its last quote, and the output under it."""
    command, _, output = block.removeprefix("$ ").partition("\n")
    while command.count("'") % 2:
        line, _, output = output.partition("\n")
        command += f"\n{line}"
    return command, output


@pytest.mark.slow
def test_the_commands_print_what_is_under_them(folder: Path) -> None:
    shown = [text for language, text in blocks() if language == "console"]
    assert len(shown) >= 5
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for text in shown:
        command, output = cut(text)
        done = subprocess.run(
            ["bash", "-c", command],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        printed = re.sub(COMPILING, "", done.stdout + done.stderr, flags=re.MULTILINE)
        # Messages of a run on standard error come before its errors.
        assert timeless(printed) == timeless(output), command


def ran(parts: list[tuple[str, str]], names: dict[str, Any]) -> list[tuple[str, str]]:
    """The output of each block of Python, and the text under it."""
    found = []
    code = [
        (text, parts[n + 1][1]) for n, (language, text) in enumerate(parts) if language == "python"
    ]
    for text, output in code:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, "tutorial", "exec"), names)
        found.append((out.getvalue(), output))
    return found


def test_the_code_prints_what_is_under_it(folder: Path) -> None:
    printed = ran([*blocks(3), *blocks(4)], {})
    assert len(printed) == 3
    assert [out for out, _ in printed] == [shown for _, shown in printed]


def test_the_sql_of_the_home_page_finds_the_same() -> None:
    page = (ROOT / "docs" / "README.md").read_text("utf-8")
    sql = page.split("```postgresql\n")[1].partition("```")[0]
    query = page.split("-q '")[1].partition("'")[0]
    file = ROOT / "examples" / "logs" / "process.csv"
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW log AS FROM '{file}'")
        rows = connection.execute(sql).fetchall()
    matches = [tuple(match.values())[:2] for match in sase.match(query, str(file)).to_pylist()]
    assert matches
    assert sorted(rows) == sorted(matches)
