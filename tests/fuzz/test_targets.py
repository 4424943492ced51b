"""No document makes a target crash, hang, or raise an error that is not ours."""

from __future__ import annotations

import pytest

from tests import seeds
from tests.fuzz import driver

TARGETS = driver.targets()
# Targets with documents that come from elsewhere most often.
OFTEN = ("query_text", "snapshots", "script_snapshots")
# Of fewer documents not every form has one.
FEW = 60


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
    count = seeds.share(200)
    for first in seeds.tries(seeds.draw_numbers(count).start):
        outcome = driver.fuzz(module, range(first, first + count), few=count < FEW)
        assert not outcome.findings, "\n\n".join(finding.what for finding in outcome.findings)
        if 0 < outcome.counts["refused"] < sum(outcome.counts.values()):
            return


IN_TEST = [name for name in TARGETS if name.endswith(OFTEN)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "modules",
    [
        IN_TEST,
        pytest.param([name for name in TARGETS if name not in IN_TEST], marks=pytest.mark.heavy),
    ],
    ids=["often", "others"],
)
def test_the_corpus(modules: list[str]) -> None:
    """A document that was found once is opened or refused."""
    bad = {}
    with driver.Worker(driver.COLD, *modules) as worker:
        for module in modules:
            for path in sorted((driver.CORPUS / module.rpartition(".")[2]).glob("*")):
                word, said = worker.ask(module, path)
                if word in driver.FINDINGS:
                    bad[module, path.name] = word, said
    assert not bad


# ---------------------------------------------------------------- the driver itself


@pytest.mark.slow
def test_what_crashes_hangs_or_fails_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next document is judged nevertheless."""
    monkeypatch.setattr(driver, "PATIENCE", 0.6)
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
