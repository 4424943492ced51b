"""`sase compare`: the matches of each strategy, and why a stricter one lacks them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import sase
from sase.api import compare as comparing
from sase.api.execution import run
from sase.cli.main import main
from sase.engine.operators.kleene import evaluation
from sase.engine.results.batch import MaterializedBatch
from sase.engine.results.matches import Matches
from sase.errors import PlanError
from sase.lang.parser import parse_query
from tests import naive

ROWS = [
    {"ts": ts, "type": name, "id": key}
    for ts, (name, key) in enumerate(
        [("A", 1), ("B", 1), ("B", 2), ("A", 1), ("B", 1), ("C", 1), ("C", 1), ("D", 1)]
    )
]
QUERY = "EVENT SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 10"
STRICT, PARTITION, NEXT, ANY = (each.value for each in comparing.STRATEGIES)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), "events.parquet")


def compare(*arguments: str) -> int:
    return main(["compare", "--events", "events.parquet", *arguments])


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    """The comparison as data."""
    assert compare(*arguments, "--format", "json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_numbers_are_those_of_the_naive_matcher(capsys: pytest.CaptureFixture[str]) -> None:
    given = found(capsys, "-q", QUERY, "--output", "all", "--output", "non_overlap")
    tree = parse_query(QUERY)
    expected = {
        (each.value, output): len(
            naive.match(comparing.with_strategy(tree, each), ROWS, output=output)
        )
        for each in comparing.STRATEGIES
        for output in ("all", "non_overlap")
    }
    assert {(m["strategy"], m["output"]): m["matches"] for m in given["measured"]} == expected
    assert all(m["ended"] is None and m["seconds"] >= 0 for m in given["measured"])
    assert len(set(expected.values())) > 2


def test_each_difference_has_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("-q", QUERY, "--show", "2") == 0
    out = capsys.readouterr().out
    assert f"{PARTITION} has no match that {STRICT} lacks" in out
    assert f"{NEXT} has 3 matches that {PARTITION} lacks:" in out
    assert (
        "  a: row 0  b: rows 1 and 4  c: row 5\n"
        "    skips row 3, which is of the same partition [id]:"
        " partition contiguity does not allow it\n"
    ) in out
    assert (
        "  a: row 0  b: row 4  c: row 5\n"
        "    skips row 1, a B that could begin b: skip till next match must take it\n"
        "  a: row 0  b: row 1  c: row 5\n"
        "    skips row 4, a B that b could have taken: skip till next match must take it\n"
    ) in out
    assert "… and 2 more: --show N shows N of them" in out


def test_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("-q", QUERY, "--html", "compare.html", "--show", "2") == 0
    out, err = capsys.readouterr()
    assert out.startswith("strategy") and "the report with a picture: compare.html\n" in err
    page = Path("compare.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert f"<b>{NEXT} has 3 matches that {PARTITION} lacks, the first 2 drawn</b>" in page
    assert "skips row 1, a B that could begin b: skip till next match must take it" in page
    assert not any(f"<{tag}" in page for tag in ("script", "link", "img", "iframe"))


@pytest.mark.parametrize(
    "query",
    [
        QUERY,
        "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 10",
        "EVENT SEQ(A a, (SEQ(B b, C c) OR D d)+ g[])",
        "EVENT SEQ(A a, C c) OR SEQ(A a, B b, D d) WHERE [id]",
    ],
)
def test_pictures_have_the_added_matches_and_the_events_that_are_not_skipped(query: str) -> None:
    """Of sequences, too, and where the plans of strategies read different events."""
    comparison = sase.compare(query, ROWS, clock=lambda: 1.0)
    drawn = 0
    for each in comparison.differences:
        assert (each.timeline is None) == (not each.matches)
        if each.timeline is None:
            continue
        assert each.timeline.title.startswith(each.sentence)
        for shown, match in zip(each.timeline.matches, each.matches, strict=True):
            text, drawn = str(match.to_dict()["rows"]), drawn + 1
            assert sorted(event.row for event in shown.events) == numbers(text)
            assert shown.stop is not None and shown.name == f"match {shown.number}"
            assert shown.stop.reason == "; ".join(match.reasons)
            against = [event.row for event in shown.against]
            assert against == sorted(set(numbers(" ".join(re.findall(SKIPPED, shown.stop.reason)))))
            assert shown.stop.at == ROWS[against[0]]["ts"] if against else True
            assert not {*against} & {event.row for event in (*shown.events, *shown.skipped)}
    assert drawn > 1
    assert "<svg" in comparison._repr_html_()


def test_matches_that_hold_no_events_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_pieces(*given: Any, **options: Any) -> Matches:
        found = run(*given, **options)
        return Matches.of([MaterializedBatch.of(part) for part in found.parts], found.report)

    whole = sase.compare(QUERY, ROWS, clock=lambda: 1.0)
    monkeypatch.setattr(comparing, "run", in_pieces)
    comparison = sase.compare(QUERY, ROWS, clock=lambda: 1.0)
    assert comparison.differences == whole.differences
    assert {each.timeline for each in comparison.differences} == {None}
    assert "<svg" not in comparison.to_html()


# The rows in a reason.
SKIPPED = r"rows? [\d, and]+"


def numbers(text: str) -> list[int]:
    """The numbers in a text, in order of size."""
    return sorted(map(int, re.findall(r"\d+", text)))


def test_the_value_is_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    value = sase.compare(QUERY, ROWS, clock=lambda: 1.0)
    given = found(capsys, "-q", QUERY)
    assert given["differences"] == value.to_dict()["differences"]
    assert given["rows"] == value.rows == len(ROWS)
    assert str(value).splitlines()[2].split() == [STRICT, "1", "5", "0.0000", "s"]
    assert hash(value) == hash(sase.compare(QUERY, ROWS, clock=lambda: 1.0))


def test_one_difference_is_of_what_a_stricter_strategy_has_alone() -> None:
    """A D has no id: partition contiguity may skip it, skip till next match must take it."""
    types = {"A": ["id"], "D": [], "C": ["id"]}
    rows = [
        {"ts": 0, "type": "A", "id": 1},
        {"ts": 1, "type": "D"},
        {"ts": 2, "type": "C", "id": 1},
    ]
    query = "EVENT SEQ(A a, ANY(D, C) c) WHERE [id]"
    value = sase.compare(query, rows, types=types)
    alone = [each for each in value.differences if (each.strategy, each.other) == (PARTITION, NEXT)]
    assert [each.number for each in alone] == [1]
    (match,) = alone[0].matches
    assert match.reasons == (
        "skips row 1, a D that could begin c: skip till next match must take it",
    )


def test_what_is_left_out_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("-q", "EVENT SEQ(A a, B b) WHERE strict_contiguity(a, b) LIMIT 1") == 0
    out = capsys.readouterr().out
    assert "\npartition_contiguity is left out: the query has no equivalence test" in out
    assert "\nLIMIT is left out: " in out
    assert [line.split()[1] for line in out.splitlines()[2:5]] == ["2", "2", "4"]


def test_of_many_rows_differences_are_shown_when_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(comparing, "FEW_ROWS", 5)
    given = found(capsys, "-q", QUERY)
    assert given["differences"] == []
    assert given["notes"] == [f"{comparing.ADDED} are shown for few events, or with  --show N"]
    assert len(found(capsys, "-q", QUERY, "--show", "1")["differences"][2]["matches"]) == 1


def test_too_many_matches_are_no_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("-q", QUERY, "--max-matches", "5") == 0
    out = capsys.readouterr().out
    assert "more than 5" in out.splitlines()[5]
    assert f"{ANY} has too many matches: the added matches are not shown." in out
    assert f"{NEXT} has 3 matches" in out


def test_too_many_runs_are_none_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(evaluation, "is_too_much", lambda size: size > 1 << 19)
    rows = [{"ts": ts, "type": "A"} for ts in range(24)] + [{"ts": 24, "type": "B"}]
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), "events.parquet")
    assert compare("-q", "EVENT SEQ(A+ a[], B b)", "--plan", "nfab") == 0
    out = capsys.readouterr().out
    assert "too many runs" in out
    assert out.splitlines()[2].split()[:2] == [STRICT, "24"]


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (["-q", "EVENT SEQ(A a, C c) WHERE a.di = 3"], "did you mean `id`?", 2),
        (["-q", "EVENT SEQ(A a C c)"], "query:1:", 2),
        (["-q", "EVENT SEQ(A a, C c) WHERE partition_contiguity"], "equivalence test", 2),
        (["-q", QUERY, "--show", "-1"], "show is not negative", 2),
        (["-q", QUERY, "--max-matches", "0"], "max_matches is positive", 2),
        (["-q", QUERY, "--events", "nowhere.parquet"], "nowhere.parquet", 1),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], said: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*arguments) == status
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""


def test_imprecise_time_has_one_strategy() -> None:
    """And the message is not about a strategy that nobody wrote."""
    rows = [{"lo": at, "hi": at + 1, "type": name} for at, name in enumerate("AB")]
    with pytest.raises(PlanError, match=r"there is one, skip_till_any_match: .* time=\"lo\""):
        sase.compare("EVENT SEQ(A a, B b)", rows, time=("lo", "hi"))


def test_limits_of_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("-q", QUERY, "--max-memory", "some") == 2
    assert "max_memory='some': give a number of bytes" in capsys.readouterr().err
    assert compare("-q", QUERY, "--timeout", "0.000001") == 1
    assert "the run takes longer than its timeout of 1e-06 s" in capsys.readouterr().err


def test_many_combinations_of_few_events_name_the_longest_run() -> None:
    """In 14 rising values each part is a match of skip till any match."""
    events = [{"ts": n, "type": "T", "id": 1, "v": n} for n in range(14)]
    series = "EVENT T+ r[] WHERE {} {{ [id] AND r[i].v > r[i-1].v }} WITHIN 99"
    query = series.format("skip_till_any_match")
    compared = sase.compare(query, events)
    (note,) = [each for each in compared.notes if "longest run" in each]
    assert "earliest_maximal" in note
    assert 'output="non_overlap"' in note
    longest = sase.match(series.format("earliest_maximal"), events, output="non_overlap")
    assert longest.rows["r"].to_pylist() == [[*range(14)]]
    few = sase.compare(query, events[:6]).notes
    pair = sase.compare("EVENT SEQ(T a, T b) WHERE [id]", events).notes
    assert not [each for each in (*few, *pair) if "longest run" in each]
