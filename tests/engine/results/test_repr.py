"""Attributes of matched events in results, of types that Arrow does not handle alike."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.cli.main import main

VIEWS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.string_view(), ["a", None, "b"]),
    (pa.binary_view(), [b"a", None, b"b"]),
    (pa.dictionary(pa.int8(), pa.string_view()), ["a", None, "b"]),
    (pa.list_(pa.string_view()), [["a"], None, ["b", "c"]]),
    (pa.list_(pa.string_view(), 1), [["a"], None, ["b"]]),
    (pa.large_list(pa.binary_view()), [[b"a"], None, [b"b", b"c"]]),
    (pa.list_view(pa.int64()), [[1], None, [2, 3]]),
    (pa.list_view(pa.string_view()), [["a"], None, ["b", "c"]]),
    (pa.large_list_view(pa.string_view()), [["a"], None, ["b", "c"]]),
    (pa.struct([("s", pa.string_view())]), [{"s": "a"}, None, {"s": None}]),
    (pa.map_(pa.string_view(), pa.int64()), [[("a", 1)], None, [("b", 2)]]),
]  # fmt: skip


def shown(column: pa.Array) -> list[Any]:
    events = pa.table({"ts": [1, 2, 3], "type": ["A", "A", "A"], "it": column})
    found = [match["x"]["it"] for match in sase.match("EVENT A x", events)]
    assert sase.match("EVENT B x", events).to_pylist() == []
    assert repr(sase.match("EVENT A x", events))
    return found


@pytest.mark.parametrize(("kind", "values"), VIEWS, ids=[str(kind) for kind, _ in VIEWS])
def test_views(kind: pa.DataType, values: list[Any]) -> None:
    if pa.types.is_dictionary(kind):
        column = pa.array(values).dictionary_encode().cast(kind)
    else:
        column = pa.array(values, kind)
    assert shown(column) == values


def test_runs_of_one_value() -> None:
    assert shown(pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), [7, 8])) == [
        7,
        7,
        8,
    ]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_a_decimal_beside_floats_is_the_nearest(kind: pa.DataType) -> None:
    events = {
        "A": pa.table({"ts": [1], "k": pa.array([Decimal("-2.3")])}),
        "B": pa.table({"ts": [2], "k": pa.array([1.5], kind)}),
    }
    assert [match["a"]["k"] for match in sase.match("EVENT ANY a", events)] == [-2.3, 1.5]


def test_a_list_beside_a_number_is_text() -> None:
    events = {"A": [{"ts": 1, "k": 1}], "B": pa.table({"ts": [2], "k": pa.array([[1]])})}
    assert [match["a"]["k"] for match in sase.match("EVENT ANY a", events)] == ["1", "[1]"]


def test_moments_beside_a_number_are_text_of_one_zone() -> None:
    """Spark shows moments in the zone of its session, and finds the same."""
    moment = pa.array([0], pa.int64()).cast(pa.timestamp("us", "Europe/Berlin"))
    events = {"A": [{"ts": 1, "k": 1}], "B": pa.table({"ts": [2], "k": moment})}
    found = [match["a"]["k"] for match in sase.match("EVENT ANY a", events)]
    assert found == ["1", "1970-01-01 00:00:00.000000Z"]


def test_an_attribute_that_no_type_of_any_declares_is_true() -> None:
    """Also where no table of all has it."""
    events = {"A": [{"ts": 1, "k": 1}], "B": [{"ts": 2, "w": "q"}], "C": [{"ts": 3, "w": "q"}]}
    found = sase.match("EVENT SEQ(A a, ANY(B, C) y) WHERE y.nix = 3", events).rows
    assert found.to_pylist() == [{"a": 0, "y": 1}, {"a": 0, "y": 2}]


def test_dicts_leave_out_what_is_null_in_any_push() -> None:
    schema = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64())])
    matcher = sase.compile("EVENT SEQ(A a, B b) WHERE a.v > 0", schema).open()
    matcher.push([{"ts": 1, "type": "A", "v": 1}])
    assert len(matcher.push([{"ts": 2, "type": "B"}])) == 1
    with pytest.raises(sase.SchemaError, match="no column `v`"):
        matcher.push(pa.table({"ts": [3], "type": ["B"]}))


def test_what_dicts_leave_out_is_left_out_after_waiting_and_a_restart() -> None:
    schema = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("v", pa.int64())])
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE a.v > 0", schema, lateness=5)
    matcher = plan.open()
    matcher.push([{"ts": 1, "type": "A", "v": 1}])
    matcher.push([{"ts": 3, "type": "B"}])
    matcher = plan.restore(matcher.snapshot())
    matcher.push([{"ts": 2, "type": "B"}])
    assert matcher.finish().rows.to_pylist() == [{"a": 0, "b": 2}, {"a": 0, "b": 1}]


HOSTILE = "x\ny\t\x1b[31mred\u202e\u2028 <b>é\u200d\xa0\\n"
SEEN = r"x\ny\t\x1b[31mred\u202e\u2028 <b>é" + "\u200d\xa0\\n"


def test_tables_show_what_cannot_be_seen_as_escapes() -> None:
    """Else values would break lines, and command a terminal."""
    event = {"ts": 1, "type": "A", "id": HOSTILE, "l": [HOSTILE], "a\rb": 1}
    for query in ("EVENT A `x\x1b`", "EVENT A x RETURN x.id AS `i\x1b`", "EVENT A+ x[]"):
        matches = sase.match(query, [event])
        text, html = repr(matches), matches._repr_html_()
        assert SEEN in text
        assert all(
            line.replace("\u200d", "").isprintable()
            for line in text.replace("\xa0", "").split("\n")
        )
        assert len(text.split("\n")) == 4
        assert SEEN.replace("<", "&lt;").replace(">", "&gt;") in html
        assert "\n" not in html and "\x1b" not in html


def test_the_table_of_the_command_shows_escapes_and_files_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events, found = tmp_path / "events.jsonl", tmp_path / "found.csv"
    events.write_text(json.dumps({"ts": 1, "type": "A", "id": HOSTILE}) + "\n", encoding="utf-8")
    assert main(["run", "--events", str(events), "-q", "EVENT A x"]) == 0
    assert SEEN in capsys.readouterr().out
    assert main(["run", "--events", str(events), "-q", "EVENT A x", "-o", str(found)]) == 0
    assert HOSTILE in found.read_text(encoding="utf-8")


def test_near_misses_show_escapes() -> None:
    rows = [{"ts": n, "type": t, "id": HOSTILE} for n, t in enumerate("AAB")]
    query = "EVENT SEQ(A x, B y) WHERE x.id = y.id AND x.ts > 5 AND x.id != 'q'"
    text = str(sase.why(query, rows))
    assert SEEN in text and "\x1b" not in text
