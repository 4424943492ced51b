"""The gain of the default plan by match windows, and their cost as a stream grows."""

from __future__ import annotations

import pytest

from experiments import chosen_windows, window_growth


@pytest.mark.heavy
def test_both_plans_find_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which `line` asserts."""
    monkeypatch.setattr(chosen_windows, "RUNS", 1)
    monkeypatch.setattr(chosen_windows, "LEVEL_1", chosen_windows.LEVEL_1[2:4])
    monkeypatch.setattr(chosen_windows, "OF_RUNS", chosen_windows.OF_RUNS[3:6])
    chosen_windows.main(["--events", "20000"])
    lines = [each for each in capsys.readouterr().out.splitlines() if "EVENT" in each]
    assert len(lines) == 5
    assert all(each.split()[1] == "none" for each in lines[:2])


@pytest.mark.heavy
def test_each_part_of_a_stream_has_as_many_matches(capsys: pytest.CaptureFixture[str]) -> None:
    window_growth.main(["--events", "50000"])
    lines = [each for each in capsys.readouterr().out.splitlines() if " M/s" in each]
    assert len(lines) == 2 * window_growth.PARTS
    found = [int(each.split()[-2].replace(",", "")) for each in lines[: window_growth.PARTS]]
    assert found == [found[0] * part for part in range(1, window_growth.PARTS + 1)]
    assert found[0] > 0
