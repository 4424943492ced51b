"""The cost of late rows that wait is measured with buffers that release the same."""

from __future__ import annotations

import pytest

from experiments import late_rows


@pytest.mark.heavy
def test_all_buffers_release_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which `main` asserts."""
    for name, value in (("PUSHES", 20), ("LEAST", 200), ("MOST", 2_000)):
        monkeypatch.setattr(late_rows, name, value)
    monkeypatch.setattr(late_rows, "BATCHES", (1, 100))
    late_rows.main(2)
    lines = [each for each in capsys.readouterr().out.splitlines() if "late by" in each]
    assert len(lines) == 2 * len(late_rows.LATENESS)


def test_another_order_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Backwards(late_rows.SortedBatches):
        """Releases batches the wrong way round."""

        def _released(self, *, everything: bool = False) -> late_rows.Iterator[late_rows.Arrived]:
            yield from reversed(list(super()._released(everything=True)))

    monkeypatch.setattr(late_rows, "KINDS", late_rows.KINDS | {"sorted rows": Backwards})
    for name, value in (("PUSHES", 20), ("LEAST", 200), ("MOST", 2_000)):
        monkeypatch.setattr(late_rows, name, value)
    with pytest.raises(AssertionError, match="sorted rows releases others"):
        late_rows.main(1)
