"""Look for patterns with choices of which the engine and the naive matcher find different matches.

    python -m tests.engine.branches.hunt SEED COUNT

tries the examples of the numbers from SEED on, as `tests.engine.series.hunt` does.
"""

from __future__ import annotations

import sys

from hypothesis import strategies as st

from tests.engine.branches.examples import BranchesExample, examples
from tests.engine.matching.ways import Way
from tests.engine.series.examples import SeriesExample, drawn
from tests.engine.series.hunt import hunt
from tests.engine.series.routes import in_order, ways


def case(number: int) -> tuple[SeriesExample, Way]:
    """An example, and the way that it is run."""
    example: BranchesExample
    example, way = drawn(number, st.tuples(examples(), ways))
    return in_order(example, way), way


if __name__ == "__main__":
    total = hunt(int(sys.argv[1]), int(sys.argv[2]), case)
    print(f"{sys.argv[2]} examples: {dict(total) or 'no fault'}")
    sys.exit(bool(total))
