"""Look for queries with sets, or of earliest_maximal, that the naive matcher answers otherwise.

    python -m tests.engine.sets.hunt SEED COUNT [single | joined] [RECIPE …]

tries the examples of the numbers from SEED on, as `tests.engine.series.hunt` does, by any recipe or
in turn by those named: if so asked those whose sets have single events, of different types or (all
matches of these, joined by a tree) of any.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from hypothesis import strategies as st

from sase.planning.recipes import recipe_names
from tests.engine.matching.ways import Way
from tests.engine.series.examples import SeriesExample, drawn
from tests.engine.series.hunt import hunt
from tests.engine.series.routes import in_order, ways
from tests.engine.sets.examples import SetsExample, examples
from tests.engine.sets.single import joined_queries, single_queries

by_any = st.builds(
    lambda way, recipe: replace(way, recipe=recipe),
    ways,
    st.sampled_from(["optimized"] * 6 + ["basic"] * 3 + recipe_names()),
)


def case(number: int) -> tuple[SeriesExample, Way]:
    """An example, and the way that it is run."""
    example: SetsExample
    example, way = drawn(number, st.tuples(examples(), by_any))
    return in_order(example, way), way


def single_case(number: int) -> tuple[SeriesExample, Way]:
    """A longer stream, in which runs seldom fork, and the way that it is run."""
    example: SetsExample
    example, way = drawn(number, st.tuples(examples(single_queries, 24, 10**5), by_any))
    return in_order(example, way), way


def joined_case(number: int) -> tuple[SeriesExample, Way]:
    """Every match of single events, which `ses_tree` finds by joins."""
    example: SetsExample
    example, way = drawn(number, st.tuples(examples(joined_queries), ways))
    return in_order(example, way), replace(way, recipe="ses_tree")


FORMS = {"single": single_case, "joined": joined_case}

if __name__ == "__main__":
    form = sys.argv[3] if len(sys.argv) > 3 else ""
    drawn_by = FORMS.get(form, case)
    recipes = [each for each in sys.argv[3:] if each not in FORMS]

    def chosen(number: int) -> tuple[SeriesExample, Way]:
        example, way = drawn_by(number)
        return example, replace(way, recipe=recipes[number % len(recipes)])

    total = hunt(int(sys.argv[1]), int(sys.argv[2]), chosen if recipes else drawn_by)
    print(f"{sys.argv[2]} examples: {dict(total) or 'no fault'}")
    sys.exit(bool(total))
