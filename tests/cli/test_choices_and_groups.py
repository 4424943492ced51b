"""Choices and repeated groups on the command line: every format, pieces, streams, checks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from tests.engine.branches.test_threads import events

CHOICE = "EVENT SEQ(A a, (B b OR C+ c[])?, D d) WHERE [id] AND a.v <= d.v WITHIN 9"
WAITING = "EVENT SEQ(A a, B b, !(C c)) OR SEQ(A a, (B b OR D d)) WHERE [id] WITHIN 6"
GROUP = (
    "EVENT SEQ(A a, (SEQ(B b, C? c) OR D+ d[])+ g[]) WHERE skip_till_next_match { [id] } WITHIN 9"
)
NEGATED = "EVENT SEQ(A a, (SEQ(B b, !(D d), C c))+ g[], !(A x)) WHERE [id] WITHIN 12"
QUERIES = (CHOICE, WAITING, GROUP, NEGATED)


@pytest.fixture(autouse=True)
def _events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(events(), "events.parquet", row_group_size=7)
    pyarrow.csv.write_csv(events(), "events.csv")


def run(query: str, *arguments: str, file: str = "events.parquet") -> int:
    return main(["run", "-q", query, "--events", file, "--seq", "seq", *arguments])


def wanted(query: str) -> list[dict[str, Any]]:
    found = sase.match(query, events(), seq="seq", threads=1).to_pylist()
    if query in (CHOICE, WAITING):
        assert any(row["b"] is None for row in found) and any(row["b"] for row in found)
    else:
        assert any(len(row["g"]) > 1 for row in found) or query == NEGATED and found
    return found


def flat(event: dict[str, Any] | None) -> Any:
    """The attribute of an event in a column of its own, or of none."""
    return event and event["id"]


@pytest.mark.parametrize(("query", "event", "several"), [(CHOICE, "b", "c"), (GROUP, "a", "g")])
def test_matches_are_in_every_format(query: str, event: str, several: str) -> None:
    """A variable without an event is NULL; iterations are a list."""
    expected = wanted(query)
    for ending in ("parquet", "arrow", "jsonl", "csv"):
        assert run(query, "-o", f"found.{ending}") == 0
    assert pyarrow.parquet.read_table("found.parquet").to_pylist() == expected
    assert pa.ipc.open_file("found.arrow").read_all().to_pylist() == expected
    assert [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()] == expected
    rows = pyarrow.csv.read_csv("found.csv").to_pylist()
    assert [row[f"{event}_id"] for row in rows] == [flat(row[event]) for row in expected]
    assert [json.loads(row[several]) for row in rows] == [row[several] for row in expected]


@pytest.mark.parametrize("query", QUERIES)
def test_files_in_pieces(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sase.engine.pipeline.batch.MOST_HELD", -1)
    assert run(query, "-o", "found.parquet") == 0
    assert pyarrow.parquet.read_table("found.parquet").to_pylist() == wanted(query)


@pytest.mark.parametrize("query", QUERIES)
def test_a_stream(
    query: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("events.csv", encoding="utf-8") as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert run(query, "--follow", "--lateness", "2", file="-") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found == wanted(query)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(
    "query",
    [GROUP, NEGATED, GROUP.replace("[id]", "a.v > 1"), f"{GROUP} LIMIT 3"],
)
def test_threads_find_what_one_finds(query: str, threads: int) -> None:
    found = sase.match(query, events(), seq="seq", threads=threads).to_pylist()
    assert found == sase.match(query, events(), seq="seq", threads=1).to_pylist() != []


def test_check_says_in_json_where_a_condition_of_a_group_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("query.sase").write_text("EVENT (SEQ(B b, C c))+ g[] WHERE g[2].b.v = 1\n")
    assert main(["check", "query.sase", "--format", "json"]) == 2
    (file,) = json.loads(capsys.readouterr().out)["files"]
    (problem,) = file["diagnostics"]
    assert (problem["code"], problem["start"]["column"]) == ("unknown-index", 36)


def test_format_keeps_groups(capsys: pytest.CaptureFixture[str]) -> None:
    Path("query.sase").write_text("event (seq(B b,C c))+ g[] where g[i-1].b.v<g[i].b.v\n")
    assert main(["format", "query.sase"]) == 0
    written = capsys.readouterr().out
    assert written == "EVENT (SEQ(B b, C c))+ g[]\nWHERE g[i-1].b.v < g[i].b.v\n"
