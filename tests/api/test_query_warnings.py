"""A warning of a query is reported by everything that runs it, once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main

NULL = "EVENT SEQ(A a, B b) WHERE a.v = NULL WITHIN 5"
TOLD = "`a.v = NULL` (query:1:27): a comparison with NULL is never true; write  a.v IS NULL"
ROWS: list[dict[str, Any]] = [{"ts": n, "type": "AB"[n % 2], "v": n} for n in range(20)]


def told(texts: object) -> int:
    """The number of times that it is in texts."""
    return str(texts).count(TOLD)


def test_reports() -> None:
    for output in ("all", "non_overlap", "count", "compressed"):
        assert sase.match(NULL, ROWS, output=output).report.warnings == (TOLD,)
    for threads in (1, 3):
        assert sase.match(NULL, ROWS, threads=threads).report.warnings == (TOLD,)
    plan = sase.Plan.from_json(sase.compile(NULL, ROWS).to_json())
    assert plan.run(ROWS).report.warnings == (TOLD,)
    assert sase.match(NULL.replace("= NULL", "IS NULL"), ROWS).report.warnings == ()


def test_a_stream_tells_it_with_the_first_push() -> None:
    matcher = sase.compile(NULL, ROWS).open()
    reports = [matcher.push([row]).report for row in ROWS]
    assert [report.warnings for report in reports] == [(TOLD,), *[()] * 19]
    assert matcher.report().warnings == (TOLD,)
    assert matcher.finish().report.warnings == (TOLD,)


def test_every_warning_of_a_query() -> None:
    query = "EVENT SEQ(A a, B b) WHERE a.v = NULL AND\n  b.v < 1 / 0 WITHIN 5"
    warnings = sase.match(query, ROWS).report.warnings
    assert len(warnings) == len(sase.compile(query, ROWS).warnings) == 2
    assert warnings[1].startswith("`1 / 0` (query:2:9): this is always NULL")


def test_other_functions() -> None:
    assert told(sase.explain(NULL, ROWS)) == 1
    assert told(sase.explain(NULL)) == 1
    for pushed in (None, 3):
        assert told(sase.explain(NULL, ROWS, analyze=True, pushed=pushed)) == 1
    assert told(sase.why(NULL, ROWS)) == 1
    assert told(sase.compare(NULL, ROWS)) == 1


@pytest.mark.parametrize(
    "command",
    [["run"], ["run", "--output", "count"], ["run", "--follow"], ["why"], ["compare"], ["explain"]],
)
def test_commands(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, "events.parquet")
    lines = ["ts,type,v", *(f"{row['ts']},{row['type']},{row['v']}" for row in ROWS)]
    Path("events.csv").write_text("\n".join(lines), encoding="utf-8")
    if "--follow" in command:
        from sase.engine.sources import tail

        monkeypatch.setattr(
            tail, "followed_lines", lambda *given: iter(["\n".join(lines).encode() + b"\n"])
        )
    events = "-" if "--follow" in command else "events.parquet"
    assert main([*command, "--events", events, "-q", NULL]) == 0
    assert told("".join(capsys.readouterr())) == 1


ZONES = pa.table(
    {
        "ts": [1, 2],
        "type": ["A", "B"],
        "here": pa.array([0, 1], pa.timestamp("us", "Europe/Berlin")),
        "naive": pa.array([0, 1], pa.timestamp("us")),
        "day": pa.array([0, 1], pa.date32()),
    }
)
WITHOUT = "this has no time zone, and is beside a time that has one: it is taken as UTC"
WITH = "this has a time zone, and is beside a time that has none: it is taken by its instant in UTC"


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("a.here > TIMESTAMP '2020-01-01 12:00:00'", WITHOUT),
        ("TIMESTAMP '2020-01-01' < a.here + 5 minutes", WITHOUT),
        ("a.here BETWEEN TIMESTAMP '2020-01-01 00:00Z' AND TIMESTAMP '2020-02-01'", WITHOUT),
        ("a.here IN (TIMESTAMP '2020-01-01 00:00:00')", WITHOUT),
        ("coalesce(a.here, TIMESTAMP '2020-01-01') = b.here", WITHOUT),
        ("a.here - TIMESTAMP '2020-01-01' > 5 minutes", WITHOUT),
        ("[here = TIMESTAMP '2020-01-01 00:00:00']", WITHOUT),
        ("a.here > :aware", None),
        ("a.here > :naive", WITHOUT),
        ("a.here > TIMESTAMP '2020-01-01 12:00:00Z'", None),
        ("a.here > DATE '2020-01-01'", None),
        ("a.naive > TIMESTAMP '2020-01-01 12:00:00+01:00'", WITH),
        ("a.naive > :aware", WITH),
        ("a.naive > TIMESTAMP '2020-01-01 12:00:00'", None),
        ("a.day > TIMESTAMP '2020-01-01 12:00:00Z'", WITH),
        ("a.day > TIMESTAMP '2020-01-01 12:00:00'", None),
    ],
)
def test_a_time_with_a_zone_beside_one_without(where: str, why: str | None) -> None:
    naive = datetime.fromisoformat("2020-01-01T12:00:00")
    given = {"naive": naive, "aware": naive.replace(tzinfo=UTC)}
    params = {name: value for name, value in given.items() if f":{name}" in where}
    query = f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 5"
    warnings = sase.match(query, ZONES, params=params).report.warnings
    assert [why in each for each in warnings if why] == ([] if why is None else [True])
    assert bool(warnings) == (why is not None)


def test_it_is_said_how_a_time_is_written() -> None:
    query = "EVENT A a WHERE a.{} > TIMESTAMP '2020-01-01 12:00:00{}'"
    (there,) = sase.match(query.format("here", ""), ZONES).report.warnings
    assert there.endswith(
        "write  TIMESTAMP '2020-01-01 12:00:00+00:00' , or the zone that is meant"
    )
    (here,) = sase.match(query.format("naive", "+01:00"), ZONES).report.warnings
    assert here.endswith("in UTC it is  TIMESTAMP '2020-01-01 11:00:00'")
