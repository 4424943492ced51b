"""The cost of match windows as a stream grows."""

from __future__ import annotations

import pytest

from experiments import window_growth


@pytest.mark.heavy
def test_each_part_of_a_stream_has_as_many_matches(capsys: pytest.CaptureFixture[str]) -> None:
    window_growth.main(["--events", "50000"])
    lines = [each for each in capsys.readouterr().out.splitlines() if " M/s" in each]
    assert len(lines) == 2 * window_growth.PARTS
    found = [int(each.split()[-2].replace(",", "")) for each in lines[: window_growth.PARTS]]
    assert found == [found[0] * part for part in range(1, window_growth.PARTS + 1)]
    assert found[0] > 0
