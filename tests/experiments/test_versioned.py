"""The recorded updates of the versioned buffer are those of its run."""

import numpy as np
import pytest

import sase
from experiments.core.experiment import SIZES
from experiments.core.ways import recipe
from experiments.figures.stocks import query, stream
from experiments.figures.versioned import BUFFER, QUERIES, VERSIONED, recorded, updates
from sase.engine.kernels.baselines import versioned_buffer as of

WINDOW = 100


def compiled(name: str):
    table = stream(WINDOW, SIZES["quick"])[0]()
    text = query(name, WINDOW, volume=0)
    plan = sase.compile(text, table, plan=recipe(VERSIONED), type=None, types=["Stock"])
    return plan, table


@pytest.mark.parametrize("name", QUERIES)
def test_all_updates_are_recorded_also_those_of_dropped_rows(name: str) -> None:
    plan, table = compiled(name)
    rows = recorded(plan, table)
    matches = plan.run(table, threads=1)
    assert len(matches) == 0
    counted = dict(matches.report.counters)["RunEvaluation"]
    assert len(rows.entries) == counted["entries"] < len(rows.pointers) == counted["pointers"]
    assert rows.held[0] <= len(rows.entries)
    assert name != "p1-s3" or rows.held[0] < len(rows.entries)  # some were dropped
    assert (np.bincount(rows.owners) > 0).all()


@pytest.mark.parametrize("name", QUERIES)
def test_the_timed_updates_write_the_same_rows(name: str) -> None:
    """`updates` compares them with the buffer of the run."""
    assert updates(*compiled(name))[BUFFER] > 0


def test_other_rows_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, table = compiled("p1-s3")
    rows = recorded(plan, table)
    rows.pointers[-1, of.AFTER] += 1
    monkeypatch.setattr("experiments.figures.versioned.recorded", lambda plan, table: rows)
    with pytest.raises(AssertionError, match="other updates"):
        updates(plan, table)
