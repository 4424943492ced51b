"""The limit of a shuffle on Spark: transfer is the reason only if little comes to it."""

import pytest

from experiments.core.results import MEASURED, Results
from experiments.figures.spark import EXPERIMENTS, HANDED, SHUFFLE

(FUNNEL,) = (each for each in EXPERIMENTS if each.name == "spark_funnel")
FINDING = FUNNEL.findings[1]


@pytest.mark.parametrize(
    ("key", "handed", "holds", "is_transfer"),
    [(1.2, 1.1, True, False), (2.4, 1.6, False, True), (2.4, 1.2, False, False),
     (24.0, 1.6, False, False)],
)  # fmt: skip
def test_transfer_is_a_reason_if_little_comes_to_it(key, handed, holds, is_transfer):
    figures = {SHUFFLE: 1.0, HANDED: handed, "key": key}
    common = {"panel": "", "x": "all matches", "status": MEASURED, "note": ""}
    results = Results([common | {"way": way, "cpu_s": cpu} for way, cpu in figures.items()])
    assert FINDING.check(results).holds is holds
    assert [reason.check(results).holds for reason in FINDING.why] == [is_transfer]
