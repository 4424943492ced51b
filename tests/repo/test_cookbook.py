"""Each recipe of the cookbook prints the shown result, and DuckDB finds the same rows."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sase
from sase.cli.main import main
from tests.repo.source import ROOT

PAGE = ROOT / "docs" / "cookbook.md"
# A block of a page: its language and its text.
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDED = {"ts_start", "ts_end", "detected_at", "confidence"}


def recipes(page: Path) -> list[tuple[str, str, dict[str, str]]]:
    """The heading, the file and the blocks of each recipe."""
    found = []
    for field in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        file = re.search(r"\]\(\.\./(examples/[\w./]+)\)", field)
        assert file, field
        for recipe in re.split(r"^### ", field, flags=re.MULTILINE)[1:]:
            blocks = BLOCK.findall(recipe)
            assert len({*dict(blocks)}) == len(blocks), "each language once"
            found.append((recipe.partition("\n")[0], file[1], dict(blocks)))
    return found


def run(file: str, blocks: dict[str, str]) -> tuple[Any, dict[str, Any]]:
    """The value of a recipe, and its variables; it prints its result."""
    names = {"sase": sase, "QUERY": blocks.get("sql"), "FILE": file}
    code = blocks.get("python", "found = sase.match(QUERY, FILE)\nprint(found)\n")
    exec(compile(code, "recipe", "exec"), names)
    return names["found"], names


def rows(found: Any) -> list[tuple[Any, ...]]:
    """The rows of a result, without the columns that every result has."""
    match found:
        case sase.Matches():
            table = found.to_arrow()
            kept = [name for name in table.column_names if name not in ADDED]
            return [tuple(row.values()) for row in table.select(kept).to_pylist()]
        case sase.Funnel():
            return [tuple(found.to_arrow()["keys"].to_pylist())]
        case list():
            return found
        case tuple():
            return [found]
    return [(int(found),)]


def in_order(table: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(table, key=lambda row: [str(value) for value in row])


def in_duckdb(sql: str, file: str, events: pa.Table | None) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if events is None:
            connection.execute(f"CREATE VIEW events AS FROM '{file}'")
        else:
            connection.register("events", events)
        found: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
    return found


RECIPES = recipes(PAGE)


def test_recipes_are_numbered() -> None:
    assert [name.partition(".")[0] for name, _, _ in RECIPES] == [*map(str, range(1, 26))]


@pytest.mark.parametrize(("name", "file", "blocks"), RECIPES, ids=[name for name, _, _ in RECIPES])
def test_a_recipe_prints_its_result_and_sql_finds_the_same(
    name: str,
    file: str,
    blocks: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    found, names = run(file, blocks)
    assert capsys.readouterr().out == blocks["text"]
    table = rows(found)
    assert table
    assert in_order(in_duckdb(blocks["postgresql"], file, names.get("events"))) == in_order(table)


PLAIN = [(file, blocks) for _, file, blocks in RECIPES if "python" not in blocks]


@pytest.mark.parametrize(("file", "blocks"), PLAIN)
def test_the_program_prints_the_same_table(
    file: str,
    blocks: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(ROOT)
    query = tmp_path / "query.sase"
    query.write_text(blocks["sql"], encoding="utf-8")
    main(["run", str(query), "--events", file])
    assert capsys.readouterr().out == blocks["text"].partition("\n")[2]
