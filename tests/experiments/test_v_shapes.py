"""The runs of prices that fall and rise."""

from __future__ import annotations

import pytest

from experiments import v_shapes
from sase import compile


def test_every_match_falls_and_then_rises() -> None:
    ticks = v_shapes.table(3000, 7)
    price, symbol = ticks["price"].to_pylist(), ticks["symbol"].to_pylist()
    found = compile(v_shapes.QUERY, ticks).run(ticks).rows.to_pylist()
    assert len(found) > 500
    for match in found:
        falling, rising = [match["a"], *match["b"]], [match["b"][-1], *match["c"]]
        assert len({symbol[row] for row in falling + rising}) == 1
        assert [price[row] for row in falling] == sorted({price[row] for row in falling})[::-1]
        assert [price[row] for row in rising] == sorted({price[row] for row in rising})


def test_a_line_for_each_number_of_threads(capsys: pytest.CaptureFixture[str]) -> None:
    v_shapes.main(["--events", "3000", "--symbols", "7", "--rounds", "1"])
    told = [line for line in capsys.readouterr().out.splitlines() if "matches" in line]
    assert [line[0] for line in told] == ["1", "2"]
    assert len({line.split()[2] for line in told}) == 1
