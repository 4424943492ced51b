"""Objects save and restore the values that their layouts declare, and refuse others."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sase.engine.operators.bindings.forms import SeriesForm
from sase.engine.snapshots.codec import FORMAT, from_bytes, to_bytes
from sase.engine.snapshots.layout import (
    SAME,
    Array,
    Blocks,
    By,
    Count,
    Declared,
    Each,
    IfThere,
    Number,
    Own,
    Record,
    Row,
    Sizes,
)
from sase.engine.snapshots.saved_state import LiveEvents, Saved
from sase.errors import SnapshotError
from tests.repo.source import modules

# Classes that save their state by hand: the list may only shrink.
BY_HAND = {
    "EventBuffer", "KeyDictionary", "Loader", "OverflowCounts", "RowHistory", "TieShare",
}  # fmt: skip
# Classes that name the state of others.
CONTRACTS = ("Declared", "MatchForm", "OperatorState")
GOLDEN = Path(__file__).with_name("layouts.txt")
LIVE = LiveEvents(3, 7, 9)


class Cells(NamedTuple):
    rows: Any
    heads: Any
    width: int


class Pair(NamedTuple):
    one: int
    other: int
    rest: int = 0


class Inner(Declared):
    layout = dict(most=Number(0, "live.positions"))

    def __init__(self) -> None:
        self._most = 2


class Example(Declared):
    """A state with a field of every kind."""

    layout = dict(
        cells=Record(rows=Array("room", SAME, ring=0), heads=Array("keys", low=-1, high=".width")),
        latest=Array("keys", path="ends.heads"),
        seen=Count(),
        counts=Each(Count(), path=None),
        blocks=Blocks(),
        inner=Own(),
        some=Each(Own(), path="some"),
        limit=IfThere(Number(0, "._limit")),
        none=IfThere(Own(), path="none"),
        pair=Row(Number(), Number(0, 1), into=Pair),
        word=By("_letters", path=None),
    )
    width, none = 5, None

    def __init__(self) -> None:
        self._cells = Cells(np.arange(8).reshape(4, 2), np.array([-1, 5]), 2)
        self.ends = Cells(np.arange(2), np.array([8, 9]), 1)
        self._seen, self._in, self._out, self._limit = 4, 5, 6, 7
        self._blocks = Blocks().read(Saved([[1, 3], [2, 6]], live=LIVE), None, _sizes())
        self._inner, self.some, self._pair = Inner(), [Inner(), Inner()], Pair(1, 0, 2)
        self.word = "abc"

    def _encoded(self) -> dict[str, Any]:
        return {"counts": [self._in, self._out], "word": [*self.word]}

    def _letters(self, saved: Saved) -> str:
        return "".join(part.text() for part in saved.parts())

    def _take(self, saved: Saved, values: Any) -> None:
        saved.check(values.seen < 100, "too many are seen")
        super()._take(saved, values)
        self._in, self._out = values.counts
        self.word = values.word


def _sizes() -> Any:
    return Sizes(None, LIVE)


def changed() -> Example:
    """An example with other values."""
    example = Example()
    example._cells = Cells(np.ones((8, 2), np.int64), np.array([0, 1, 2]), 2)
    example.ends = example.ends._replace(heads=np.array([1, 2, 3]))
    example._seen, example._out, example._limit, example.some[1]._most = 1, 2, 3, 9
    example._blocks.clear()
    example.word = "xy"
    return example


def test_what_is_saved_is_restored() -> None:
    saved = changed().checkpoint()
    assert saved["counts"] == [5, 2]
    assert saved["some"] == [{"most": 2}, {"most": 9}]
    assert saved["none"] is None
    assert [*saved] == [*Example.layout]
    example = Example()
    example.restore(Saved(from_bytes(to_bytes(saved)), live=LIVE))
    assert to_bytes(example.checkpoint()) != to_bytes(Example().checkpoint())
    assert to_bytes(example.checkpoint()) == to_bytes(saved)
    assert example._cells.width == 2, "what is not saved stays"
    assert example._pair == Pair(1, 0), "the rest of a tuple is not saved"
    assert example.some[1]._most == 9


def test_memory_is_that_of_all_arrays() -> None:
    assert Example().nbytes == 8 * (8 + 2 + 2)
    assert Inner().nbytes == 0


HOSTILE: dict[str, tuple[Any, str]] = {
    "three rows": ({"cells": {"rows": np.zeros((3, 2), np.int64)}}, "3 places are no power of two"),
    "other columns": ({"cells": {"rows": np.zeros((4, 3), np.int64)}}, r"must be \(None, 2\)"),
    "another key": ({"latest": np.zeros(3, np.int64)}, r"\(3,\), and must be \(2,\)"),
    "a head below": ({"cells": {"heads": np.array([-2, 0])}}, "from -2 to 0, not from -1 to 5"),
    "a head above": ({"cells": {"heads": np.array([0, 6])}}, "from 0 to 6, not from -1 to 5"),
    "below zero": ({"seen": -1}, "state.seen: this is -1"),
    "three counts": ({"counts": [1, 2, 3]}, "these are 3, and must be 2"),
    "an event that is gone": ({"blocks": [[1, 2]]}, r"state.blocks\[0\]\[1\]: this is 2"),
    "an event to come": ({"blocks": [[1, 7]]}, r"this is 7, and not a number from 3 to 6"),
    "no position": ({"inner": {"most": 10}}, "state.inner.most: this is 10"),
    "one of two": ({"some": [{"most": 1}]}, "these are 1, and must be 2"),
    "a greater limit": ({"limit": 8}, "this is 8, and not a number from 0 to 7"),
    "what is not there": ({"none": {"most": 1}}, "state.none: the plan has no such state"),
    "no pair": ({"pair": [1, 0, 0]}, "these are 3, and must be 2"),
    "a number for a letter": ({"word": [1]}, "this is 1, and not a text"),
    "what hangs together": ({"seen": 100}, "state: too many are seen"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_fit_is_refused(name: str) -> None:
    change, message = HOSTILE[name]
    saved = Example().checkpoint()
    for key, value in change.items():
        saved[key] = saved[key] | value if key in ("cells", "inner") else value
    with pytest.raises(SnapshotError, match=message):
        Example().restore(Saved(saved, live=LIVE))


def test_every_member_must_be_there() -> None:
    for name in Example.layout:
        saved = Example().checkpoint()
        del saved[name]
        with pytest.raises(SnapshotError, match=f"`{name}` is not there"):
            Example().restore(Saved(saved, live=LIVE))


def savers() -> Iterator[ast.ClassDef]:
    """The classes of the engine that save or restore, and have no layout."""
    for module in modules():
        for node in ast.walk(module.tree) if module.name.startswith("sase.engine") else ():
            if isinstance(node, ast.ClassDef) and node.name not in CONTRACTS:
                named = {ast.unparse(e.targets[0]) for e in node.body if isinstance(e, ast.Assign)}
                if {"checkpoint", "restore"} & {*methods(node)} and "layout" not in named:
                    yield node


def methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def declared(base: type) -> Iterator[type]:
    """A class and all below it, if they are of the engine."""
    if base.__module__.startswith("sase."):
        yield base
        for each in base.__subclasses__():
            yield from declared(each)


def texts(declared: Any) -> str:
    return ", ".join(f"{name}={field.text}" for name, field in declared.layout.items())


def test_who_saves_state_declares_it() -> None:
    assert {each.name for each in savers()} == BY_HAND


def test_who_restores_by_hand_takes_each_value_checked() -> None:
    """Of a state that is taken as `Saved` nobody else sees the values."""
    for each in savers():
        restore = methods(each).get("restore")
        if restore is not None:
            hint = restore.args.args[1].annotation
            assert hint is not None and ast.unparse(hint) == "Saved", each.name


def test_a_layout_changes_with_the_form_of_snapshots(request: pytest.FixtureRequest) -> None:
    """Who changes a layout raises `FORMAT`, writes a migration, and completes the file."""
    for module in modules():
        if module.name.startswith("sase.engine."):
            importlib.import_module(module.name)
    every = [*declared(Declared), *declared(SeriesForm)]
    layouts = {each.__name__: texts(each) for each in every if "layout" in vars(each)}
    lines = [f"format {FORMAT}", *(f"{name}: {layouts[name]}" for name in sorted(layouts))]
    found = "\n".join(lines) + "\n"
    if request.config.getoption("--complete"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")
