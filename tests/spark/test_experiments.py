"""The experiments on Spark run at their smallest size."""

import pytest

from experiments.core import results
from experiments.core.experiment import SIZES
from experiments.core.results import MEASURED
from experiments.core.running import run
from experiments.figures import EXPERIMENTS

pytestmark = pytest.mark.heavy

ON_SPARK = [experiment for experiment in EXPERIMENTS if experiment.uses == "spark"]


@pytest.mark.parametrize("experiment", ON_SPARK, ids=lambda experiment: experiment.name)
def test_every_way_runs(experiment, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run([experiment], SIZES["tiny"], tmp_path)
    rows = results.read(tmp_path / f"{experiment.name}.csv").rows
    assert rows and {row["status"] for row in rows} == {MEASURED}
