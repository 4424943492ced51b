"""Statements alike but for window, last type and RETURN are matched together, and find the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest

import sase
from sase.engine.scripts.matching_forms import JointStatements
from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.errors import SnapshotError
from tests.drawing.script_examples import ScriptExample, ScriptInput, drawn
from tests.drawing.script_statements import Statement
from tests.drawing.script_ways import KINDS, RECIPES, ScriptWay, check
from tests.seeds import draw_numbers, share

PATTERNS = [
    "SEQ({A} a, {B} b)", "SEQ({A} a, {B} b)", "SEQ({A} a, {B} c, {A} b)", "SEQ({A} a, ANY b)",
    "SEQ({A} a, !({B} x), {A} b)", "SEQ({A} a, !(SEQ({B} x, {A} y)), {B} b)", "SEQ({B} a, {B} b)",
    "SEQ({A} a, {B} b, !({A} x))", "SEQ({A} a, {B}+ c[], {A} b)", "SET({A} a, {B} b)",
]  # fmt: skip
CONDITIONS = ["[id]", "a.n <= b.n", "a.s = 'x'", "b.n >= 1", "a.n + b.n < 4", "a.u < b.u"]
LAST = ["b.n = 1", "b.n = 2", "b.s IN ('x', 'y')", "b.s = 'y'", "b.n > 0", "b.n <= 1 AND b.n > 0",
        "b.n = 1 AND b.s = 'x'", "b.u BETWEEN 1 AND 900", "b.n IN (0, 2)"]  # fmt: skip
RETURNED = ["a.id AS i", "b.n AS m", "a.s AS s", "'v' AS v", "2 AS w", "b.n * 2 AS d"]


def variants(random: Random, inputs: Sequence[ScriptInput]) -> list[str]:
    """Queries that differ in their windows, and some in RETURN, or in a LIMIT."""
    given = random.choice(inputs)
    types = sorted({str(row["type"]) for row in given.rows if "type" in row}) or ["A"]
    types = [*given.types] if given.types else types
    is_imprecise = isinstance(given.time, tuple)
    pattern = random.choice(PATTERNS[:3] if is_imprecise else PATTERNS)
    for letter in "AB":
        pattern = pattern.replace(f"{{{letter}}}", random.choice(types))
    some = random.sample(CONDITIONS, random.choice([0, 1, 1, 2]))
    returned = random.sample(RETURNED[:5], random.choice([1, 2, 3]))
    if random.random() < 0.2:
        time = given.first_time
        returned.append(random.choice([RETURNED[-1], f"b.{time} - a.{time} AS t"]))
    unit = random.choice(["seconds", "seconds", "seconds", "seconds INCLUSIVE", "EVENTS"])
    if is_imprecise or pattern.endswith("x))"):
        unit = "seconds"
    has_returned, found = random.random() < 0.8 or "+" in pattern, list[str]()
    for _ in range(random.choice([2, 2, 3])):
        own = random.sample(returned, len(returned))
        if random.random() < 0.2:
            own = random.sample(RETURNED[:5], 2)
        clause = f" RETURN {', '.join(own)}" if has_returned else ""
        limit = " LIMIT 2" if random.random() < 0.1 else ""
        source = "" if given.name is None else f"FROM {given.name} "
        within = f" WITHIN {random.choice([2, 4, 6, 9, 14])} {unit}"
        sought = pattern
        if pattern.endswith("b)") and random.random() < 0.5:  # with other types at the end
            last = random.sample(types, random.choice([1, 1, min(2, len(types))]))
            test = f"ANY({', '.join(last)})" if len(last) > 1 else last[0]
            sought = f"{pattern[: pattern.rindex(', ')]}, {test} b)"
        asked = [*some, random.choice(LAST)] if random.random() < 0.4 else some
        where = f" WHERE {' AND '.join(asked)}" if asked else ""
        text = f"{sought}{where}{within}{clause}"
        if random.random() < 0.3:  # with other variables
            text = re.sub(r"\b[ab](?=[.,)])", lambda name: f"{name[0]}2", text)
        found.append(f"{source}EVENT {text}{limit}")
    return found


def varied(random: Random, inputs: tuple[ScriptInput, ...]) -> ScriptExample:
    """Up to six statements of which some are alike, and some read the matches of such ones."""
    texts, statements = list[str](), list[Statement]()
    while len(texts) < random.choice([2, 3, 6]):
        texts += variants(random, inputs)
    for number, text in enumerate(texts[:6]):
        is_read = " RETURN " in text and random.random() < 0.3
        if random.random() < 0.3 or is_read:
            text = f"CREATE STREAM v{number} AS {text}"
        statements.append(Statement(text, None))
        if is_read and len(statements) < 6:
            statements.append(Statement(f"FROM v{number} EVENT v{number} e", None))
    return ScriptExample(tuple(statements[:6]), inputs)


def case(number: int) -> tuple[ScriptExample, ScriptWay]:
    """The script of a number, and the way that it is run."""
    random = Random(number)
    example = varied(random, drawn(number).inputs)
    return example, ScriptWay(random.choice(KINDS), random.choice(RECIPES), number)


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(12)))
def test_every_way_of_running_finds_what_the_naive_way_does(number: int) -> None:
    check(case, number)


# ---------------------------------------------------------------- shared matchings

PATTERN = "EVENT SEQ(A a, B b) WHERE [k] AND a.n > 0"


def rows(first: int, end: int) -> pa.Table:
    return pa.table({
        "ts": range(first, end), "type": ["AAB"[ts % 3] for ts in range(first, end)],
        "k": [ts % 2 for ts in range(first, end)], "n": [ts % 5 for ts in range(first, end)],
        "s": [f"s{ts % 7}" for ts in range(first, end)], "f": [0.5] * (end - first),
    })  # fmt: skip


def opened(*queries: str) -> sase.ScriptMatcher:
    return sase.Script(";".join(queries), rows(0, 1).schema).open()


def joint_of(matcher: sase.ScriptMatcher) -> list[tuple[str, ...]]:
    """The statements that are matched together."""
    return [each.names for each in matcher._pipeline.joint]


def joint(*queries: str) -> list[tuple[str, ...]]:
    return joint_of(opened(*queries))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("WITHIN 5", "WITHIN 50"),
        ("WITHIN 5", "WITHIN 5 INCLUSIVE"),
        ("WITHIN 5 EVENTS", "WITHIN 8 EVENTS INCLUSIVE"),
        ("", ""),
        ("WITHIN 5 RETURN 'x' AS s, a.s AS t, b.k AS k", "WITHIN 9 RETURN F(b.k AS l, a.s AS t)"),
        ("WITHIN 5 RETURN b.ts - a.ts AS took", "WITHIN 9 RETURN b.ts - a.ts AS took"),
        ("WITHIN 5 RETURN a.f + b.f AS f", "WITHIN 9 RETURN a.f + b.f AS f"),
        ("WITHIN 5 RETURN a.n + b.n AS n", "WITHIN 5 RETURN a.n + b.n AS m, 1 AS one"),
        ("AND b.n > 1 WITHIN 5", "AND b.n > 2 WITHIN 6"),
        ("AND b.n = 1 RETURN a.n AS n", "AND b.s IN ('s1', 's2') RETURN a.n AS n"),
        ("WITHIN 5", "AND b.n BETWEEN 1 AND 3 WITHIN 6"),
    ],
)  # fmt: skip
def test_what_differs_in_window_and_return_is_matched_together(one: str, other: str) -> None:
    queries = [f"{PATTERN} {one}", f"{PATTERN} {other}"]
    assert joint(*queries) == [("query_1", "query_2")]
    given = rows(0, 200)
    found = sase.Script(";".join(queries)).run(given)
    for text, each in zip(queries, found.values(), strict=True):
        alone = sase.match(text, given)
        assert each.to_arrow().equals(alone.to_arrow()) and each.rows.equals(alone.rows)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AND b.n * 2 > 1 WITHIN 5", "AND b.n * 2 > 2 WITHIN 5"),
        ("AND b.n > a.n WITHIN 5", "AND b.n >= a.n WITHIN 5"),
        ("AND b.s LIKE 's1%' WITHIN 5", "AND b.s LIKE 's2%' WITHIN 5"),
        ("WITHIN 5", "WITHIN 5 EVENTS"),
        ("WITHIN 5", ""),
        ("WITHIN 5", "WITHIN 5 LIMIT 2"),
        ("WITHIN 5 EVENTS PER PARTITION", "WITHIN 6 EVENTS PER PARTITION"),
        ("AND a.n + b.n > 1 WITHIN 5", "AND a.n + b.n > 1 WITHIN 6"),
        ("WITHIN 5 RETURN a.n + b.n AS n", "WITHIN 6 RETURN a.n + b.n AS n"),
        ("WITHIN 5 RETURN b.ts - a.n AS n", "WITHIN 6 RETURN b.ts - a.n AS n"),
        ("WITHIN 5 EVENTS RETURN b.ts - a.ts AS n", "WITHIN 6 EVENTS RETURN b.ts - a.ts AS n"),
        ("WITHIN 5 RETURN a.n AS n", "WITHIN 5 RETURN b.n AS n"),
        ("WITHIN 5 RETURN a.n AS n", "WITHIN 5"),
    ],
)
def test_what_differs_in_more_is_matched_apart(one: str, other: str) -> None:
    assert not joint(f"{PATTERN} {one}", f"{PATTERN} {other}")


PREFIX = "EVENT SEQ(A a, A b, {} c) WHERE [k] AND a.n > 0 WITHIN {}"


def test_variables_may_have_other_names() -> None:
    prefix = "WHERE [k] AND {0}.n > 0 AND {1}.f >= {0}.f"
    queries = [
        f"EVENT SEQ(A a, A b, B c) {prefix.format('a', 'b')} WITHIN 19",
        f"EVENT SEQ(A a, A b, A d) {prefix.format('a', 'b')} AND d.n = 1 WITHIN 17",
        f"CREATE STREAM s AS EVENT SEQ(A b, A x, B a) {prefix.format('b', 'x')} WITHIN 18",
    ]
    reader = "FROM s EVENT s e WHERE e.b_n < e.a_n"
    given = rows(0, 200)
    script = sase.Script(";".join([*queries, reader]), given.schema)
    assert joint_of(script.open()) == [("query_1", "query_2", "s")]
    found = script.run(given)
    for text, name in zip(queries, found, strict=False):
        wanted = sase.match(text, given)
        assert len(wanted) and found[name].to_arrow().equals(wanted.to_arrow())
        assert found[name].rows.equals(wanted.rows)
    names = [found[name].to_arrow().column_names[:3] for name in ("query_1", "query_2", "s")]
    assert names == [["a", "b", "c"], ["a", "b", "d"], ["b", "x", "a"]]
    wanted = [each for each in found["s"].to_pylist() if each["b"]["n"] < each["a"]["n"]]
    assert len(wanted) == len(found["query_4"]) > 0
    shown = "one matching for query_1 (B, 19), s (B, 18), query_2 (A, d.n = 1, 17)"
    assert f"  {shown}" in str(script.explain()).splitlines()


def test_those_with_other_variables_come_and_go() -> None:
    given = rows(0, 240)
    texts = [f"EVENT SEQ(A {n}, {last} {n}2) WHERE [k] AND {n}.n > 0 WITHIN {9 + place}"
             for place, (n, last) in enumerate(["aB", "bA", "cB", "dA"])]  # fmt: skip
    matcher = opened(*texts[:3])
    matcher.push(None, given.slice(0, 80))
    matcher.remove("query_1")
    matcher.add(texts[3])
    assert joint_of(matcher) == [("query_2", "query_3", "query_4")]
    matcher = matcher.script.restore(matcher.snapshot())
    found = [matcher.push(None, given.slice(n, 40)) for n in range(80, 240, 40)]
    for number, text in enumerate(texts[1:], 2):
        tables = [part[f"query_{number}"].to_arrow() for part in found]
        from_row = 80 if number == 4 else 0
        wanted = sase.match(text, given.slice(from_row)).to_pylist()
        later = [each for each in wanted if each["ts_end"] >= 80]
        assert later and pa.concat_tables(tables).to_pylist() == later


def test_warnings_of_arithmetic_name_the_variables_of_their_own() -> None:
    text = "EVENT SEQ(A {0}, B {1}) WHERE {0}.n + {1}.n > 1 WITHIN 5"
    assert joint(text.format("a", "b"), text.format("a", "b")) == [("query_1", "query_2")]
    assert not joint(text.format("a", "b"), text.format("x", "b"))


def test_a_common_prefix_is_matched_once_whatever_comes_last() -> None:
    queries = [
        PREFIX.format("B", "9 RETURN a.s AS s, 1 AS rule"),
        PREFIX.format("A", "20 RETURN 2 AS rule, a.s AS s"),
        PREFIX.format("ANY(B, A)", "12 RETURN a.s AS s"),
        PREFIX.format("C", "12 RETURN a.s AS s"),
    ]
    assert joint(*queries) == [("query_1", "query_2", "query_3", "query_4")]
    given = rows(0, 200)
    script = sase.Script(";".join(queries))
    found = script.run(given)
    for text, each in zip(queries, found.values(), strict=True):
        alone = sase.match(text, given)
        assert each.to_arrow().equals(alone.to_arrow()) and each.rows.equals(alone.rows)
        assert each.report.warnings == alone.report.warnings  # that there is no C, or none
    assert [bool(len(each)) for each in found.values()] == [True, True, True, False]
    lines = str(script.explain(given)).splitlines()
    shown = "query_2 (A, 20), query_3 (B or A, 12), query_4 (C, 12), query_1 (B, 9)"
    assert f"  one matching for {shown}" in lines


def test_a_prefix_goes_on_without_who_is_removed() -> None:
    texts = [PREFIX.format("B", 9), PREFIX.format("A", 2_000), PREFIX.format("B", 12)]
    matcher = opened(*texts)
    matcher.push(None, rows(0, 500))
    matcher.remove("query_2")
    again = matcher.script.restore(matcher.snapshot())
    (state,) = again._pipeline.joint
    # As the events on the stacks stay.
    assert state == (("query_1", "query_3"), ("A", "B"), {}, False)
    only = opened(texts[0], texts[2])
    only.push(None, rows(0, 500))
    wanted = only.push(None, rows(500, 600))
    for each in (matcher, again):
        found = each.push(None, rows(500, 600))
        for one, other in (("query_1", "query_1"), ("query_3", "query_2")):
            assert found[one].to_arrow().equals(wanted[other].to_arrow()) and len(found[one])


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, !(B b))", "SEQ(!(B b), A a)", "SEQ(A a, B+ b[])", "SET(A a, B b)",
        "SEQ(A a, (B b OR A c))", "SEQ(A a, B b) WHERE skip_till_next_match",
        "SEQ(A a, !(SEQ(B b, A c)))",
    ],
)  # fmt: skip
def test_where_the_window_decides_more_each_is_matched_by_itself(pattern: str) -> None:
    queries = [f"EVENT {pattern} WITHIN {window}" for window in (4, 6)]
    assert not joint(*queries)
    plans = {str(n): sase.compile(text, rows(0, 1).schema).engine for n, text in enumerate(queries)}
    known = JointStatements.of(plans)
    assert not known.joint
    if " OR " not in pattern:  # with branches that have windows of their own
        assert list(known.apart) == ["0", "1"] and all(known.apart.values())


def test_warnings_are_those_of_each() -> None:
    given = rows(0, 30).append_column("big", pa.array([2**62] * 30))
    text = f"{PATTERN} AND a.big + b.big > 0 WITHIN 4; {PATTERN} AND a.big + b.big > 0 WITHIN 4;"
    script = sase.Script(f"{text} EVENT SEQ(A a, C c) WITHIN 4; EVENT SEQ(A a, C c) WITHIN 3")
    first, second, *others = (each.report.warnings for each in script.run(given).values())
    assert first == second and "big + " in first[0]
    assert others == [("no event of type `C` occurred",)] * 2


def test_no_more_is_kept_than_the_longest_window_that_is_left_needs() -> None:
    texts = [f"{PATTERN} WITHIN {window} RETURN a.n AS n" for window in (6, 10_000, 9)]
    matcher, only = opened(*texts), opened(texts[0], texts[2])
    for one in (matcher, only):
        one.push(None, rows(0, 3_000))
    assert len(matcher.snapshot()) > len(only.snapshot()) + 100_000
    matcher.remove("query_2")
    later = rows(3_000, 3_050)
    wanted = only.push(None, later)
    found = matcher.push(None, later)
    assert found.keys() == {"query_1", "query_3"}
    assert len(matcher.snapshot()) < len(only.snapshot()) + 1_000
    for one, other in (("query_1", "query_1"), ("query_3", "query_2")):
        assert found[one].to_arrow().equals(wanted[other].to_arrow()) and len(found[one])
    matcher.remove("query_1")
    again = matcher.script.restore(matcher.snapshot())
    (last,) = matcher.push(None, rows(3_050, 3_100)).values()
    (same,) = again.push(None, rows(3_050, 3_100)).values()
    assert last.to_arrow().equals(same.to_arrow()) and len(last)


def test_a_snapshot_of_others_that_are_together_is_refused() -> None:
    matcher = opened(f"{PATTERN} WITHIN 9", f"{PATTERN} WITHIN 6", "EVENT A a")
    state = from_bytes(matcher.snapshot())
    assert state["joint"] == [[["query_1", "query_2"], ["B"], {}, False]]
    for names in (["query_1", "query_3"], ["query_1", "query_9"], ["query_1", "query_1"], []):
        with pytest.raises(SnapshotError, match="changed"):
            matcher.script.restore(to_bytes({**state, "joint": [[names, ["B"], {}, False]]}))
