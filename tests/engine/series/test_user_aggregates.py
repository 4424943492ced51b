"""Aggregates that users add: their meaning, on every way of running, and the refused ones."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

import sase
from sase.errors import BindingError, PlanError, SnapshotError
from tests.drawing.hunt import fault, told
from tests.drawing.ways import OF_RUNS
from tests.engine.series.defining import cases
from tests.seeds import draw_numbers
from tests.user_aggregates import added_here, define, define_all, without

ONE = settings().max_examples
NUMBERS = draw_numbers(ONE * 5)
PARTS = 5
PLANS = ("basic", "optimized", *OF_RUNS)
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    with added_here():
        yield


def rows(*values: Any, **more: list[Any]) -> list[dict[str, Any]]:
    columns = {"v": list(values), **more}
    return [
        {"ts": ts, "type": "A", **{name: column[ts] for name, column in columns.items()}}
        for ts in range(len(values))
    ]


def returned(query: str, events: Any, **options: Any) -> list[Any]:
    """The values of the one column of RETURN."""
    return [row["r"] for row in sase.match(query, events, **options).to_pylist()]


# ---------------------------------------------------------------- against the naive matcher


@pytest.mark.heavy
@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number, example, way in cases(iter(NUMBERS[part::PARTS])):
        assert fault(example, way) is None, told(number, example, way)


# ---------------------------------------------------------------- the problems of the papers


def composed(word: tuple[tuple[int, ...], ...]) -> int:
    """Where the permutations of a word lead the point 1."""
    point = 1
    for images in word:
        point = images[point - 1]
    return point


@pytest.mark.heavy
@pytest.mark.parametrize("plan", PLANS)
def test_the_word_problem_of_s5(plan: str) -> None:
    """The complete problem of NC1 for strict contiguity (descriptive complexity, Lemma 3.1)."""
    define(
        "orbit", 1, lambda v, p1, p2, p3, p4, p5: (p1, p2, p3, p4, p5)[v - 1],
        kinds=("integer",) * 6,
    )  # fmt: skip
    query = (
        "EVENT L+ a[] WHERE strict_contiguity { orbit(a[].(p1, p2, p3, p4, p5)) = 1 }"
        " HAVING a.len = :n"
    )
    swap, turn = (2, 1, 3, 4, 5), (2, 3, 4, 5, 1)
    words = [word for length in range(1, 6) for word in product((swap, turn), repeat=length)]
    words += [tuple(Random(n).choices((swap, turn), k=6 + n % 3)) for n in range(40)]
    found = 0
    for word in words:
        events = [
            {"ts": ts, "type": "L", **{f"p{n}": image for n, image in enumerate(images, 1)}}
            for ts, images in enumerate(word)
        ]
        matches = sase.match(query, events, params={"n": len(word)}, plan=plan)
        assert len(matches) == (composed(word) == 1), word
        found += len(matches)
    assert 10 < found < len(words) - 10


@pytest.mark.heavy
@pytest.mark.parametrize("plan", PLANS)
def test_more_as_than_bs(plan: str) -> None:
    """A query of a language that is not regular; the sum as an aggregate of one's own."""
    define("surplus", 0, lambda more, s: more + s, kinds=("integer", "integer"))
    query = "EVENT L+ a[] WHERE strict_contiguity { surplus(a[].s) > 0 } HAVING a.len = :n"
    for length in (1, 4, 5):
        for word in product((1, -1), repeat=length):
            events = [{"ts": ts, "type": "L", "s": s} for ts, s in enumerate(word)]
            for asked in (query, query.replace("surplus", "sum")):
                matches = sase.match(asked, events, params={"n": length}, plan=plan)
                assert len(matches) == (sum(word) > 0), word


@pytest.mark.parametrize("plan", PLANS)
def test_ordered_reachability(plan: str) -> None:
    """Lemma 3.2: a path is a series of edges, each of which begins where the last one has led.

    The aggregate holds the end of the path, and -1 where the edges make none.
    """
    define(
        "led_to", 1, lambda at, tail, head: head if tail == at else -1,
        kinds=("integer", "integer", "integer"),
    )  # fmt: skip
    edges = [(1, 2), (2, 3), (2, 4), (4, 5)]
    events = [
        {"ts": ts, "type": "E", "tail": tail, "head": head} for ts, (tail, head) in enumerate(edges)
    ]
    any_match = "EVENT E+ a[] WHERE skip_till_any_match { led_to(a[].(tail, head)) = 5 }"
    found = sase.match(any_match, events, plan=plan)
    assert found.rows.column("a").to_pylist() == [[0, 2, 3]]
    # Under skip till next match the path must take 2 → 3 after 1 → 2.
    next_match = any_match.replace("any", "next").replace(
        "led_to(", "led_to(a[..i].(tail, head)) > 0 AND led_to("
    )
    assert len(sase.match(next_match, events, plan=plan)) == 0
    # The same by conditions of the language alone.
    plain = "a[1].tail = 1 AND a[i].tail = a[i-1].head AND a[a.len].head = 5"
    both = (any_match, next_match)
    by_hand = [re.sub(r"\{.*\}", f"{{ {plain} }}", query) for query in both]
    assert [len(sase.match(query, events, plan=plan)) for query in by_hand] == [1, 0]
    events[1]["tail"], events[1]["head"] = 3, 5
    assert len(sase.match(by_hand[1], events, plan=plan)) == 1
    found = sase.match(next_match, events, plan=plan)
    assert found.rows.column("a").to_pylist() == [[0, 2, 3]]


# ---------------------------------------------------------------- values


def test_states_of_every_kind() -> None:
    """By each plan, all in one query: the functions are compiled once for a plan."""
    define_all()
    expected: dict[str, Any] = {
        "hashed": 7 * 31 * 31 % 1009 + 31 * 1 + 2, "is_odd": True, "decay": 2.5, "slope": 2.0,
    }  # fmt: skip
    query = f"EVENT A{{2}} a[] RETURN {', '.join(f'{n}(a[].v) AS {n}' for n in expected)}"
    for plan in PLANS:
        (found,) = sase.match(query, rows(1, 2), plan=plan).to_pylist()
        for name, value in expected.items():
            assert found[name] == value and type(found[name]) is type(value), (plan, name)
    assert returned("EVENT A{2} a[] RETURN cross(a[].(v, w)) AS r", rows(1, 2, w=[3, 4])) == [-5]


def test_null_is_skipped_and_nothing_is_null() -> None:
    define_all()
    query = "EVENT SEQ(A a, B* b[], A c) RETURN hashed(b[].v) AS r"
    events = [
        {"ts": ts, "type": kind, "v": v, "w": 1}
        for ts, (kind, v) in enumerate([("A", 1), ("B", None), ("B", 5), ("A", 1)])
    ]
    # None of the two, both, and each by itself.
    assert sorted(map(str, returned(query, events))) == ["222", "222", "None", "None"]
    pair = query.replace("hashed(b[].v)", "cross(b[].(w, v))")
    assert sorted(map(str, returned(pair, events))) == ["-3", "-3", "None", "None"]


def test_floats_take_integers_and_decimals() -> None:
    define_all()
    query = "EVENT A{2} a[] RETURN decay(a[].v) AS r"
    assert returned(query, rows(1, 2)) == [2.5]
    from decimal import Decimal

    table = pa.table({"ts": [1, 2], "type": ["A", "A"], "v": [Decimal("0.10"), Decimal("0.30")]})
    assert returned(query, table) == [0.1 * 0.5 + 0.3]


def test_what_raises_is_null_with_a_warning() -> None:
    """By each plan; the functions are compiled once."""
    define_all()
    listed = "EVENT A{2,3} a[] WHERE strict_contiguity RETURN checked(a[].v) AS r"
    chosen = "EVENT A+ a[] WHERE strict_contiguity HAVING slope(a[].v) = 2 RETURN a.len AS r"
    for plan in PLANS:
        matches = sase.match(
            listed, rows(9.0, 1.0, 2.0), plan=plan
        )  # the following values are NULL, too
        found = sorted(str(row["r"]) for row in matches.to_pylist())
        assert found == ["3.0", "None", "None"], plan
        (warning,) = matches.report.warnings
        assert re.fullmatch(r"`checked\(a\[\]\.v\)` raised \d+ times .* in row 0", warning), plan
        matches = sase.match(chosen, rows(1.0, 2.0), plan=plan)
        assert [row["r"] for row in matches.to_pylist()] == [2], plan
        assert "`slope(a[].v)` raised 2 times" in matches.report.warnings[0], plan


def test_an_index_that_is_not_there_raises() -> None:
    define("picked", 0, lambda s, v: (10, 20, 30)[v], kinds=("integer", "integer"))
    found = sase.match("EVENT A a[] RETURN picked(a[].v) AS r".replace("A a", "A{1} a"), rows(2, 3))
    assert [row["r"] for row in found.to_pylist()] == [30, None]
    assert "raised 1 times" in found.report.warnings[0]


def test_a_type_that_does_not_declare_an_attribute_makes_the_condition_true() -> None:
    define_all()
    events = {
        "A": [{"ts": 1, "v": 1, "w": 1}, {"ts": 2, "v": 2, "w": 1}],
        "B": [{"ts": 3, "v": 2}],
    }
    query = "EVENT ANY(A, B){2} a[] WHERE cross(a[].(v, w)) = 99"
    assert len(sase.match(query, events, type=None)) == 2  # the pairs with the B


# ---------------------------------------------------------------- plans, snapshots, pickles

QUERY = "EVENT A+ a[] WHERE strict_contiguity { hashed(a[..i].v) > 0 } RETURN hashed(a[].v) AS r"
SCHEMA = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64())])


def compiled() -> sase.Plan:
    define_all()
    return sase.compile(QUERY, SCHEMA)


def test_a_plan_names_its_aggregates() -> None:
    plan = compiled()
    text = plan.to_json()
    assert sase.Plan.from_json(text) == plan
    copied = pickle.loads(pickle.dumps(plan))
    assert copied.run(rows(1, 2)).to_pylist() == plan.run(rows(1, 2)).to_pylist()
    pickle.dumps(plan)  # opened plans, too, whatever the functions are
    with without("hashed"):
        with pytest.raises(PlanError, match="the aggregate `hashed`, which was not added here"):
            sase.Plan.from_json(text)
        fresh = pickle.loads(pickle.dumps(copied))
        with pytest.raises(PlanError, match="`hashed`, which was not added here"):
            fresh.open()


def test_matches_are_pickled_without_the_functions() -> None:
    define_all()
    matches = sase.match(QUERY, rows(1, 2, 3))
    assert pickle.loads(pickle.dumps(matches)).to_pylist() == matches.to_pylist()
    assert len(matches) == 6


def test_another_aggregate_of_the_name_is_no_part_of_the_plan() -> None:
    plan = compiled()
    text = plan.to_json()
    with without("hashed"):
        sase.aggregate("hashed", 0.0, lambda s, v: s + v)
        with pytest.raises(PlanError, match="`hashed` is not the one with which this plan"):
            sase.Plan.from_json(text)


def test_states_are_in_snapshots() -> None:
    plan = compiled()
    whole = plan.run(rows(1, 2, 3, 4)).to_pylist()
    events = pa.Table.from_pylist(rows(1, 2, 3, 4))
    matcher = plan.open()
    found = matcher.push(events.slice(0, 2)).to_pylist()
    snapshot = matcher.snapshot()
    matcher = plan.restore(snapshot)
    found += matcher.push(events.slice(2)).to_pylist() + matcher.finish().to_pylist()
    assert found == whole
    with without("hashed"):
        # Of the same kinds, so that it is the plan's, but its states are others.
        sase.aggregate("hashed", 8, lambda s, v: s + v)
        other = sase.compile(QUERY, SCHEMA)
        with pytest.raises(SnapshotError):
            other.restore(snapshot)


def test_the_aggregate_of_an_open_plan_stays() -> None:
    plan = compiled()
    expected = plan.run(rows(1, 2)).to_pylist()
    with without("hashed"):
        assert plan.run(rows(1, 2)).to_pylist() == expected
        sase.aggregate("hashed", 0, lambda s, v: s + v)
        assert plan.run(rows(1, 2)).to_pylist() == expected
        assert returned(QUERY, rows(1, 2)) == [1, 2, 3]


# ---------------------------------------------------------------- other ways to ask

TWO = (
    "EVENT SEQ(A+ a[], B b) WHERE skip_till_any_match { cross(a[].(v, w)) > 0"
    " AND a[i].v >= hashed(a[..i-1].v) - 300 } WITHIN 9 HAVING slope(a[].v) > -1"
)


def of_two_types(count: int) -> list[dict[str, Any]]:
    return [{"ts": ts, "type": "AB"[ts % 3 == 2], "v": ts % 4, "w": ts % 3} for ts in range(count)]


def test_sets_of_matches_are_those_that_are_listed() -> None:
    define_all()
    listed = sase.match(TWO, of_two_types(12)).rows
    assert len(listed) > 10
    compressed = sase.match(TWO, of_two_types(12), output="compressed")
    assert compressed.count() == sase.match(TWO, of_two_types(12), output="count")
    assert compressed.count() == len(listed)


def test_explain_shows_what_is_asked_and_what_raised() -> None:
    define_all()
    text = str(sase.explain(TWO, of_two_types(12), analyze=True))
    assert ": cross(a[].(v, w)) > 0" in text
    assert "HAVING slope(a[].v) > -1" in text
    assert "`slope(a[].v)` raised" in text


def test_strategies_are_compared() -> None:
    define_all()
    query = "EVENT SEQ(A+ a[], B b) WHERE cross(a[].(v, w)) > 0 AND decay(a[].v) > 1 WITHIN 6"
    found = str(sase.compare(query, of_two_types(12)))
    for name in ("strict_contiguity", "skip_till_next_match", "skip_till_any_match"):
        where = query.replace("WHERE ", f"WHERE {name} {{ ").replace(" WITHIN", " } WITHIN")
        assert re.search(rf"{name} +{len(sase.match(where, of_two_types(12)))} ", found)


def test_why_there_is_no_match() -> None:
    define_all()
    query = (
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { cross(a[].(v, w)) > 100"
        " AND decay(a[].v) > 1 } WITHIN 6"
    )
    text = str(sase.why(query, of_two_types(12)))
    assert re.search(r"cross\(a\[\]\.\(v, w\)\) is -?\d+: by \d+", text)


# ---------------------------------------------------------------- refusals


def refused(query: str) -> str:
    with pytest.raises(BindingError) as error:
        sase.match(query, rows(1, 2, w=["x", "y"]))
    return str(error.value)


def test_a_name_that_is_mistyped_has_the_nearest_proposed() -> None:
    define_all()
    assert "did you mean `hashed`?" in refused("EVENT A+ a[] HAVING hashd(a[].v) > 1")
    assert "sase.aggregate('unheard_of', …)" in refused("EVENT A+ a[] HAVING unheard_of(a[].v) > 1")


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("cross(a[].v)", "cross takes 2 attributes, and here is one"),
        ("hashed(a[].(v, w))", "hashed takes one attribute, and here are 2"),
        ("avg(a[].(v, v))", "avg takes one attribute, and here are 2"),
        ("a[1].(v, v)", "`(v, v)` are 2 attributes, and a single value is needed here"),
        ("hashed(a[].w)", "hashed does not take `w`: it is a string"),
        ("hashed(a[])", "hashed needs attributes of the events"),
        ("hashed(a[1].v)", "hashed is an aggregate: it takes a range of a series"),
        ("cross(a[].(v, u))", "the events have no column `u`"),
    ],
)
def test_calls_that_are_none(called: str, said: str) -> None:
    define_all()
    assert said in refused(f"EVENT A+ a[] HAVING {called} > 1")


async def waits(state: int, value: int) -> int:
    return state + value


def yields(state: int) -> Iterator[int]:
    yield state


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "avg"}, "`avg` is a function of the language"),
        ({"name": "Coalesce"}, "`coalesce` is a function of the language"),
        ({"name": "two words"}, "cannot name an aggregate"),
        ({"start": "x"}, "start='x': a state is an integer of 64 bits, a float or a boolean"),
        ({"start": 1 << 63}, "a state is an integer of 64 bits"),
        ({"start": (0,) * 5}, "a state has one to 4 parts"),
        ({"step": 3}, "step=3: this is no function"),
        ({"step": waits}, "its step waits or yields: give a plain function, which returns"),
        ({"result": yields}, "its result waits or yields"),
        ({"step": lambda state: state}, "its step is called with 2 arguments"),
        ({"over": 2}, "its step is called with 3 arguments"),
        ({"over": 0}, "over=0: it is over at least one attribute"),
        ({"result": lambda: 1}, "its result is called with 1 argument, as  result(state)"),
        ({"kinds": ("integer",)}, "give one for each of 1 attributes, and then that of the value"),
        ({"kinds": ("integer", "integr")}, "there is no kind 'integr': did you mean `integer`?"),
        ({"kinds": ("integer", "float")}, "its state is not its value"),
        ({"start": (0, 0)}, "its state has several parts: say  kinds="),
        ({"trend": "risin"}, "trend='risin': did you mean `rising`?"),
    ],
)  # fmt: skip
def test_what_can_be_no_aggregate(given: dict[str, Any], said: str) -> None:
    known = {"name": "made", "start": 0, "step": lambda state, value: state + value}
    with pytest.raises(PlanError, match=re.escape(said)):
        sase.aggregate(**{**known, **given})


@pytest.mark.parametrize(
    ("start", "step", "result", "said"),
    [
        (0, lambda s, v: s + 0.5, None, "its step gives a float, and must give an integer"),
        (0, lambda s, v: v > 1, None, "its step gives a boolean, and must give an integer"),
        (0, lambda s, v: None, None, "its step gives nothing, and must give an integer"),
        (0, lambda s, v: (s, v), None, "its step gives (an integer, an integer), and must"),
        (0, lambda s, v: s, lambda s: s > 1, "its result gives a boolean, and must give"),
        (0, lambda s, v: s + Random(v).choice((1, 2)), None, "its step cannot be compiled"),
        (0, lambda s, v, w=3: s + v + w, None, "its step cannot be compiled: Signature mismatch"),
        (0, max, None, "its step cannot be compiled: The decorated object is not a function"),
        (0, lambda s, v: s, abs, "its result cannot be compiled: The decorated object is not"),
    ],
)  # fmt: skip
def test_a_function_that_gives_what_it_must_not(
    start: Any, step: Any, result: Any, said: str
) -> None:
    sase.aggregate("made", start, step, result)
    with pytest.raises(PlanError, match=re.escape(f"aggregate `made`: {said}")):
        sase.match("EVENT A+ a[] HAVING made(a[].v) > 1", rows(1)).to_pylist()


def test_the_example_of_the_page_is_real() -> None:
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page, re.S) if "sase.aggregate" in b)
    *body, last = block.strip().splitlines()
    known: dict[str, Any] = {}
    exec("\n".join(body), known)
    code, _, said = last.partition("#")
    assert eval(code, known) == eval(said)
