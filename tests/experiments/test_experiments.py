"""Every experiment runs at its smallest size, and the report is made of the results."""

import importlib.util

import pytest

from experiments.__main__ import main
from experiments.core import reporting, results
from experiments.core.experiment import SIZES
from experiments.core.results import LEFT_OUT, MEASURED
from experiments.core.running import run
from experiments.figures import EXPERIMENTS

pytestmark = pytest.mark.heavy

HERE = [experiment for experiment in EXPERIMENTS if experiment.uses == ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The results of all experiments that need nothing but the package."""
    folder = tmp_path_factory.mktemp("results")
    run(HERE, SIZES["tiny"], folder)
    return folder


@pytest.mark.parametrize("experiment", HERE, ids=lambda experiment: experiment.name)
def test_every_way_runs_or_says_why_not(experiment, folder):
    rows = results.read(folder / f"{experiment.name}.csv").rows
    asked = [(p.panel, p.x, way) for p in experiment.points(SIZES["tiny"]) for way in p.ways]
    assert [(row["panel"], row["x"], row["way"]) for row in rows] == asked != []
    assert {row["status"] for row in rows} <= {MEASURED, LEFT_OUT}
    assert all(row["note"] for row in rows if row["status"] == LEFT_OUT)
    columns = {name for row in rows if row["status"] == MEASURED for name in row}
    assert {plot.y for plot in experiment.plots if not experiment.once} <= columns


@pytest.mark.parametrize("experiment", HERE, ids=lambda experiment: experiment.name)
def test_every_finding_is_decided_by_figures(experiment, folder):
    found = results.read(folder / f"{experiment.name}.csv")
    for finding in experiment.findings:
        verdict = finding.check(found)
        assert verdict.holds in (True, False, None) and verdict.evidence


# With panels, bars, normalized curves, and several columns in one picture.
DRAWN = [each for each in HERE if each.name in ("fig10", "fig8a", "fig11", "pp_costs")]


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)
def test_the_report_is_whole_by_itself(folder):
    page, text = reporting.write(DRAWN, folder)
    html, markdown = page.read_text(), text.read_text()
    for experiment in DRAWN:
        assert f'<article id="{experiment.name}">' in html
        assert f"## {experiment.title}" in markdown
    assert html.count("<svg") == sum(len(experiment.plots) for experiment in DRAWN)
    assert "<img" not in html and "<script" not in html and "<link" not in html
    pictures = {name.split(")")[0] for name in markdown.split("](")[1:] if ".svg" in name}
    assert pictures and all((folder / name).exists() for name in pictures)


def test_the_list_names_each_of_them_once(capsys):
    main(["list"])
    names, _, _ = capsys.readouterr().out.partition("\n\n")
    named = [line.split()[0] for line in names.splitlines()]
    assert named == [experiment.name for experiment in EXPERIMENTS]
    assert len(set(named)) == len(named)


def test_an_unknown_name_is_refused():
    with pytest.raises(SystemExit, match="no experiment nothing"):
        main(["run", "--tiny", "nothing"])
