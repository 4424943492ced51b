"""EXPLAIN of a pattern with choices: each branch by itself, as it is planned and as it ran."""

from __future__ import annotations

import re
from itertools import pairwise

import pyarrow as pa
import pytest

import sase
from sase.api.compare import compare
from sase.planning.explain import Explanation
from sase.planning.statistics import Statistics

ROWS = 400
EVENTS = pa.table(
    {
        "ts": range(ROWS),
        "type": ["A", "B", "C", "D", "A", "C", "D"] * (ROWS // 7) + ["A"] * (ROWS % 7),
        "v": [number * 13 % 29 for number in range(ROWS)],
    }
)
QUERY = (
    "EVENT SEQ(A a, (B b OR C c)? g, !(X x), D d) WHERE a.v < d.v AND b.v < d.v WITHIN 9"
    " HAVING b.v IS NULL OR b.v < 20 RETURN a.v, g.len AS n"
)
BRANCHES = [
    "EVENT SEQ(A a, B b, !(X x), D d) WHERE a.v < d.v AND b.v < d.v WITHIN 9 HAVING b.v < 20",
    "EVENT SEQ(A a, C c, !(X x), D d) WHERE a.v < d.v WITHIN 9",
    "EVENT SEQ(A a, !(X x), D d) WHERE a.v < d.v WITHIN 9",
]


@pytest.fixture(scope="module")
def run() -> Explanation:
    return sase.explain(QUERY, EVENTS, plan="basic", analyze=True)


def test_what_each_operator_of_a_branch_did_is_what_it_does_alone(run: Explanation) -> None:
    for branch, query in zip(run.branches, BRANCHES, strict=True):
        alone = sase.explain(f"{query} RETURN a.v", EVENTS, plan="basic", analyze=True)
        assert [each.name for each in branch] == [each.name for each in alone.operators]
        for each, other in zip(branch, alone.operators, strict=True):
            assert each.measured is not None
            assert other.measured is not None
            assert each.measured.rows_out == other.measured.rows_out, each.key
            assert each.measured.rows_in == other.measured.rows_in, each.key
            assert each.measured.nanoseconds is not None
        for below, above in pairwise(branch):
            assert below.measured is not None
            assert above.measured is not None
            if below.name != "SequenceScan":
                assert below.measured.rows_out == above.measured.rows_in > 0


def test_counters_are_by_the_variables_of_the_branch(run: Explanation) -> None:
    first, _, last = run.branches
    for branch, variables in ((first, ["a", "b", "d"]), (last, ["a", "d"])):
        construction = next(each for each in branch if each.name == "SequenceConstruction")
        assert construction.measured is not None
        assert list(dict(construction.measured.counters)["visited"]) == variables


def test_the_results_of_the_branches_are_those_of_the_whole(run: Explanation) -> None:
    found = [branch[-1].measured for branch in run.branches]
    counts = [each.rows_out for each in found if each is not None]
    assert sum(counts) == run.results == len(sase.match(QUERY, EVENTS))
    assert min(counts) > 0


def test_the_worst_estimate_is_named_with_its_branch() -> None:
    wrong = sase.explain(QUERY, EVENTS, analyze=True, stats=Statistics(ROWS, 0, ROWS - 1))
    worst, document = wrong.worst, wrong.to_dict()
    assert worst is not None
    assert worst.branch is not None
    assert f"worst estimate: {worst.symbol} of branch {worst.branch}, by a" in wrong.to_text()
    assert wrong.to_text().count("<-- worst estimate") == 1
    assert (document["worst_estimate"], document["worst_branch"]) == (worst.name, worst.branch)
    assert f'href="#operator-{worst.key}"' in wrong.to_html()


@pytest.mark.parametrize("threads", [1, 3])
def test_a_report_has_the_operators_of_all_branches(threads: int) -> None:
    report = sase.match(QUERY, EVENTS, threads=threads).report
    names = [name for name, _ in report.counters]
    assert len(set(names)) == len(names)
    assert names[-2:] == ["Union", "Transformation"]
    assert "SequenceScan of branch 1" in names
    counted = dict(report.counters)
    found = [counted[f"Transformation of branch {number}"]["out"] for number in (1, 2, 3)]
    assert sum(found) == counted["Union"]["out"] == counted["Transformation"]["out"]
    # Threads that take slices look at the events around them, too.
    assert sum(found) >= len(sase.match(QUERY, EVENTS))


def test_a_restored_matcher_goes_on_counting_by_branch() -> None:
    first = sase.compile(QUERY, EVENTS).open()
    first.push(EVENTS.slice(0, ROWS // 2))
    second = sase.compile(QUERY, EVENTS).restore(first.snapshot())
    reports = []
    for matcher in (first, second):
        matcher.push(EVENTS.slice(ROWS // 2))
        reports.append(matcher.finish().report.counters)
    assert reports[0] == reports[1]
    assert dict(reports[1])["Transformation of branch 1"]["out"] > 0


def test_a_match_of_two_branches_counts_in_the_first() -> None:
    matches = sase.match("EVENT SEQ(A a, D d) OR SEQ(A a, D d) WITHIN 3", EVENTS)
    counted = dict(matches.report.counters)
    assert counted["Union"]["same"] == len(matches) > 0
    assert counted["Transformation of branch 1"]["out"] == len(matches)
    assert counted["Transformation of branch 2"]["out"] == 0


def test_the_graph_joins_the_branches_in_the_union(run: Explanation) -> None:
    graph = run.to_dot()
    boxes = dict(re.findall(r'^  (o\d+) \[label="(\S+)', graph, re.MULTILINE))
    arrows = re.findall(r"^  (\w+) -> (\w+)", graph, re.MULTILINE)
    assert len(boxes) == len(run.operators)
    (union,) = (box for box, symbol in boxes.items() if symbol == "∪")
    assert [boxes[below] for below, above in arrows if above == union] == ["TF"] * 3
    assert [boxes[above] for below, above in arrows if below == "events"] == ["SS→"] * 3
    assert len(arrows) == len(run.operators) + 3
    for number in (1, 2, 3):
        assert f'subgraph cluster_branch{number} {{ label="branch {number} of 3"' in graph


def test_rewrites_are_in_the_details_of_their_own_branch() -> None:
    explanation = sase.explain(QUERY, EVENTS)
    page = explanation.to_html()
    for each in explanation.operators:
        _, _, panel = page.partition(f'id="operator-{each.key}"')
        panel, _, _ = panel.partition("</section>")
        shown = set(re.findall(r"branch (\d): <code>", panel))
        own = {
            str(step.branch)
            for step in explanation.steps
            if each.name in step.operators and step.branch == each.branch
        }
        assert shown == own
    assert "branch 2: <code>" in page


def test_runs_of_all_branches_are_compared() -> None:
    query = "EVENT SEQ(A a, (B+ b[] OR C+ c[]), D d) WITHIN 5"
    compared = compare(query, EVENTS, plan="nfab", show=0)
    runs = {each.strategy: each.runs for each in compared.measured}
    report = sase.match(f"{query}", EVENTS, plan="nfab").report
    counted = [each["runs"] for _, each in report.counters if "runs" in each]
    assert len(counted) == 2
    assert runs["skip_till_any_match"] == sum(counted)
