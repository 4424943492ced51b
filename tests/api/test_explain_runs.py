"""`sase.explain` of queries with Kleene closure and strategies: the counters of their operators."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import sase
from sase.errors import PlanError
from sase.planning.explain import Explanation
from sase.planning.explain.value import Measured

ROWS = 240
RANDOM = Random(5)
EVENTS: list[dict[str, Any]] = [
    {"ts": n, "type": RANDOM.choice("ABCD"), "id": n % 3, "v": RANDOM.randrange(20)}
    for n in range(ROWS)
]
QUERY = (
    "EVENT SEQ(A a, B+ b[], !(D n), C c) WHERE {strategy} {{ [id] AND a.v > 3 AND n.v > 14"
    " AND b[i].v > a.v }} WITHIN 40 HAVING b.len + 0 < 3"
)


def measured(explanation: Explanation) -> dict[str, Measured]:
    return {e.name: e.measured for e in explanation.operators if e.measured is not None}


@pytest.mark.parametrize(
    ("strategy", "plan"),
    [
        ("skip_till_any_match", "postponed_filters"),
        ("skip_till_any_match", "nfab"),
        ("skip_till_next_match", "optimized"),
    ],
)
def test_every_operator_is_measured(strategy: str, plan: str) -> None:
    query = QUERY.format(strategy=strategy)
    explanation = sase.explain(query, EVENTS, analyze=True, plan=plan)
    found = measured(explanation)
    assert list(found) == ["RunEvaluation", "Negation", "Transformation"]
    runs, negation, top = found.values()
    assert explanation.results == top.rows_out == len(sase.match(query, EVENTS)) > 0
    assert runs.rows_in == ROWS
    assert runs.rows_out == negation.rows_in > negation.rows_out == top.rows_in > top.rows_out
    assert runs.bytes is not None
    assert negation.bytes is not None
    counters = dict(runs.counters)
    assert counters["admitted"] == ROWS
    assert counters["rejected_events"]["a.v > 3"] > 0
    assert "events" not in counters
    assert dict(top.counters)["rejected"] == {"HAVING": top.rows_in - top.rows_out}
    assert dict(negation.counters)["probed"] == {"n": negation.rows_in}
    is_walked = plan == "postponed_filters"
    assert ("walks" in counters, "runs" in counters) == (is_walked, not is_walked)
    assert explanation.to_html().startswith("<!doctype html>")
    assert "NFAb" in explanation.to_dot()


def test_counters_have_the_name_of_the_node_whatever_runs_it() -> None:
    query = QUERY.format(strategy="skip_till_any_match")
    for plan in ("nfab", "postponed"):
        report = sase.match(query, EVENTS, plan=plan).report
        names = [name for name, _ in report.counters]
        assert names == ["RunEvaluation", "Negation", "Transformation"]


# ---------------------------------------------------------------- forms of the result

SERIES = "EVENT SEQ(A+ a[], B b) WHERE [id] AND b.v > 5 WITHIN 100"


def test_the_form_and_what_a_list_would_cost() -> None:
    random = Random(5)
    events = [row | {"id": random.randrange(3)} for row in EVENTS]
    found = sase.explain(SERIES, events, output="compressed")
    form = found.to_dict()["form"]
    assert form["output"] == "compressed"
    assert form["ways"] == [{"method": "paths", "reasons": []}]
    assert form["list"]["matches"] == found.expected_results
    matches = sase.match(SERIES, events)
    bound = sum(len(match["a"]) + 1 for match in matches) / len(matches)
    # Beside each event where those of each component begin, and where the match ends.
    taken = form["list"]["bytes"] / form["list"]["matches"]
    assert taken == pytest.approx(8 * (bound + 3), rel=0.3)
    assert found.expected_results is not None
    assert found.expected_results > 1000
    line = next(line for line in str(found).splitlines() if line.startswith("output "))
    assert line.startswith("output compressed: paths through a graph of events are counted")
    assert "a list would have about" in " ".join(str(found).split())
    assert "<dt>Output</dt>" in found.to_html()


def test_why_matches_are_looked_at_one_by_one() -> None:
    query = SERIES.replace("WHERE [id] AND b.v > 5", "WHERE b.v > avg(a[].v)")
    for form in ("compressed", "count"):
        found = sase.explain(query, EVENTS, output=form).to_dict()["form"]
        assert found["output"] == form
        way, *more = found["ways"]
        assert way["reasons"] == ["b.v > avg(a[].v) is no condition on neighbours"]
        methods = [each["method"] for each in (way, *more)]
        assert methods == (["few_listed", "histories"] if form == "count" else ["listed"])
        assert "one by one, since b.v > avg(a[].v)" in str(sase.explain(query, output=form))
    assert sase.explain(query, output="count").to_dict()["form"]["list"] is None


def test_a_list_is_named_only_where_it_is_large() -> None:
    small = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
    assert "output " not in str(sase.explain(small, EVENTS))
    assert sase.explain(small, EVENTS).to_dict()["form"]["output"] == "all"
    large = " ".join(str(sase.explain("EVENT SEQ(A+ a[], B b)", EVENTS)).split())
    assert "output all: a list takes at least " in large
    assert 'output="compressed" holds and counts them without it' in large
    said = "output non_overlap: a list takes at least"
    pruned = ("SEQ(A+ a[], B b)", "SEQ(A+ a[], B b) HAVING a.len > 1")
    for pattern in (*pruned, "SEQ(A+ a[], B b, !(C c)) WITHIN 200"):
        text = str(sase.explain(f"EVENT {pattern}", EVENTS, output="non_overlap"))
        assert (said in text) == (pattern not in pruned)


def test_what_is_not_listed_is_not_analyzed() -> None:
    with pytest.raises(PlanError, match="is not analyzed"):
        sase.explain(SERIES, EVENTS, analyze=True, output="count")
