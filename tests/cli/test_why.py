"""`sase why`: an explanation from files of events."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.cli.main import main
from sase.diagnostics.why_not import event_sample

EVENTS = pa.table(
    {
        "ts": range(60),
        "type": ["A", "B", "C"] * 20,
        "id": [number // 3 for number in range(60)],
        "s": ["x", None, "yes"] * 20,
    }
)
QUERY = "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 30"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(EVENTS, "events.parquet")


def why(*arguments: str) -> int:
    return main(["why", "--events", "events.parquet", *arguments])


def test_the_explanation_is_that_of_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert why("-q", QUERY) == 0
    out, err = capsys.readouterr()
    assert out == f"{sase.why(QUERY, EVENTS)}\n"
    assert "Without that component, !(B b), there would be 20 matches." in out
    assert "Traceback" not in err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert why("-q", QUERY, "--format", "json", "--near", "1") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["matches"] == {"number": 0, "text": "0", "is_exact": True}
    assert found["near_misses"][0]["rows"] == {"a": 0, "b": 1, "c": 2}
    # Of files the columns are read that the query names.
    assert found == sase.why(QUERY, EVENTS.drop_columns(["s"]), near=1).to_dict()


def test_series_and_strategies(capsys: pytest.CaptureFixture[str]) -> None:
    """As text, which is that of the function, and as data with the events of a series as lists."""
    query = "EVENT SEQ(A a, B+ b[], C c) WHERE strict_contiguity {[id] AND b[i].s = 'x'} WITHIN 9"
    assert why("-q", query) == 0
    assert capsys.readouterr().out == f"{sase.why(query, EVENTS)}\n"
    contiguous = "EVENT SEQ(A a, C+ c[]) WHERE strict_contiguity {[id]}"
    assert why("-q", contiguous, "--format", "json", "--near", "1") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"][-1] == {
        "parts": ["strict_contiguity"],
        "instead": "skip_till_any_match",
        "matches": {"number": 20, "text": "20", "is_exact": True},
    }
    assert found["near_misses"][0]["rows"] == {"a": 0, "c": [2]}
    assert found["near_misses"][0]["by"] == "not contiguous: row 1 lies between"


def test_any_recipe_explains_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that evaluates runs."""
    told = []
    for recipe in ("optimized", "nfab", "postponed"):
        assert why("-q", QUERY, "--plan", recipe) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]


def test_some_of_the_events(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--where", "id >= 5", "--from", "18", "--to", "29", "--format", "json"]
    assert why("-q", QUERY, *given) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["looked_at"]) == (60, 12)


def test_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert why("-q", QUERY, "--html", "why.html") == 0
    out, err = capsys.readouterr()
    found = sase.why(QUERY, EVENTS.drop_columns(["s"]))
    assert out == f"{found}\n" and "sase: the report with a picture: why.html\n" in err
    page = Path("why.html").read_text(encoding="utf-8")
    assert page == found.to_html()
    assert page.count("<svg") == 1 and "There is no match." in page
    assert not any(f"<{tag}" in page for tag in ("script", "link", "img", "iframe"))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("there/is/none.html", "there is no folder there/is"),
        ("events.parquet", "would be written over the events"),
        (".", "this is a folder"),
    ],
)
def test_a_page_that_cannot_be_written(
    file: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("events.parquet").read_bytes()
    assert why("-q", QUERY, "--html", file) == 2
    out, err = capsys.readouterr()
    assert said in err and not out
    assert Path("events.parquet").read_bytes() == before


def test_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    assert why("-q", "EVENT SEQ(A a, C c)", "--most", "5", "--seconds", "100") == 0
    assert "at least" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (["-q", "EVENT SEQ(A a, C c) WHERE a.di = 3"], "did you mean `id`?", 2),
        (["-q", QUERY, "--where", "di = 3"], " --> where:1:1", 2),
        (["-q", QUERY, "--where", "id ="], "where:1:5", 2),
        (["-q", QUERY, "--from", "noon"], "sase why: error: the time 'noon' is no number", 2),
        (["-q", QUERY, "--near", "-1"], "near, most and seconds are not negative", 2),
        (["-q", QUERY, "--events", "nowhere.parquet"], "nowhere.parquet", 1),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], said: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert why(*arguments) == status
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""


def test_a_run_without_a_match_points_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--events", "events.parquet", "-q", QUERY]) == 0
    assert "sase: sase why  with the same query and events" in capsys.readouterr().err
    assert main(["run", "--events", "events.parquet", "-q", "EVENT SEQ(C{21} c[], A a)"]) == 0
    assert "sase: sase why  with the same query and events" in capsys.readouterr().err
    assert main(["run", "--events", "events.parquet", "-q", "EVENT A"]) == 0
    assert "sase why" not in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_bad_rows(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"ts": 1, "type": "A", "id": 1}, {"ts": 2, "type": None, "id": 1}]
    rows += [{"ts": 3, "type": "C", "id": 1}]
    if suffix == "csv":
        text = "ts,type,id\n" + "".join(f"{r['ts']},{r['type'] or ''},{r['id']}\n" for r in rows)
    else:
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
    Path(f"bad.{suffix}").write_text(text)
    arguments = ["why", "--events", f"bad.{suffix}", "-q", "EVENT SEQ(A a, C c) WITHIN 1"]
    if suffix == "jsonl":
        assert main(arguments) == 1
        assert "every event needs a type" in capsys.readouterr().err
    assert main([*arguments, "--on-bad-row", "quarantine", "--near", "1"]) == 0
    assert "c: row 2  ts=3" in capsys.readouterr().out


def test_files_that_are_too_large_are_looked_at_in_part(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("many").mkdir()
    for number in range(4):
        pyarrow.parquet.write_table(EVENTS.slice(15 * number, 15), f"many/{number}.parquet")
    monkeypatch.setattr(event_sample, "MOST_HELD", 500)
    assert main(["why", "--events", "many", "-q", QUERY, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["rows"] < 60
    assert not found["is_complete"]
    assert "too many to be held" in found["words"][-1]


def test_limits_end_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert why("-q", QUERY, "--timeout", "0.000001") == 1
    assert "the explanation takes longer than its timeout of 1e-06 s" in capsys.readouterr().err
