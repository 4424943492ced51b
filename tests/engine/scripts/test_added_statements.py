"""A statement that is added joins a running matching if that finds its own matches."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import sase
from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.errors import SnapshotError
from tests.drawing.script_examples import ScriptExample, drawn
from tests.drawing.script_ways import RECIPES, ScriptWay, check
from tests.engine.scripts.test_joint_matching import PATTERN, joint_of, opened, rows, varied
from tests.seeds import draw_numbers, share


def case(number: int) -> tuple[ScriptExample, ScriptWay]:
    """Statements of which some are alike, and some are held back and added."""
    random = Random(number)
    example = varied(random, drawn(number).inputs)
    return example, ScriptWay("grow", random.choice(RECIPES), number)


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(12)))
def test_added_statements_find_what_the_naive_way_does_in_what_comes_then(number: int) -> None:
    check(case, number)


def grown(texts: list[str], added: list[str], given: pa.Table, at: int) -> sase.ScriptMatcher:
    """A matcher to which statements are added behind some rows, one by one; all find the same."""
    matcher = opened(*texts)
    found = [matcher.push(None, given.slice(0, at))]
    names = [name for text in added for name in matcher.add(text)]
    before = {name for part in found for name in part}
    assert not before & {*names}
    found += [matcher.push(None, given.slice(n, 7)) for n in range(at, len(given), 7)]
    for text, name in zip(added, names, strict=True):
        wanted = sase.match(text, given.slice(at))
        told = [part[name] for part in found if name in part]
        tables = [each.to_arrow() for each in told]
        assert pa.concat_tables(tables).to_pylist() == wanted.to_arrow().to_pylist()
        numbers = [row for each in told for row in each.rows.to_pylist()]
        assert [{n: row - at for n, row in each.items()} for each in numbers] == (
            wanted.rows.to_pylist()
        )
    for number, text in enumerate(texts, 1):
        tables = [part[f"query_{number}"].to_arrow() for part in found if f"query_{number}" in part]
        assert (
            pa.concat_tables(tables).to_pylist() == sase.match(text, given).to_arrow().to_pylist()
        )
    return matcher


BOTH = f"{PATTERN} WITHIN 9 RETURN 'v' AS v, b.n AS m, a.s AS s"


def test_one_that_runs_alone_is_joined() -> None:
    texts, added = [BOTH], [f"{PATTERN} WITHIN 40 RETURN a.s AS t, b.n AS k, 2 AS w"]
    matcher = grown(texts, added, rows(0, 200), 50)
    assert joint_of(matcher) == [("query_1", "query_2")]


@pytest.mark.parametrize("turn", [1, -1])
def test_what_is_returned_may_stand_in_another_order(turn: int) -> None:
    values = ["b.f * 2.0 + a.f AS u", "b.ts - a.ts AS t"]
    texts = [f"{PATTERN} WITHIN 9 RETURN {', '.join(some)}" for some in (values[::turn], values)]
    assert joint_of(grown(texts[:1], texts[1:], rows(0, 200), 50)) == [("query_1", "query_2")]


def test_windows_grow_and_shrink_with_who_is_there() -> None:
    added = [f"{PATTERN} WITHIN {window}" for window in (4, 90, 6, 30)]
    matcher = grown([f"{PATTERN} WITHIN 9", f"{PATTERN} WITHIN 6"], added, rows(0, 300), 101)
    assert joint_of(matcher) == [tuple(f"query_{number}" for number in range(1, 7))]
    matcher.remove("query_4")
    assert joint_of(matcher) == [("query_1", "query_2", "query_3", "query_5", "query_6")]
    assert matcher._pipeline.statements["query_1"].matcher.pipeline.plan.windows[0].size == 30


PREFIX = "EVENT SEQ(A a, A b, !(A x), {} c) WHERE [k] AND a.n > 0 AND a.s <= c.s WITHIN {}"


def test_last_types_are_added_whose_events_were_of_no_type_that_is_named() -> None:
    texts = ["EVENT SEQ(A a, ANY b, {} c) WHERE a.n > b.n WITHIN {}".format(*each)
             for each in (("B", 9), ("A", 12), ("ANY(B, A)", 6))]  # fmt: skip
    matcher = grown(texts[:1], texts[1:], rows(0, 200), 60)
    assert joint_of(matcher) == [("query_1", "query_2", "query_3")]
    more = [PREFIX.format(*each) for each in (("B", 9), ("A", 12), ("B", 7))]
    assert joint_of(grown(more[:1], more[1:], rows(0, 200), 60)) == [
        ("query_1", "query_2", "query_3")
    ]


def test_rows_and_warnings_are_those_since_then() -> None:
    given = rows(0, 3_000).set_column(0, "ts", pa.array([n // 3 for n in range(3_000)]))
    matcher = opened(f"{PATTERN} WITHIN 9")
    first = matcher.push(None, given.slice(0, 2_000))
    assert "share their time" in first["query_1"].report.warnings[0]
    matcher.add(f"{PATTERN} WITHIN 20; EVENT SEQ(A a, C b) WHERE [k] AND a.n > 0 WITHIN 9")
    later = matcher.push(None, given.slice(2_000, 500))
    assert not later["query_1"].report.warnings  # which it has returned
    assert later["query_2"].report.warnings == first["query_1"].report.warnings
    assert [later[name].report.rows for name in ("query_1", "query_2")] == [2_500, 500]
    assert not matcher.push(None, given.slice(2_500, 500))["query_2"].report.warnings
    matcher.finish()
    one, two, three = matcher.reports.values()
    assert (one.rows, two.rows, three.rows) == (3_000, 1_000, 1_000)
    assert not one.notes and one.warnings == two.warnings
    assert two.notes == ("added later: matched together with query_1, query_3",)
    assert three.warnings == ("no event of type `C` occurred", *two.warnings)


def test_bad_rows_are_those_since_then() -> None:
    schema = rows(0, 1).schema
    matcher = sase.Script(f"{PATTERN} WITHIN 9", schema, on_bad_row="quarantine").open()
    given = rows(0, 30).to_pylist()
    matcher.push(None, [{**given[0], "n": "x"}, *given[1:9]])
    matcher.add(f"{PATTERN} WITHIN 20")
    found = matcher.push(None, [*given[9:12], {**given[12], "n": "x"}, *given[13:]])
    assert [each.report.bad for each in found.values()] == [1, 1]
    assert joint_of(matcher) == [("query_1", "query_2")]
    matcher.finish()
    assert [each.bad for each in matcher.reports.values()] == [2, 1]


def test_whose_warnings_depend_on_its_matches_is_matched_apart_and_says_so() -> None:
    text = f"{PATTERN} AND a.n + b.n > 2 WITHIN 5"
    matcher = opened(text, text)
    matcher.push(None, rows(0, 20))
    assert joint_of(matcher) == [("query_1", "query_2")]
    matcher.add(f"{text}; {text}")
    assert joint_of(matcher) == [("query_1", "query_2"), ("query_3", "query_4")]
    again = matcher.script.restore(matcher.snapshot())
    for each in (matcher, again):
        (note,) = each.reports["query_3"].notes
        assert note.startswith("added later: matched apart from query_1, query_2, though alike")
        assert not each.reports["query_1"].notes


def test_a_restored_matcher_knows_who_was_added_when() -> None:
    matcher = opened(f"{PATTERN} WITHIN 9")
    matcher.push(None, rows(0, 20))
    matcher.add(f"{PATTERN} WITHIN 12")
    state, script = matcher.snapshot(), matcher.script
    again = script.restore(state)
    assert joint_of(again) == [("query_1", "query_2")]
    wanted, found = matcher.push(None, rows(20, 40)), again.push(None, rows(20, 40))
    for name, each in wanted.items():
        assert each.to_arrow().equals(found[name].to_arrow())
    assert min(found["query_1"].rows["a"].to_pylist()) < 20
    assert min(found["query_2"].rows["a"].to_pylist()) >= 20
    assert again.reports["query_2"].rows == 20
    whole = from_bytes(state)
    assert whole["joint"] == [[["query_1", "query_2"], ["B"], {"query_2": [20, 20, 0]}, False]]
    for added in ({"query_3": [20, 20, 0]}, {"query_2": [20, 20]}, {"query_2": [-1, 20, 0]}, []):
        changed = {**whole, "joint": [[["query_1", "query_2"], ["B"], added, False]]}
        with pytest.raises(SnapshotError, match="changed"):
            script.restore(to_bytes(changed))


def test_who_reads_what_an_added_statement_finds_is_told() -> None:
    text = "EVENT SEQ(A a, B b) WHERE [k] WITHIN {} RETURN P(b.k AS k)"
    matcher = opened(f"CREATE STREAM one AS {text.format(9)}")
    matcher.push(None, rows(0, 50))
    matcher.add(f"CREATE STREAM two AS {text.format(20)}; FROM two EVENT SEQ(P p, P q) WITHIN 2")
    assert joint_of(matcher) == [("one", "two")]
    found = matcher.push(None, rows(50, 90))
    script = f"CREATE STREAM two AS {text.format(20)}; FROM two EVENT SEQ(P p, P q) WITHIN 2"
    wanted = sase.Script(script).run(rows(50, 90))
    assert found["two"].to_arrow().equals(wanted["two"].to_arrow()) and len(found["two"])
    pairs = found["query_3"].to_arrow().to_pylist()
    assert pairs == wanted["query_2"].to_arrow().to_pylist()[: len(pairs)] and pairs
