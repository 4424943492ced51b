"""The `.case` format itself: texts that are read, refused, and left alone by `--complete`."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest

from tests.casefile import CaseFileError, parse_cases, rewritten
from tests.casevalues import Event, format_value, kind_of, parse_event, parse_value
from tests.test_cases import like

TEXT = """\
# A comment about the file.

=== first
# About the schema.
schema:
  A: id integer, name string
  B: id integer
options:
  time_unit=s
  param.low=3
  type.Exit=reader LIKE 'X%'
stream:
  a1 A ts=1 id=1
  b1 - ts=2.5 name='it''s' id=null
query:
  EVENT SEQ(A x,

    B y)
matches:
  @2 x=a1 y=b1

# Between the records.
=== second
query:
  EVENT A
tree:
  none
# At the end.
"""


def test_a_file_is_read() -> None:
    first, second = parse_cases(TEXT, "file")
    assert (first.title, first.line, second.title) == ("first", 3, "second")
    assert first.query == "EVENT SEQ(A x,\n\n  B y)"
    assert first.schema == {"A": {"id": "integer", "name": "string"}, "B": {"id": "integer"}}
    assert first.params == {"low": 3}
    assert first.family("type") == {"Exit": "reader LIKE 'X%'"}
    assert first.events == (
        Event("a1", "A", (("ts", 1), ("id", 1))),
        Event("b1", None, (("ts", 2.5), ("name", "it's"), ("id", None))),
    )
    assert first.section("matches") == ("@2 x=a1 y=b1",)
    assert second.section("matches") is None
    assert second.schema is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tree:", "treee:", "file:26: no section: 'treee:'"),
        ("=== second", "second", "file:23: not a comment, a title or a section: 'second'"),
        ("=== second", "=== first", "file:23: first: another record of the file has this title"),
        ("# About the schema.", "query:", "a section is called query twice"),
        ("tree:\n  none", "", "second: nothing is expected of it"),
        ("query:\n  EVENT A\n", "", "second: there is no query"),
        ("time_unit=s", "timeunit=s", "first: unknown option 'timeunit=s'"),
        ("time_unit=s", "time_unit", "first: unknown option 'time_unit'"),
        ("param.low=3", "params.low=3", "first: unknown option 'params.low=3'"),
        ("param.low=3", "param.low=three", "first: not a value: 'three'"),
        ("param.low=3", "time_unit=m", "an entry of options is called time_unit twice"),
        ("b1 -", "a1 -", "first: an event is called a1 twice"),
        ("name='it''s'", "name='it's'", "first: not `column=value`"),
        ("name='it''s'", "ts=3", "first: a column stands twice"),
        ("A: id integer,", "A: id int,", "first: not a line of a schema"),
        ("B: id integer", "A: id integer", "an entry of schema is called A twice"),
        ("  @2", "# no comment here\n  @2", "file:21: not a comment, a title or a section"),
        ("  @2", "@2", "file:20: not a comment, a title or a section"),
    ],
)
def test_mistakes_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(CaseFileError) as caught:
        parse_cases(TEXT.replace(old, new, 1), "file")
    assert message in str(caught.value)


def test_a_section_before_the_first_record_is_refused() -> None:
    with pytest.raises(CaseFileError, match="file:1: no section"):
        parse_cases("query:\n  EVENT A\n", "file")


def test_rewriting_touches_nothing_else() -> None:
    sections = {"matches": ["@3 x=a1", "", "@4 x=b1"], "tree": ["unused"]}
    text = rewritten(TEXT, "file", "first", sections)
    assert text == TEXT.replace("  @2 x=a1 y=b1\n", "  @3 x=a1\n\n  @4 x=b1\n")
    assert rewritten(text, "file", "first", {"matches": ["@2 x=a1 y=b1"]}) == TEXT


def test_rewriting_several_sections_and_empty_ones() -> None:
    text = "=== a\nquery:\nerror:\nwarning:\n  TODO\n"
    found = rewritten(text, "file", "a", {"error": ["one", "two"], "warning": []})
    assert found == "=== a\nquery:\nerror:\n  one\n  two\nwarning:\n"


def test_escapes_are_for_characters_that_cannot_be_seen() -> None:
    text = "=== a\noptions:\n  escapes=yes\nquery:\n  A\\r\\n\\0\\u202e \\ud800 é 数\nerror:\n"
    (case,) = parse_cases(text, "file")
    assert case.query == "A\r\n\0\u202e \ud800 é 数"


def test_line_ends_of_windows_are_content() -> None:
    (case,) = parse_cases("=== a\nquery:\n  A\r\n  B\r\nerror:\n", "file")
    assert case.query == "A\r\nB\r"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-3", -3), ("2.5", 2.5), ("1e+16", 1e16), ("inf", math.inf), ("''", ""),
        ("-inf", -math.inf), ("'it''s'", "it's"), ("true", True), ("false", False),
        ("null", None), ("2020-01-31", date(2020, 1, 31)),
        ("2020-01-31T01:02:03", datetime(2020, 1, 31, 1, 2, 3)),  # noqa: DTZ001 - without a zone
        ("2020-01-31T01:02:03Z", datetime(2020, 1, 31, 1, 2, 3, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_values(text: str, value: object) -> None:
    parsed = parse_value(text)
    assert (parsed, type(parsed)) == (value, type(value))
    assert format_value(value) == text


@pytest.mark.parametrize("text", ["", "three", "'", "'a", "1.2.3", "--1", "2020-1-1", "a'b"])
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(ValueError):
        parse_value(text)


@pytest.mark.parametrize("line", ["", "a1", "a1 A ts", "a1 A ts=1x=2", "a1 A ts=1 'x'=2"])
def test_what_is_no_event(line: str) -> None:
    with pytest.raises(ValueError):
        parse_event(line)


def test_kinds_of_columns() -> None:
    assert kind_of([1, None]) == "integer"
    assert kind_of([1, 2.5]) == "float"
    assert kind_of([True]) == "boolean"
    assert kind_of(["a", None]) == "string"
    assert kind_of([date(2020, 1, 1)]) == "date"
    with pytest.raises(ValueError):
        kind_of([1, "a"])


def test_the_time_of_detection_may_be_left_open() -> None:
    found = ["@3 x=a1", "@4 x=a2"]
    assert like("matches", ["x=a1"], found) == ["x=a1", "x=a2"]
    assert like("matches", ["@3 x=a1"], found) == found
    assert like("matches", ["TODO"], found) == found
    assert like("matches", [], found) == found


def test_the_layout_of_a_tree_is_free() -> None:
    assert like("tree", ["(and", "  a b)"], ["(and a b)"]) == ["(and", "  a b)"]
    assert like("tree", ["(and", "  a c)"], ["(and a b)"]) == ["(and a b)"]
