"""The last step of the tutorial runs on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.repo.test_tutorial import blocks, ran
from tests.repo.test_tutorial import folder as folder

pytestmark = pytest.mark.slow


def test_the_code_on_spark_prints_what_is_under_it(
    folder: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sase.spark.session.local_session", lambda master: spark)
    names = {"unchecked": (folder / "unchecked.sase").read_text("utf-8")}
    printed = ran(blocks(5), names)
    assert printed
    assert [out for out, _ in printed] == [shown for _, shown in printed]
