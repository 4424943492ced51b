"""The guides from SQL and from other engines: each line finds the matches that are shown.

The matches are those of SASE, and of the other side where it can be run: DuckDB, and EQL and
ClickHouse if their packages are installed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import csv

import sase
from tests.repo.source import ROOT
from tests.repo.test_cookbook import BLOCK

FILE = str(ROOT / "examples" / "cookbook" / "steps.csv")
PAGES = ("from-sql.md", "from-other-engines.md")
CELL = re.compile(r"(?<!\\)\|")


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def lines() -> Iterator[tuple[str, str, str, str]]:
    """The engine, both sides and the matches of each line of a table with matches."""
    for name in PAGES:
        engine = None
        for line in page(name).splitlines():
            cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
            if len(cells) == 3 and cells[2] == "finds":
                engine = cells[0].removeprefix("you write in ")
            elif len(cells) != 3:
                engine = None
            elif engine and set(cells[0]) != {"-"}:
                there, here = (re.findall(r"`([^`]+)`", cell)[0] for cell in cells[:2])
                yield engine, there, here, cells[2]


LINES = list(lines())


def of(engine: str) -> list[tuple[str, str]]:
    """The other side and the matches of the lines of an engine."""
    return [(there, finds) for name, there, _, finds in LINES if name == engine]


def events(value: Any) -> list[dict[str, Any]]:
    """The events in a value of a match, which are in columns and lists."""
    if isinstance(value, dict):
        return [value] if "ts" in value else [one for v in value.values() for one in events(v)]
    return [one for v in value for one in events(v)] if isinstance(value, list) else []


def written(matches: list[list[dict[str, Any]]]) -> str:
    """Matches as the pages write them: the type and the time of each event."""
    each = [sorted(match, key=lambda event: event["ts"]) for match in matches]
    return ", ".join(" ".join(f"{e['type'].lower()}{e['ts']}" for e in match) for match in each)


def in_order(text: str) -> list[str]:
    return sorted(text.split(", "))


def test_every_engine_has_lines() -> None:
    assert {*Counter(engine for engine, *_ in LINES)} == {
        "DuckDB",
        "MATCH_RECOGNIZE",
        "Flink CEP",
        "EQL",
        "EQL of Elasticsearch",
        "ClickHouse",
        "Esper",
    }


@pytest.mark.parametrize(("engine", "here", "finds"), [(e, q, f) for e, _, q, f in LINES])
def test_sase_finds_the_matches(engine: str, here: str, finds: str) -> None:
    counted = engine == "ClickHouse"
    found = sase.match(here, FILE, output="non_overlap" if counted else "all").to_pylist()
    matches = [events(match) for match in found]
    keys = Counter(match[0]["id"] for match in matches)
    assert matches
    assert finds == (of_keys(keys) if counted else written(matches))


def of_keys(numbers: dict[str, int]) -> str:
    """The number of matches of each key that has one."""
    return ", ".join(f"{key} {number}" for key, number in sorted(numbers.items()) if number)


@pytest.mark.parametrize(("there", "finds"), of("DuckDB"))
def test_duckdb_finds_the_matches(there: str, finds: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW events AS FROM '{FILE}'")
        for name in "abc":
            connection.execute(f"CREATE VIEW {name} AS FROM events WHERE type = '{name.upper()}'")
        rows = connection.execute(there).fetchall()
    flat = [[*row[0]] if isinstance(row[0], list) else list(row) for row in rows]
    named = {event["ts"]: event for event in table().to_pylist()}
    assert in_order(written([[named[ts] for ts in row] for row in flat])) == in_order(finds)


def table() -> pa.Table:
    return csv.read_csv(FILE)


@pytest.mark.parametrize(("there", "finds"), of("EQL"))
def test_eql_finds_the_matches(there: str, finds: str) -> None:
    eql = pytest.importorskip("eql")
    from eql.engine import PythonEngine

    engine, found = PythonEngine(), []
    with eql.parser.elasticsearch_syntax:
        engine.add_query(eql.parse_query(there))
    engine.add_output_hook(lambda result: found.append([event.data for event in result.events]))
    # A second has ten million of its units.
    rows = table().to_pylist()
    engine.stream_events(eql.Event(row["type"], row["ts"] * 10_000_000, row) for row in rows)
    engine.finalize()
    assert in_order(written(found)) == in_order(finds)


def in_clickhouse(sql: str) -> list[dict[str, Any]]:
    chdb = pytest.importorskip("chdb")
    columns = "ts UInt32, type String, id String, v Int32"
    source = f"file('{FILE}', 'CSVWithNames', '{columns}')"
    found: list[dict[str, Any]] = chdb.query(
        sql.replace("FROM events", f"FROM {source}"), "ArrowTable"
    ).to_pylist()
    return found


def by_key(aggregate: str) -> dict[str, int]:
    rows = in_clickhouse(f"SELECT id, {aggregate} AS number FROM events GROUP BY id")
    names = [row["id"] if isinstance(row["id"], str) else row["id"].decode() for row in rows]
    return dict(zip(names, (row["number"] for row in rows), strict=True))


@pytest.mark.parametrize(("there", "finds"), of("ClickHouse"))
def test_clickhouse_counts_the_matches(there: str, finds: str) -> None:
    assert of_keys(by_key(there)) == finds


def test_strict_order_of_clickhouse_stops_at_the_first_other_event() -> None:
    steps = by_key("windowFunnel(10, 'strict_order')(ts, type = 'A', type = 'B')")
    found = sase.match("EVENT SEQ(A a, B b) WHERE partition_contiguity { [id] }", FILE)
    assert steps["k1"] == 1
    assert "k1" in {match["a"]["id"] for match in found.to_pylist()}


def funnel() -> dict[str, str]:
    """The last code of the page: Python, its output, and the SQL of ClickHouse."""
    return dict(BLOCK.findall(page("from-other-engines.md")))


def test_the_funnel_prints_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(funnel()["python"], "funnel", "exec"), {"sase": sase, "FILE": FILE})
    assert capsys.readouterr().out == funnel()["text"]


def test_clickhouse_has_the_same_funnel() -> None:
    (row,) = in_clickhouse(funnel()["sql"])
    counted = sase.funnel(FILE, ["A", "B", "C"], by="id", within=4).to_arrow()
    assert [*row.values()] == counted["keys"].to_pylist()
