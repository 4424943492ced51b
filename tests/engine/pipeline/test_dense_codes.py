"""Dense codes with more bits than usual, in stacks of rows: found as by the naive matcher."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.blocks.key_dictionary import KeyDictionary
from sase.engine.columns.arrays import Numbers
from sase.engine.pipeline.fused import lines, scan
from sase.lang.parser import parse_query
from sase.planning import cost_values
from sase.planning.engine_plan import Options
from tests import naive

# The path that each query takes, and whether it has stacks of rows.
PATHS = {
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 90": ("fused scan", True),
    "EVENT SEQ(A a, !(C x), B b) WHERE [id, k] WITHIN 90": ("fused scan", True),
    "EVENT SEQ(A a, B b) WHERE skip_till_next_match { [id] } WITHIN 90": ("shared lines", True),
    "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } WITHIN 90": ("shared lines", True),
    "EVENT SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 300": ("fused walks", True),
    "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a[i].v >= a[i-1].v }": (
        "fused lines", False,
    ),
}  # fmt: skip
COUNT, BITS, FAR = 200, 4, 50


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bits of all dense codes of more than the usual ones, of which there are few."""
    for module, name in ((cost_values, "FEWEST_BITS"), (cost_values, "MOST_BITS")):
        monkeypatch.setattr(module, name, BITS)
    monkeypatch.setattr(scan, "MOST_BITS", BITS)
    monkeypatch.setattr(lines, "MOST_KEYS", 1 << BITS)
    found, fit = list[int](), KeyDictionary.fit

    def noted(self: KeyDictionary, rows: Numbers, events: int, codes: int = 0) -> bool:
        fits = fit(self, rows, events, codes)
        if fits and self.size > 1 << BITS:
            found.append(self.size.bit_length() - 1)
        return fits

    monkeypatch.setattr(KeyDictionary, "fit", noted)
    return found


def stream(random: Random, keys: int, apart: int) -> pa.Table:
    """Events of a number of keys that lie apart."""
    return pa.table({
        "ts": np.cumsum([random.choice([0, 1, 1, 2]) for _ in range(COUNT)]),
        "type": pa.array(random.choices("ABC", k=COUNT)).dictionary_encode(),
        "id": [random.randrange(keys) * apart for _ in range(COUNT - 1)] + [(keys - 1) * apart],
        "k": [random.randrange(2) for _ in range(COUNT)],
        "v": [random.randrange(9) for _ in range(COUNT)],
    })  # fmt: skip


def rows_of(plan: Any, events: pa.Table, threads: int) -> list[list[list[int]]]:
    rows = plan.run(events, threads=threads).rows.to_pylist()
    return [[of if isinstance(of, list) else [of] for of in row.values()] for row in rows]


@pytest.mark.parametrize("block", [5, COUNT])
@pytest.mark.parametrize(("keys", "apart"), [(12, 1), (100, 1), (100, 2), (100, FAR)])
@pytest.mark.parametrize("text", PATHS)
def test_codes_of_rows(text: str, keys: int, apart: int, block: int, dense: list[int]) -> None:
    """Up to four for each event; if keys lie farther apart a table gives out codes."""
    events = stream(Random(keys * apart), keys, apart)
    plan = replace(sase.compile(text, events), options=Options(block, 64, 64, many_keys=1))
    known = naive.match(parse_query(text), events.to_pylist())
    path, has_rows = PATHS[text]
    matches = plan.run(events, threads=1)
    assert rows_of(plan, events, 1) == [[[*of] for of in each.events] for each in known]
    assert len(known) > 2
    bits = ((keys - 1) * apart).bit_length() + ("[id, k]" in text)
    assert {use.path for use in matches.report.fused} == {path}
    if apart < FAR:
        assert {*dense} == ({bits} if has_rows and bits > BITS else set())
    elif block == COUNT:
        assert not dense
    else:  # a table gave out codes before, which are dense
        assert {*dense} <= {keys.bit_length() + ("[id, k]" in text)}
    assert rows_of(plan, events, 3) == rows_of(plan, events, 1)
