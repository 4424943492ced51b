"""Explanations of all kinds, as the tests of the page look at them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sase.binding import bind_text
from sase.binding.schema_file import schema_from
from sase.planning.counting import CountingWay, CountMethod
from sase.planning.explain import Explanation, described
from sase.planning.explain.automaton import explained_automata
from sase.planning.explain.complexity import explained_complexity
from sase.planning.explain.driven import PhysicalPath
from sase.planning.explain.value import Expected, ExplainedAlternative, ExplainedForm, Measured
from sase.planning.optimizer import optimized
from sase.planning.physical.drive import Feed
from sase.planning.plan.basic import basic_plan
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
CHOICES = "EVENT SEQ(A a, (B b OR C+ c[])?, D d) WHERE b.v < d.v WITHIN 12 HAVING b.v IS NULL"
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
# Given, not computed, so that a better model of costs changes no test.
EXPECTED = {
    "SequenceScan": Expected(1_000_000, 43_000, 24_900_000, 33_000, (), (500, 16)),
    "SequenceConstruction": Expected(5_940, 1_140, 1_980_000, 0, (5_000, 940)),
    "Transformation": Expected(1_140, 1_140, 4_580),
}
# In the order of the operators.
MEASURED = {
    "SequenceScan": Measured(
        1_000_000,
        41_872,
        27_300_000,
        40_192,
        (
            ("pushed", {"x": 39_872, "z": 2_000}),
            ("filtered", {"x": 0, "z": 0}),
            ("most_alive", {"x": 498, "z": 18}),
            ("rejected_events", {"x.area = 3": 360_128}),
            ("most_stored_bytes", 40_192),
            ("late", 0),
        ),
    ),
    "SequenceConstruction": Measured(
        41_872, 18_231, 9_870_000, None, (("visited", (39_872, 2_000)),)
    ),
    "Transformation": Measured(18_231, 18_231, 120_000),
}


PHYSICAL = (
    PhysicalPath("fused scan", Feed.LOADED, "all by one kernel", None, 900_000, "keys have NULLs"),
    PhysicalPath("fused lines", Feed.LOADED, "runs by one kernel", "the plan has no runs"),
)
LOOKED_AT = CountingWay(CountMethod.LISTED, reasons=("a negative component",))
CHOICE = (
    ExplainedAlternative("use_algorithm(name=merged)", 41_000_000.0, False),
    ExplainedAlternative("none of them", 27_000_000.0, True),
)


def explained(query: str, recipe: str, statistics: Any = None, **known: Any) -> Explanation:
    """The explanation of a query's plan by a recipe."""
    plans, bound = read_recipe(recipe), bind_text(query, TABLE)
    made = optimized(plans, basic_plan(bound), statistics)
    found = described(query, plans, made, statistics, **known)
    complexity = explained_complexity(bound, statistics)
    return replace(found, automata=explained_automata(bound), complexity=complexity)


def expecting(explanation: Explanation) -> Explanation:
    """The same with the numbers above as the expected ones."""
    return replace(
        explanation,
        operators=tuple(
            replace(each, expected=EXPECTED[each.name]) for each in explanation.operators
        ),
    )


EXAMPLES = {
    "nothing known": explained(Q3, "basic"),
    "expected": expecting(explained(THEFT, "optimized", STATISTICS)),
    "measured": replace(
        expecting(
            explained(
                THEFT,
                "optimized",
                STATISTICS,
                measured=[*MEASURED.values()],
                results=18_231,
                nanoseconds=38_400_000,
                physical=PHYSICAL,
                form=ExplainedForm("all", 1_140.0, 18_240.0, (LOOKED_AT,)),
                notes=["the whole stream is one slice"],
            )
        ),
        choices=(CHOICE,),
    ),
    "hostile": explained(HOSTILE, "basic"),
    "branches": explained(CHOICES, "optimized", STATISTICS),
}
