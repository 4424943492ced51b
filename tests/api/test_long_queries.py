"""Long queries are bound, planned and explained by a number of steps that grows as they do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pyarrow as pa
import pytest

import sase
from sase.binding import OPEN, bind_text
from sase.engine.pipeline import limits
from sase.engine.pipeline.limits import Limits, RunGuard
from sase.errors import TimeLimitError
from sase.lang import parser
from sase.planning.explain import runs

FEW, MANY = 20, 80
# By shape, the part that grows, and how it is joined.
PARTS: dict[str, tuple[str, Callable[[int], str], str]] = {
    "conditions": ("SEQ(A a, B b) WHERE", lambda n: f"a.v + {n} >= b.v - {n}", " AND "),
    "alternatives": ("SEQ(A a, B b) WHERE", lambda n: f"a.v + {n} >= b.v - {n}", " OR "),
    "filters": ("SEQ(A a, B b) WHERE", lambda n: f"a.v{n} > {n}", " AND "),
    "equalities": ("SEQ(A a, B b) WHERE", lambda n: f"a.v{n} = b.v{n}", " AND "),
    "tests": ("SEQ(A a, B b) WHERE", lambda n: f"[k{n}]", " AND "),
    "absences": ("SEQ(A a, !(X x), B b) WHERE", lambda n: f"a.v + {n} > x.v", " AND "),
    "series": ("SEQ(A a, B+ b[], C c) WHERE", lambda n: f"b[i].v + {n} > a.v", " AND "),
}
WORK: dict[str, Callable[[str], object]] = {
    "bind": lambda text: bind_text(text, OPEN),
    "compile": lambda text: sase.compile(text, sase.Schema()),
    "explain": lambda text: str(sase.explain(text)),
}


def query(shape: str, size: int) -> str:
    """A query of a number of parts."""
    head, part, between = PARTS[shape]
    return f"EVENT {head} {between.join(map(part, range(size)))} WITHIN 10"


def calls(work: Callable[[str], object], text: str) -> int:
    """How often functions of Python are called, or generators resumed."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("shape", PARTS)
def test_steps_grow_with_the_query(shape: str, work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "LENGTH", 0)  # no tree is kept from another test
    WORK[work](query(shape, 3))  # loads modules that are loaded once
    few, many = (calls(WORK[work], query(shape, size)) for size in (FEW, MANY))
    assert many < few * (MANY / FEW) * 1.08


@pytest.mark.parametrize("shape", PARTS)
def test_a_time_limit_ends_it_anywhere(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that counts calls, so that a limit is a share of all the steps."""
    monkeypatch.setattr(parser, "LENGTH", 0)
    monkeypatch.setattr(limits, "CLOSE", 1)
    names = ["v", *(f"{letter}{number}" for letter in "vk" for number in range(MANY))]
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], **{name: [1, 1] for name in names}})
    text, steps = query(shape, MANY), [0]

    def count(frame: FrameType, event: str, argument: object) -> None:
        steps[0] += event == "call"

    def run() -> None:
        sase.compile(text, events).run(events)

    run()  # loads modules that are loaded once
    whole = calls(lambda _: run(), text)
    before = sys.getprofile()
    for share in (0.05, 0.3, 0.8):
        steps[0] = 0
        guard = RunGuard(Limits(time=int(whole * share)), lambda: steps[0])
        sys.setprofile(count)
        try:
            with guard.working(), pytest.raises(TimeLimitError):
                run()
        finally:
            sys.setprofile(before)
        assert steps[0] < whole * (share + 0.15), share


def test_a_condition_is_put_into_words_for_the_steps_that_change_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, original = [0], runs.condition_text

    def counted(*values: object) -> str:
        written[0] += 1
        return original(*values)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "condition_text", counted)
    explanation = sase.explain(query("conditions", FEW))
    changed = sum(step.declined is None for step in explanation.steps)
    assert FEW < written[0] <= FEW * (changed + 2) < FEW * len(explanation.steps)
