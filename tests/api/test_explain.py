"""`sase.explain`: with events and without, by a schema or by statistics, and run to be measured."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

import sase
from sase.api import execution
from sase.api.compiled_query import CompiledQuery
from sase.api.explain import ASSUMED
from sase.binding.schema_file import schema_from
from sase.errors import BindingError, PlanError
from sase.planning.explain import Explanation
from sase.planning.explain.value import ExplainedOperator, Measured
from sase.planning.rewrites import REWRITES
from sase.planning.serialisation import statistics_to_json
from sase.planning.statistics import Statistics

ROWS, RANDOM = 1_200, Random(3)
EVENTS = pa.table(
    {
        "ts": range(ROWS),
        "type": ["A", "B", "C", "Other", "Other", "Other"] * (ROWS // 6),
        "id": [RANDOM.randrange(20) for _ in range(ROWS)],
        "v": [RANDOM.randrange(100) for _ in range(ROWS)],
    }
)
QUERY = "EVENT SEQ(A a, !(B n), C c) WHERE [id] AND a.v < c.v AND a.v < 50 WITHIN 500"


def operator(explanation: Explanation, name: str) -> ExplainedOperator:
    (only,) = [each for each in explanation.operators if each.name == name]
    return only


def measured(explanation: Explanation, name: str) -> Measured:
    known = operator(explanation, name).measured
    assert known is not None
    return known


# ---------------------------------------------------------------- known facts


def test_with_events_there_are_estimates_and_reasons_and_nothing_runs() -> None:
    explanation = sase.explain(QUERY, EVENTS)
    assert explanation.source == "all events: 1,200 events"
    assert explanation.expected_results is not None
    assert (explanation.results, explanation.nanoseconds) == (None, None)
    for each in explanation.operators:
        assert each.expected is not None
        assert each.measured is None
    assert any(
        "partitioned on id: 20 values, removes" in r for r in explanation.operators[0].reasons
    )
    assert (explanation.notes, explanation.choices) == ((), ())


def by_the_run(query: str, given: pa.Table, **options: Any) -> tuple[Any, Any]:
    """The statistics by which a run over events plans, and those by which EXPLAIN does."""
    used: list[Any] = []

    def kept(known: CompiledQuery, statistics: Any = None, *rest: Any, **more: Any) -> Any:
        used.append(statistics)
        return optimized(known, statistics, *rest, **more)

    optimized = CompiledQuery.optimized
    with patch.object(CompiledQuery, "optimized", kept):
        sase.match(query, given)
        sase.explain(query, given, **options)
    by_run, by_explain = used
    return by_run, by_explain


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (QUERY, {}),
        ("EVENT SEQ(A a, C c) WITHIN 5", {}),  # a small sample, as many matches may come
        ("EVENT SEQ(A a, B+ b[], R c) WHERE earliest_maximal WITHIN 5", {"rare": True}),
        (QUERY, {"sampled": True}),
    ],
)
def test_explain_plans_by_the_statistics_of_the_run(
    query: str, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = EVENTS
    if options.get("rare"):
        given = pa.concat_tables([EVENTS] * 3).set_column(0, "ts", pa.array(range(3 * ROWS)))
        kinds = given["type"].to_pylist()
        kinds[500] = "R"
        given = given.set_column(1, "type", pa.array(kinds))
        monkeypatch.setattr(execution, "ENOUGH_FOR_RARE", 3 * ROWS)
    if options.get("sampled"):
        monkeypatch.setattr(execution, "EVENTS_PER_SAMPLED", 1)
        monkeypatch.setattr(execution, "LEAST_SAMPLE", ROWS // 2)
    by_run, by_explain = by_the_run(query, given)
    assert by_run == by_explain
    assert (by_run is None) == (query == QUERY and not options)


def test_rows_that_are_pushed_late_are_told() -> None:
    rows = [{"ts": ts, "type": "A"} for ts in (1, 5, 2, 3, 6)]
    found = sase.explain("EVENT SEQ(A a, A b)", rows, analyze=True, pushed=1)
    assert found.results == 3
    assert "of 5 rows 2 came late, behind rows of a later time, and are in no match" in found.notes
    assert sase.explain("EVENT SEQ(A a, A b)", rows, analyze=True).results == 10


def test_what_is_pushed_is_planned_without_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "EVENTS_PER_SAMPLED", 1)
    monkeypatch.setattr(execution, "LEAST_SAMPLE", ROWS // 2)
    by_run, by_explain = by_the_run(QUERY, EVENTS, pushed=100, analyze=True)
    assert by_run is not None
    assert by_explain is None


def test_without_events_every_type_is_taken_to_have_what_the_query_names() -> None:
    explanation = sase.explain(QUERY)
    assert explanation.notes == (ASSUMED,)
    assert (explanation.statistics, explanation.source, explanation.choices) == (None, "", ())
    assert all(each.expected is None and not each.reasons for each in explanation.operators)
    assert explanation.operators[0].algorithm.endswith("partitioned on id (PAIS)")


def test_a_schema_says_what_there_is() -> None:
    """A type without the attribute keeps the stacks from being partitioned."""
    types = {"A": {"id": "integer", "v": "integer"}, "B": {}, "C": {"v": "integer"}}
    explanation = sase.explain(QUERY, schema=schema_from({"types": types}))
    assert explanation.notes == ()
    assert explanation.operators[0].algorithm == "active instance stacks (AIS)"
    declined = {step.rewrite: step.declined for step in explanation.steps}
    assert declined["partition_stacks"] == "some type of the pattern may not declare `id`"
    with pytest.raises(BindingError, match="no attribute `v`"):
        sase.explain(QUERY, schema=schema_from({"types": {**types, "C": {}}}))


def test_other_names_of_columns() -> None:
    renamed = EVENTS.rename_columns(["when", "kind", "id", "v"])
    explanation = sase.explain(QUERY, renamed, time="when", type="kind")
    assert explanation.operators == sase.explain(QUERY, EVENTS).operators
    assert sase.explain(QUERY, time="when", type="kind").operators


def test_parameters_and_limit() -> None:
    query = QUERY.replace("< 50", "< :most")
    explanation = sase.explain(query, EVENTS, params={"most": 50}, limit=3)
    assert explanation.expected_results == 3
    assert "a: A WHERE a.v < 50" in explanation.operators[0].details
    assert "LIMIT 3" in explanation.operators[-1].details


# ---------------------------------------------------------------- statistics


def test_statistics_come_back_from_a_file(tmp_path: Path) -> None:
    first = sase.explain(QUERY, EVENTS)
    assert first.statistics is not None
    path = tmp_path / "stats.json"
    path.write_text(statistics_to_json(first.statistics), encoding="utf-8")
    first = sase.explain(QUERY, EVENTS, stats=first.statistics)
    for given in (path, str(path)):
        assert sase.explain(QUERY, EVENTS, stats=given) == first
    # And without the events they were measured on.
    schema = schema_from({"columns": {"ts": "integer", "id": "integer", "v": "integer"}})
    alone = sase.explain(QUERY, schema=schema, stats=path)
    assert alone.operators == first.operators
    assert alone.choices == first.choices


def test_statistics_that_are_given_count_and_not_the_events() -> None:
    given = Statistics(77, 0, 76, source="a guess")
    explanation = sase.explain(QUERY, EVENTS, stats=given)
    assert explanation.source == "a guess: 77 events"
    expected = explanation.operators[0].expected
    assert expected is not None
    assert expected.rows_in == 77


def test_a_sample_of_files_that_are_read(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(EVENTS, tmp_path / "events.parquet")
    by_path = sase.explain(QUERY, str(tmp_path / "events.parquet"))
    assert by_path == sase.explain(QUERY, EVENTS)


# ---------------------------------------------------------------- measured


@pytest.fixture(scope="module")
def run() -> Explanation:
    return sase.explain(QUERY, EVENTS, analyze=True)


def test_analyze_runs_the_plan_and_measures_every_operator(run: Explanation) -> None:
    matches = sase.match(QUERY, EVENTS)
    assert run.results == len(matches) > 0
    assert run.nanoseconds is not None
    for each in run.operators:
        assert each.measured is not None
        assert each.measured.nanoseconds is not None
    assert measured(run, "Transformation").rows_out == len(matches)
    assert not any("compiled" in note for note in run.notes)


def test_the_scan_reads_every_row_and_admits_those_of_the_types(run: Explanation) -> None:
    """As the estimate does, so that the two can be compared."""
    scan = operator(run, "SequenceScan")
    assert scan.expected is not None
    assert scan.measured is not None
    assert scan.measured.rows_in == scan.expected.rows_in == ROWS
    counters = dict(scan.measured.counters)
    assert counters["admitted"] == ROWS / 2
    assert scan.measured.rows_out == sum(counters["pushed"].values())
    assert "events" not in counters
    assert list(counters["pushed"]) == ["a", "c"]


@pytest.mark.parametrize("kind", ["table", "file", "tables"])
@pytest.mark.parametrize("limit", [None, 2])
def test_what_is_not_read_is_counted_on_neither_side(
    kind: str, limit: int | None, tmp_path: Path
) -> None:
    """Groups of rows of other types stay unread; held ones are read whole in spite of LIMIT."""
    sorted_by_type = EVENTS.sort_by("type").set_column(0, "ts", pa.array(range(ROWS)))
    pyarrow.parquet.write_table(sorted_by_type, tmp_path / "e.parquet", row_group_size=100)
    parts = {each: EVENTS.filter(pc.field("type") == each) for each in ("A", "B", "C")}
    given = {"table": EVENTS, "file": str(tmp_path / "e.parquet"), "tables": parts}[kind]
    explanation = sase.explain(QUERY, given, analyze=True, limit=limit)
    scan = operator(explanation, "SequenceScan")
    assert scan.expected is not None
    assert measured(explanation, "SequenceScan").rows_in == scan.expected.rows_in
    assert scan.expected.rows_in == (ROWS if kind == "table" else ROWS / 2)


def test_estimates_come_near_on_even_events(run: Explanation) -> None:
    for each in run.operators:
        assert each.misestimate < 1.5, each.name
    assert run.worst is None


@pytest.mark.parametrize("query", [QUERY, "EVENT SEQ(A a, C c)"])
def test_the_runtime_stack_is_estimated_as_it_is(query: str) -> None:
    """It has a cell for each event, and a walk back visits cells."""
    explanation = sase.explain(query, EVENTS, plan="basic", analyze=True)
    assert measured(explanation, "SequenceScan").rows_out == ROWS
    for name in ("SequenceScan", "SequenceConstruction"):
        each = operator(explanation, name)
        assert each.expected is not None
        assert each.measured is not None
        assert each.measured.rows_in == pytest.approx(each.expected.rows_in, rel=0.05)
        assert each.measured.rows_out == pytest.approx(each.expected.rows_out, rel=0.05)


def test_the_operator_that_is_misestimated_most_is_marked() -> None:
    """Of statistics of other events: the first one that is wrong makes those above it wrong."""
    wrong = Statistics(ROWS, 0, ROWS - 1)
    explanation = sase.explain(QUERY, EVENTS, analyze=True, stats=wrong)
    worst = explanation.worst
    assert worst is not None
    assert worst.misestimate == max(each.misestimate for each in explanation.operators)
    assert explanation.to_text().count("<-- worst estimate") == 1
    assert explanation.to_dict()["worst_estimate"] == worst.name


def test_what_negation_counted_is_by_its_variable() -> None:
    explanation = sase.explain(QUERY, EVENTS, plan="basic", analyze=True)
    counters = dict(measured(explanation, "Negation").counters)
    assert list(counters["probed"]) == ["n"]


def test_a_warning_of_the_run_is_a_note() -> None:
    explanation = sase.explain("EVENT SEQ(A a, Z z) WITHIN 5", EVENTS, analyze=True)
    assert any("no event of type `Z` occurred" in note for note in explanation.notes)
    assert explanation.results == 0


def test_no_events_at_all() -> None:
    explanation = sase.explain(QUERY, EVENTS.slice(0, 0), analyze=True)
    assert explanation.results == 0
    assert explanation.expected_results == 0
    assert measured(explanation, "SequenceScan").rows_in == 0


# ---------------------------------------------------------------- rewrites and recipes


@pytest.mark.parametrize("name", list(REWRITES))
def test_any_rewrite_can_be_switched_off(name: str) -> None:
    explanation = sase.explain(QUERY, EVENTS, off=[name])
    declined = {step.declined for step in explanation.steps if step.rewrite.startswith(name)}
    assert declined <= {"it is switched off"}
    assert explanation.expected_results is not None


def test_off_changes_the_plan() -> None:
    without = sase.explain(QUERY, EVENTS, off={"push_window_into_construction", "push_limit"})
    assert "Window" in {each.name for each in without.operators}
    assert "Window" not in {each.name for each in sase.explain(QUERY, EVENTS).operators}


def test_the_same_result_with_anything_off() -> None:
    expected = len(sase.match(QUERY, EVENTS))
    for off in ([], ["use_active_instance_stacks"], ["push_negation_into_construction"], REWRITES):
        assert sase.explain(QUERY, EVENTS, off=off, analyze=True).results == expected


def test_a_recipe_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'summary = "stacks only"\nrewrites = ["use_active_instance_stacks"]', encoding="utf-8"
    )
    explanation = sase.explain(QUERY, EVENTS, plan=str(path))
    assert explanation.to_text().startswith("plan mine: stacks only\n")
    assert [step.rewrite for step in explanation.steps] == ["use_active_instance_stacks"]


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"off": ["partition_stack"]}, "no rewrite `partition_stack` to.*did you mean `parti"),
        ({"off": ["nonsense"]}, "no rewrite `nonsense` to switch off; there are infer_equivalence"),
        ({"plan": "optimised"}, "no recipe `optimised`; did you mean `optimized`"),
        ({"stats": 3}, "stats=3: give Statistics, or the path of a file"),
        ({"stats": "no.json"}, "no.json: the statistics cannot be read"),
        ({"limit": -1}, "limit=-1: a number of matches is not negative"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("events", [None, EVENTS])
def test_what_is_wrong_is_said(given: dict[str, Any], message: str, events: object) -> None:
    with pytest.raises(PlanError, match=message):
        sase.explain(QUERY, events, **given)


def test_analyze_needs_events() -> None:
    with pytest.raises(PlanError, match="analyze=True runs the query: give it events"):
        sase.explain(QUERY, analyze=True)


def test_a_file_that_holds_no_statistics(tmp_path: Path) -> None:
    path = tmp_path / "stats.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(PlanError, match="these are no statistics"):
        sase.explain(QUERY, EVENTS, stats=path)


# ---------------------------------------------------------------- forms


def test_all_forms_are_of_one_document(run: Explanation) -> None:
    document = json.loads(run.to_json())
    assert document == run.to_dict()
    assert [each["name"] for each in document["operators"]] == [e.name for e in run.operators]
    assert document["operators"][0]["actual"]["rows_in"] == ROWS
    for each in run.operators:
        assert each.symbol in run.to_dot()
    assert run.to_html().startswith("<!doctype html>")
    assert run._repr_html_().startswith("<pre>plan optimized")


def test_the_parts_of_the_query_that_went_into_an_operator() -> None:
    explanation = sase.explain(QUERY, plan="predicates_in_construction")
    parts = {o.name: [QUERY[start:end] for start, end in o.parts] for o in explanation.operators}
    assert "a.v < 50" in parts["SequenceScan"]
    assert "a.v < c.v" in parts["SequenceConstruction"]


def test_what_does_not_run_is_the_same_again() -> None:
    assert sase.explain(QUERY, EVENTS) == sase.explain(QUERY, EVENTS)
    assert sase.explain(QUERY).to_json() == sase.explain(QUERY).to_json()


def test_columns_that_a_few_values_make_text_are_told(tmp_path: Path) -> None:
    """As by a run, also where nothing is run."""
    values = ["N/A" if number == 7 else str(number) for number in range(40)]
    lines = [f"{number},{'AB'[number % 2]},{value}" for number, value in enumerate(values)]
    path = tmp_path / "events.csv"
    path.write_text("\n".join(["ts,type,v", *lines, ""]), encoding="utf-8")
    query = "EVENT SEQ(A a, B b) WHERE b.v > a.v WITHIN 10"
    (told,) = sase.match(query, path).report.warnings
    assert "N/A" in told
    for analyze in (False, True):
        assert sase.explain(query, path, analyze=analyze).notes.count(told) == 1
