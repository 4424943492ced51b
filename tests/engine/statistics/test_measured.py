"""For everything, statistics are the counts event by event."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from sase.engine.statistics import measured
from sase.planning.statistics import Statistics
from tests.engine.statistics.brute_force import agree, chains, loaded, of_type, share, statistics

RANDOM = random.Random(3)
COUNT = 240
EVENTS = pa.table(
    {
        "ts": [number // 2 for number in range(COUNT)],
        "type": [RANDOM.choice("ABCD") for _ in range(COUNT)],
        "k": [RANDOM.choice([None, 0, 1, 2, 2]) for _ in range(COUNT)],
        "s": [RANDOM.choice(["x", "y", "z", "z"]) for _ in range(COUNT)],
        "v": [RANDOM.choice([None, RANDOM.random()]) for _ in range(COUNT)],
        "n": [number % 7 for number in range(COUNT)],
    }
)
A, B, C = (of_type(EVENTS, name) for name in "ABC")


def test_the_whole_and_the_types() -> None:
    found = statistics("EVENT SEQ(A a, B b) WHERE [k] AND a.v > 0.5", EVENTS)
    assert (found.rows, found.first, found.last, found.span) == (COUNT, 0, 119, 120)
    assert (found.source, found.sampled) == ("all events", COUNT)
    counts = {each: EVENTS["type"].to_pylist().count(each) for each in "ABCD"}
    assert {each.name: each.rows for each in found.types} == counts
    assert {each.name for each in found.types if each.attributes} == {"A", "B"}


def test_attributes() -> None:
    found = statistics("EVENT SEQ(A a, B b) WHERE [k] AND a.v > 0.5 AND a.s = 'x'", EVENTS)
    of_a = found.type("A")
    assert of_a is not None
    for name in ("k", "v", "s"):
        values = [row[name] for row in A if row[name] is not None]
        attribute = of_a.attribute(name)
        assert attribute is not None
        assert attribute.nulls == pytest.approx(1 - len(values) / len(A))
        assert attribute.distinct == len(set(values))
        pairs = [a == b for i, a in enumerate(values) for b in values[:i]]
        assert attribute.agreement == pytest.approx(sum(pairs) / len(pairs))
        if name == "s":
            assert attribute.quantiles == ()
        else:
            assert len(attribute.quantiles) == 11
            assert attribute.quantiles[0] == min(values)
            assert attribute.quantiles[-1] == max(values)
            assert list(attribute.quantiles) == sorted(attribute.quantiles)


def test_texts_are_plain_or_in_a_dictionary() -> None:
    texts = EVENTS.set_column(3, "s", EVENTS["s"].dictionary_encode())
    for table, is_plain in ((EVENTS, True), (texts, False)):
        of_a = statistics("EVENT SEQ(A a, B b) WHERE [k] AND a.s = 'x'", table).type("A")
        assert of_a is not None
        assert {each.name: each.plain for each in of_a.attributes} == {"k": False, "s": is_plain}


def test_decimals_have_their_point() -> None:
    table = pa.table(
        {"ts": [1, 2], "type": ["A", "A"], "p": pa.array(["1.50", "2.25"], pa.string()).cast(
            pa.decimal128(8, 2)
        )}
    )  # fmt: skip
    of_a = statistics("EVENT A a WHERE a.p > 1", table).type("A")
    assert of_a is not None
    assert of_a.attributes[0].quantiles[0::10] == (1.5, 2.25)


def test_admissions() -> None:
    query = "EVENT SEQ(A a, !(B b), C c) WHERE [s = 'z'] AND a.v > 0.5 AND b.n + 1 < 4 AND c.k < 9"
    found = statistics(query, EVENTS)

    def part(rows: list[dict[str, object]], passes: list[bool]) -> float:
        return sum(passes) / len(rows)

    assert found.admission("a") == part(
        A, [r["s"] == "z" and r["v"] is not None and r["v"] > 0.5 for r in A]
    )
    assert found.admission("b") == part(B, [r["s"] == "z" and r["n"] + 1 < 4 for r in B])
    assert found.admission("c") == part(C, [r["s"] == "z" and r["k"] is not None for r in C])
    assert found.admission("nobody") is None


@pytest.mark.parametrize("test", [("k",), ("s",), ("k", "s")])
def test_agreements_of_chains(test: tuple[str, ...]) -> None:
    found = statistics("EVENT SEQ(A a, B b, C c) WHERE [k, s] AND b.n > 1", EVENTS)
    few = [row for row in B if row["n"] > 1]
    assert found.agreement(test, "abc") == pytest.approx(share(chains([A, few, C]), agree(*test)))
    assert found.agreement(test, "bc") == pytest.approx(share(chains([few, C]), agree(*test)))
    assert found.agreement(test, "ab") is None


@pytest.mark.heavy
def test_agreements_of_negative_components() -> None:
    query = "EVENT SEQ(!(D d), A a, !(B b), C c) WHERE [k] AND b.n > 1 WITHIN 999"
    found, few = statistics(query, EVENTS), [row for row in B if row["n"] > 1]
    sets = {"ac": [A, C], "ab": [A, few], "bc": [few, C], "abc": [A, few, C]}
    sets["dac"] = [of_type(EVENTS, "D"), A, C]
    for variables, rows in sets.items():
        expected = share(chains(rows), agree("k"))
        assert found.agreement("k", variables) == pytest.approx(expected)


def test_an_event_does_not_agree_with_itself() -> None:
    found = statistics("EVENT SEQ(A a, A b) WHERE [n]", EVENTS)
    assert found.agreement("n", "ab") == pytest.approx(share(chains([A, A]), agree("n")))


def test_selectivities_are_those_of_chains_that_agree() -> None:
    found = statistics("EVENT SEQ(A a, B b, C c) WHERE [k] AND a.n < c.n AND a.ts < b.ts", EVENTS)
    agreeing = (chain for chain in chains([A, C]) if agree("k")(*chain))
    expected = share(agreeing, lambda a, c: a["n"] < c["n"])
    assert found.selectivity("a.n < c.n") == pytest.approx(expected, abs=0.03)
    order = found.selectivity("a.ts < b.ts")
    assert order is not None
    assert 0.99 < order < 1


def test_selectivities_of_negative_components() -> None:
    found = statistics("EVENT SEQ(A a, !(B b), C c) WHERE b.n < c.n AND c.n > 3", EVENTS)
    late = [row for row in C if row["n"] > 3]
    expected = share(chains([B, late]), lambda b, c: b["n"] < c["n"])
    assert found.selectivity("b.n < c.n") == pytest.approx(expected, abs=0.03)


@pytest.mark.heavy
def test_selectivities_of_the_events_of_a_series() -> None:
    """Of the first event, of one and the one before, and of the first and last beside another."""
    conditions = {
        "b[1].n % 5 = 0": share(chains([B]), lambda b: b["n"] % 5 == 0),
        "b[i].n > b[i-1].n": share(chains([B, B]), lambda before, b: b["n"] > before["n"]),
        "c.n < b[b.len].n": share(chains([B, C]), lambda b, c: c["n"] < b["n"]),
        "b[i].n > b[1].n": share(
            chains([[row for row in B if row["n"] % 5 == 0], B]), lambda b, i: i["n"] > b["n"]
        ),
        "a.n + c.n > b[1].n + b[i].n": share(
            chains([A, [row for row in B if row["n"] % 5 == 0], B, C]),
            lambda a, b, i, c: a["n"] + c["n"] > b["n"] + i["n"],
        ),
    }
    found = statistics(f"EVENT SEQ(A a, B+ b[], C c) WHERE {' AND '.join(conditions)}", EVENTS)
    for condition, expected in conditions.items():
        assert found.selectivity(condition) == pytest.approx(expected, abs=0.03), condition


def test_a_bound_of_all_events_so_far_is_one_of_the_new_event() -> None:
    conditions = {
        "max(b[..i].n) < 6": share(chains([B]), lambda b: b["n"] < 6),
        "a.n < min(b[..i].n)": share(chains([A, B]), lambda a, b: a["n"] < b["n"]),
    }
    found = statistics(f"EVENT SEQ(A a, B+ b[], C c) WHERE {' AND '.join(conditions)}", EVENTS)
    for condition, expected in conditions.items():
        assert found.selectivity(condition) == pytest.approx(expected, abs=0.03), condition


def test_what_is_said_of_a_whole_series_is_not_measured() -> None:
    conditions = [
        "sum(b[].n) > a.n", "b[i].n > max(b[..i-1].n)", "b.len > a.n", "max(b[..i].n) > 3",
        "min(b[..i].n) < a.n", "max(b[].n) < 9", "max(b[..i].n) < 9 + min(b[..i].n)",
    ]  # fmt: skip
    found = statistics(f"EVENT SEQ(A a, B+ b[], C c) WHERE {' AND '.join(conditions)}", EVENTS)
    assert found.selectivities == ()


def test_conditions_on_texts() -> None:
    found = statistics("EVENT SEQ(A a, B b) WHERE a.s <= b.s AND a.s LIKE 'z%'", EVENTS)
    some = [row for row in A if row["s"] == "z"]
    assert found.admission("a") == pytest.approx(len(some) / len(A))
    expected = share(chains([some, B]), lambda a, b: a["s"] <= b["s"])
    assert found.selectivity("a.s <= b.s") == pytest.approx(expected, abs=0.03)


def test_texts_of_a_sample() -> None:
    """With a dictionary that is longer than the sample."""
    words = [f"{number % 5}-{number}" for number in range(5000)]
    table = pa.table({"ts": range(5000), "type": ["A", "B"] * 2500, "s": words})
    query = "EVENT SEQ(A a, B b) WHERE a.s < b.s AND a.s LIKE '0%'"
    found = statistics(query, table.set_column(2, "s", table["s"].dictionary_encode()), 1000)
    assert found.admission("a") == pytest.approx(0.2, abs=0.05)
    assert found.selectivity("a.s < b.s") == pytest.approx(0.9, abs=0.05)


# ---------------------------------------------------------------- types that differ

TYPED = {
    "A": pa.table({"ts": range(0, 60, 2), "k": [n % 3 for n in range(30)], "m": [1] * 30}),
    "B": pa.table({"ts": range(1, 61, 2), "k": [n % 2 for n in range(30)]}),
    "C": pa.table({"ts": range(60, 90), "m": [n % 2 for n in range(30)]}),
}


def test_who_does_not_declare_an_attribute_agrees() -> None:
    found = statistics("EVENT SEQ(A a, B b, C c) WHERE [k] AND [m]", TYPED)
    rows = {name: table.to_pylist() for name, table in TYPED.items()}
    pairs = share(chains([rows["A"], rows["B"]]), agree("k"))
    # No condition is on c, but all of its events are later.
    assert found.agreement("k", "abc") == pytest.approx(pairs)
    assert found.agreement("k", "bc") == 1.0
    both = share(chains([rows["A"], rows["C"]]), agree("m")) * pairs
    assert found.agreement(("k", "m"), "abc") == pytest.approx(both)


def test_a_type_that_does_not_occur_is_not_known() -> None:
    found = statistics("EVENT SEQ(A a, NONE n, B b) WHERE [k]", EVENTS)
    assert found.admission("n") is None
    assert found.agreement("k", "nb") is None
    assert found.agreement("k", "anb") is None


def test_no_events() -> None:
    assert statistics("EVENT SEQ(A a, B b) WHERE [k]", EVENTS.slice(0, 0)) == Statistics(
        0, source="all events"
    )


def test_no_event_of_the_query() -> None:
    found = statistics("EVENT SEQ(NONE a, NO b) WHERE [k] AND a.n < b.n AND a.n > 1", EVENTS)
    assert found.rows == COUNT
    assert (found.admissions, found.agreements, found.selectivities) == ((), (), ())


def test_components_of_every_type() -> None:
    found = statistics("EVENT SEQ(ANY(A, D) a, B b) WHERE [k]", EVENTS)
    some = of_type(EVENTS, "A") + of_type(EVENTS, "D")
    assert found.agreement("k", "ab") == pytest.approx(share(chains([some, B]), agree("k")))


def test_tests_that_are_given() -> None:
    plan, events = loaded("EVENT SEQ(A a, B b) WHERE [k, s]", EVENTS)
    found = measured(plan, events, tests=plan.scan.tests[:1])
    assert {each.attributes for each in found.agreements} == {("k",)}


def test_the_seed_decides() -> None:
    plan, events = loaded("EVENT SEQ(A a, B b) WHERE [k] AND a.n < b.n WITHIN 9", EVENTS)
    found = [measured(plan, events, sample=100, seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert found[0].source == "a sample"
    assert 0 < found[0].sampled <= 100
