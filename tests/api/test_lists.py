"""Parameters that are lists, after IN."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sase
from tests.program import Program

ROWS = [{"ts": n, "type": "A", "n": n, "s": text} for n, text in enumerate("abcd")]
QUERY = "EVENT A x WHERE x.n IN :some RETURN x.n AS n"
LISTS: dict[str, Any] = {
    "list": [1, 3], "tuple": (1, 3.0, None), "set": {1, 3}, "range": range(1, 5, 2),
    "keys": {1: "", 3: ""}.keys(), "NumPy": np.array([1, 3]), "numbers of NumPy": [np.int64(1), 3],
    "pandas": pd.Series([1, 3]), "Arrow": pa.array([1, 3]), "Decimal": [Decimal("1.0"), 3],
}  # fmt: skip


@pytest.mark.parametrize("form", LISTS)
def test_lists(form: str) -> None:
    plan = sase.compile(QUERY, ROWS, params={"some": LISTS[form]})
    for each in (plan, sase.Plan.from_json(plan.to_json())):
        assert [row["n"] for row in each.run(ROWS).to_pylist()] == [1, 3]


def test_the_order_of_a_set_changes_no_plan() -> None:
    query = "EVENT A x WHERE x.s IN :some"
    orders = ({"a", "b", "c"}, frozenset(("c", "b", "a")), {"b": 0, "a": 0, "c": 0}.keys())
    plans = [sase.compile(query, ROWS, params={"some": each}) for each in orders]
    assert len({plan.to_json() for plan in plans}) == 1


@pytest.mark.parametrize("value", [math.nan, [math.nan, 1.0]])
def test_a_stored_plan_has_nan(value: object) -> None:
    plan = sase.compile("EVENT A x WHERE x.n IN :some", ROWS, params={"some": value})
    assert sase.Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("some", [[b"a"], [[1]], ["a"], [date(2024, 1, 1)]])
def test_other_lists_are_refused(some: list[Any]) -> None:
    with pytest.raises(sase.BindingError, match="no literal of the language|cannot be compared"):
        sase.match(QUERY, ROWS, params={"some": some})


def test_a_list_on_the_command_line(program: Program) -> None:
    words = ("run", "-q", QUERY, "--param", "some=[1, 3]", "--format", "csv")
    ended = program(*words, events=pa.Table.from_pylist(ROWS))
    assert [line.split(",")[0] for line in ended.out.splitlines()[1:]] == ["1", "3"]
