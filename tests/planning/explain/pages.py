"""Explanations of all kinds, as the tests of the page look at them."""

from __future__ import annotations

from typing import Any

from sase.binding import bind_text
from sase.binding.schema_file import schema_from
from sase.planning.basic import basic_plan
from sase.planning.explain import Explanation, described
from sase.planning.explain.value import Measured
from sase.planning.optimizer import optimized
from sase.planning.recipes import read_recipe
from sase.planning.statistics import (
    Admission,
    Agreement,
    AttributeStatistics,
    Selectivity,
    Statistics,
    TypeStatistics,
)

TABLE = schema_from(
    {
        "columns": {
            **dict.fromkeys(["ts", "attr1", "attr2", "attr3", "attr4"], "integer"),
            **dict.fromkeys(["tag_id", "area", "v"], "integer"),
            "name": "string",
        }
    }
)
Q3 = (
    "EVENT SEQ(A x1, B x2, !(C x3), D x4)"
    " WHERE [attr1, attr2] AND x1.attr3 = 1 AND x1.attr4 < x4.attr4 WITHIN 6"
)
THEFT = (
    "EVENT SEQ(S x, !(C y), E z)\nWHERE [tag_id]\n  AND x.area = 3\n  AND x.v < z.v\nWITHIN 12000"
)
HOSTILE = "EVENT SEQ(A a, B b) WHERE a.name = '</script><b>&amp;\"🙂é' AND b.v < 3 WITHIN 5"
STATISTICS = Statistics(
    1_000_000,
    0,
    999_999,
    (
        TypeStatistics("S", 400_000, (AttributeStatistics("tag_id", 0, 48_211, 1 / 48_211),)),
        TypeStatistics("C", 300_000),
        TypeStatistics("E", 300_000),
    ),
    (Admission("x", 0.1),),
    (
        Agreement(("tag_id",), ("x", "z"), 1 / 48_211),
        Agreement(("tag_id",), ("x", "y"), 1 / 48_211),
    ),
    (Selectivity("x.v < z.v", 0.4),),
    "a sample",
    50_000,
)
MEASURED = {
    "SequenceScan": Measured(
        1_000_000,
        41_872,
        27_300_000,
        40_192,
        (("pushed", (39_872, 2_000)), ("instances", {"x": {"alive": 498}, "z": {"alive": 18}})),
    ),
    "SequenceConstruction": Measured(41_872, 18_231, 9_870_000, None, (("visited", 182_310),)),
    "Transformation": Measured(18_231, 18_231, 120_000),
}


def explained(query: str, recipe: str, statistics: Any = None, **known: Any) -> Explanation:
    """The explanation of a query's plan by a recipe."""
    plans = read_recipe(recipe)
    made = optimized(plans, basic_plan(bind_text(query, TABLE)), statistics)
    return described(query, plans, made, statistics, **known)


EXAMPLES = {
    "nothing known": explained(Q3, "basic"),
    "expected": explained(THEFT, "optimized", STATISTICS),
    "measured": explained(
        THEFT,
        "optimized",
        STATISTICS,
        measured=MEASURED,
        results=18_231,
        nanoseconds=38_400_000,
        notes=["the whole stream is one slice"],
    ),
    "hostile": explained(HOSTILE, "basic"),
}
