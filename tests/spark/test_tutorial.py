"""The step of the tutorial that needs Spark."""

from __future__ import annotations

from typing import Any

import pytest

from sase.spark import session
from tests.repo.test_site import ROOT, blocks


def test_the_last_step_finds_the_same(
    spark: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(session, "local_session", lambda _: spark)
    every = [*blocks("tutorial.md")]
    (query,) = (each.text for each in every if each.kind == "sql")
    (at,) = (n for n, each in enumerate(every) if "import sase.spark" in each.text)
    exec(every[at].text, {"unchecked": query})
    assert capsys.readouterr().out == every[at + 1].text
