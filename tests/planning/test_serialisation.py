"""Plans survive JSON and pickle; a damaged text is refused, and says where."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from math import inf
from random import Random
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.binding import OPEN, Schema, bind_text, bound, types
from sase.binding import schema as binding_schema
from sase.binding.bound import BoundComponent, Constant, EquivalenceTest
from sase.binding.schema_file import schema_from
from sase.binding.types import FLOAT, INTEGER, DataType, Kind
from sase.errors import PlanError
from sase.planning.optimizer import optimized
from sase.planning.plan import match_windows, negatives, nodes
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import Operator, SequenceScan
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.serialisation import encoded, fingerprint, plan_from_json, plan_to_json

TABLE = schema_from({"columns": dict.fromkeys(["ts", "k", "m", "v", "w"], "integer")})
INTERVALS = Schema(time="lo", until="hi")
TYPED = schema_from(
    {
        "time": "at",
        "seq": "no",
        "types": {
            "A": {"at": "timestamp(us)", "k": "integer", "name": "string", "price": "decimal"},
            "B": {"at": "timestamp(us)", "k": "integer", "name": "string", "day": "date"},
            "C": {"at": "timestamp(us)", "price": "float", "open": "boolean"},
        },
    }
)
DEFINED = schema_from(
    {
        "time_unit": "ms",
        "columns": {"ts": "integer", "reader": "string"},
        "definitions": {"In": "reader LIKE 'I%'", "Out": "reader LIKE 'O%'"},
    }
)
GIVEN = {"n": 7, "x": inf, "y": -0.0, "text": "é", "t": datetime(2026, 1, 1, tzinfo=UTC)}
GIVEN |= {"d": timedelta(minutes=5), "none": None, "yes": True}


class Query(NamedTuple):
    """A text with the schema and the parameters that it is bound to."""

    text: str
    schema: Schema = TABLE
    given: dict[str, Any] | None = None


QUERIES = [
    Query("EVENT A a"),
    Query("EVENT SEQ(A a, B b) WHERE [k, m] AND a.v = 1 AND a.w < b.w WITHIN 6"),
    Query("EVENT SEQ(!(N n), A a, !(M m), B b, !(O o)) WHERE [k] AND n.v > 3 WITHIN 9 INCLUSIVE"),
    Query("EVENT SEQ(A a, !(N n), B b) WHERE [k, m = 4] AND n.v > a.v WITHIN 100 EVENTS"),
    Query("EVENT SEQ(A a, B b, C c) WHERE [k, m] WITHIN 5 EVENTS PER PARTITION LIMIT 10"),
    Query("EVENT SEQ(ANY(A, B) a, ANY c) WHERE a.price > 1.5 OR c.open WITHIN 1.5 hours", TYPED),
    Query(
        "EVENT SEQ(A a, B b) WHERE a.name LIKE 'x%' AND b.name NOT IN ('p', 'q')"
        " AND (a.k IS NULL OR b.k BETWEEN 1 AND a.k + 2) AND lower(a.name) != upper(b.name)",
        TYPED,
    ),
    Query(
        "EVENT SEQ(A a, B b) WHERE b.at - a.at < 5 minutes AND a.at > TIMESTAMP '2026-01-31 12:00'"
        " AND b.day = DATE '2026-01-31' WITHIN 12 hours",
        TYPED,
    ),
    Query("EVENT SEQ(In i, Out o) WHERE o.ts - i.ts > 2 s RETURN i.reader, o.ts AS left", DEFINED),
    Query("EVENT SEQ(A a, B b) WHERE [k = :n] AND a.x < :x AND b.x IN (:y, 1e400, :none)", OPEN),
    Query(
        "EVENT SEQ(A a, B b) WHERE [k = :n] AND a.x < :x AND b.x NOT IN (:y, 1e400, :none)"
        " AND a.s LIKE :text AND b.t < :t + :d AND a.open = :yes WITHIN :n minutes LIMIT :n",
        OPEN,
        GIVEN,
    ),
    Query("EVENT SEQ(A a, B b) WHERE a.v % 2 = 0 AND -b.v > abs(a.v) WITHIN :t LIMIT :n", OPEN),
    Query("EVENT SEQ(A a, B b) WHERE 1 = 2 AND coalesce(a.v, 9223372036854775807) > 0"),
    Query("EVENT SEQ(A a, B b) WHERE CASE WHEN a.v > b.v THEN 1 ELSE b.v END = 1 RETURN a.v > 1"),
    Query("EVENT SEQ(A a, B b) WHERE a.v > 1 RETURN Alert(a.v AS v, (b.v + 1) / 3 AS r) LIMIT 3"),
    Query(
        "EVENT SEQ(A+ a[], B? b, C c) WHERE skip_till_next_match { [k] AND a[i].v > a[i-1].v"
        " AND a[i].w > avg(a[..i-1].w) AND c.v > a[1].v AND c.w > a[i].w } WITHIN 60"
        " HAVING sum(a[].v) > 5 AND max(a[].v) > 2 RETURN a[a.len].v AS last, count(a[]) AS n,"
        " median(a[].v) AS m, a[2].w AS w, a[].k AS ks"
    ),
    Query("EVENT SEQ(A a, (B b OR C+ c[])?, D d) WHERE [k] AND a.v < b.v WITHIN 9"),
    Query(
        "EVENT SEQ(A a, (SEQ(B b, !(N n), C+ c[]) OR D d)+ g[], B e) WHERE [k] AND b.v < c[i].v"
        " AND g[i].b.v > g[i-1].b.w AND e.v > g[1].d.v WITHIN 9 RETURN g.len, avg(g[].b.v) AS m"
    ),
    Query(
        "EVENT SEQ(A a, !(N n), SET(B b, C+ c[])) OR SET(C+ c[], A a) WHERE [k] AND a.v < c[i].v"
        " AND b.v < c[1].w WITHIN 9"
    ),
    Query("EVENT SEQ(A a, !(N n), B{2,} b[]) WHERE partition_contiguity { [k] } WITHIN 9"),
    Query("EVENT SEQ(A a, !(SEQ(B b, !(N n), C c)), D d) WHERE [k] AND b.v < a.v WITHIN 9"),
    Query(
        "EVENT SEQ(A a, !(N n), B+ b[]) WHERE b[i].v > b[i-1].v WITHIN 9 WITH CONFIDENCE > 0.9"
        " HAVING confidence < 1",
        INTERVALS,
    ),
]


def frozen(*modules: ModuleType) -> dict[str, type[Any]]:
    """The frozen values that modules define."""
    return {
        name: held
        for module in modules
        for name, held in vars(module).items()
        if is_dataclass(held) and isinstance(held, type) and held.__module__ == module.__name__
    }


CLASSES = frozen(nodes, match_windows, negatives, bound, types, binding_schema)


@cache
def plans() -> list[tuple[Operator, Schema]]:
    """The plan of every query by every recipe, each once."""
    return list(dict.fromkeys(_plans()))


def _plans() -> Iterator[tuple[Operator, Schema]]:
    for text, schema, parameters in QUERIES:
        basic = basic_plan(bind_text(text, schema, parameters=parameters))
        for recipe in recipe_names():
            yield optimized(read_recipe(recipe), basic).plan, schema


@cache
def texts() -> list[str]:
    return [plan_to_json(root, schema, recipe="mine", sizes=[1, 2.5]) for root, schema in plans()]


# ---------------------------------------------------------------- round trips


def test_the_queries_have_many_plans_and_every_kind_of_value() -> None:
    """Each operator, condition and expression is in some text: otherwise the tests say little."""
    found = {name for text in texts() for name in names(json.loads(text))}
    assert len(plans()) > 60
    in_no_plan = {"Value", "Predicate", "BoundQuery", "BoundNegation"}
    in_no_plan |= {"BoundConfidence"}  # its parts are those of an operator
    assert set(CLASSES) - in_no_plan == found - {"float", "Decimal"}
    assert "float" in found


def names(data: object) -> Iterator[str]:
    """The classes that an encoded value names."""
    if isinstance(data, dict):
        yield from [data["is"]] if "is" in data else []
    for part in parts(data):
        yield from names(part)


def parts(data: object) -> list[Any]:
    if isinstance(data, dict):
        return list(data.values())
    return data if isinstance(data, list) else []


def test_a_plan_survives_json_and_keeps_its_fingerprint() -> None:
    for (root, schema), text in zip(plans(), texts(), strict=True):
        stored = plan_from_json(text)
        assert stored.root == root
        assert stored.schema == schema
        assert stored.options == {"recipe": "mine", "sizes": [1, 2.5]}
        assert repr(stored.root) == repr(root)  # 1 and 1.0 and True are equal, their texts are not
        assert plan_to_json(stored.root, stored.schema, **stored.options) == text
        assert fingerprint(text) == json.loads(text)["fingerprint"]


def test_a_plan_survives_pickle_and_is_hashable() -> None:
    for root, schema in plans():
        text = plan_to_json(root, schema)
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            copied = pickle.loads(pickle.dumps((root, schema), protocol))
            assert copied == (root, schema)
            assert hash(copied) == hash((root, schema))
            assert plan_to_json(*copied) == text
        assert copy.deepcopy(root) == root


def test_a_schema_survives_with_what_it_derives() -> None:
    for schema in (OPEN, TABLE, TYPED, DEFINED):
        for copied in (pickle.loads(pickle.dumps(schema)), _read_back(schema)):
            assert copied == schema
            assert hash(copied) == hash(schema)
            assert vars(copied) == vars(schema)


def _read_back(schema: Schema) -> Schema:
    return plan_from_json(plan_to_json(SequenceScan(()), schema)).schema


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((FLOAT, value) for value in (inf, -inf, 5e-324, 0.1, 1e22, 1.7976931348623157e308, -0.0)),
        *((INTEGER, value) for value in (2**63 - 1, -(2**63), 10**2000, 2**53 + 1, 0, 1)),
        *((DataType(Kind.STRING), value) for value in ("", "é", "\ud800", "\0", "inf", "3/2")),
        *((DataType(Kind.BOOLEAN), value) for value in (True, False)),
        (DataType(Kind.NULL), None),
    ],
)
def test_a_constant_survives_exactly(kind: DataType, value: Any) -> None:
    scan = SequenceScan((), values=(EquivalenceTest("a", Constant(kind, value), kind, ()),))
    text = plan_to_json(scan, OPEN)
    test = plan_from_json(text).root.values[0]  # type: ignore[union-attr]
    assert test == scan.values[0]
    assert repr(test.value) == repr(scan.values[0].value)
    assert "Infinity" not in text  # that would be no JSON


def test_nothing_is_left_out_that_has_no_default() -> None:
    """A span, which is not stored, is nowhere in a plan that was read."""
    for field in (field for kind in CLASSES.values() for field in fields(kind)):
        assert field.compare or not field.init or field.default is not MISSING
        assert field.default_factory is MISSING


def nested(depth: int) -> str:
    condition = "a.v = 0"
    for level in range(depth):
        condition = f"a.v = {level} {'AND' if level % 2 else 'OR'} ({condition})"
    return condition


@pytest.mark.parametrize(
    "condition",
    [nested(199), "a.v = " + "abs(" * 197 + "a.w" + ")" * 197],
    ids=["conditions", "functions"],
)
def test_the_deepest_query_survives(condition: str) -> None:
    """A query that the parser allows is not too deep for reading and writing."""
    root = basic_plan(bind_text(f"EVENT A a WHERE {condition}", TABLE))
    assert plan_from_json(plan_to_json(root, TABLE)).root == root


# ---------------------------------------------------------------- the text itself


def test_a_text_is_readable() -> None:
    scan = SequenceScan((BoundComponent(0, "a", True, ("A",)),), stacks=nodes.Stacks.AIS)
    assert encoded(scan) == {
        "is": "SequenceScan",
        "components": [
            {"is": "BoundComponent", "index": 0, "variable": "a", "named": True, "types": ["A"]}
        ],
        "stacks": "AIS",
    }
    assert list(json.loads(plan_to_json(scan, OPEN))) == [
        "format",
        "fingerprint",
        "plan",
        "schema",
        "options",
    ]


PROGRAM = """
from sase.binding import OPEN, bind_text
from sase.planning.plan.basic import basic_plan
from sase.planning.serialisation import fingerprint, plan_to_json
from sase.binding.schema_file import schema_from
schema = schema_from({"types": {"A": {"v": "integer"}, "B": {}, "C": {}, "D": {}, "E": {}}})
plan = basic_plan(bind_text("EVENT SEQ(A a, ANY(A, B, C, D, E) b) WHERE a.v < b.v", schema))
print(fingerprint(plan_to_json(plan, schema)))
"""


def test_a_fingerprint_does_not_depend_on_the_process() -> None:
    """Sets are written in order."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1


def test_a_fingerprint_tells_plans_apart_and_not_layouts() -> None:
    prints = {fingerprint(text) for text in texts()}
    assert len(prints) == len(plans())
    text = texts()[-1]
    turned = json.dumps(dict(reversed(json.loads(text).items())), indent=4, ensure_ascii=False)
    assert fingerprint(turned) == fingerprint(text)
    assert plan_from_json(turned) == plan_from_json(text)
    root, schema = plans()[0]
    assert fingerprint(plan_to_json(root, schema)) != fingerprint(plan_to_json(root, schema, a=1))


# ---------------------------------------------------------------- refusals


def content(plan: object, schema: object = None, **members: object) -> str:
    schema = {"is": "Schema"} if schema is None else schema
    document = {"format": 2, "fingerprint": "", "plan": plan, "schema": schema, "options": {}}
    return json.dumps(document | members)


SCAN = {"is": "SequenceScan", "components": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON.*char 0"),
        ("{", "not valid JSON"),
        ("[]", "a plan is a JSON object that states its `format`"),
        ("{}", "a plan is a JSON object that states its `format`"),
        pytest.param("[" * 100_000, "nested too deeply", id="deep"),
        pytest.param("9" * 5000, "not valid JSON", id="long"),
        (content(SCAN, format=1), "has format 1, not 2: compile its query again"),
        (content(SCAN, format=None), "has format None, not 2"),
        (content(SCAN, more=1), "format, fingerprint, plan, schema, options.*'more'"),
        (content(SCAN, options=[]), "options, an object"),
        ('{"format": 2}', r"this has \['format'\]"),
        (content(SCAN), "changed after it was written"),
        (content({"is": "Popen"}), "plan: this is 'Popen', and may be: MatchWindow, Seq"),
        (content({"is": "Conjunct"}), "plan: this is 'Conjunct', and may be: MatchWindow, "),
        (content({"is": ["Window"]}), r"plan: this is \['Window'\]"),
        (content([]), r"plan: this is \[\], and may be"),
        (content({"is": "SequenceScan"}), "plan: SequenceScan lacks its field `components`"),
        (content(SCAN | {"stakcs": "AIS"}), "no field 'stakcs'; did you mean `stacks`"),
        (content(SCAN | {"stacks": "LIFO"}), r"plan\.stacks: this is 'LIFO', and may be: NFA, AIS"),
        (content({"is": "SequenceScan", "components": 3}), "this is 3, and may be: list"),
        (content({"is": "SequenceScan", "components": [3]}), r"plan\.components\[0\]: this is 3"),
        (content({"is": "Transformation", "input": SCAN, "limit": 1.0}), "int, Placeholder, null"),
        (content({"is": "Transformation", "input": SCAN, "limit": True}), "int, Placeholder, null"),
        (content({"is": "SequenceConstruction", "input": {"is": "Selection"}}), "'Selection'"),
        (content(SCAN, {"is": "Schema", "time_unit": "fortnights"}), "schema: .*is not a unit"),
        (content(SCAN, {"is": "Schema", "columns": [["ts"]]}), "these are 1 items, and must be 2"),
        (content(SCAN, {"is": "Schema", "_by_name": {}}), "Schema has no field '_by_name'"),
        (
            content(SCAN, {"is": "Schema", "columns": [["ts", {"is": "DataType", "kind": "x"}]]}),
            r"schema\.columns\[0\]\[1\]\.kind: this is 'x', and may be: BOOLEAN",
        ),
    ],
)
def test_a_wrong_text_says_where(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=f"(?s){message}"):
        plan_from_json(text)


@pytest.mark.parametrize("amount", ["1e999999999", "1/0", "9" * 1001, "", " 1", "1/-2", "0x1"])
def test_a_fraction_is_read_with_care(amount: str) -> None:
    """Python would compute with the first for hours."""
    window = {"is": "BoundWindow", "kind": "TIME", "amount": amount, "unit": None}
    window |= {"inclusive": False, "size": None}
    with pytest.raises(PlanError, match=r"plan\.window\.amount: this is"):
        plan_from_json(content(SCAN | {"window": window}))


JUNK: list[Any] = [None, True, 0, -1, 2**70, 1.5, inf, "", "x", "AIS", [], {}, [[]], {"is": "All"}]
JUNK += [{"is": "float", "value": "inf"}, {"is": None}, {"is": "Constant"}, "a" * 1000, "\ud800"]


@given(st.randoms(use_true_random=False))
def test_a_damaged_text_is_refused_or_means_the_same(random: Random) -> None:
    """Drop, rename or exchange anything: a `PlanError`, or the plan as it was."""
    text = random.choice(texts())
    document = json.loads(text)
    for _ in range(random.randint(1, 3)):
        damage(document, random)
    try:
        stored = plan_from_json(json.dumps(document))
    except PlanError as error:
        assert str(error)
    else:
        assert stored == plan_from_json(text)


@given(st.randoms(use_true_random=False))
def test_a_forged_text_gives_a_plan_or_an_error(random: Random) -> None:
    """With a fingerprint that fits, the read values have at least the types of the annotations."""
    document = json.loads(random.choice(texts()))
    damage(document["plan"], random)
    damage(document["schema"], random)
    document["fingerprint"] = fingerprint(json.dumps(document))
    try:
        stored = plan_from_json(json.dumps(document))
    except PlanError as error:
        assert str(error)
    else:
        again = plan_to_json(stored.root, stored.schema, **stored.options)
        assert plan_from_json(again) == stored
        hash(stored.root)


def damage(document: Any, random: Random) -> None:
    """Change one place of a document, as deep as chance has it."""
    containers = [found for found in inside(document) if found]
    at, other = random.choice(containers), random.choice(containers)
    key = random.choice(list(at) if isinstance(at, dict) else range(len(at)))
    change = random.choice(["drop", "rename", "exchange", "swap"])
    if change == "exchange":
        at[key] = copy.deepcopy(random.choice(JUNK))
    elif change == "swap":
        at[key] = copy.deepcopy(random.choice(parts(other)))
    elif isinstance(at, dict) and change == "rename":
        at[random.choice(["is", "input", "value", "type", "x", f"{key}s"])] = at.pop(key)
    else:
        del at[key]


def inside(data: object) -> Iterator[Any]:
    """Every object and list of a document."""
    if isinstance(data, dict | list):
        yield data
        for part in parts(data):
            yield from inside(part)
