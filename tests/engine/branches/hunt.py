"""Look for patterns with choices of which the engine and the naive matcher find different matches.

    python -m tests.engine.branches.hunt SEED COUNT [shared]

tries the examples of the numbers from SEED on, as `tests.engine.series.hunt` does; those whose
branches mostly share a scan, if so asked.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from hypothesis import strategies as st

from tests.engine.branches.examples import BranchesExample, examples
from tests.engine.branches.shared import shared_queries
from tests.engine.matching.ways import Way
from tests.engine.series.examples import SeriesExample, drawn
from tests.engine.series.hunt import hunt
from tests.engine.series.routes import in_order, ways

# The recipes that keep stacks.
OF_SCANS = (
    *["optimized"] * 4, "basic", "pais", "multi_pais", "composite_key", "tree_bushy",
)  # fmt: skip
shared_ways = st.builds(
    lambda way, recipe: replace(way, recipe=recipe), ways, st.sampled_from(OF_SCANS)
)


def case(number: int) -> tuple[SeriesExample, Way]:
    """An example, and the way that it is run."""
    example: BranchesExample
    example, way = drawn(number, st.tuples(examples(), ways))
    return in_order(example, way), way


def shared_case(number: int) -> tuple[SeriesExample, Way]:
    """An example whose branches mostly share a scan, and the way that it is run."""
    example: BranchesExample
    example, way = drawn(number, st.tuples(examples(shared_queries), shared_ways))
    return in_order(example, way), way


if __name__ == "__main__":
    drawn_by = shared_case if "shared" in sys.argv[3:] else case
    total = hunt(int(sys.argv[1]), int(sys.argv[2]), drawn_by)
    print(f"{sys.argv[2]} examples: {dict(total) or 'no fault'}")
    sys.exit(bool(total))
