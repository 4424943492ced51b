"""Look for queries with sets, or of earliest_maximal, that the naive matcher answers otherwise.

    python -m tests.engine.sets.hunt SEED COUNT [single] [RECIPE …]

tries the examples of the numbers from SEED on, as `tests.engine.series.hunt` does, those whose sets
have single events of different types, if so asked, by any recipe or in turn by those named.
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
from tests.engine.sets.single import single_queries

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


if __name__ == "__main__":
    drawn_by = single_case if "single" in sys.argv[3:] else case
    recipes = [each for each in sys.argv[3:] if each != "single"]

    def chosen(number: int) -> tuple[SeriesExample, Way]:
        example, way = drawn_by(number)
        return example, replace(way, recipe=recipes[number % len(recipes)])

    total = hunt(int(sys.argv[1]), int(sys.argv[2]), chosen if recipes else drawn_by)
    print(f"{sys.argv[2]} examples: {dict(total) or 'no fault'}")
    sys.exit(bool(total))
