"""Cliffs: a variant above the limit has a reason that its figures support, or none holds."""

import pytest

from experiments.core.results import MEASURED, Results
from experiments.figures.cliffs import BASE, EXPERIMENT, VARIANT

(FINDING,) = EXPERIMENT.findings
MANY, ORDER = (reason.said for reason in FINDING.why)
OPTIONAL, SHUFFLED, TIES = "an optional last component", "shuffled", "ties"


def measured(**variants):
    """Rows of variants: how many times the time and the matches of the base each has."""
    named = {"optional": OPTIONAL, "shuffled": SHUFFLED, "ties": TIES}
    common = {"panel": "absence", "status": MEASURED, "note": ""}
    return Results(
        [
            common | {"x": named[name], "way": way, "cpu_s": 2.0 * time, "matches": 10 * more}
            for name, figures in variants.items()
            for way, (time, more) in ((BASE, (1, 1)), (VARIANT, figures))
        ]
    )


@pytest.mark.parametrize(
    ("variants", "holds", "reasons"),
    [
        ({"optional": (2.9, 1), "shuffled": (3.0, 1)}, True, []),
        ({"optional": (4.0, 4)}, False, [MANY]),
        ({"optional": (4.0, 3)}, False, []),
        ({"shuffled": (4.0, 1), "optional": (4.0, 20)}, False, [MANY, ORDER]),
        ({"shuffled": (4.0, 1), "ties": (4.0, 1)}, False, []),
        ({"shuffled": (4.0, 2)}, False, []),
        ({"shuffled": (7.0, 1)}, False, []),
        ({}, None, []),
    ],
)
def test_a_variant_above_the_limit_needs_a_reason_of_its_own(variants, holds, reasons):
    results = measured(**variants)
    assert FINDING.check(results).holds is holds
    assert [reason.said for reason, _ in FINDING.reasons(results)] == reasons
