"""A stored plan is the plan of its query, or is refused with the place of the difference."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import sase
from sase.planning.plan.nodes import reading
from sase.planning.serialisation import fingerprint
from tests.engine.operators.plans import BY_RECIPE, QUERIES, plan_of, stream
from tests.planning.plans import known

KEY = b"0123456789abcdef"


def forged(plan: sase.Plan, change: Callable[[Any], object]) -> str:
    """The text of a plan after a change, with a fingerprint that fits."""
    document = json.loads(plan.to_json())
    change(document)
    document["fingerprint"] = fingerprint(json.dumps(document))
    return json.dumps(document)


def operator(document: Any, name: str) -> Any:
    """The operator of a name in a document."""
    found = document["plan"]
    while found["is"] != name:
        found = found["input"]
    return found


@pytest.mark.parametrize(("query", "recipe"), BY_RECIPE)
def test_every_plan_is_read(query: str, recipe: str) -> None:
    plan = plan_of(query, recipe)
    assert sase.Plan.from_json(plan.to_json()) == plan
    assert sase.Plan.from_json(plan.to_json()).to_json() == plan.to_json()


def test_what_statistics_chose_is_read() -> None:
    """The test to partition by, and the order of conditions."""
    query = "EVENT SEQ(A a, B b, C c) WHERE [id, v] AND a.w < b.w AND a.w * 2 != b.w WITHIN 9"
    table = [{"ts": 0, "type": "A", "id": 1, "v": 2, "w": 3}]
    keys = []
    for first, second in (("id", "v"), ("v", "id")):
        statistics = known(
            A=10, B=10, C=10,
            agreements={(first, "a b c"): 0.001, (second, "a b c"): 0.9},
            selectivities={f"{first}": 0.1, "a.w < b.w": 0.9, "a.w * 2 != b.w": 0.01},
        )  # fmt: skip
        for recipe in ("pais", "predicates_in_construction", "optimized"):
            plan = sase.compile(query, table, plan=recipe, stats=statistics)
            assert sase.Plan.from_json(plan.to_json()) == plan
            keys.append(reading(plan.operators).partitions)
    assert keys[0] != keys[3]  # by `pais`


def test_parameters_are_kept() -> None:
    table = [{"ts": datetime(2024, 1, 1), "type": "A", "v": 1, "s": "x", "f": 1.5, "b": True}]  # noqa: DTZ001 - as frames have them
    query = "EVENT A a WHERE a.v = :i AND a.s = :s AND a.f < :f AND a.b = :b AND a.ts > :t + :d"
    params = {
        "i": 7, "s": "é", "f": float("inf"), "b": True, "d": timedelta(days=3),
        "t": datetime(2024, 1, 2, 3, 4, 5, 6, UTC), "unused": date(1, 1, 1), "none": None,
    }  # fmt: skip
    plan = sase.compile(query, table, params=params)
    again = sase.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.to_json() == plan.to_json()
    assert "params" not in sase.compile("EVENT A a", table).to_json()


def test_limits_and_forms_are_kept() -> None:
    table = stream()
    for keywords in ({"limit": 3}, {"limit": 9}, {"output": "non_overlap"}):
        plan = sase.compile(f"{QUERIES['tests']} LIMIT 5", table, **keywords)  # type: ignore[arg-type]
        assert sase.Plan.from_json(plan.to_json()) == plan


def before(document: Any) -> None:
    operator(document, "Negation")["negations"][0]["before"] = 1000


def component(document: Any) -> None:
    operator(document, "SequenceScan")["components"][1]["index"] = 7


def constant(document: Any) -> None:
    where = operator(document, "Selection")["conditions"][0]["condition"]
    where["right"] = {"is": "Constant", "type": {"is": "DataType", "kind": "INTEGER"}, "value": 5}


@pytest.mark.parametrize(
    ("query", "change", "message"),
    [
        ("a middle", before, r"plan\..*negations\[0\]\.before: this is 1000, and the query .* 1:"),
        ("a window", component, r"plan\..*components\[1\]\.index: this is 7, and the query"),
        ("conditions", constant, r"plan\..*right"),
        ("a window", lambda d: d["options"].update(query="EVENT"), "query: it does not fit"),
        ("a window", lambda d: d["options"].update(query="EVENT A a"), r"plan.*and the query of"),
        ("a window", lambda d: d["options"]["options"].update(stack=1 << 40), "options.stack: "),
        ("a window", lambda d: d["options"].update(lateness=-1), "lateness: this is -1"),
        ("a limit", lambda d: d["plan"].update(limit=8), r"plan.limit: this is 8, and the query"),
        ("a limit", lambda d: d["plan"].update(limit=-1), r"plan.limit: this is -1, and the query"),
        (
            "a window",
            lambda d: d["options"].update(params=[["x", {"is": "Constant", "type":
                {"is": "DataType", "kind": "INTEGER"}, "value": "text"}]]),
            "params: the value of `'x'` is not of its type",
        ),
    ],
)  # fmt: skip
def test_what_the_query_does_not_come_to_is_refused(query: str, change: Any, message: str) -> None:
    with pytest.raises(sase.PlanError, match=f"(?s){message}"):
        sase.Plan.from_json(forged(plan_of(query, "basic"), change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s[0]["call"].update(rewrite="push"), r"steps\[0\]: there is no rewrite 'push'"),
        (
            lambda s: s[0]["call"].update(parameters=[["x", "y"]]),
            r"steps\[0\]: there is no rewrite",
        ),
        (lambda s: s.insert(0, s[0]), r"steps\[1\]: use_active_instance_stacks does not apply: "),
        (lambda s: s.clear(), "plan.*and the query of this plan comes to"),
        (lambda s: s.extend(s * 1000), r"steps: these are \d+, and may be 1000"),
    ],
)
def test_rewrites_that_do_not_lead_there_are_refused(change: Any, message: str) -> None:
    plan = plan_of("a window", "ais")
    with pytest.raises(sase.PlanError, match=message):
        sase.Plan.from_json(forged(plan, lambda d: change(d["options"]["steps"])))


def test_no_schema_is_believed() -> None:
    kind = {"is": "DataType", "kind": "TIMESTAMP", "resolution": "weeks"}
    text = forged(plan_of("a window", "ais"), lambda d: d["schema"]["columns"].append(["x", kind]))
    with pytest.raises(sase.PlanError, match="schema: the type of `x`: there is no resolution"):
        sase.Plan.from_json(text)


def test_halves_of_characters_are_refused() -> None:
    """Whole ones are read, however JSON has them."""
    table = [{"ts": 0, "type": "A", "s": "x"}]
    plan = sase.compile("EVENT A a WHERE a.s = :s", table, params={"s": "\U0001f600"})
    assert sase.Plan.from_json(plan.to_json()) == plan
    text = forged(plan, lambda d: d["schema"].update(time="\ud800"))
    raw = json.dumps(json.loads(text), ensure_ascii=False)
    for each in (text, raw):
        with pytest.raises(sase.PlanError, match=r"half of a character in a text: '\\ud800'"):
            sase.Plan.from_json(each)


def test_no_name_is_there_twice() -> None:
    plan = plan_of("a window", "ais")
    text = forged(plan, lambda d: d["schema"]["columns"].extend(d["schema"]["columns"]))
    with pytest.raises(sase.PlanError, match="schema: columns: 'ts' is there twice"):
        sase.Plan.from_json(text)


# ---------------------------------------------------------------- signatures


def test_a_signed_plan_is_read_by_its_key_alone() -> None:
    plan = plan_of("a window", "optimized")
    signed = plan.to_json(key=KEY)
    assert sase.Plan.from_json(signed, key=KEY) == sase.Plan.from_json(signed) == plan
    for other, message in (
        (plan.to_json(), "this plan is not signed, and a key was given: sign it"),
        (plan.to_json(key=KEY[::-1]), "the signature of this plan does not fit the key: it was"),
        (forged(sase.Plan.from_json(signed), lambda d: None), "this plan is not signed"),
        (signed.replace('"signature": "', '"signature": "0'), "does not fit the key"),
        (signed.replace('"optimized"', '"pais"'), "does not fit the key"),
    ):
        with pytest.raises(sase.PlanError, match=message):
            sase.Plan.from_json(other, key=KEY)


@pytest.mark.parametrize("key", [b"", b"short", "a text of letters", 7])
def test_a_key_is_enough_bytes(key: Any) -> None:
    plan = plan_of("a window", "ais")
    with pytest.raises(sase.PlanError, match="a key is at least 16 bytes, such as"):
        plan.to_json(key=key)
    with pytest.raises(sase.PlanError, match="a key is at least 16 bytes, such as"):
        sase.Plan.from_json(plan.to_json(), key=key)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(sase.PlanError, match="a plan is a text, and this is of type bytes"):
        sase.Plan.from_json(b"{}")  # type: ignore[arg-type]
