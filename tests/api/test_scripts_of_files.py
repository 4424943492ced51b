"""Scripts over files: read once for all statements, inferred by all, in pieces if too large."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
from sase.engine.scripts.rows import InputRows

TEXT = """CREATE STREAM pairs AS FROM logins EVENT SEQ(A a, B b) WHERE [user] WITHIN 8
            RETURN Pair(a.user AS user, b.n AS n);
          FROM pairs, trades EVENT SEQ(Pair x, C c) WHERE [user] WITHIN 10 AND_MORE;
          FROM logins EVENT A a WHERE a.n > 15"""


@pytest.fixture
def streams(tmp_path: Path) -> dict[str, object]:
    lines = [f"{'AB'[n % 2]},{n},u{n % 3},{n}" for n in range(20)]
    (tmp_path / "logins.csv").write_text("\n".join(["type,ts,user,n", *lines]))
    users = ["u0", "u1", "u2", "u0", "u1"]
    trades = pa.table({"type": ["C"] * 5, "ts": [4, 9, 14, 3, 2], "user": users})
    pq.write_table(trades, tmp_path / "trades.parquet")
    return {"logins": f"{tmp_path}/logins.csv", "trades": f"{tmp_path}/trades.parquet"}


def rows(found: dict[str, sase.Matches]) -> dict[str, list[object]]:
    return {name: matches.to_pylist() for name, matches in found.items()}


def script(more: str = "") -> str:
    return TEXT.replace(" AND_MORE", more)


def test_files_are_read_as_tables_are(streams: dict[str, object]) -> None:
    found = sase.Script(script()).run(streams=streams)
    assert [len(each) for each in found.values()] == [9, 4, 2]
    compiled = sase.Script(script(), streams=streams)
    assert rows(compiled.run(streams=streams)) == rows(found)


def test_files_that_are_too_large_come_in_pieces(
    streams: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sase.Script(script()).run(streams=streams)
    monkeypatch.setattr(InputRows, "come_in_pieces", True)
    found = sase.Script(script()).run(streams=streams)
    assert rows(found) == rows(whole)
    assert found["query_2"].rows.to_pylist() == whole["query_2"].rows.to_pylist()


def test_what_a_statement_over_several_streams_names_is_inferred(tmp_path: Path) -> None:
    lines = [f"A,{n},{n}" for n in range(3000)] + ["A,4000,x"]
    (tmp_path / "a.csv").write_text("\n".join(["type,ts,v", *lines]))
    streams = {"a": f"{tmp_path}/a.csv", "b": [{"type": "B", "ts": 1}]}
    with pytest.raises(sase.SaseError, match="x"):
        sase.Script("FROM a, b EVENT A a WHERE a.v > 2998").run(streams=streams)
    found = sase.Script("FROM a, b EVENT A a WHERE a.v = 'x'").run(streams=streams)
    assert len(found["query_1"]) == 1


def test_bad_rows_go_to_quarantine_by_what_a_statement_names() -> None:
    bad = [
        {"type": "A", "ts": 1, "v": 1},
        {"type": "A", "ts": None, "v": 1},
        {"type": "B", "ts": 2, "v": "x"},
        {"type": None, "ts": 2, "v": 2},
        {"type": "B", "ts": 3, "v": 4},
    ]
    text = """CREATE STREAM s AS EVENT SEQ(A a, B b) WHERE a.v < b.v; EVENT B b;
              FROM s, raw EVENT SEQ(B y, s x)"""
    found = sase.Script(text, on_bad_row="quarantine").run(streams={"raw": bad})
    assert [len(each) for each in found.values()] == [1, 2, 2]
    assert [each.report.bad for each in found.values()] == [3, 2, 2]
    rows = [each.report.quarantined["sase_row"].to_pylist() for each in found.values()]
    assert rows == [[1, 3, 2], [1, 3], [1, 3]]
    with pytest.raises(sase.DataError, match=r"row 1 \(from 0\): `ts` is NULL"):
        sase.Script(text).run(streams={"raw": bad[:2]})


def test_types_by_conditions_beside_another_input(tmp_path: Path) -> None:
    """A row is bad for all where the conditions cannot read it, and without a type has a place."""
    (tmp_path / "p.csv").write_text("ts,v\n1,1\n2,9\n3,x\n4,1\n")
    (tmp_path / "q.csv").write_text("ts,type\n2,B\n5,B\n")
    text = "FROM p, q EVENT SEQ(Low a, B b); FROM p, q EVENT SEQ(Low a, B b) WITHIN 2 EVENTS"
    streams = {name: tmp_path / f"{name}.csv" for name in "pq"}
    script = sase.Script(
        text, type={"p": None, "q": "type"}, types={"p": {"Low": "v < 3"}, "q": None},
        on_bad_row="quarantine",
    )  # fmt: skip
    found = script.run(streams=streams)
    assert found["query_1"].rows.to_pylist() == [
        {"a": 0, "b": 2},
        {"a": 3, "b": 4},
        {"a": 0, "b": 4},
    ]
    assert found["query_2"].rows.to_pylist() == [{"a": 3, "b": 4}]
    assert [each.report.bad for each in found.values()] == [1, 1]


def test_bad_rows_of_inputs_that_have_a_column_as_other_types(tmp_path: Path) -> None:
    p = pa.table({"type": pa.array(["A", None]).dictionary_encode(), "ts": [1, 2], "n": [1, 2]})
    q = pa.table({"type": ["B", None], "ts": [3, 4], "n": ["x", "y"], "m": [None, 7]})
    text = "FROM p, q EVENT SEQ(A a, B b) RETURN a.ts AS a"
    report = sase.match(text, streams={"p": p, "q": q.drop(["n"])}, on_bad_row="quarantine").report
    rows = report.quarantined.select(["sase_row", "ts", "n", "m"]).to_pylist()
    assert rows == [
        {"sase_row": 1, "ts": 2, "n": 2, "m": None},
        {"sase_row": 1, "ts": 4, "n": None, "m": 7},
    ]


def test_a_column_that_a_few_values_make_text_is_told_of_each_statement(tmp_path: Path) -> None:
    lines = [f"{'AB'[n % 2]},{n},{n}" for n in range(20)]
    (tmp_path / "p.csv").write_text("\n".join(["type,ts,v", "B,0,NA", *lines]))
    (tmp_path / "q.csv").write_text("\n".join(["type,ts,v", "B,0,9x", *lines]))
    text = """FROM p, q EVENT SEQ(A a, B b) WHERE b.v > a.v WITHIN 3;
              FROM p EVENT SEQ(A a, B b) WHERE b.v > a.v WITHIN 3;
              FROM q EVENT SEQ(A a, B b) WITHIN 3"""
    streams = {name: f"{tmp_path}/{name}.csv" for name in "pq"}
    found = sase.Script(text).run(streams=streams)
    warned = {name: " ".join(each.report.warnings) for name, each in found.items()}
    assert {name: ("'NA'" in text, "'9x'" in text) for name, text in warned.items()} == {
        "query_1": (True, True),
        "query_2": (True, False),
        "query_3": (False, False),
    }
    found = sase.Script(text, null=["NA", "9x"]).run(streams=streams)
    assert not any("compared as text" in str(each.report) for each in found.values())
