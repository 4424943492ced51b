"""The comparison with a C program over events of many users."""

from __future__ import annotations

import re
import shutil

import pytest

from experiments import many_keys


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_it_finds_what_the_program_in_c_finds(capsys: pytest.CaptureFixture[str]) -> None:
    """Which `line` asserts, by count and by sum."""
    many_keys.main(
        ["--events", "30000", "--keys", "7", "3000", "--rounds", "1", "--threads", "1", "2"]
    )
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if "ratio" in line]
    assert len(told) == 2 * 2 * len(many_keys.KINDS) * len(many_keys.SHAPES)
    matches = {line.split()[2]: int(line.split()[3].replace(",", "")) for line in told[:6]}
    assert min(matches.values()) > 100


def test_live_keys_take_memory() -> None:
    """Those of two levels more than the heads of their stacks alone."""
    told = re.search(r"([\d.]+) bytes a key", many_keys.memory(100_000, "next"))
    assert told is not None
    assert 24 < float(told[1]) < 400
