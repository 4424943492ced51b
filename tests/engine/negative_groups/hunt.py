"""Look for negative groups of which the engine and the naive matcher find different matches.

    python -m tests.engine.negative_groups.hunt SEED COUNT

tries the examples of the numbers from SEED on, as `tests.engine.series.hunt` does.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from hypothesis import strategies as st

from tests.engine.matching.ways import Way
from tests.engine.negative_groups.examples import GroupsExample, examples
from tests.engine.series.examples import SeriesExample, drawn
from tests.engine.series.hunt import hunt
from tests.engine.series.routes import in_order, ways

RECIPES = (
    "optimized", "optimized", "basic", "negation_in_construction", "negation_by_time", "pais",
    "predicates_in_construction",
)  # fmt: skip
of_sequences = st.builds(
    lambda way, recipe: replace(way, recipe=recipe), ways, st.sampled_from(RECIPES)
)


def case(number: int) -> tuple[SeriesExample, Way]:
    """An example, and the way that it is run."""
    example: GroupsExample
    example, way = drawn(number, st.tuples(examples(), st.one_of(ways, of_sequences)))
    return in_order(example, way), way


if __name__ == "__main__":
    total = hunt(int(sys.argv[1]), int(sys.argv[2]), case)
    print(f"{sys.argv[2]} examples: {dict(total) or 'no fault'}")
    sys.exit(bool(total))
