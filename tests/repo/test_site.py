"""The tutorial and the home page show real output; the site has all pages, commands and rules."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sase.cli.main import COMMANDS, main
from tests.repo.test_readme import COMPILING, timeless

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


class Block(NamedTuple):
    """A block of code of a page, and the text before it since the last one."""

    kind: str
    text: str
    before: str


def blocks(name: str) -> Iterator[Block]:
    parts = re.split(r"^```(\w+)\n(.*?)^```$", (DOCS / name).read_text("utf-8"), flags=re.M | re.S)
    for at in range(0, len(parts) - 3, 3):
        yield Block(parts[at + 1], parts[at + 2], parts[at])


def cut(block: str) -> tuple[str, str]:
    """The command of a block, which ends with its last quote, and the output under it."""
    command, _, output = block.removeprefix("$ ").partition("\n")
    while command.count("'") % 2:
        line, _, output = output.partition("\n")
        command += f"\n{line}"
    return command, output


def ran(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The output of a command of a page; pipelines and other programs run in a shell."""
    if "|" in command.partition("'")[0] or not command.startswith("sase "):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        )
        out, err = done.stdout, done.stderr
    else:
        main(shlex.split(command)[1:])
        out, err = capsys.readouterr()
    return re.sub(COMPILING, "", out + err, flags=re.MULTILINE)


def test_the_tutorial_runs_from_the_csv_to_the_alert(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks in turn, in a folder of their own; tests/spark runs that of Spark."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names, printed, seen = dict[str, Any](), "", set[str]()
    for block in blocks("tutorial.md"):
        if "import sase.spark" in block.text:
            break
        seen.add(block.kind)
        match block.kind:
            case "sql":
                (path,) = re.findall(r"Save this query as `(.*?)`", block.before)
                Path(path).write_text(block.text, encoding="utf-8")
            case "console":
                command, output = cut(block.text)
                assert timeless(ran(command, capsys)) == timeless(output)
            case "python":
                exec(block.text, names)
                printed = capsys.readouterr().out
            case "text":
                assert printed == block.text
    assert seen == {"sql", "console", "python", "text"}


def test_the_home_page_finds_what_its_sql_finds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(ROOT)
    console, sql, *_ = blocks("README.md")
    command, output = cut(console.text)
    assert timeless(ran(command, capsys)) == timeless(output)
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        connection.sql("CREATE TABLE log AS FROM 'examples/logs/process.csv'")
        rows = connection.sql(sql.text).fetchall()
    found = re.findall(r"^(case-\d+) +(\d+ days, [\d:]+)", output, re.MULTILINE)
    assert sorted((case, str(took)) for case, took in rows) == sorted(found)
    assert found


# ---------------------------------------------------------------- the site


def test_the_site_has_every_page() -> None:
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = {each.name for each in DOCS.glob("*.md")}
    assert {*re.findall(r": ([a-z-]+\.md|README\.md)$", config, re.MULTILINE)} == pages


def test_the_site_has_every_command() -> None:
    from docs.site.commands import commands

    text = commands()
    assert [
        name for name in (each.name for each in COMMANDS) if f"## sase {name} " not in text
    ] == []
    assert "`--events" in text


def test_the_site_has_a_diagram_of_every_rule() -> None:
    pytest.importorskip("railroad")
    from docs.site.diagrams import Diagrams

    diagrams = Diagrams((ROOT / "grammar" / "sase.lark").read_text("utf-8"))
    text = "\n".join(diagrams.markdown())
    assert [name for name in diagrams.rules if f"{{ #{name} }}" not in text] == []
    for word in ("WITHIN", "EVENT", "SEQ", "skip_till_next_match"):
        assert f">{word}</text>" in text


def test_links_of_pages_lead_to_pages_of_the_site() -> None:
    from docs.site.links import for_the_site, linked_files, with_anchors

    page = "A [plan](../plans/README.md#use), [log](../examples/logs/web.csv), [f](../plans)"
    moved = "A [plan](project/recipes.md#use), [log](examples/logs/web.csv), f"
    assert for_the_site(page, "docs/logs.md") == moved
    assert [*linked_files(page, "docs/logs.md")] == ["examples/logs/web.csv"]
    assert 'id="unknown-type"' in with_anchors("| `unknown-type` | a type |")
