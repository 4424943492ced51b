"""Plans and streams of random queries, of which documents are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

import pyarrow as pa

import sase
from sase.errors import SaseError
from sase.planning.engine_plan import Options
from sase.planning.recipes import recipe_names
from tests.drawing.draw import Draw
from tests.drawing.examples import first_example
from tests.drawing.imprecise import FEW, MANY
from tests.drawing.queries import FORMS
from tests.drawing.streams import TABLES
from tests.engine.operators.plans import QUERIES, stream


@dataclass(frozen=True)
class Base:
    """A plan, and events that it takes, in the order of time."""

    plan: sase.Plan
    table: Any


# The forms of queries, but for two, which take other keywords.
OTHERS = [form for form in FORMS if form not in ("single sets", "joined sets")]
# Patterns with more state than that of a sequence: iterations, absences, branches and sets.
OF_GROUPS = {
    "iterations": "EVENT SEQ(A a, (SEQ(B b, C? c) OR N+ n[])+ g[], Z? z) WHERE [id] WITHIN 8",
    "iterations with an absence": (
        "EVENT (SEQ(A a, !(N n), B b)){1,3} g[] WHERE skip_till_next_match { [id] } WITHIN 20"
    ),
    "iterations that wait": "EVENT SEQ((A a OR SEQ(B b, C c)){2,} g[], !(N n)) WHERE [s] WITHIN 6",
    "iterations of branches": (
        "EVENT (SEQ((A a){1,2} g[], B b) OR SEQ(C c, (SEQ(A d, B e))+ h[], !(N n))) WITHIN 6"
    ),
    "an absent sequence": "EVENT SEQ(A a, !(SEQ(N n, C c)), B b) WHERE [id] WITHIN 20",
    "an absent sequence with a condition": (
        "EVENT SEQ(A a, !(SEQ(N n, C c)), B b) WHERE [id] AND n.v < c.v AND c.v > a.v WITHIN 20"
    ),
    "an absent sequence at the start": "EVENT SEQ(!(SEQ(B b, N n)), A a) WHERE [id] WITHIN 12",
    "an absent sequence at the end": "EVENT SEQ(A a, B b, !(SEQ(C c, N n))) WHERE [s] WITHIN 9",
    "a shared scan": "EVENT SEQ(A a, (B b OR C c), !(N n)) WHERE [id] WITHIN 12",
    "a shared scan of a tree": "EVENT SEQ((A a OR N n), (B b OR Z z), C c) WITHIN 9",
    "sets": "EVENT SEQ(A a, SET(B b, C+ c[], N? n)) WHERE c[i].v >= b.v WITHIN 9",
    "sets with an absence": (
        "EVENT SEQ(SET(A a, B b), !(N n), C c) WHERE skip_till_next_match WITHIN 9"
    ),
    "the earliest and longest": "EVENT SEQ(A a, B+ b[], C? c) WHERE earliest_maximal WITHIN 6",
    "branches": "EVENT (SEQ(A a, B b) OR SEQ(A a, !(N n), C+ c[]) OR SEQ(B b, !(N n))) WITHIN 6",
}


@lru_cache(maxsize=64)
def _base(number: int) -> Base:
    """A plan with events: of a random query, or of those that hold every kind of state."""
    random = Random(number)
    while True:
        try:
            plan, table = _compiled(random)
        except SaseError:  # this recipe does not admit it
            continue
        options = drawn_options(random)
        lateness = random.choice((None, 0, 2, 10**7))
        return Base(replace(plan, options=options, lateness=lateness), table)


def drawn_options(random: Random) -> Options:
    """Options by which buffers are full often, fused or not."""
    return Options(
        random.choice((1, 3, 64, 1 << 17)),
        random.choice((1, 3, 64)),
        random.choice((1, 4, 64)),
        fused=random.random() < 0.7,
    )


def _compiled(random: Random) -> tuple[sase.Plan, pa.Table]:
    recipe = random.choice(recipe_names())
    drawn_of = random.random()
    if drawn_of < 0.45:
        queries = QUERIES if drawn_of < 0.2 else OF_GROUPS
        table = stream(random.randrange(100))
        return sase.compile(random.choice([*queries.values()]), table, plan=recipe), table
    if drawn_of < 0.7:
        form = random.choice((FEW, MANY))  # of which the recipes are few
        return _compiled_of(form, random, recipe if random.random() < 0.3 else "optimized")
    if drawn_of < 0.78:
        return _compiled_of("groups", random, recipe)
    return _compiled_of(random.choice(OTHERS), random, recipe)


def _compiled_of(form: str, random: Random, recipe: str) -> tuple[sase.Plan, pa.Table]:
    draw = Draw(random.randrange(10**9))
    example = first_example(draw, form, lambda each: each.setting.layout != TABLES).sorted
    table = example.table
    return sase.compile(example.query.text, table, **example.keywords, plan=recipe), table


def base(number: int) -> Base:
    """The base of the document of a number; a hundred documents share one."""
    return _base(number // 100)


def warm() -> None:
    """Run and push every kind of query; kernels may be compiled for it."""
    table = stream()
    for query in (*QUERIES.values(), *OF_GROUPS.values()):
        plan = sase.compile(query, table)
        plan.run(table).to_pylist()
        matcher = plan.open()
        matcher.push(table.slice(0, 10))
        matcher = plan.restore(matcher.snapshot())
        matcher.push(table.slice(10))
        matcher.finish().to_pylist()


def written_table(table: Any) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def read_table(data: bytes) -> Any:
    """The table that was written."""
    return pa.ipc.open_stream(data).read_all()
