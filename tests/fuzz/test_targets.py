"""No document makes a target crash, hang, or raise what is no error of ours."""

from __future__ import annotations

import pytest

from tests import seeds
from tests.fuzz import driver

TARGETS = driver.targets()
# Those whose documents come from elsewhere most often.
OFTEN = ("query_text", "snapshots", "script_snapshots")


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize(
    "module",
    [
        pytest.param(name, marks=() if name.endswith("snapshot_forms") else pytest.mark.heavy)
        for name in TARGETS
    ],
)
def test_documents_are_opened_or_refused(module: str) -> None:
    """Some of them open, and others are refused, else the target tests little."""
    outcome = driver.fuzz(module, seeds.draw_numbers(seeds.share(200)))
    assert not outcome.findings, "\n\n".join(finding.what for finding in outcome.findings)
    assert outcome.counts["refused"] > 0
    assert sum(outcome.counts.values()) > outcome.counts["refused"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        pytest.param(name, marks=() if name.endswith(OFTEN) else pytest.mark.heavy)
        for name in TARGETS
    ],
)
def test_the_corpus(module: str) -> None:
    """What was found once is opened or refused."""
    paths = sorted((driver.CORPUS / module.rpartition(".")[2]).glob("*"))
    with driver.Worker(module) as worker:
        ends = {path.name: worker.ask(path) for path in paths}
    bad = {name: said for name, said in ends.items() if said[0] in driver.FINDINGS}
    assert not bad


# ---------------------------------------------------------------- the driver itself


@pytest.mark.slow
def test_what_crashes_hangs_or_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next document is judged nevertheless."""
    monkeypatch.setattr(driver, "PATIENCE", 1.0)
    outcome = driver.fuzz("tests.fuzz.survived.hostile", range(7))
    words = ["opened", "refused", "crashed", "hung", "failed", "failed", "hung"]
    assert outcome.counts == {word: words.count(word) for word in words}
    crash, hang, failure, memory, endless = outcome.findings
    assert "Segmentation fault" in crash.what
    assert "in judge" in hang.what
    assert "ZeroDivisionError" in failure.what
    assert "MemoryError" in memory.what
    assert "in judge" in endless.what
    assert crash.document == b"2"
