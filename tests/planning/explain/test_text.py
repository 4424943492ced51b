"""The text of explanations: the same for the same, and nothing invented where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent

import pytest

import sase
from sase.planning.explain import Explanation
from sase.planning.explain.value import ExplainedAlternative, Measured
from sase.planning.quantities import counted, duration, percentage, size
from tests.planning.explain.pages import EXAMPLES, EXPECTED, MEASURED, Q3, STATISTICS, explained

ABSENT = (
    "EVENT SEQ(!(C n), S x, !(C y), E z, !(C m)) WHERE [tag_id] AND x.v < z.v WITHIN 9"
    " RETURN x.v AS low, z.v LIMIT 5"
)


def lines(explanation: Explanation) -> list[str]:
    return explanation.to_text().splitlines()


def rewrites(text: str) -> str:
    return text[text.index("rewrites, in order:") :]


# ---------------------------------------------------------------- whole texts


def test_nothing_known() -> None:
    assert str(EXAMPLES["nothing known"]) == dedent("""\
        plan basic: the plan of section 3.1: nothing is pushed

        TF transformation
             every attribute of x1, x2, x4
        └─ NG negation by an index of negative events
                no x3: C between x2 and x4 with the same attr1, attr2
           └─ WD window
                   within 6 units of time
              └─ σ selection
                      x1.attr3 = 1
                      x1.attr4 < x4.attr4
                      all agree on attr1
                      all agree on attr2
                 └─ SC← walk back from each x4 through the pointers of the runtime stack
                    └─ SS→ runtime stack of the NFA
                            x1: A
                            x2: B
                            x4: D

        parallel parts: by attr1, attr2, or by slices of time with the 6 units of time before each
        complexity: AC0: there is no series
          matches that begin with each x1: at most |x2| · |x4|, polynomial in the window""")


def test_expected() -> None:
    assert str(EXAMPLES["expected"]) == dedent("""\
        plan optimized: keys, windows, conditions and absences bound the search; everything else is chosen by cost
        statistics from a sample of 50,000 events: 1,000,000 events
        results: about 1,140 expected

        TF transformation
             every attribute of x, z
             expected: 1,140 in, 1,140 out, 4.58 µs
        └─ SC← walk back from each z through the stacks
                within 12,000 units of time
                when x is chosen: x.v < z.v
                no y: C between x and z with the same tag_id: it bounds the walk
                * x.v < z.v lets 40 % pass
                expected: 5,940 in, 1,140 out, 1.98 ms
           └─ SS→ active instance stacks partitioned on tag_id (PAIS)
                   x: S WHERE x.area = 3
                   z: E
                   drops instances older than 12,000 units of time
                   * 10 % of the events of x pass
                   * partitioned on tag_id: 48,211 values, removes 99.998 % of candidate pairs
                   expected: 1,000,000 in, 43,000 out, 516 alive at a time, 32.2 KiB, 24.9 ms

        parallel parts: by tag_id, or by slices of time with the 12,000 units of time before each
        complexity: AC0: there is no series
          matches that begin with each x: at most |z|, polynomial in the window; about 2,990 in all, if
            events are spread evenly
        rewrites that do not apply (--verbose says why): infer_equivalence_tests, derive_conditions,
          build_composite_key, unfold_aggregates, filter_dynamically, push_limit, prune_columns""")  # fmt: skip  # noqa: E501


def test_measured_beside_expected_with_the_worst_estimate_marked() -> None:
    text = str(EXAMPLES["measured"])
    assert (
        dedent("""\
        results: about 1,140 expected, 18,231 found, in 38.4 ms
        worst estimate: SC←, by a factor of 16

        TF transformation
             every attribute of x, z
             expected: 1,140 in, 1,140 out, 4.58 µs
             actual: 18,231 in, 18,231 out, 120 µs
        """)
        in text
    )
    assert (
        "        expected: 5,940 in, 1,140 out, 1.98 ms\n"
        "        actual: 41,872 in, 18,231 out, 9.87 ms  <-- worst estimate\n"
        "          visited: 39,872 2,000\n"
    ) in text
    assert (
        "           actual: 1,000,000 in, 41,872 out, 39.2 KiB, 27.3 ms\n"
        "             pushed: x 39,872, z 2,000\n"
        "             most alive: x 498, z 18\n"
        "             rejected events: x.area = 3 360,128\n"
        "             most stored bytes: 40,192\n"
    ) in text, "what counted nothing is left out"
    assert text.count("<-- worst estimate") == 1
    assert text.endswith("\nnote: the whole stream is one slice")


def test_verbose_has_every_rewrite_with_what_it_changed_or_why_not() -> None:
    explanation = explained(Q3, "dynamic_filtering")
    text = explanation.to_text(verbose=True)
    assert rewrites(text) == dedent("""\
        rewrites, in order:
          1. use_active_instance_stacks: (AIS) Remember events in a stack for each state instead of the NFA's runtime stack (4.1).
               - SS→ runtime stack of the NFA
               - SC← walk back from each x4 through the pointers of the runtime stack
               + SS→ active instance stacks (AIS)
               + SC← walk back from each x4 through the stacks
          2. partition_stacks: (PAIS) Keep a stack for each value of one equivalence attribute (4.2.1).
               - SS→ active instance stacks (AIS)
               - σ all agree on attr1
               + SS→ active instance stacks partitioned on attr1 (PAIS)
          3. push_window_into_scan: (WinSS) Drop the instances that no later event can reach within the window (4.3).
               + SS→ drops instances older than 6 units of time
          4. push_window_into_construction: (WinSC) Check the window while sequences are built, instead of after (4.3).
               - WD window
               - WD within 6 units of time
               + SC← within 6 units of time
          5. push_simple_conditions: (SPred) Check the conditions on one event when it is scanned (4.2).
               - SS→ x1: A
               - σ x1.attr3 = 1
               + SS→ x1: A WHERE x1.attr3 = 1
          6. filter_dynamically: (DF) Check the other equivalence tests while sequences are built (4.2.2).
               - σ all agree on attr2
               + SC← all agree on attr2
          7. prune_columns: declined: the results show every attribute: there is no RETURN""")  # fmt: skip  # noqa: E501
    assert "passed over" not in text
    assert "choice" not in text


def test_a_declined_rewrite_says_why() -> None:
    text = rewrites(explained(ABSENT, "optimized").to_text(verbose=True))
    assert "  1. infer_equivalence_tests: declined: no two attributes must be equal\n" in text
    assert "push_limit: declined: each built sequence is checked once more" in text
    assert "switched off" not in text


def test_alternatives_with_their_times_the_cheapest_first() -> None:
    choice = tuple(
        ExplainedAlternative(*each)
        for each in (
            ("one", 1_500_000.0, False),
            ("two", 999.0, True),
            ("none of them", 5e9, False),
        )
    )
    explanation = replace(EXAMPLES["expected"], choices=(choice,))
    assert explanation.to_text(verbose=True).endswith(
        "\nchoice 1, by the time of the whole plan:\n"
        "  taken   999 ns  two\n"
        "          1.5 ms  one\n"
        "             5 s  none of them"
    )


def test_what_was_pushed_is_on_the_operator_that_decides_it() -> None:
    assert (
        lines(explained(ABSENT, "optimized"))[2:-6]
        == dedent("""\
        TF transformation
             RETURN x.v AS low, z.v
             LIMIT 5
        └─ NG negation by an index of negative events
                no m: C after z, within the window with the same tag_id
           └─ SC← walk back from each z through the stacks
                   within 9 units of time
                   when x is chosen: x.v < z.v
                   no n: C before x, within the window with the same tag_id: it bounds the walk
                   no y: C between x and z with the same tag_id: it bounds the walk
              └─ SS→ active instance stacks partitioned on tag_id (PAIS)
                      x: S
                      z: E
                      drops instances older than 9 units of time
                      reads tag_id, v beside time and type
        """).splitlines()
    )


@pytest.mark.parametrize(
    ("recipe", "algorithm"),
    [
        ("basic", "runtime stack of the NFA"),
        ("ais", "active instance stacks (AIS)"),
        ("pais", "active instance stacks partitioned on attr1 (PAIS)"),
        (
            "composite_key",
            "active instance stacks partitioned on attr1, attr2 (PAIS, composite key)",
        ),
        (
            "multi_pais",
            "active instance stacks partitioned on attr1 and on attr2 (Multi-PAIS)",
        ),
    ],
)
def test_the_scan_has_the_name_of_the_paper(recipe: str, algorithm: str) -> None:
    assert f"└─ SS→ {algorithm}\n" in str(explained(Q3, recipe))


def test_a_contradiction_is_said_where_events_come_in() -> None:
    text = str(explained("EVENT SEQ(S x, E z) WHERE x.v > 5 AND x.v < 3 WITHIN 9", "optimized"))
    assert "no event can take part: x.v > 5 and x.v < 3 cannot both hold" in text


# ---------------------------------------------------------------- marks


def test_an_estimate_is_worst_by_its_factor_either_way() -> None:
    """Fewer than expected is as bad as more; less than a factor of two is no mark."""
    exact = {
        name: replace(each, rows_out=round(EXPECTED[name].rows_out))
        for name, each in MEASURED.items()
    }
    measured = EXAMPLES["measured"]
    for found, factor in ((114, 10.0), (11_400, 10.0), (600, None), (2_200, None), (0, 1_140.0)):
        known = {**exact, "Transformation": Measured(1_140, found)}
        operators = tuple(replace(each, measured=known[each.name]) for each in measured.operators)
        explanation = replace(measured, operators=operators)
        worst = explanation.worst
        assert (worst and worst.misestimate) == factor
        assert ("worst estimate: TF, by a factor of" in str(explanation)) is (factor is not None)


def test_less_than_one_row_is_no_misestimate() -> None:
    explanation = explained("EVENT S x", "optimized", STATISTICS)
    (scan, *_) = explanation.operators
    assert scan.expected is not None
    tiny = replace(scan, expected=replace(scan.expected, rows_out=1e-9), measured=Measured(1, 0))
    assert tiny.misestimate == 1
    assert replace(tiny, measured=Measured(1, 3)).misestimate == 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_text_is_stable(name: str) -> None:
    """No line ends in blanks, and the same comes out again, also by `str`."""
    text = EXAMPLES[name].to_text(verbose=True)
    assert text == EXAMPLES[name].to_text(verbose=True)
    assert [line for line in text.split("\n") if line != line.rstrip()] == []
    assert str(EXAMPLES[name]) == EXAMPLES[name].to_text()


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"), (7, "7"), (12_345, "12,345"), (0.0, "0"), (999.0, "999"), (0.1234, "0.123"),
        (99.96, "100"), (999.6, "1,000"), (1234.5, "1,230"), (1e6, "1,000,000"),
    ],
)  # fmt: skip
def test_counts(number: float, text: str) -> None:
    assert counted(number) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"), (12.34, "12.3 ns"), (999, "999 ns"), (999.9, "1,000 ns"), (1000, "1 µs"),
        (4_580, "4.58 µs"), (2_500_000, "2.5 ms"), (999_999_999, "1,000 ms"), (5e9, "5 s"),
        (1.5e12, "1,500 s"),
    ],
)  # fmt: skip
def test_times(nanoseconds: float, text: str) -> None:
    assert duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("pattern", "looks"),
    [("B b", "5 units of time"), ("!(B b)", "2 × 5 units of time")],
)
def test_slices_of_imprecise_time_look_past_the_longest_interval(pattern: str, looks: str) -> None:
    text = str(sase.explain(f"EVENT SEQ(A a, {pattern}) WITHIN 5", time=("lo", "hi")))
    assert f"slices of time with the {looks} and twice the longest interval before each\n" in text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1010 * 1024, "1,010 KiB"),
        (1 << 20, "1 MiB"), (3 << 29, "1.5 GiB"), (2000 << 30, "2,000 GiB"),
    ],
)  # fmt: skip
def test_sizes(amount: float, text: str) -> None:
    assert size(amount) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"), (1.0, "100 %"), (0.5, "50 %"), (0.1, "10 %"), (0.25, "25 %"),
        (0.05, "5 %"), (0.004, "0.4 %"), (0.99998, "99.998 %"), (1e-6, "0.0001 %"),
    ],
)  # fmt: skip
def test_shares(share: float, text: str) -> None:
    assert percentage(share) == text


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5 EVENTS PER PARTITION",
        "EVENT SEQ(A a, B+ b[]) WHERE partition_contiguity { [id] } WITHIN 5 EVENTS PER PARTITION",
    ],
)
def test_windows_that_keep_every_key_say_so(query: str) -> None:
    rows = [{"ts": 1, "type": "A", "id": 1}, {"ts": 2, "type": "B", "id": 1}]
    said = "of every key it keeps events until more of that key come"
    assert str(sase.explain(query, rows)).count(said) == 1
    assert said in (sase.compile(query, rows).open().pipeline.plan.unbounded or "")
    assert said not in str(sase.explain(query.removesuffix(" EVENTS PER PARTITION"), rows))
