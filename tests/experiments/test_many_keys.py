"""The comparison with a C program over events of many users."""

from __future__ import annotations

import re
import shutil

import pytest

from experiments import many_keys
from experiments.core.results import MEASURED, Results
from experiments.figures.many_keys import (
    MILLION,
    TWICE,
    C,
    is_c_uneven,
    is_machine_slower,
    is_work_more,
    panel,
)


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_it_finds_what_the_program_in_c_finds(capsys: pytest.CaptureFixture[str]) -> None:
    """Which `line` asserts, by count and by sum."""
    many_keys.main(
        ["--events", "30000", "--keys", "7", "3000", "--rounds", "1", "--threads", "1", "2"]
    )
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if "ratio" in line]
    each = 2 * len(many_keys.EVERY_SHAPE)
    assert len(told) == 2 * len(many_keys.KINDS) * each
    matches = {line.split()[2]: int(line.split()[3].replace(",", "")) for line in told[:each]}
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
    rows = [at | {"way": way, "wall_s": each} for way, each in clocks.items()]
    assert is_machine_slower(Results(rows)).holds is is_so


@pytest.mark.parametrize(
    ("two", "cpu", "is_so"),
    [(0.7, 1.2, True), (0.7, 1.01, False), (0.8, 1.58, False), (0.6, 1, None)],
)
def test_two_threads_that_gain_little_work_longer_and_wait(
    two: float, cpu: float, is_so: bool | None
) -> None:
    """By 1.71 cores and 1.44; by 1.98 none waits."""
    at = {"panel": panel("wide", "all"), "x": MILLION, "status": MEASURED}
    rows = [
        at | {"way": "one thread", "wall_s": 1.0, "cpu_s": 1.0},
        at | {"way": "two threads", "wall_s": two, "cpu_s": cpu},
    ]
    assert is_work_more(Results(rows)).holds is is_so


@pytest.mark.parametrize(
    ("kind", "other", "is_so"),
    [
        ("dictionary", 2.0, True),
        ("dictionary", 1.1, False),
        ("wide", 2.0, False),
        ("dense", 1.4, None),
    ],
)
def test_c_may_take_longer_for_what_is_the_same_to_it(
    kind: str, other: float, is_so: bool | None
) -> None:
    """Where one thread takes 2.5 s, or 1.5 s, and C takes one."""
    ours = 1.5 if kind == "dense" else 2.5
    rows = [
        {
            "panel": panel(each, "all"),
            "x": MILLION,
            "status": MEASURED,
            "way": way,
            "cpu_s": s,
            "wall_s": s,
        }
        for each, way, s in (
            (kind, "one thread", ours),
            (kind, C, 1.0),
            ("dense" if kind == "dictionary" else "dictionary", C, other),
        )
    ]
    assert is_c_uneven("all")(Results(rows)).holds is is_so


@pytest.mark.heavy
def test_live_keys_take_memory() -> None:
    """Those of two levels more than the heads of their stacks alone."""
    told = re.search(r"([\d.]+) bytes a key", many_keys.memory(100_000, "next"))
    assert told is not None
    assert 24 < float(told[1]) < 400
