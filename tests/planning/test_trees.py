"""Trees of joins: their parts, their shapes, the one of least cost, and the walk in its place."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

import sase
from sase.planning.cost.cost import cost_of
from sase.planning.plan.nodes import SequenceConstruction, require
from sase.planning.plan.trees import parts_of, tree_text
from sase.planning.statistics import Statistics
from tests.planning.plans import known, made

NAMES = ("a", "b", "c", "d")
QUERY = "EVENT SEQ(A a, B b, C c, D d) WHERE [id] WITHIN 100"


def events(*rates: int) -> list[dict[str, int | str]]:
    """Events of the components at some rates, in turns, over many keys."""
    kinds = [name.upper() for name, rate in zip(NAMES, rates, strict=True) for _ in range(rate)]
    return [{"ts": n, "type": kinds[n * 7 % len(kinds)], "id": n % 9} for n in range(5000)]


def tree_of(recipe: str, given: object) -> str:
    """The tree of a plan as EXPLAIN draws it."""
    known = sase.explain(QUERY, given).statistics
    text = str(sase.explain(QUERY, given, stats=known, plan=recipe))
    return text.split("joins of leaf buffers: ")[1].split("\n")[0]


@pytest.mark.parametrize(
    ("joins", "text", "parts"),
    [
        ((0, 1, 2), "(((a b) c) d)", [(0, 0, 1), (0, 1, 2), (0, 2, 3)]),
        ((2, 1, 0), "(a (b (c d)))", [(2, 2, 3), (1, 1, 3), (0, 0, 3)]),
        ((0, 2, 1), "((a b) (c d))", [(0, 0, 1), (2, 2, 3), (0, 1, 3)]),
        ((1, 0, 2), "((a (b c)) d)", [(1, 1, 2), (0, 0, 2), (0, 2, 3)]),
    ],
)
def test_parts(joins: tuple[int, ...], text: str, parts: list[tuple[int, int, int]]) -> None:
    assert tree_text(joins, NAMES) == text
    assert list(parts_of(joins)) == parts


@pytest.mark.parametrize(
    ("recipe", "tree"),
    [
        ("tree_left_deep", "(((a b) c) d)"),
        ("tree_right_deep", "(a (b (c d)))"),
        ("tree_bushy", "((a b) (c d))"),
    ],
)
def test_shapes_without_statistics(recipe: str, tree: str) -> None:
    assert tree_of(recipe, sase.Schema()) == tree


@pytest.mark.parametrize("rare", range(4))
def test_the_cheapest_tree_begins_at_the_rare_component(rare: int) -> None:
    rates = [1 if level == rare else 50 for level in range(4)]
    innermost = tree_of("tree_bushy", events(*rates)).split(")")[0].rsplit("(", 1)[1]
    assert NAMES[rare] in innermost.split()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SEQ(A a, B b, C* c[])", "c may be empty, so that its leaf does not close a match"),
        ("EVENT SEQ(B? b, A+ a[])", "one component that must occur has nothing to join"),
        ("EVENT SEQ(SET(A a, B+ b[]), C c)", "members of a set come in any order"),
        ("EVENT SEQ(A a, (SEQ(B b, C c))+ g[])", "an iteration of a repeated group is several"),
        ("EVENT SEQ(A+ a[], B b) WHERE earliest_maximal WITHIN 9", "under earliest_maximal"),
    ],
)
def test_what_of_series_is_not_joined(query: str, reason: str) -> None:
    steps = sase.compile(query, sase.Schema(), plan="tree_bushy").steps
    (step,) = (each for each in steps if each.rewrite == "join_by_tree")
    assert step.declined is not None
    assert reason in step.declined


# ---------------------------------------------------------------- a tree or the walk


def one_in_10_000() -> Statistics:
    """Statistics of loaded events of which one in 10,000 is of R."""
    rows = {"A": 300_000, "B": 300_000, "C": 300_000, "N": 300_000, "R": 300, "X": 1_800_000}
    return replace(known(span=3_000_000, values={"many": 1_000}, **rows), loaded=True)


@pytest.mark.parametrize("parts", ["R r, A a, B b, C c", "A a, B b, R r, C c"])
@pytest.mark.parametrize(("window", "joins"), [(1_000, True), (300_000, False)])
def test_the_walk_is_kept_where_matches_are_many_in_spite_of_a_rare_component(
    parts: str, window: int, joins: bool
) -> None:
    """It visits no more than leads up to a match, and joins put each match in order."""
    chosen = made(f"EVENT SEQ({parts}) WHERE [many] WITHIN {window}", one_in_10_000()).plan
    assert bool(require(chosen, SequenceConstruction).joins) == joins


@pytest.mark.parametrize(
    ("parts", "condition", "joins"),
    [
        ("!(N n), A a, B b, C c", "abs(c.v - a.v) < 90", True),
        ("!(N n), A a, B b, C c", "c.v < 90", False),
        ("A a, !(N n), B b, C c", "abs(c.v - a.v) < 90", False),
        ("A a, B b, C c", "abs(c.v - a.v) < 90", False),
    ],
)
def test_without_a_rare_component_joins_pay_where_a_negated_start_spares_conditions(
    parts: str, condition: str, joins: bool
) -> None:
    """The last join tests conditions only on pairs that the start allows; the walk on all."""
    rows = {"A": 100_000, "B": 100_000, "C": 100_000, "N": 100_000}
    statistics = replace(known(span=400_000, values={"few": 10}, **rows), loaded=True)
    query = f"EVENT SEQ({parts}) WHERE [few] AND {condition} WITHIN 4000"
    chosen = made(query, statistics).plan
    assert bool(require(chosen, SequenceConstruction).joins) == joins


def test_the_walk_is_kept_where_joins_hold_too_much() -> None:
    query = "EVENT SEQ(!(N n), A a, B b, R r, C c) WHERE r.v < 5 WITHIN 100000"
    with patch("sase.planning.cost.tree_choice.LEAD", 0):  # however long the walk takes
        steps = made(query, one_in_10_000()).steps
    (step,) = (each for each in steps if each.rewrite == "join_by_tree")
    assert step.declined is not None
    assert step.declined.startswith("joins are expected to hold")


def test_of_what_is_absent_at_the_end_too_only_what_is_near_is_kept() -> None:
    statistics = one_in_10_000()
    tree = made("EVENT SEQ(A a, R r, !(N n)) WHERE [many] WITHIN 1000", statistics, "tree_bushy")
    negation = cost_of(tree.plan, statistics).operator("Negation")
    assert negation is not None
    assert dict(negation.work)["indexed"] < 1_000
