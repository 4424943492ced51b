"""The soak in small: some hundred pushes, snapshots between them, and limits of a stream."""

from __future__ import annotations

import pytest

from tests import soak

pytestmark = pytest.mark.slow
# Keys so far apart get no dense codes, which are given up once they are some ten thousand.
SPREAD = 1 << 20


@pytest.mark.heavy
def test_streams_find_what_a_batch_finds_and_forget_the_rest() -> None:
    told = list[str]()
    assert soak.Soak(7, told.append, each=10, spread=SPREAD).run(pushes=100) == []
    assert [line for line in told if "10 snapshots" in line]
    assert " late, seed 7" in told[-1]


# Each holds events, keys or texts in a way of its own; the other queries do as one of these.
FEW = (
    "an absence at the end",
    "parts of a series",
    "an absent sequence",
    "branches",
    "iterations",
    "a set",
    "unequal texts",
    "strict contiguity",
    "a script",
)
OTHERS = tuple(name for name in soak.QUERIES if name not in FEW)


@pytest.mark.parametrize(
    "names",
    [FEW, pytest.param(OTHERS, marks=pytest.mark.heavy)],
    ids=["a query of each kind", "the others"],
)
def test_keys_and_texts_that_never_repeat_are_forgotten(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By few pushes of many rows, so that it takes seconds."""
    monkeypatch.setattr(soak, "QUERIES", {name: soak.QUERIES[name] for name in names})
    monkeypatch.setattr(soak, "ROWS", 1600)
    assert soak.Soak(7, str, each=3, spread=SPREAD).run(pushes=33) == []


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ("forgets a push", "matches, as a batch"),
        ("keeps every key", "its snapshots grew from"),
        ("loses late rows", "late rows of"),
    ],
)
def test_what_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch, broken: str, fault: str) -> None:
    push, query = soak.Stream.push, soak.QUERIES["a series"]
    monkeypatch.setattr(soak, "QUERIES", {"a series": query})
    match broken:
        case "forgets a push":
            monkeypatch.setattr(
                soak.Stream, "push", lambda self, rows: push(self, rows.slice(len(rows) // 2))
            )
        case "keeps every key":
            monkeypatch.setitem(soak.QUERIES, "a series", query + "0000")
        case _:
            monkeypatch.setattr(soak.Stream, "late", 1)
            monkeypatch.setattr(soak.Stream, "push", lambda self, rows: push(self, rows[:0]))
    assert any(fault in each for each in soak.Soak(7, str, each=5, spread=SPREAD).run(pushes=50))


def test_memory_that_grows_is_told() -> None:
    assert soak.growth([50, 100, 104, 103]) == ""
    assert soak.growth([50, 100, 150, 200]) == "from 100 to 200 bytes"
    assert soak.growth([]) == ""
    assert soak.growth([50, 100, 120, 90, 110]) == ""
    assert soak.growth([50, *[100, 120] * 5, *[200, 250] * 5]) == "from 120 to 200 bytes"
