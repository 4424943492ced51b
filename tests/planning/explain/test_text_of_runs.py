"""Explanations of run evaluation: how matches are found, and where conditions are decided."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.planning.explain.pages import explained


def run_lines(query: str, recipe: str = "optimized") -> str:
    """The lines of the run evaluation, without their indentation."""
    lines = explained(query, recipe).to_text().splitlines()
    start = next(n for n, line in enumerate(lines) if "─ NFAb " in line)
    end = lines.index("", start)
    depth = len(lines[start + 1]) - len(lines[start + 1].lstrip())
    return "\n".join(
        [lines[start].split("─ NFAb ")[1], *(each[depth:] for each in lines[start + 1 : end])]
    )


def test_event_by_event() -> None:
    query = """
        EVENT SEQ(S a, E+ b[], C c)
        WHERE skip_till_next_match(a, b[], c) {
          [tag_id] AND a.area = 3 AND b[i].v > b[i-1].v AND b[i].v > a.v AND b.len > 2
          AND c.v < avg(b[].v)
        } WITHIN 9 RETURN b.len AS n"""
    assert run_lines(query) == dedent("""\
        runs of the automaton, event by event, partitioned on tag_id (in lines)
        a: S WHERE a.area = 3
        b: E{3,}
        c: C
        skip_till_next_match: a run skips the events that it cannot bind next
        on take b: b[i].v > b[i-1].v
        on begin and take b: b[i].v > a.v
        on begin c: c.v < avg(b[].v)
        within 9 units of time
        reads v, tag_id, area beside time and type""")


def test_walked_back_with_what_is_decided_on_the_way() -> None:
    query = """
        EVENT SEQ(S a, E+ b[], C+ c[])
        WHERE b[i].v > b[i-1].v AND b[b.len].v > 3 AND a.v < c[i].v AND c[i].v > c[1].v
          AND [tag_id = 7]
        WITHIN 9"""
    assert run_lines(query) == dedent("""\
        walk back from each event that may be the last through remembered events (postponed)
        a: S
        b: E+
        c: C+
        skip_till_any_match: a run may ignore any event
        on the way back, when a b before another is chosen: b[i].v > b[i-1].v
        on the way back, when the last b is chosen: b[b.len].v > 3
        on the way back, when a is chosen: a.v < c[i].v
        when a match is whole (UNSAFE): c[i].v > c[1].v
        [tag_id = 7]
        within 9 units of time""")


def test_nothing_is_early_without_early_filters() -> None:
    query = "EVENT SEQ(S a, E+ b[], C c) WHERE b[i].v > a.v WITHIN 9"
    assert "when a match is whole: b[i].v > a.v" in run_lines(query, "postponed")
    assert "on the way back, when a is chosen: b[i].v > a.v" in run_lines(query)
    assert "on begin and take b: b[i].v > a.v" in run_lines(query, "nfab")
    assert "walk back from each c through remembered events (postponed)" in run_lines(query)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("E b", "b: E"), ("E+ b[]", "b: E+"), ("E* b[]", "b: E*"), ("E? b", "b: E?"),
        ("E{2} b[]", "b: E{2}"), ("E{2,} b[]", "b: E{2,}"), ("E{2,5} b[]", "b: E{2,5}"),
        ("ANY(E, S)+ b[]", "b: (E or S)+"), ("ANY(E, S) b", "b: E or S"),
    ],
)  # fmt: skip
def test_how_many_events_a_component_binds(written: str, shown: str) -> None:
    query = f"EVENT SEQ(S a, {written}, C c) WHERE skip_till_next_match WITHIN 9"
    assert shown in run_lines(query).splitlines()


@pytest.mark.parametrize(
    ("strategy", "left"),
    [
        ("skip_till_any_match", "a run may ignore any event"),
        ("skip_till_next_match", "a run skips the events that it cannot bind next"),
        ("strict_contiguity", "a run ends at the first event that it does not take"),
        (
            "partition_contiguity",
            "a run ends at the first event of its partition that it does not take",
        ),
    ],
)
def test_what_becomes_of_the_other_events(strategy: str, left: str) -> None:
    query = f"EVENT SEQ(S a, E+ b[]) WHERE {strategy} {{ [tag_id] }} WITHIN 9"
    assert f"{strategy}: {left}" in run_lines(query).splitlines()


def test_the_first_of_a_series_and_what_ranges_over_another_one() -> None:
    query = """
        EVENT SEQ(S* a[], E{2,} b[]) WHERE strict_contiguity {
          b[1].v > 3 AND b[i].v > 1 AND a[i].v < b[i].v
        } WITHIN 9"""
    found = run_lines(query).splitlines()
    assert "b: E{2,} WHERE b[i].v > 1" in found
    assert "b, the first event: WHERE b[1].v > 3" in found
    assert "on begin and take b, for each a: a[i].v < b[i].v" in found


@pytest.mark.parametrize("query", ["EVENT SEQ(S a, E b)", "EVENT SEQ(S a, E+ b[])"])
def test_what_is_for_the_other_kind_of_plans_is_told_only_at_length(query: str) -> None:
    """Rewrites of stacks are not passed over where there are none, nor the other way round."""
    explanation = explained(query, "optimized")
    declined = [step.rewrite for step in explanation.steps if step.declined is not None]
    told = explanation.to_text().partition("rewrites that do not apply (--verbose says why): ")[2]
    of_runs, of_stacks = "use_algorithm", "push_window_into_scan"
    assert (of_runs in told, of_stacks in told) == (False, "+" not in query)
    assert ("push_limit" in told) == (of_stacks in told)
    assert "prune_columns" in told
    for name in declined:
        assert f"{name}: declined: " in explanation.to_text(verbose=True)
