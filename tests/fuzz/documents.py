"""Plans and streams of random queries, of which documents are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.errors import StopTest

import sase
from sase.engine.options import Options
from sase.errors import SaseError
from sase.planning.recipes import recipe_names
from tests.engine.matching.examples import examples
from tests.engine.matching.streams import TABLES
from tests.engine.operators.plans import QUERIES, stream
from tests.engine.series.examples import drawn
from tests.engine.series.examples import examples as series_examples


@dataclass(frozen=True)
class Base:
    """A plan, and events that it takes, in the order of time."""

    plan: sase.Plan
    table: Any


EXAMPLES = st.one_of(examples(), series_examples()).filter(
    lambda example: example.setting.layout != TABLES
)


@lru_cache(maxsize=64)
def _base(number: int) -> Base:
    """A plan with events: of a random query, or of those that hold every kind of state."""
    random = Random(number)
    while True:
        try:
            plan, table = _compiled(random)
        except (SaseError, StopTest):  # none was drawn, or this recipe does not admit it
            continue
        options = Options(
            random.choice((1, 3, 64, 1 << 17)),
            random.choice((1, 3, 64)),
            random.choice((1, 4, 64)),
            fused=random.random() < 0.7,
        )
        lateness = random.choice((None, 0, 2, 10**7))
        return Base(replace(plan, options=options, lateness=lateness), table)


def _compiled(random: Random) -> tuple[sase.Plan, Any]:
    recipe = random.choice(recipe_names())
    if random.random() < 0.3:
        table = stream(random.randrange(100))
        return sase.compile(random.choice([*QUERIES.values()]), table, plan=recipe), table
    example = drawn(random.randrange(10**9), EXAMPLES).sorted
    table: pa.Table = example.table
    return sase.compile(example.query.text, table, **example.keywords, plan=recipe), table


def base(number: int) -> Base:
    """The base of the document of a number; a hundred documents share one."""
    return _base(number // 100)


def written_table(table: Any) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def read_table(data: bytes) -> Any:
    """The table that was written."""
    return pa.ipc.open_stream(data).read_all()
