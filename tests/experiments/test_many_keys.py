"""The comparison with a C program over events of many users."""

from __future__ import annotations

import re
import shutil

import pytest

from experiments import many_keys
from experiments.core.results import MEASURED, Results
from experiments.figures.many_keys import MILLION, TWICE, C, is_machine_slower, panel


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


@pytest.mark.parametrize(
    ("two", "twice", "is_so"),
    # One thread takes 1 s, and one program of C, too.
    [(0.7, 1.3, True), (0.7, 1.1, False), (0.6, 1.9, None)],
)
def test_two_programs_of_c_bound_what_two_threads_gain(
    two: float, twice: float, is_so: bool | None
) -> None:
    """1.43 is nearly 1.54, and far from 1.82; and 1.67 is enough."""
    at = {"panel": panel("wide", "all"), "x": MILLION, "status": MEASURED}
    clocks = {"one thread": 1.0, "two threads": two, C: 1.0, TWICE: twice}
    rows = [at | {"way": way, "wall_s": each, "own_s": each} for way, each in clocks.items()]
    assert is_machine_slower(Results(rows)).holds is is_so


def test_live_keys_take_memory() -> None:
    """Those of two levels more than the heads of their stacks alone."""
    told = re.search(r"([\d.]+) bytes a key", many_keys.memory(100_000, "next"))
    assert told is not None
    assert 24 < float(told[1]) < 400
