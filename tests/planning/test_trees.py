"""Trees of joins: their parts, their shapes, and the one of least cost."""

from __future__ import annotations

import pytest

import sase
from sase.planning.trees import parts_of, tree_text

NAMES = ("a", "b", "c", "d")
QUERY = "EVENT SEQ(A a, B b, C c, D d) WHERE [id] WITHIN 100"


def events(*rates: int) -> list[dict[str, int | str]]:
    """Events of the components at some rates, in turns, over many keys."""
    kinds = [name.upper() for name, rate in zip(NAMES, rates, strict=True) for _ in range(rate)]
    return [{"ts": n, "type": kinds[n * 7 % len(kinds)], "id": n % 9} for n in range(5000)]


def tree_of(recipe: str, given: object) -> str:
    """The tree of a plan as EXPLAIN draws it."""
    text = str(sase.explain(QUERY, given, plan=recipe))
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
