"""Changed snapshots of every form of pattern in turn, a hundred of each by a recipe, then another.

    python -m tests.fuzz.snapshot_forms --cases 330000

has five thousand of each of the `EVERY` forms.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache
from random import Random
from typing import Any

import pyarrow as pa

import sase
from sase.errors import SaseError
from sase.planning.recipes import recipe_names
from tests.engine.operators.plans import stream
from tests.fuzz import driver
from tests.fuzz.documents import drawn_options
from tests.fuzz.snapshots import Stopped, document, judge, stopped
from tests.user_aggregates import define_all

FORMS = {
    "one": "EVENT A a WHERE a.v > 1",
    "one key": "EVENT A a WHERE [id] AND a.v < 4 RETURN a.s AS s, a.v + 1 AS w",
    "texts": "EVENT SEQ(A a, B b) WHERE a.s LIKE 'x%' AND b.s != a.s WITHIN 9 RETURN a.s, b.s AS t",
    "no window": "EVENT SEQ(A a, B b, C c) WHERE [id] AND a.v < c.v",
    "window": "EVENT SEQ(A a, B b, C c) WHERE [s] WITHIN 9 INCLUSIVE",
    "two keys": "EVENT SEQ(A a, B b, C c) WHERE [id, s] AND a.v < b.v WITHIN 30",
    "limit": "EVENT SEQ(A a, B b) WHERE a.v <= b.v WITHIN 15 LIMIT 7",
    "positions": "EVENT SEQ(ANY a, ANY(B, C) b, C c) WHERE a.v <= b.v WITHIN 6 EVENTS",
    "ranks": "EVENT SEQ(A a, !(N n), B b) WHERE [id, s] WITHIN 4 EVENTS PER PARTITION",
    "ranks of series": "EVENT SEQ(A a, B+ b[]) WHERE [id] WITHIN 4 EVENTS PER PARTITION INCLUSIVE",
    "start": "EVENT SEQ(!(N n), A a, B b) WHERE [id] WITHIN 12",
    "start of one": "EVENT SEQ(!(N n), A a) WHERE n.v > 1 WITHIN 5 INCLUSIVE",
    "middle": "EVENT SEQ(A a, !(N n), B b, !(C m), C c) WHERE [s] AND n.v > a.v WITHIN 25",
    "end": "EVENT SEQ(A a, B b, !(N n)) WHERE [id] WITHIN 8",
    "all around": "EVENT SEQ(!(N k), A a, !(N m), B b, !(N n)) WHERE [id] WITHIN 10",
    "any match": "EVENT SEQ(A a, B+ b[], C c) WHERE b[i].v >= b[i-1].v AND [id] WITHIN 40",
    "any match free": "EVENT SEQ(A a, B+ b[], C? c) WHERE b[1].v < 3 AND sum(b[].v) > 2 WITHIN 7",
    "any match behind an absence": "EVENT SEQ(!(N n), A+ a[], B b, !(C c)) WHERE [s] WITHIN 7",
    "next match": (
        "EVENT SEQ(A a, B+ b[], C c)"
        " WHERE skip_till_next_match { [id] AND b[i].v >= b[i-1].v } WITHIN 20"
    ),
    "next match shared": "EVENT SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [s] } WITHIN 40",
    "next match having": (
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match WITHIN 12"
        " HAVING a.len > 1 RETURN sum(a[].v) AS v, a[1].s AS s"
    ),
    "next match of singles": "EVENT SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] }",
    "next match of sums": (
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a[i].v <= avg(a[..i-1].v) }"
        " WITHIN 20"
    ),
    "next match with ends": (
        "EVENT SEQ(A a, !(N n), B{2,3} b[], !(C c)) WHERE skip_till_next_match { [s] } WITHIN 12"
    ),
    "strict": "EVENT SEQ(A a, ANY+ b[]) WHERE strict_contiguity { b[i].v >= b[i-1].v } WITHIN 12",
    "strict lines": "EVENT SEQ(A a, B* b[], C c) WHERE strict_contiguity WITHIN 9",
    "stretches": "EVENT SEQ(A a, ANY+ b[], C c) WHERE partition_contiguity { [id] } WITHIN 12",
    "falls and rises": (
        "EVENT SEQ(ANY+ a[], ANY+ b[]) WHERE partition_contiguity"
        " { [id] AND a[i].v < a[i-1].v AND b[1].v >= a[a.len].v AND b[i].v >= b[i-1].v }"
    ),
    "stretches without a window": "EVENT SEQ(A+ a[], B b) WHERE partition_contiguity { [s] }",
    "user aggregates": (
        "EVENT SEQ(A a, B+ b[]) WHERE skip_till_any_match { [id] AND hashed(b[].v) != 5 } WITHIN 9"
        " HAVING slope(b[].v) >= 0 RETURN cross(b[].(v, id)) AS c"
    ),
    "user aggregates under way": (
        "EVENT SEQ(A a, B+ b[], C c) WHERE skip_till_next_match"
        " { [id] AND b[i].v >= decay(b[..i-1].v) } WITHIN 20"
    ),
    "sets": "EVENT SEQ(A a, SET(B b, C+ c[], N? n)) WHERE c[i].v >= b.v WITHIN 9",
    "set rows": "EVENT SEQ(SET(A a, B b), C c) WHERE [id] WITHIN 20",
    "set rows of next matches": "EVENT SET(A a, B b, C c) WHERE skip_till_next_match { [s] }",
    "set rows at once": "EVENT SEQ(SET(A a, B b), C c) WHERE earliest_maximal { [id] } WITHIN 20",
    "set rows without a window": "EVENT SEQ(A a, B b) WHERE earliest_maximal { [id] }",
    "subsets": "EVENT SET(A+ a[], B? b, C c) WHERE earliest_maximal { a[i].v > a[i-1].v } WITHIN 9",
    "sets around an absence": (
        "EVENT SEQ(SET(A a, B b), !(N n), C c) WHERE skip_till_next_match WITHIN 9"
    ),
    "the earliest and longest": "EVENT SEQ(A a, B+ b[], C? c) WHERE earliest_maximal WITHIN 6",
    "groups": "EVENT SEQ(A a, (SEQ(B b, C? c) OR N+ n[])+ g[], Z? z) WHERE [id] WITHIN 8",
    "groups with an absence": (
        "EVENT (SEQ(A a, !(N n), B b)){1,3} g[] WHERE skip_till_next_match { [id] } WITHIN 20"
    ),
    "groups that wait": "EVENT SEQ((A a OR SEQ(B b, C c)){2,} g[], !(N n)) WHERE [s] WITHIN 6",
    "groups beside sets": "EVENT SEQ((SEQ(A a, B b))+ g[], SET(C c, N? n)) WHERE [id] WITHIN 30",
    "groups by conditions": (
        "EVENT (SEQ(A a, B+ b[]))+ g[] WHERE g[i].a.v >= g[i-1].a.v AND b[i].v > a.v WITHIN 9"
    ),
    "groups of branches": (
        "EVENT (SEQ((A a){1,2} g[], B b) OR SEQ(C c, (SEQ(A d, B e))+ h[], !(N n))) WITHIN 6"
    ),
    "negative group": "EVENT SEQ(A a, !(SEQ(N n, C c)), B b) WHERE [id] WITHIN 20",
    "negative group by conditions": (
        "EVENT SEQ(A a, !(SEQ(N n, C c)), B b) WHERE [id] AND n.v < c.v AND c.v > a.v WITHIN 20"
    ),
    "negative group first": "EVENT SEQ(!(SEQ(B b, N n)), A a) WHERE [id] WITHIN 12",
    "negative group last": "EVENT SEQ(A a, B b, !(SEQ(C c, N n))) WHERE [s] WITHIN 9",
    "negative group in a series": "EVENT SEQ(A a, !(SEQ(N n, C c)), B+ b[]) WHERE [id] WITHIN 9",
    "branches": "EVENT (SEQ(A a, B b) OR SEQ(A a, !(N n), C+ c[]) OR SEQ(B b, !(N n))) WITHIN 6",
    "branches of next matches": (
        "EVENT SEQ(A a, (B+ b[] OR SEQ(C c, B d))?, N n)"
        " WHERE skip_till_next_match { [id] } WITHIN 20"
    ),
    "shared scan": "EVENT SEQ(A a, (B b OR C c), !(N n)) WHERE [id] WITHIN 12",
    "shared scan of a tree": "EVENT SEQ((A a OR N n), (B b OR Z z), C c) WITHIN 9",
    "imprecise": "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 9 WITH CONFIDENCE >= 0.1",
    "imprecise absence": "EVENT SEQ(A a, !(N n), B b) WHERE [s] AND n.v > a.v WITHIN 12",
    "imprecise end": "EVENT SEQ(A a, B b, !(N n)) WHERE [id] WITHIN 8 WITH CONFIDENCE >= 0.2",
    "imprecise series": "EVENT SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 9",
    "imprecise negative group": "EVENT SEQ(A a, !(SEQ(N n, C c)), B b) WHERE [id] WITHIN 12",
}  # fmt: skip
# Forms that are run with this output, too.
NON_OVERLAP = ("next match", "any match", "stretches", "sets", "groups", "subsets", "branches")
EVERY = [*FORMS.items(), *((f"{name} apart", FORMS[name]) for name in NON_OVERLAP)]


@cache
def _defined() -> None:
    """The aggregates that forms have are defined."""
    define_all()


def form(number: int) -> tuple[str, str, dict[str, Any]]:
    """The name and the text of a form, and the keywords that its compilation takes."""
    _defined()
    name, text = EVERY[number % len(EVERY)]
    known: dict[str, Any] = {}
    if name.startswith("imprecise"):
        known["time"] = ("ts", "latest")
    if name.endswith("apart"):
        known["output"] = "non_overlap"
    return name, text, known


def _compiled(number: int, random: Random) -> tuple[sase.Plan, pa.Table]:
    """A plan of the form of a number, and its events: some are late where lateness allows."""
    _, text, known = form(number)
    table = _events(random.randrange(100), known)
    plan = None
    while plan is None:
        recipe = random.choice(("optimized", *recipe_names()))
        with suppress(SaseError):  # of a recipe that does not admit it
            plan = sase.compile(text, table, plan=recipe, **known)
    lateness = random.choice((None, None, 0, 2, 5, 10**7))
    if lateness is not None:
        places = [place + random.randrange(8) for place in range(len(table))]
        table = table.take(sorted(range(len(table)), key=places.__getitem__))
    return replace(plan, options=drawn_options(random), lateness=lateness), table


def _events(seed: int, known: dict[str, Any]) -> pa.Table:
    table = stream(seed)
    if "time" not in known:
        return table
    random = Random(seed)
    latest = [each + random.randrange(4) for each in table["ts"].to_pylist()]
    return table.append_column("latest", pa.array(latest))


@lru_cache(maxsize=len(EVERY))
def _stopped(number: int) -> Stopped:
    random = Random(number)
    return stopped(*_compiled(number % len(EVERY), random), random)


def make(number: int) -> bytes:
    """A plan of a form, a changed snapshot of it, and events to go on with."""
    turn, at = divmod(number, len(EVERY))
    known = _stopped(turn // 100 * len(EVERY) + at)
    return document(known, Random(number), changes_it=number % 7 > 0)


def warm() -> None:
    """Judge snapshots of every form, for which kernels may be compiled."""
    for number in range(len(EVERY)):
        judge(document(_stopped(number), Random(number), changes_it=False))


TARGET = driver.Target(make, judge, ".snapshot", warm)

if __name__ == "__main__":
    sys.exit(driver.run(["tests.fuzz.snapshot_forms"]))
