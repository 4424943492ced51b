"""The program prints the output that the README shows."""

import doctest
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sase
from sase.binding.script.script import check_script
from sase.cli.main import main

ROOT = Path(__file__).parents[2]


def shown() -> list[tuple[str, str]]:
    """The commands of `sase` in the README with the output under each."""
    blocks = (ROOT / "README.md").read_text(encoding="utf-8").split("```console\n")[1:]
    texts = [block.split("```")[0] for block in blocks]
    return [
        (command.removeprefix("$ "), output)
        for command, _, output in (text.partition("\n") for text in texts)
        if command.startswith("$ sase")
    ]


def test_the_readme_shows_a_command() -> None:
    """Or the next test would hold for nothing."""
    assert shown()


@pytest.mark.parametrize(("command", "output"), shown(), ids=[command for command, _ in shown()])
def test_output_in_the_readme_is_real(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command, run again, prints the output under it."""
    monkeypatch.chdir(ROOT)
    main(shlex.split(command)[1:])
    assert capsys.readouterr().out.strip() == output.strip()


def transcripts() -> list[tuple[str, str]]:
    """The commands of four pages, which may run over several lines, and the output under them."""
    names = ("README.md", "logs.md", "why.md", "compare.md")
    pages = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in names]
    found = []
    for block in (block for page in pages for block in page.split("```console\n$ ")[1:]):
        lines = block.split("```")[0].splitlines()
        # A quoted query may have several lines, and ends the command.
        end = next(n for n, line in enumerate(lines) if line.endswith("'"))
        found.append(("\n".join(lines[: end + 1]), "\n".join(lines[end + 1 :])))
    return found


COMPILING = r"^sase: .*compiling kernels, once per installation …\n"


@pytest.mark.parametrize(("command", "output"), transcripts())
def test_transcripts_are_real(
    command: str,
    output: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The output of a command is under it, but for its seconds, and compiling."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    main(shlex.split(command.replace("\\\n", " "))[1:])
    printed = capsys.readouterr()
    told = re.sub(COMPILING, "", printed.out + printed.err, flags=re.MULTILINE)
    assert timeless(told) == timeless(output)


def test_the_page_of_a_cluster_runs_from_the_log_to_the_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks in turn, in a folder of their own; the last ones are pipelines."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "hadoop.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in page.split("```console\n$ ")[1:]]
    assert len(blocks) == 7
    for command, _, output in (block.partition("\n") for block in blocks):
        own, _, rest = command.partition(" | ")
        assert main(shlex.split(own)[1:]) == 0
        out, err = capsys.readouterr()
        if rest:
            rest = f"export LC_ALL=C; {rest}"
            out = subprocess.run(
                ["sh", "-c", rest], input=out, capture_output=True, text=True, check=True
            ).stdout
        shown = re.sub(COMPILING, "", out + err, flags=re.MULTILINE)
        assert timeless(shown) == timeless(output)
    assert f"```\n{Path('faults.csv').read_text(encoding='utf-8')}```\n" in page


def timeless(text: str) -> str:
    """A text without the seconds at the ends of lines, and without the width of their column."""
    lines = [re.sub(r" *(\d+\.\d+ s|time|--+)$", "", line) for line in text.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines)


def queries() -> list[str]:
    """The blocks of queries in the README, the tour of the language and the page on scripts."""
    pages = (ROOT / "README.md", ROOT / "docs" / "language.md", ROOT / "docs" / "scripts.md")
    blocks = [page.read_text(encoding="utf-8").split("```sql\n")[1:] for page in pages]
    return [block.split("```")[0] for page in blocks for block in page]


@pytest.mark.parametrize("text", queries())
def test_queries_in_the_docs_are_right(text: str) -> None:
    """They bind without an error or a warning."""
    assert check_script(text) == []


def test_the_first_query_prints_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """The block of Python on the first screen, and the beginning of the output under it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, _, rest = text.split("```python\n")[1].partition("```")
    expected = rest.split("```\n")[1].split("…")[0].splitlines()
    exec(code, {})
    assert capsys.readouterr().out.splitlines()[: len(expected)] == expected


def test_the_sql_that_the_first_query_replaces_finds_the_same() -> None:
    import duckdb

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].partition("```")[0]
    known = dict[str, Any]()
    exec(code.rpartition("print(")[0], known)
    with duckdb.connect() as connection:
        connection.register("readings", known["shop"].table)
        rows = connection.sql(text.split("```postgresql\n")[1].partition("```")[0]).fetchall()
    matches = sase.match(known["QUERY"], known["shop"].table).to_pylist()
    assert matches
    assert sorted(rows) == sorted(tuple(match.values())[:3] for match in matches)


def test_plans_in_the_docs_are_right() -> None:
    """Each `>>> print(sase.compile(…))` of the page on the engine prints the lines under it."""
    page = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    events = [{"ts": 0, "type": "A", "id": 1, "v": 1}]
    examples = page.split("```python\n>>> ")[1].split("```")[0].split(">>> ")
    for example in examples:
        code, _, expected = example.partition("\n")
        plan = eval(code.removeprefix("print(")[:-1], {"sase": sase, "events": events})
        assert str(plan) == expected.rstrip()


@pytest.mark.parametrize("page", ["imprecise-time.md", "language.md", "results.md", "series.md"])
def test_examples_in_the_docs_are_right(page: str) -> None:
    """The expression behind each `>>>` gives the value under it."""
    ran = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, globs={"sase": sase})
    assert ran.attempted > 0
    assert ran.failed == 0


def test_the_index_names_every_page() -> None:
    docs = ROOT / "docs"
    named = re.findall(r"\]\(([a-z-]+\.md)\)", (docs / "README.md").read_text(encoding="utf-8"))
    assert {*named} == {page.name for page in docs.glob("*.md")} - {"README.md"}


def test_the_times_in_the_readme_are_those_of_the_comparison() -> None:
    """The sentence on SASE and DuckDB quotes the first table of the page on other systems."""
    page = (ROOT / "docs" / "rivals.md").read_text(encoding="utf-8")
    table = page.partition("| 1 thread | form |")[2].partition("\n\n")[0]
    head, _, *lines = [line.strip(" |").split(" | ") for line in table.splitlines()]
    place = 2 + head.index("Q1/D1")
    times = {(system, form): cells[place - 2] for system, form, *cells in lines}
    times = {key: cell.split()[0] for key, cell in times.items() if cell.strip()}
    (own,) = (time for (system, _), time in times.items() if system.startswith("this engine"))
    (duckdb, *_) = (system for system, _ in times if system.startswith("DuckDB"))
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"takes {own} s. {duckdb} takes {times[duckdb, 'plain']} s with a plain join,"
        f" and {times[duckdb, 'bucketed']} s with a join that an expert wrote (Q1/D1, one thread)"
    ) in text
